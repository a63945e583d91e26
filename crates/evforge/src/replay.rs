//! `evforge replay`: captures to UDP, with their own timing or at a rate.

use crate::CommandError;
use crate::arguments::{Inputs, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::input::{open_any_until, tell_lost};
use crate::output::{Ending, check_writable};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::{Rate, TimeSpan};
use evforge_core::counter::CounterSnapshot;
use evforge_core::endpoint::endpoint;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_core::run_state::REPORT_SCHEMA;
use evforge_lab::electronics_sender::send_all;
use evforge_lab::looped_capture::LoopedCapture;
use evforge_net::capture::JoinedFiles;
use evforge_net::pace::Pace;
use evforge_net::socket::{SendReport, SenderOptions, UdpSender};
use evforge_pipeline::report::{grouped, scaled};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Slabs that are read ahead, so that a disk that hesitates holds nothing up.
const SLABS: usize = 4;

/// Arguments of `evforge replay`.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    // Several are sent one after the other.
    #[command(flatten)]
    inputs: Inputs<1, 1000>,
    /// Where to send to
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6006", value_parser = endpoint)]
    to: SocketAddr,
    /// Merge the captures by their time stamps instead of sending one after the other
    #[arg(long, help_heading = "Several captures")]
    merge: bool,
    /// Begin each further capture this long after the end of the one before, whatever their time stamps are
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, conflicts_with = "merge", help_heading = "Several captures")]
    pause: Option<TimeSpan>,
    /// Keep the capture's own timing, N times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with_all = ["rate", "unpaced"])]
    speed: f64,
    /// Send at this rate instead: 10kpps, 1.2Mpps, 800Mbit/s
    #[arg(long, value_name = "RATE", conflicts_with = "unpaced")]
    rate: Option<Rate>,
    /// Send as fast as the system takes the packets instead
    #[arg(long)]
    unpaced: bool,
    /// Send the capture N times, or for ever (0), from memory: later each time, with numbers that go on
    #[arg(long = "loop", value_name = "NUMBER", help_heading = "Several captures", conflicts_with_all = ["merge", "pause"])]
    times: Option<u64>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Send only packets of the captures that were sent to this UDP port
    #[arg(long, short = 'p', value_name = "PORT", help_heading = "Sending")]
    port: Option<u16>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT)
    #[arg(long, help_heading = "Sending")]
    segment: bool,
    /// Send by AF_XDP through this network interface, as whole frames bypassing the kernel's protocols, instead of a socket
    #[arg(long, value_name = "INTERFACE", conflicts_with = "segment", help_heading = "Sending")]
    xdp: Option<String>,
    /// Send from N ports, so that the receiving card spreads the packets over its queues; packets of one
    /// recorded source leave from one port
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Sending")]
    source_ports: usize,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Write what was sent, and how well the timing was kept, as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn replay(arguments: &ReplayArguments) -> Result<ExitStatus, CommandError> {
    let pace = match (arguments.rate, arguments.unpaced) {
        (_, true) => Pace::Unpaced,
        (Some(Rate::Packets(rate)), _) => Pace::PacketsPerSecond(rate as f64),
        (Some(Rate::Bits(rate)), _) => Pace::BitsPerSecond(rate as f64),
        (None, false) => Pace::OwnTiming { speed: arguments.speed },
    };
    let inputs = arguments.inputs.paths()?;
    let files = NamedFiles::default().input("INPUT", &inputs);
    files.output("--report", &arguments.report).check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let stop = stop_on_signals()?;
    if let Some(time) = arguments.ends_after.map(TimeSpan::to_std) {
        let stop = Arc::clone(&stop);
        // Nobody waits for it: it ends with the program.
        std::thread::Builder::new().name("clock".into()).spawn(move || {
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        })?;
    }
    let mut source = open_all(&inputs, arguments, &stop)?;
    if let Some(times) = arguments.times {
        source = Box::new(LoopedCapture::read(source, Some(times).filter(|times| *times > 0))?);
    }
    let options = SenderOptions {
        pace,
        segment: arguments.segment,
        source_ports: arguments.source_ports,
        ..SenderOptions::new(arguments.to)
    };
    let mut sender = UdpSender::open_by(&options, arguments.xdp.as_deref())?;
    let (stage, counters) = send_source(source, &mut sender, &stop)?;
    let report = sender.report();
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json(
        "the report",
        arguments.report.as_deref(),
        &sent_json(&report, arguments.to, &asked(arguments)),
    );
    ending.print(&text(&report, arguments));
    if arguments.source_ports > sender.sources() && arguments.source_ports > 1 {
        eprintln!(
            "warning: the packets come from {} sources only, so that not all {} source ports were used",
            sender.sources(),
            arguments.source_ports
        );
    }
    let mut status = tell_lost(stage, counters).and(ExitStatus::of(report.refused == 0 && ending.is_good()));
    if report.packets == 0 && !stop.load(Ordering::Relaxed) {
        eprintln!("evforge: there was no packet to send: `evforge inspect` tells what is in a capture");
        status = status.and(ExitStatus::NoUse);
    }
    Ok(status)
}

/// Opens all captures, as one.
fn open_all(
    inputs: &[PathBuf],
    arguments: &ReplayArguments,
    stop: &Arc<AtomicBool>,
) -> Result<Box<dyn PacketSource>, CommandError> {
    let mut sources = Vec::new();
    for input in inputs {
        sources.push(open_any_until(input, arguments.port, stop)?);
    }
    Ok(match sources.len() {
        1 => sources.remove(0),
        _ if arguments.merge => Box::new(JoinedFiles::by_stamp(sources)),
        _ => {
            let pause = arguments.pause.map(TimeSpan::to_std);
            Box::new(JoinedFiles::one_by_one(sources, pause))
        }
    })
}

/// Sends all packets of a source, which another thread reads.
fn send_source(
    mut source: Box<dyn PacketSource>,
    sender: &mut UdpSender,
    stop: &AtomicBool,
) -> Result<(&'static str, CounterSnapshot), CommandError> {
    let (give_filled, take_filled) = sync_channel::<PacketSlab>(SLABS);
    let (give_empty, take_empty) = sync_channel::<PacketSlab>(SLABS);
    for _ in 0..SLABS {
        give_empty.send(PacketSlab::new(4096, 8 << 20))?;
    }
    std::thread::scope(|scope| {
        let work = move || {
            read_ahead(source.as_mut(), &take_empty, &give_filled)?;
            Ok::<_, String>((source.stage(), source.counters()))
        };
        let reading = std::thread::Builder::new().name("read".into()).spawn_scoped(scope, work)?;
        let mut sending = Ok(());
        while let Ok(slab) = take_filled.recv() {
            sending = send_all(sender, &slab, stop);
            if sending.is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
            // Fails only if everything has been read.
            let _ = give_empty.send(slab);
        }
        // The reading thread ends when nobody takes its slabs any more.
        drop((take_filled, give_empty));
        sending?;
        match reading.join() {
            Ok(read) => Ok(read?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Fills slabs until the source ends or nobody wants them; the error is in words, because it goes to another thread.
fn read_ahead(
    source: &mut dyn PacketSource,
    take_empty: &Receiver<PacketSlab>,
    give_filled: &SyncSender<PacketSlab>,
) -> Result<(), String> {
    while let Ok(mut slab) = take_empty.recv() {
        slab.clear();
        let fill = source.fill(&mut slab).map_err(|error| error.to_string())?;
        if give_filled.send(slab).is_err() || fill == Fill::End {
            break;
        }
    }
    Ok(())
}

/// What is said of packets that never left.
pub(crate) fn dropped(packets: u64) -> String {
    format!("{} of these packets were dropped by the network interface: they never left\n", grouped(packets))
}

/// What was asked for, in words.
fn asked(arguments: &ReplayArguments) -> String {
    match (arguments.rate, arguments.unpaced) {
        (_, true) => "as fast as possible".to_owned(),
        (Some(Rate::Packets(rate)), _) => format!("{} packets/s", scaled(rate as f64)),
        (Some(Rate::Bits(rate)), _) => format!("{}bit/s", scaled(rate as f64)),
        (None, false) if arguments.speed == 1.0 => "the captures' own timing".to_owned(),
        (None, false) => format!("the captures' own timing, {} times as fast", arguments.speed),
    }
}

/// What was sent, as JSON.
pub(crate) fn sent_json(report: &SendReport, to: SocketAddr, asked: &str) -> serde_json::Value {
    let deviation = report.deviation.map(|deviation| {
        json!({
            "mean_s": deviation.mean.as_secs_f64(),
            "p99_s": deviation.most.as_secs_f64(),
            "largest_s": deviation.largest.as_secs_f64(),
        })
    });
    json!({
        "evforge": env!("CARGO_PKG_VERSION"),
        "schema": REPORT_SCHEMA,
        "to": to.to_string(),
        "asked": asked,
        "packets": report.packets,
        "bytes": report.bytes,
        "refused": report.refused,
        "dropped": report.dropped,
        "elapsed_s": report.elapsed.as_secs_f64(),
        "scheduled_s": report.scheduled.map(|scheduled| scheduled.as_secs_f64()),
        "packets_per_second": report.packets_per_second(),
        "bits_per_second": report.bits_per_second(),
        "share_achieved": report.share_achieved(),
        "lateness": deviation,
    })
}

fn text(report: &SendReport, arguments: &ReplayArguments) -> String {
    let mut text = format!(
        "sent {} packets ({} bytes) to {} in {:.3} s: {} packets/s, {}bit/s\n",
        grouped(report.packets),
        grouped(report.bytes),
        arguments.to,
        report.elapsed.as_secs_f64(),
        scaled(report.packets_per_second()),
        scaled(report.bits_per_second()),
    );
    if let Some(share) = report.share_achieved() {
        text.push_str(&format!("asked for {}: {:.2} % of it achieved\n", asked(arguments), 100.0 * share));
    }
    if let Some(deviation) = report.deviation {
        text.push_str(&format!(
            "deviation from the schedule: {:?} on average, {:?} at most for 99 % of the packets, {:?} at most\n",
            deviation.mean, deviation.most, deviation.largest
        ));
    }
    if report.dropped > 0 {
        text.push_str(&dropped(report.dropped));
    }
    if report.refused > 0 {
        text.push_str(&format!(
            "{} packets were refused by the other side: nobody listens there (they are not lost on the way)\n",
            grouped(report.refused)
        ));
    }
    text
}

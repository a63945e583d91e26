//! `evforge replay`: a capture to UDP, with its own timing or at a rate.

use crate::CommandError;
use crate::input::open_any;
use crate::output::print;
use crate::run::stop_on_signals;
use clap::Args;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_net::pace::Pace;
use evforge_net::socket::{SendReport, SenderOptions, UdpSender};
use evforge_pipeline::config::Rate;
use evforge_pipeline::report::{grouped, scaled};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Arguments of `evforge replay`.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The capture: pcap, pcapng, .pkts or a dump of readouts (HDF5)
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Where to send to
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6006")]
    to: SocketAddr,
    /// Keep the capture's own timing, so many times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with_all = ["rate", "unpaced"])]
    speed: f64,
    /// Send at this rate instead: 10kpps, 1.2Mpps, 800Mbit/s
    #[arg(long, value_name = "RATE", conflicts_with = "unpaced")]
    rate: Option<Rate>,
    /// Send as fast as the system takes the packets instead
    #[arg(long)]
    unpaced: bool,
    /// Send only packets of the capture that were sent to this UDP port
    #[arg(long, short = 'p', value_name = "PORT")]
    port: Option<u16>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT)
    #[arg(long)]
    segment: bool,
}

/// Runs the command.
pub(crate) fn replay(arguments: &ReplayArguments) -> Result<bool, CommandError> {
    let pace = match (arguments.rate, arguments.unpaced) {
        (_, true) => Pace::Unpaced,
        (Some(Rate::Packets(rate)), _) => Pace::PacketsPerSecond(rate as f64),
        (Some(Rate::Bits(rate)), _) => Pace::BitsPerSecond(rate as f64),
        (None, false) => Pace::OwnTiming { speed: arguments.speed },
    };
    let mut reader = open_any(&arguments.input, arguments.port)?;
    let mut sender = UdpSender::open(&SenderOptions {
        pace,
        segment: arguments.segment,
        ..SenderOptions::new(arguments.to)
    })?;
    let stop = stop_on_signals()?;
    let mut slab = PacketSlab::new(1024, 8 << 20);
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab)?;
        send_all(&mut sender, &slab, &stop)?;
        if fill == Fill::End || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let report = sender.report();
    print(&text(&report, arguments.to))?;
    Ok(report.refused == 0)
}

/// Sends a slab, looking at `stop` now and then.
pub(crate) fn send_all(
    sender: &mut UdpSender,
    slab: &PacketSlab,
    stop: &AtomicBool,
) -> Result<(), CommandError> {
    let batch = slab.batch();
    let mut next = 0;
    while next < batch.len() && !stop.load(Ordering::Relaxed) {
        next = sender.send(&batch, next, Instant::now() + Duration::from_millis(100))?;
    }
    Ok(())
}

fn text(report: &SendReport, to: SocketAddr) -> String {
    let mut text = format!(
        "sent {} packets ({} bytes) to {to} in {:.3} s: {} packets/s, {}bit/s\n",
        grouped(report.packets),
        grouped(report.bytes),
        report.elapsed.as_secs_f64(),
        scaled(report.packets_per_second()),
        scaled(report.bits_per_second()),
    );
    if let Some(deviation) = report.deviation {
        text.push_str(&format!(
            "deviation from the schedule: {:?} on average, {:?} at most\n",
            deviation.mean, deviation.largest
        ));
    }
    if report.refused > 0 {
        text.push_str(&format!(
            "{} packets were refused by the other side: nobody listens there (they are not lost on the way)\n",
            grouped(report.refused)
        ));
    }
    text
}

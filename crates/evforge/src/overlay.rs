//! `evforge overlay`: a capture, laid several times over itself, with its isolated events as truth.

use crate::CommandError;
use crate::input::open;
use crate::output::{check_writable, print, write_file};
use crate::same_file::NamedFiles;
use clap::Args;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_core::quantity::Duration;
use evforge_net::capture::CaptureWriter;
use evforge_pipeline::config::{Config, DetectorSettings};
use evforge_pipeline::report::{grouped, scaled};
use evforge_sim::overlay::caen_records::CaenRecordCapture;
use evforge_sim::overlay::copies::CopyShift;
use evforge_sim::overlay::format::{CaptureFormat, RecordedReadout};
use evforge_sim::overlay::recording::Recording;
use evforge_sim::overlay::srs_vmm::SrsVmmCapture;
use evforge_sim::overlay::{Overlay, OverlayOptions};
use evforge_sim::truth;
use std::path::PathBuf;

/// Arguments of `evforge overlay`.
#[derive(Args)]
pub(crate) struct OverlayArguments {
    /// Configuration of the instrument, which also forms the events that become the truth
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The capture to lay over itself
    #[arg(long, env = "EVFORGE_INPUT", value_name = "FILE")]
    input: PathBuf,
    /// Of the capture, take only what was sent to this UDP port
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT")]
    port: Option<u16>,
    /// The capture to write: pcapng, or .pkts by its name
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Write the true neutrons as CSV, for evforge score
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// How many times the capture is there
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    copies: u32,
    /// First make the time between neutrons so many times longer, for rates below that of the capture
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    stretch: u32,
    /// Begin each copy so long after the one before it; otherwise copies begin at random times
    #[arg(long, value_name = "TIME")]
    shift: Option<Duration>,
    /// Move copies on the detector too, by random numbers of strips: for one that is the same everywhere
    #[arg(long)]
    strips: bool,
    /// Lay over what is no isolated neutron as well; its events are in the truth as not resolvable
    #[arg(long)]
    background: bool,
    /// Lose what comes in a channel sooner than this after another readout
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    dead_time: Duration,
    /// Silence around an isolated neutron, in multiples of the largest gap of time that the configuration has
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = factor)]
    isolation: f64,
    /// The same seed gives the same overlay
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (1.0..=1000.0).contains(factor));
    factor.ok_or_else(|| "expected a factor from 1 to 1000".to_owned())
}

/// Runs the command.
pub(crate) fn overlay(arguments: &OverlayArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    match &config.detector {
        DetectorSettings::GdGem(settings) => {
            overlay_format(arguments, &config, SrsVmmCapture::new(settings)?)
        }
        DetectorSettings::MultiBlade(settings) => {
            overlay_format(arguments, &config, CaenRecordCapture::new(settings)?)
        }
        _ => {
            Err(format!("captures of a detector with a section [{}] cannot be overlaid", config.section)
                .into())
        }
    }
}

/// What was read of a capture.
struct Captured<C> {
    packets: u64,
    /// Readouts, with those that have no place or no time.
    read: u64,
    readouts: Vec<RecordedReadout<C>>,
    events: Vec<Event>,
}

fn overlay_format<F: CaptureFormat>(
    arguments: &OverlayArguments,
    config: &Config,
    mut format: F,
) -> Result<bool, CommandError> {
    NamedFiles::default()
        .input("--config", Some(&arguments.config))
        .input("--input", Some(&arguments.input))
        .output("--output", Some(&arguments.output))
        .output("--truth", Some(&arguments.truth))
        .check()?;
    check_writable("the truth", &arguments.truth)?;
    let captured = read(arguments, config, &mut format)?;
    let Captured { packets, read, readouts, events } = captured;
    let recording = Recording::new(&format, readouts, &events, arguments.isolation);
    let options = OverlayOptions {
        copies: arguments.copies,
        stretch: arguments.stretch,
        shift: arguments.shift.map_or(CopyShift::Random, |time| CopyShift::Every(time.picoseconds)),
        move_channels: arguments.strips,
        background: arguments.background,
        dead_time_ps: arguments.dead_time.picoseconds,
        seed: arguments.seed,
    };
    let overlay = Overlay::new(&format, &recording, &options)
        .map_err(|error| format!("{}: {error}", arguments.input.display()))?;
    let mut text = capture_text(&recording, packets, read, events.len());
    text.push_str(&overlay_text(&overlay, &options));
    let mut writer = CaptureWriter::create(&arguments.output)?;
    let mut outcome = Ok(());
    overlay.write(&mut format, |packet| {
        if outcome.is_ok() {
            outcome = writer.write(&packet.packet());
        }
    });
    outcome?;
    let written = writer.finish()?;
    let mut file = Vec::new();
    truth::write_header(&mut file)?;
    truth::write(&overlay.truth, &mut file)?;
    write_file("the truth", &arguments.truth, &file)?;
    text.push_str(&format!(
        "written       {} packets to {}, {} neutrons to {}\n",
        grouped(written.packets),
        arguments.output.display(),
        grouped(overlay.truth.len() as u64),
        arguments.truth.display()
    ));
    print(&text)?;
    Ok(true)
}

/// Reads the capture and forms its events.
fn read<F: CaptureFormat>(
    arguments: &OverlayArguments,
    config: &Config,
    format: &mut F,
) -> Result<Captured<F::Content>, CommandError> {
    let mut input = open(&arguments.input, arguments.port, config)?;
    let mut detector = config.build_detector()?;
    let mut captured = Captured { packets: 0, read: 0, readouts: Vec::new(), events: Vec::new() };
    let mut slab = PacketSlab::new(config.input.packets_per_slab, config.input.bytes_per_slab.bytes as usize);
    let mut batch = EventBatch::new(config.input.events_per_batch);
    loop {
        slab.clear();
        let fill = input.fill(&mut slab)?;
        for packet in slab.batch().iter() {
            captured.packets += 1;
            captured.read += format.read(&packet, &mut captured.readouts);
        }
        let events = &mut captured.events;
        detector::form(detector.as_mut(), &slab.batch(), &mut batch, |batch| take(batch, events));
        if fill == Fill::End {
            break;
        }
    }
    detector::form_rest(detector.as_mut(), &mut batch, |batch| take(batch, &mut captured.events));
    let restarts = detector.ledger().counters.value("clock_restarts").unwrap_or(0);
    if restarts > 0 {
        return Err(format!(
            "{}: a clock of the electronics started anew in it ({restarts} times), so that its times say nothing \
             about what was together: cut the capture there",
            arguments.input.display()
        )
        .into());
    }
    Ok(captured)
}

fn take(batch: &mut EventBatch, events: &mut Vec<Event>) {
    events.extend(batch.iter());
    batch.clear();
}

fn capture_text<C: Copy>(recording: &Recording<C>, packets: u64, read: u64, events: usize) -> String {
    let (seconds, labels) = (recording.seconds(), recording.label_count());
    let placed = recording.readouts.len() as u64;
    let mut text = format!(
        "capture       {} packets, {} readouts in {:.3} ms: {}readouts/s\n  left out    {} readouts without a place or a \
         time\nevents        {}: {}events/s\n  isolated    {}, with {:.0} ns of silence around them: {}events/s\n",
        grouped(packets),
        grouped(read),
        seconds * 1e3,
        scaled(placed as f64 / seconds),
        grouped(read.saturating_sub(placed)),
        grouped(events as u64),
        scaled(events as f64 / seconds),
        grouped(labels as u64),
        recording.silence_ps as f64 / 1e3,
        scaled(labels as f64 / seconds),
    );
    if recording.stray_events > 0 {
        let strays = grouped(recording.stray_events);
        text.push_str(&format!("  left out    {strays} events of readouts that were left out\n"));
    }
    if let Some(shortest) = recording.shortest_repetition_ps {
        let shortest = shortest as f64 / 1e3;
        text.push_str(&format!(
            "  one channel no two readouts closer than {shortest:.1} ns (see --dead-time)\n"
        ));
    }
    text
}

fn overlay_text<C: Copy>(overlay: &Overlay<'_, C>, options: &OverlayOptions) -> String {
    let neutrons = overlay.truth.len();
    let resolvable = overlay.truth.iter().filter(|neutron| neutron.resolvable).count();
    let mut text = format!(
        "overlay       {} copies, times {} as long: {:.3} ms\nneutrons      {}: {}neutrons/s\n  resolvable  {} \
         ({:.1} %)\nreadouts      {}: {}readouts/s\n",
        grouped(u64::from(options.copies)),
        options.stretch,
        overlay.seconds * 1e3,
        grouped(neutrons as u64),
        scaled(neutrons as f64 / overlay.seconds),
        grouped(resolvable as u64),
        100.0 * resolvable as f64 / neutrons.max(1) as f64,
        grouped(overlay.readout_count() as u64),
        scaled(overlay.readout_count() as f64 / overlay.seconds),
    );
    if overlay.left_out > 0 {
        let left_out = grouped(overlay.left_out);
        text.push_str(&format!(
            "  left out    {left_out} groups that would be torn at the edge of the detector\n"
        ));
    }
    if overlay.lost_in_dead_time > 0 {
        let lost = grouped(overlay.lost_in_dead_time);
        text.push_str(&format!("  lost        {lost} readouts in the dead time of their channel\n"));
    }
    text
}

//! `evforge kafka replay`: a topic, or the events of a file, to a topic again.

use super::client::ClientArguments;
use super::ending::{end, json_of, refused, refused_json};
use crate::CommandError;
use crate::arguments::span::now_ns;
use crate::arguments::{OverwriteArguments, SpanArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::Sender;
use evforge_kafka::tools::replay::{FilePulse, PulseReplay, ReplayReport, ReplaySettings, replay_topic};
use evforge_kafka::topic::{Begin, TopicReader, Until};
use evforge_net::crash_note::CrashNote;
use evforge_pipeline::report::grouped;
use evforge_stream::nexus::{EventReader, ReadPulse};
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Arguments of `evforge kafka replay`.
#[derive(Args)]
pub(super) struct ReplayArguments {
    /// Topic, or NeXus file with events (.nxs, .nx5, .h5, .hdf5, .hdf)
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Topic to send to
    #[arg(long, value_name = "TOPIC")]
    to: String,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    span: SpanArguments,
    /// Keep the timing, N times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed, conflicts_with = "unpaced")]
    speed: f64,
    /// Send as fast as the brokers take it instead
    #[arg(long)]
    unpaced: bool,
    /// Move the times in the messages, so that the first is now; distances shorten with --speed
    #[arg(long)]
    new_times: bool,
    /// Name of the source in messages made from a file, instead of the names of its detectors
    #[arg(long, value_name = "NAME", help_heading = "Files")]
    source: Option<String>,
    /// Wait this long for the last messages to be acknowledged
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "30s", help_heading = "End")]
    finish_within: TimeSpan,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Write what was sent as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// No report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(super) fn replay(arguments: &ReplayArguments) -> Result<ExitStatus, CommandError> {
    let is_file = is_file(&arguments.input);
    if !is_file && arguments.input.as_os_str() == OsStr::new(&arguments.to) {
        return Err(format!("{} cannot be replayed into itself: name another topic", arguments.to).into());
    }
    if !is_file && arguments.source.is_some() {
        return Err("--source names what a file has measured; messages of a topic keep their sources".into());
    }
    let input = is_file.then(|| arguments.input.clone());
    NamedFiles::default()
        .input("INPUT", &input)
        .output("--report", &arguments.report)
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let stop = stop_on_signals()?;
    let settings = ReplaySettings {
        speed: (!arguments.unpaced).then_some(arguments.speed),
        new_times: arguments.new_times.then(now_ns),
    };
    let client = arguments.client.settings();
    let deadline = Deadline::of_opening().or_when(&stop);
    let (report, sender, failure) = if is_file {
        let _note = CrashNote::while_hdf5_reads(&arguments.input);
        let mut reader = EventReader::open(&arguments.input)?;
        let mut sender = Sender::open(&client, &arguments.to, &deadline)?;
        let (report, failure) = replay_file(&mut reader, &mut sender, settings, arguments, &stop)?;
        (report, sender, failure)
    } else {
        let topic = arguments.input.to_str().ok_or("the name of the topic is not text")?;
        let (begin, until) = (arguments.span.begin(Begin::Oldest), arguments.span.until(Until::Present));
        let mut reader = TopicReader::open(&client, topic, begin, until, &deadline)?;
        let mut sender = Sender::open(&client, &arguments.to, &deadline)?;
        let report = replay_topic(&mut reader, &mut sender, &settings, &stop)?;
        (report, sender, None)
    };
    let delivery = sender.finish(arguments.finish_within.to_std(), &AtomicBool::new(false));
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    let whole = json!({
        "schema": 1,
        "evforge": env!("CARGO_PKG_VERSION"),
        "input": arguments.input.display().to_string(),
        "to": arguments.to,
        "read": report.read,
        "renewed": report.renewed,
        "unchanged": report.unchanged,
        "events": is_file.then_some(report.events),
        "too_large": report.too_large,
        "refused": refused_json(&report.refused),
        "latest_s": report.latest.as_secs_f64(),
        "delivery": json_of(&delivery),
    });
    ending.write_json("the report", arguments.report.as_deref(), &whole);
    if !arguments.quiet {
        ending.print(&text_of(&report, is_file));
    }
    let mut status = end(ending, &delivery, &arguments.to, arguments.quiet);
    if let Some(failure) = failure {
        eprintln!("evforge: {failure}");
        status = status.and(ExitStatus::Incomplete);
    }
    if report.refused.total() + report.too_large > 0 {
        status = status.and(ExitStatus::Incomplete);
    }
    if report.read == 0 && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        eprintln!("evforge: there was nothing to send in {}", arguments.input.display());
        status = status.and(ExitStatus::NoUse);
    }
    Ok(status)
}

/// Sends the pulses of a file; and why it cannot be read further.
fn replay_file(
    reader: &mut EventReader,
    sender: &mut Sender,
    settings: ReplaySettings,
    arguments: &ReplayArguments,
    stop: &AtomicBool,
) -> Result<(ReplayReport, Option<CommandError>), CommandError> {
    let mut replay = PulseReplay::new(sender, settings);
    let mut pulse = ReadPulse::default();
    loop {
        match reader.read(&mut pulse) {
            Ok(true) => {}
            Ok(false) => return Ok((replay.finish(), None)),
            Err(error) => return Ok((replay.finish(), Some(error.into()))),
        }
        let of_file = FilePulse {
            source: arguments.source.as_deref().unwrap_or(&pulse.source),
            time_ns: pulse.time_ns,
            times: &pulse.times,
            pixels: &pulse.pixels,
        };
        if !replay.send(&of_file, stop)? {
            return Ok((replay.finish(), None));
        }
    }
}

/// A file by its name; all else are topics, which have no such endings.
fn is_file(input: &Path) -> bool {
    let endings = ["nxs", "nx5", "h5", "hdf5", "hdf"];
    let ending = input.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| endings.contains(&ending.as_str())) || input.components().count() > 1
}

fn text_of(report: &ReplayReport, is_file: bool) -> String {
    let mut text = match is_file {
        true => format!("read {} pulses with {} events\n", grouped(report.read), grouped(report.events)),
        false => format!(
            "read {} messages: {} renewed, {} sent as they were\n",
            grouped(report.read),
            grouped(report.renewed),
            grouped(report.unchanged)
        ),
    };
    if report.refused.total() > 0 {
        text.push_str(&format!(
            "refused {}: {}\n",
            grouped(report.refused.total()),
            refused(&report.refused)
        ));
    }
    if report.too_large > 0 {
        text.push_str(&format!(
            "not sent      {} messages: larger than the topic takes (max.message.bytes)\n",
            grouped(report.too_large)
        ));
    }
    text
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed > 0.0);
    speed.ok_or_else(|| {
        "expected a number above 0: 1 is the timing that it had, 10 ten times as fast".to_owned()
    })
}

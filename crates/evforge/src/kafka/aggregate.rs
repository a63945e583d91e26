//! `evforge kafka aggregate`: the messages of several boards into frames.

use super::aggregate_text::{StateLine, to_json, to_text};
use super::client::ClientArguments;
use crate::CommandError;
use crate::arguments::{OverwriteArguments, SpanArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::{ByteSize, TimeSpan};
use evforge_kafka::aggregate::{AggregateCounters, AggregateRules, Aggregation, AggregationSettings, Step};
use evforge_kafka::client::{Cause, Complaint};
use evforge_kafka::topic::{Begin, Until};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a message is waited for before it is looked whether a frame's time is up.
const WAIT: Duration = Duration::from_millis(20);

/// Arguments of `evforge kafka aggregate`.
#[derive(Args)]
pub(super) struct AggregateArguments {
    /// Topic of pu00 and ev44 as boards send them
    #[arg(value_name = "TOPIC")]
    from: String,
    /// Topic to send the frames to
    #[arg(long, value_name = "TOPIC")]
    to: String,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    span: SpanArguments,
    #[command(flatten)]
    rules: RuleArguments,
    /// Name of the source of the frames
    #[arg(long, value_name = "NAME", default_value = "evforge")]
    source: String,
    /// Name under which the brokers keep what has been dealt with; one instance at a time has it [default: evforge-aggregate-TOPIC,
    /// of the topic of frames]
    #[arg(long, value_name = "NAME", help_heading = "Connection")]
    group: Option<String>,
    /// End after this time (60, 90s, 2h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Wait this long for the last frames to be acknowledged
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "30s", help_heading = "End")]
    finish_within: TimeSpan,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Write what was done as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// No state and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// How frames are put together.
#[derive(Args)]
struct RuleArguments {
    /// Send a frame this long after its first message at the latest
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "500ms")]
    expiry: TimeSpan,
    /// Frames without period or charge, counted either way
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    without_metadata: WithoutMetadata,
    /// Reference times of a frame differ by this at most
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "10ns", help_heading = "Frames")]
    tolerance: TimeSpan,
    /// A message of a source may be this much earlier than one before it in its partition: a frame waits until all have gone on
    /// further
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "100ms", help_heading = "Frames")]
    out_of_order: TimeSpan,
    /// Events of a message at most
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "Frames")]
    max_events: u32,
    /// Frames that wait at most; then the oldest is sent early, and counted
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Frames")]
    max_frames: u32,
    /// Memory of frames that wait at most
    #[arg(long, value_name = "SIZE", default_value = "256MB", help_heading = "Frames")]
    memory: ByteSize,
}

/// What happens to frames whose period or charge nobody has told.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum WithoutMetadata {
    Keep,
    Drop,
}

impl RuleArguments {
    fn rules(&self) -> Result<AggregateRules, CommandError> {
        let ns = |span: TimeSpan| i64::try_from(span.to_std().as_nanos()).unwrap_or(i64::MAX);
        if ns(self.tolerance) > 1_000_000 {
            return Err("--tolerance must be 1ms at most: frames that are closer would become one".into());
        }
        if self.memory.bytes < 1_000_000 {
            return Err("--memory must be at least 1MB".into());
        }
        Ok(AggregateRules {
            tolerance_ns: ns(self.tolerance),
            expiry: self.expiry.to_std(),
            out_of_order_ns: ns(self.out_of_order),
            most_frames: self.max_frames as usize,
            most_bytes: usize::try_from(self.memory.bytes).unwrap_or(usize::MAX),
            keeps_without_metadata: self.without_metadata == WithoutMetadata::Keep,
        })
    }
}

impl AggregateArguments {
    fn settings(&self) -> Result<AggregationSettings, CommandError> {
        if self.from == self.to {
            return Err(format!("the frames of {} cannot go into itself: name another topic", self.to).into());
        }
        Ok(AggregationSettings {
            from: self.from.clone(),
            to: self.to.clone(),
            group: self.group.clone().unwrap_or_else(|| format!("evforge-aggregate-{}", self.to)),
            source: self.source.clone(),
            begin: self.span.begin(Begin::Oldest),
            until: self.span.until(Until::Forever),
            most_events: self.rules.max_events as usize,
            rules: self.rules.rules()?,
        })
    }
}

/// Runs the command.
pub(super) fn aggregate(arguments: &AggregateArguments) -> Result<ExitStatus, CommandError> {
    let settings = arguments.settings()?;
    NamedFiles::default().output("--report", &arguments.report).check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let stop = stop_on_signals()?;
    let mut aggregation = match Aggregation::open(&arguments.client.settings(), &settings, &stop) {
        Err(error) if error.cause == Cause::AskedToEnd => {
            eprintln!(
                "evforge: ended before the brokers had answered: nothing was read, and nothing is lost"
            );
            return Ok(ExitStatus::Good);
        }
        opened => opened?,
    };
    let mut said = 0;
    let line = RefCell::new(StateLine::new(arguments.quiet));
    let deadline = arguments.ends_after.map(|time| Instant::now() + time.to_std());
    let finish_within = arguments.finish_within.to_std();
    let is_over =
        || stop.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    // From the end on, what is on its way has this long to be acknowledged.
    let mut ended: Option<Instant> = None;
    let mut give_up = |complaints: &[Complaint]| {
        line.borrow_mut().complain(complaints);
        is_over() && ended.get_or_insert_with(Instant::now).elapsed() >= finish_within
    };
    let went = loop {
        if is_over() {
            break aggregation.finish(&mut give_up).map(|_| ());
        }
        match aggregation.step(WAIT, &mut give_up) {
            Ok(Step::On) => {}
            Ok(Step::ToTheEnd) => break Ok(()),
            Err(error) => break Err(error),
        }
        aggregation.notes().iter().skip(said).for_each(|note| eprintln!("evforge: {note}"));
        said = aggregation.notes().len();
        line.borrow_mut().show(&aggregation);
    };
    line.borrow().end();
    let counters = aggregation.counters();
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json("the report", arguments.report.as_deref(), &to_json(&aggregation, &settings));
    if !arguments.quiet {
        ending.print(&to_text(&aggregation, &settings.to));
    }
    went?;
    let mut status = ExitStatus::of(ending.is_good() && counters.frames_waiting == 0);
    if counters.frames_waiting > 0 {
        eprintln!(
            "evforge: {} frames were not acknowledged in time; nothing is lost: the next start reads their messages again",
            counters.frames_waiting
        );
    }
    if left_out(&counters) > 0 {
        status = status.and(ExitStatus::Incomplete);
    }
    if counters.messages_read == 0 && !arguments.span.until(Until::Forever).waits() {
        eprintln!("evforge: there was nothing new in {}", arguments.from);
        status = status.and(ExitStatus::NoUse);
    }
    Ok(status)
}

/// Messages and frames that are not in the topic of frames, or not whole.
fn left_out(counters: &AggregateCounters) -> u64 {
    counters.messages_read - counters.messages_of_frames - counters.messages_done_before
        + counters.messages_deleted
        + counters.frames_dropped
}

//! `evforge kafka tail`: the messages of a topic as they come.

use super::client::ClientArguments;
use super::ending::refused;
use crate::CommandError;
use crate::arguments::SpanArguments;
use crate::exit_status::ExitStatus;
use crate::output::{is_reader_gone, print};
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::line::{Filter, Line};
use evforge_kafka::topic::{Begin, Next, TopicReader, Until};
use evforge_messages::{RefusedCounters, Schema};
use evforge_pipeline::report::grouped;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Messages that are shown first, unless something else is asked for.
const LAST: u64 = 10;
/// How long nothing comes before it is said why.
const QUIET: Duration = Duration::from_secs(3);

/// Arguments of `evforge kafka tail`.
#[derive(Args)]
pub(super) struct TailArguments {
    /// Topic
    #[arg(value_name = "TOPIC")]
    topic: String,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    span: SpanArguments,
    /// Only messages of these schemas: ev44,f144
    #[arg(long, value_name = "SCHEMAS", value_delimiter = ',', value_parser = schema)]
    schema: Vec<Schema>,
    /// Only messages of this source; repeatable
    #[arg(long, value_name = "NAME")]
    source: Vec<String>,
    /// Print JSON, one line for each message, with every field
    #[arg(long)]
    json: bool,
    /// End after N messages
    #[arg(long, value_name = "NUMBER", help_heading = "End")]
    messages: Option<u64>,
    /// End after this time (60, 90s, 2h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
}

/// Runs the command.
pub(super) fn tail(arguments: &TailArguments) -> Result<ExitStatus, CommandError> {
    let stop = stop_on_signals()?;
    let filter = Filter { schemas: arguments.schema.clone(), sources: arguments.source.clone() };
    let (begin, until) = (arguments.span.begin(Begin::Last(LAST)), arguments.span.until(Until::Forever));
    let opening = Deadline::of_opening().or_when(&stop);
    let mut reader =
        TopicReader::open(&arguments.client.settings(), &arguments.topic, begin, until, &opening)?;
    let deadline = arguments.ends_after.map(|time| Instant::now() + time.to_std());
    let mut counted = RefusedCounters::default();
    let (mut shown, mut heard, mut has_complained) = (0, Instant::now(), false);
    while !stop.load(Ordering::Relaxed)
        && deadline.is_none_or(|deadline| Instant::now() < deadline)
        && arguments.messages.is_none_or(|messages| shown < messages)
    {
        let record = match reader.next(Duration::from_millis(100))? {
            Next::Message(record) => record,
            Next::Changed(change) => {
                eprintln!("evforge: {change}");
                continue;
            }
            Next::End => break,
            Next::Idle if is_reader_gone() => break,
            Next::Idle => {
                if heard.elapsed() >= QUIET && !has_complained {
                    has_complained = true;
                    // Of several the latest says most.
                    let complaints = reader.complaints();
                    let of_a_broker = complaints.iter().rfind(|complaint| !complaint.broker.is_empty());
                    if let Some(complaint) = of_a_broker {
                        eprintln!("evforge: waiting: {}", complaint.sentence());
                    }
                }
                continue;
            }
        };
        (heard, has_complained) = (Instant::now(), false);
        let decoded = record.decode();
        if let Err(refused) = &decoded {
            counted.count(refused.reason());
        }
        if !filter.takes(decoded.as_ref()) {
            continue;
        }
        let line = Line { record: &record, message: decoded.as_ref() };
        match arguments.json {
            true => print(&format!("{}\n", line.json()))?,
            false => print(&format!("{line}\n"))?,
        }
        shown += 1;
    }
    if counted.total() > 0 {
        eprintln!("evforge: {} messages were refused: {}", grouped(counted.total()), refused(&counted));
    }
    Ok(ExitStatus::Good)
}

fn schema(text: &str) -> Result<Schema, String> {
    let bytes = <[u8; 4]>::try_from(text.as_bytes()).ok();
    bytes.as_ref().and_then(Schema::from_id).ok_or_else(|| {
        let known: Vec<&str> = Schema::ALL.iter().map(|schema| schema.id()).collect();
        format!("there is no schema `{text}`: known are {}", known.join(", "))
    })
}

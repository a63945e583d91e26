//! `evforge kafka topics`: what is in topics.

use super::client::ClientArguments;
use super::ending::{refused, refused_json};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_kafka::client::{Deadline, check};
use evforge_kafka::tools::line::{data_time, kafka_time};
use evforge_kafka::tools::survey::{Sample, SourceFindings, TopicFindings, survey};
use evforge_pipeline::report::{grouped, scaled};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// Partitions that have a line each; of more, the offsets of all are in one.
const SHOWN_PARTITIONS: usize = 16;

/// Arguments of `evforge kafka topics`.
#[derive(Args)]
pub(super) struct TopicsArguments {
    /// Topics; all but those of Kafka itself (__…) unless some are named
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,
    #[command(flatten)]
    client: ClientArguments,
    /// Decode the newest N messages of each partition; 0 looks at offsets alone
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    sample: u64,
    /// Look at the messages of a topic for no longer than this
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, default_value = "10s", help_heading = "Sample")]
    within: TimeSpan,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn topics(arguments: &TopicsArguments) -> Result<ExitStatus, CommandError> {
    let settings = arguments.client.settings();
    let named: Vec<&str> = arguments.topics.iter().map(String::as_str).collect();
    let stop = stop_on_signals()?;
    let checked = check(&settings, &named, Deadline::of_opening().or_when(&stop).of_an_answer())?;
    let all = match named.is_empty() {
        true => checked.names.iter().filter(|name| !name.starts_with("__")).cloned().collect(),
        false => arguments.topics.clone(),
    };
    let sample = Sample { messages: arguments.sample, within: arguments.within.to_std() };
    let mut in_json = Vec::new();
    if all.is_empty() && !arguments.json {
        print(&format!("there are no topics at {}\n", settings.brokers_text()))?;
    }
    for name in &all {
        let findings = survey(&settings, name, sample, &stop)?;
        match arguments.json {
            true => in_json.push(json_of(&findings)),
            false => print(&text_of(&findings))?,
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if arguments.json {
        let brokers: Vec<Value> = checked
            .brokers
            .iter()
            .map(|(number, host, port)| json!({ "number": number, "host": host, "port": port }))
            .collect();
        let whole = json!({ "schema": 1, "brokers": brokers, "topics": in_json });
        print(&format!("{}\n", serde_json::to_string_pretty(&whole)?))?;
    }
    Ok(ExitStatus::Good)
}

fn text_of(found: &TopicFindings) -> String {
    // Writing to a string cannot fail.
    let mut text = String::new();
    let count = match found.partitions.len() {
        1 => "1 partition".to_owned(),
        count => format!("{count} partitions"),
    };
    let _ = writeln!(text, "{}: {count}, {} messages", found.name, grouped(found.kept()));
    if found.partitions.len() <= SHOWN_PARTITIONS {
        for (number, low, high) in &found.partitions {
            let _ = writeln!(text, "  partition {number:<4}offsets {low} to {high}");
        }
    } else {
        let low = found.partitions.iter().map(|(_, low, _)| *low).min().unwrap_or(0);
        let high = found.partitions.iter().map(|(.., high)| *high).max().unwrap_or(0);
        let _ = writeln!(text, "  offsets {low} to {high}");
    }
    if found.messages == 0 {
        return text;
    }
    let cut = if found.is_cut { "; time was up before the sample was complete" } else { "" };
    let _ = writeln!(
        text,
        "  of the newest {} messages (mean {}B, largest {}B{cut}):",
        grouped(found.messages),
        scaled(found.bytes as f64 / found.messages as f64),
        scaled(found.largest as f64),
    );
    for ((schema, source), of_source) in &found.sources {
        let _ = writeln!(text, "  {schema}  {}", line_of(source.as_deref(), of_source));
    }
    if found.of_further_sources > 0 {
        let _ = writeln!(text, "  {} messages of further sources", grouped(found.of_further_sources));
    }
    if let Some((partition, offset, why)) = &found.newest_refused {
        let _ = writeln!(
            text,
            "  refused {}: {}; {partition}@{offset}: {}",
            grouped(found.refused.total()),
            refused(&found.refused),
            why.escape_debug()
        );
    }
    text
}

fn line_of(source: Option<&str>, found: &SourceFindings) -> String {
    let source = source.map_or_else(|| "-".to_owned(), |source| source.escape_debug().to_string());
    let rate = found.rate().map_or_else(|| "-".to_owned(), |rate| format!("{}/s", scaled(rate)));
    let mut line = format!(
        "{source:<24} {:>7} messages  {rate:>9}  last {}",
        grouped(found.messages),
        kafka_time(found.kafka_ms.map(|(_, last)| last)),
    );
    if let Some(time) = data_time(found.last_time_ns) {
        let _ = write!(line, ", data of {time}");
    }
    line
}

fn json_of(found: &TopicFindings) -> Value {
    let sources: Vec<Value> = found
        .sources
        .iter()
        .map(|((schema, source), of_source)| {
            json!({
                "schema": schema.id(),
                "source": source,
                "messages": of_source.messages,
                "bytes": of_source.bytes,
                "messages_per_second": of_source.rate(),
                "first_kafka_time_ms": of_source.kafka_ms.map(|(first, _)| first),
                "last_kafka_time_ms": of_source.kafka_ms.map(|(_, last)| last),
                "last_time_ns": of_source.last_time_ns,
            })
        })
        .collect();
    let partitions: Vec<Value> = found
        .partitions
        .iter()
        .map(|(number, low, high)| json!({ "number": number, "low": low, "high": high }))
        .collect();
    json!({
        "name": found.name,
        "partitions": partitions,
        "messages": found.kept(),
        "sample": {
            "messages": found.messages,
            "bytes": found.bytes,
            "largest_bytes": found.largest,
            "is_complete": !found.is_cut,
            "sources": sources,
            "of_further_sources": found.of_further_sources,
            "refused": refused_json(&found.refused),
            "newest_refused": found.newest_refused.as_ref().map(|(partition, offset, why)| {
                json!({ "partition": partition, "offset": offset, "why": why })
            }),
        },
    })
}

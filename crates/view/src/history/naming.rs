//! What a reading is called as a series, and which readings are kept.

use super::series::About;
use evforge_metrics::{Kind, Reading};

/// Most characters of a label, as in `/metrics`.
const LONGEST_LABEL: usize = 200;

/// Readings of the host and of sources that are kept: (group, name). There would be hundreds of the others, and `/metrics` has them.
const KEPT: &[(&str, &str)] = &[
    ("host", "udp_packets"),
    ("host", "udp_memory_bytes"),
    ("host", "interface_bytes"),
    ("host", "interface_packets"),
    ("host", "interface_dropped_packets"),
    ("host", "memory_bytes"),
    ("host", "disk_free_bytes"),
    ("host", "load"),
    ("host", "clock_synchronised"),
    ("host", "clock_maximum_error_seconds"),
    ("host", "clock_offset_seconds"),
    ("source", "received_packets"),
    ("source", "lost_packets"),
];

/// Sums that may also become smaller, so that they are declared as what there is now: (group, name). How fast they grow is what
/// a history tells.
const SUMS: &[(&str, &str)] = &[("loss", "packets"), ("loss", "known_packets"), ("source", "lost_packets")];

/// Whether a reading becomes a series.
pub(super) fn is_kept(reading: &Reading) -> bool {
    let (group, name) = (&*reading.group, &*reading.name);
    !["host", "source"].contains(&group) || KEPT.contains(&(group, name))
}

/// Whether its series is how fast it grows, and whether it can become smaller as well.
pub(super) fn rate_of(reading: &Reading) -> Option<Growth> {
    match reading.kind {
        Kind::Counter => Some(Growth::Only),
        Kind::Gauge if SUMS.contains(&(&*reading.group, &*reading.name)) => Some(Growth::AndShrinking),
        Kind::Gauge => None,
    }
}

/// How a sum changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// If it is smaller than before, it has begun afresh.
    Only,
    /// A packet that comes late is not lost any more.
    AndShrinking,
}

/// The name in queries to Prometheus.
fn name_of(reading: &Reading) -> String {
    let total = if reading.kind == Kind::Counter { "_total" } else { "" };
    reading.family() + total
}

/// What a series is called: its name, and its labels in brackets, as in `/metrics`: `evforge_source_lost_packets{source="FEC 1"}`.
pub(super) fn id_of(reading: &Reading, stream: &str) -> String {
    let mut id = name_of(reading);
    push_labels(&mut id, labels_of(reading, stream));
    id
}

/// What a series without other labels is called.
pub(super) fn id_of_name(name: &str, stream: &str) -> String {
    let mut id = name.to_owned();
    if !stream.is_empty() {
        push_labels(&mut id, [("stream", stream)].into_iter());
    }
    id
}

fn push_labels<'a>(id: &mut String, labels: impl Iterator<Item = (&'static str, &'a str)>) {
    let mut begin = '{';
    for (label, value) in labels {
        let value: String = value.chars().take(LONGEST_LABEL).collect();
        let value = value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', " ").replace('"', "\\\"");
        id.push(begin);
        id.push_str(&format!("{label}=\"{value}\""));
        begin = ',';
    }
    if begin == ',' {
        id.push('}');
    }
}

/// The stream is named where there are several.
fn labels_of<'a>(reading: &'a Reading, stream: &'a str) -> impl Iterator<Item = (&'static str, &'a str)> {
    let stream = Some(("stream", stream)).filter(|(_, stream)| !stream.is_empty());
    stream.into_iter().chain(reading.labels.iter().map(|(label, value)| (*label, value.as_str())))
}

/// What is told of a series.
pub(super) fn about(reading: &Reading, stream: &str) -> About {
    let is_rate = rate_of(reading).is_some();
    let unit = reading.unit.unwrap_or_default();
    let unit = match (is_rate, unit) {
        // A core that is busy all the time has one second in a second.
        (true, "seconds") => "s/s".to_owned(),
        (true, unit) => format!("{unit}/s"),
        (false, "seconds") => "s".to_owned(),
        (false, "ratio") => String::new(),
        (false, unit) => unit.to_owned(),
    };
    let cut = |value: &str| value.chars().take(LONGEST_LABEL).collect::<String>();
    let labels: Vec<_> = labels_of(reading, stream).map(|(label, value)| (label, cut(value))).collect();
    let words = |text: &str| text.replace('_', " ");
    let mut title = format!("{}: {}", words(&reading.group), words(&reading.name));
    for (place, (_, value)) in labels.iter().enumerate() {
        title.push_str(if place == 0 { " – " } else { ", " });
        title.push_str(value);
    }
    About {
        name: name_of(reading),
        labels,
        title,
        unit,
        is_rate,
        group: reading.group.clone(),
        help: reading.help.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSet;
    use evforge_core::run_state::OutputCounters;

    fn committed() -> Reading {
        let info = OutputCounters::infos().iter().find(|info| info.name == "committed").unwrap();
        Reading::of_counter("output", info, 7).with("output", "a \"b\"\n")
    }

    #[test]
    fn a_series_is_called_as_in_the_text_of_metrics() {
        let section = evforge_metrics::Section { labels: Vec::new(), readings: vec![committed()] };
        let text = evforge_metrics::text(&[section], evforge_metrics::Format::Prometheus);
        let id = id_of(&committed(), "");
        assert!(text.contains(&format!("\n{id} 7\n")), "{id} is not in {text}");
        assert_eq!(id_of(&committed(), "left"), id.replace("{output", "{stream=\"left\",output"));
        let about = about(&committed(), "left");
        assert_eq!((about.unit.as_str(), about.is_rate, about.group.as_ref()), ("events/s", true, "output"));
        assert_eq!(about.title, "output: committed – left, a \"b\"\n");
    }
}

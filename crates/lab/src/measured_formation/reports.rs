//! The reports of sender and run as a measured point.

use crate::measured_link::reports::{count, json, locations, number, wrong};
use crate::measured_link::{MeasureError, MeasuredPoint};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What was measured at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormationPoint {
    /// Packets and their rates. Lost are those that never came, and those whose events were not taken by the output.
    pub packets: MeasuredPoint,
    /// Bytes of UDP payload sent.
    pub bytes: u64,
    /// Readouts in the packets.
    pub readouts: u64,
    /// Events formed.
    pub events: u64,
    /// How long sending took, in seconds.
    pub seconds: f64,
    /// Processor time of all threads of the run, spinning for packets included.
    pub processor: Duration,
}

impl FormationPoint {
    /// A count per second of sending.
    pub fn per_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    /// Cores that the run has used, on average.
    pub fn cores(&self) -> f64 {
        if self.seconds > 0.0 { self.processor.as_secs_f64() / self.seconds } else { 0.0 }
    }
}

/// How many packets the sender says that it has sent.
pub(super) fn packets_sent(report: &Path) -> Result<u64, MeasureError> {
    count(&json(report)?, "/packets").map_err(|problem| wrong(report, problem))
}

/// Joins both, and gives the run's report for whatever else is in it; the run was at work for `behind` after the last packet was sent.
pub(super) fn join(
    sent: &Path,
    run: &Path,
    behind: Duration,
    processor: Duration,
) -> Result<(FormationPoint, Value), MeasureError> {
    let (sender, report) = (json(sent)?, json(run)?);
    let point = point(&sender, &report, behind, processor)
        .map_err(|(is_senders, problem)| wrong(if is_senders { sent } else { run }, problem))?;
    Ok((point, report))
}

fn point(
    sender: &Value,
    report: &Value,
    behind: Duration,
    processor: Duration,
) -> Result<FormationPoint, (bool, String)> {
    let (of_sender, of_run) = (|problem| (true, problem), |problem| (false, problem));
    let sent = count(sender, "/packets").map_err(of_sender)?;
    let seconds = number(sender, "/elapsed_s").map_err(of_sender)?;
    let bytes = count(sender, "/bytes").map_err(of_sender)?;
    let received = count(report, "/streams/0/packets/received").map_err(of_run)?;
    let unaccounted = count(report, "/streams/0/unaccounted").map_err(of_run)?;
    if unaccounted > 0 {
        return Err((false, format!("leaves {unaccounted} unaccounted for: its figures are worth nothing")));
    }
    let outputs = report["outputs"].as_array().into_iter().flatten();
    let of_output = |output: &Value, name: &str| output["events"][name].as_u64().unwrap_or(0);
    let not_taken: u64 =
        outputs.map(|output| of_output(output, "dropped") + of_output(output, "missed")).sum();
    let came = received.min(sent);
    let located = locations(&report["streams"][0]).map_err(of_run)?;
    let per_second = |count: u64, seconds: f64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    Ok(FormationPoint {
        packets: MeasuredPoint {
            sent,
            received: came,
            // An event that an output did not take is a loss, whatever packet it is of.
            lost: (sent - came).max(u64::from(not_taken > 0)),
            sent_per_second: per_second(sent, seconds),
            received_per_second: per_second(came, seconds + behind.as_secs_f64()),
            locations: all_located(located, sent - came, not_taken > 0),
            ..MeasuredPoint::default()
        },
        bytes,
        readouts: count(report, "/streams/0/readouts").map_err(of_run)?,
        events: count(report, "/streams/0/events").map_err(of_run)?,
        seconds,
        processor,
    })
}

/// Every lost packet with its location. Those that the run cannot know of, as no later number came, are `unlocated`, too; events that an
/// output did not take are one packet of that output.
fn all_located(
    mut located: BTreeMap<String, u64>,
    lost: u64,
    is_output_lossy: bool,
) -> BTreeMap<String, u64> {
    let known: u64 = located.values().sum();
    if lost > known {
        *located.entry("unlocated".to_owned()).or_default() += lost - known;
    }
    if lost == 0 && is_output_lossy {
        located.insert("output".to_owned(), 1);
    }
    located
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(received: u64, dropped: u64, unaccounted: u64) -> Result<FormationPoint, (bool, String)> {
        let sender = json!({"packets": 1000, "bytes": 9_000_000, "elapsed_s": 2.0});
        let report = json!({
            "streams": [{"packets": {"received": received, "unlocated": 2, "locations": {"socket buffer": 3}}, "readouts": 50_000, "events": 10_000, "unaccounted": unaccounted}],
            "outputs": [{"events": {"dropped": dropped, "missed": 0}}],
        });
        point(&sender, &report, Duration::ZERO, Duration::from_secs(3))
    }

    #[test]
    fn rates_are_those_of_sending_and_cores_those_of_the_run() {
        let point = made(1000, 0, 0).unwrap();
        assert!(point.packets.is_sustained());
        assert_eq!(
            (point.packets.sent_per_second, point.per_second(point.events), point.cores()),
            (500.0, 5000.0, 1.5)
        );
    }

    #[test]
    fn what_was_not_received_or_not_taken_is_a_loss_and_what_is_unaccounted_is_refused() {
        let lost = made(990, 0, 0).unwrap().packets;
        assert_eq!((lost.lost, lost.locations.values().sum()), (10, 10), "{lost:?}");
        assert_eq!((lost.locations["socket buffer"], lost.locations["unlocated"]), (3, 7));
        assert!(!made(1000, 1, 0).unwrap().packets.is_whole());
        assert!(made(1000, 0, 2).unwrap_err().1.contains("2 unaccounted"));
    }

    #[test]
    fn a_run_that_needs_longer_than_sending_takes_does_not_keep_up() {
        let sender = json!({"packets": 1000, "bytes": 1, "elapsed_s": 2.0});
        let report = json!({"streams": [{"packets": {"received": 1000, "unlocated": 0}, "readouts": 1, "events": 1, "unaccounted": 0}]});
        let late = point(&sender, &report, Duration::from_secs(1), Duration::ZERO).unwrap();
        assert!(late.packets.is_whole() && !late.packets.is_sustained());
    }
}

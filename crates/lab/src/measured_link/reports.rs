//! The report of `evforge receive` as a measured point.

use super::{FirstSecondPoint, MeasureError, MeasuredPoint};
use evforge_core::whole_file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a report of evforge.
pub(crate) fn json(path: &Path) -> Result<Value, MeasureError> {
    let text = whole_file::bytes(path, whole_file::RESULTS);
    let text = text.map_err(|error| wrong(path, format!("cannot be read: {error}")))?;
    serde_json::from_slice(&text).map_err(|error| wrong(path, format!("is not JSON: {error}")))
}

/// That a report cannot be used.
pub(crate) fn wrong(path: &Path, problem: String) -> MeasureError {
    MeasureError::Report { path: path.to_owned(), problem }
}

/// A count of a report.
pub(crate) fn count(report: &Value, pointer: &str) -> Result<u64, String> {
    report.pointer(pointer).and_then(Value::as_u64).ok_or_else(|| missing(pointer))
}

/// A number of a report.
pub(crate) fn number(report: &Value, pointer: &str) -> Result<f64, String> {
    report.pointer(pointer).and_then(Value::as_f64).ok_or_else(|| missing(pointer))
}

fn missing(pointer: &str) -> String {
    format!("has no {pointer}")
}

/// Where packets were lost, of what has `packets` in it; what no counter explains is `unlocated`.
pub(crate) fn locations(report: &Value) -> Result<BTreeMap<String, u64>, String> {
    let mut locations: BTreeMap<String, u64> = BTreeMap::new();
    for group in ["locations", "inferred_locations"] {
        for (name, packets) in report["packets"][group].as_object().into_iter().flatten() {
            *locations.entry(name.clone()).or_default() += packets.as_u64().unwrap_or(0);
        }
    }
    locations.insert("unlocated".to_owned(), count(report, "/packets/unlocated")?);
    locations.retain(|_, packets| *packets > 0);
    Ok(locations)
}

/// Reads the receiver's report, which has the sender's in it.
pub(super) fn read(path: &Path) -> Result<MeasuredPoint, MeasureError> {
    point(&json(path)?).map_err(|problem| wrong(path, problem))
}

/// What is missing is named.
fn point(report: &Value) -> Result<MeasuredPoint, String> {
    let count = |pointer: &str| count(report, pointer);
    let rate = |pointer: &str| number(report, pointer);
    let mismatches = report["mismatches"].as_array().ok_or_else(|| missing("/mismatches"))?;
    if let Some(mismatch) = mismatches.iter().find_map(Value::as_str) {
        return Err(format!("says: {mismatch}"));
    }
    Ok(MeasuredPoint {
        sent: count("/packets/sent")?,
        received: count("/packets/received")?,
        lost: count("/packets/lost")?,
        reordered: count("/packets/reordered")?,
        duplicated: count("/packets/duplicated")?,
        sent_per_second: rate("/sent/0/packets_per_second")?,
        peak_per_second: report.pointer("/sent/0/pulses/peak_packets_per_second").and_then(Value::as_f64),
        received_per_second: rate("/packets_per_second")?,
        bits_per_second: rate("/bits_per_second")?,
        first_second: first_second(report)?,
        granted_buffer: report["buffer_bytes"].as_u64(),
        error_ratio: report["packet_error_ratio"].as_f64(),
        error_ratio_bound: report["loss_upper_bound"].as_f64(),
        receiver_ns: report.pointer("/processor/ns_per_packet").and_then(Value::as_f64),
        retransmitted: report.pointer("/sent/0/retransmitted").and_then(Value::as_u64),
        locations: locations(report)?,
        ..MeasuredPoint::default()
    })
}

/// The first second, if there was more than that.
fn first_second(report: &Value) -> Result<Option<FirstSecondPoint>, String> {
    let number = |pointer: &str| number(report, pointer);
    let Some(bits_per_second) = report.pointer("/first_second/bits_per_second").and_then(Value::as_f64)
    else {
        return Ok(None);
    };
    let (seconds, lost) = (number("/seconds")?, count(report, "/packets/lost")?);
    // What was missing then may have come later.
    let lost_then = count(report, "/first_second/missing")?.min(lost);
    let later = seconds - 1.0;
    let bits = number("/bits_per_second")? * seconds - bits_per_second;
    Ok((later > 0.0).then(|| FirstSecondPoint {
        bits_per_second,
        lost: lost_then,
        later_bits_per_second: bits / later,
        later_lost: lost - lost_then,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({
            "packets": {"sent": 100, "received": 90, "lost": 10, "reordered": 1, "duplicated": 0, "unlocated": 3,
                "locations": {"socket buffer": 5}, "inferred_locations": {"kernel backlog": 2}},
            "sent": [{"packets_per_second": 1000.0}],
            "packets_per_second": 900.0,
            "bits_per_second": 7200.0,
            "packet_error_ratio": 0.1,
            "loss_upper_bound": 0.2,
            "processor": {"ns_per_packet": 500.0},
            "mismatches": [],
        })
    }

    #[test]
    fn every_lost_packet_has_a_location() {
        let point = point(&report()).expect("a point");
        assert_eq!(point.locations.values().sum::<u64>(), point.lost);
        assert!(!point.is_whole());
        assert_eq!((point.sent, point.received, point.error_ratio), (100, 90, Some(0.1)));
    }

    #[test]
    fn what_was_lost_in_the_first_second_and_later_is_what_was_lost() {
        let mut report = report();
        let set = |report: &mut Value, seconds: f64, bits: Value| {
            report["seconds"] = seconds.into();
            report["first_second"] =
                json!({"packets": 40, "bytes": 400, "missing": 4, "bits_per_second": bits});
        };
        set(&mut report, 0.5, Value::Null);
        assert_eq!(point(&report).expect("a point").first_second, None);
        set(&mut report, 3.0, 3200.0.into());
        let first = point(&report).expect("a point").first_second.expect("longer than a second");
        assert_eq!((first.lost, first.later_lost), (4, 6));
        assert_eq!(
            (first.bits_per_second, first.later_bits_per_second),
            (3200.0, (3.0 * 7200.0 - 3200.0) / 2.0)
        );
        // Late ones are not lost.
        report["first_second"]["missing"] = 14.into();
        let first = point(&report).expect("a point").first_second.expect("longer than a second");
        assert_eq!((first.lost, first.later_lost), (10, 0));
    }

    #[test]
    fn a_report_without_a_figure_or_with_a_mismatch_is_refused_by_its_name() {
        let mut without = report();
        without["packets"].as_object_mut().expect("an object").remove("lost");
        assert_eq!(point(&without), Err("has no /packets/lost".into()));
        let mut foreign = report();
        foreign["mismatches"] = json!(["flow 0 is in no sender's report"]);
        assert_eq!(point(&foreign), Err("says: flow 0 is in no sender's report".into()));
    }
}

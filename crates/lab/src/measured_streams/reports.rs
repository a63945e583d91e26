//! A stream of the report of `evforge drop receive` as a measured point.

use crate::measured_link::MeasuredPoint;
use crate::measured_link::reports::{count, locations, number};
use serde_json::Value;

/// What a worker may need behind the last packet, in seconds, before it is said to be slower than its stream: the thread that receives hands
/// the last piece over when it has waited 20 ms for more, and then there is that piece, and a tick of the scheduler.
const TO_END: f64 = 0.030;

/// A stream, with the sender's report in it. What is missing is named.
pub(super) fn point(stream: &Value) -> Result<MeasuredPoint, String> {
    let count = |pointer: &str| count(stream, pointer);
    let mismatches = stream["mismatches"].as_array().ok_or("has no /mismatches")?;
    if let Some(mismatch) = mismatches.iter().find_map(Value::as_str) {
        return Err(format!("says: {mismatch}"));
    }
    let point = MeasuredPoint {
        sent: count("/sent/packets")?,
        received: count("/packets/received")?,
        lost: count("/packets/lost")?,
        reordered: count("/packets/reordered")?,
        duplicated: count("/packets/duplicated")?,
        sent_per_second: number(stream, "/sent/packets_per_second")?,
        error_ratio_bound: stream["loss_upper_bound"].as_f64(),
        locations: locations(stream)?,
        ..MeasuredPoint::default()
    };
    if point.sent + point.duplicated != point.received + point.lost {
        return Err(format!(
            "does not account for all packets: {} sent and {} duplicated, {} received and {} lost",
            point.sent, point.duplicated, point.received, point.lost
        ));
    }
    let located: u64 = point.locations.values().sum();
    if located != point.lost {
        return Err(format!("has locations of {located} packets, but {} were lost", point.lost));
    }
    let seconds = seconds(stream)?;
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    // One of the two is 0: words are counted, or they are not.
    let counted = (count("/counters/packets_counted")? + count("/counters/packets_not_counted")?) as f64;
    let bytes = stream.pointer("/counters/payload_bytes").and_then(Value::as_f64);
    Ok(MeasuredPoint {
        received_per_second: per_second(counted),
        bits_per_second: bytes.map_or(0.0, |bytes| per_second(8.0 * bytes)),
        error_ratio: (point.sent > 0).then(|| point.lost as f64 / point.sent as f64),
        ..point
    })
}

/// From the first packet to the moment when the last one had been dealt with. Without a worker that is when it came.
fn seconds(stream: &Value) -> Result<f64, String> {
    let arriving = number(stream, "/seconds")?;
    let Some(working) = stream.pointer("/worker/seconds").and_then(Value::as_f64) else {
        return Ok(arriving);
    };
    Ok(arriving + (working - arriving - TO_END).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        json!({
            "packets": {"sent": 100, "received": 90, "lost": 10, "reordered": 1, "duplicated": 0, "unlocated": 1,
                "locations": {"own queue": 7, "socket buffer": 2}},
            "sent": {"packets": 100, "packets_per_second": 1000.0},
            "counters": {"packets_counted": 90, "packets_not_counted": 0, "payload_bytes": 9000},
            "seconds": 0.1,
            "worker": {"seconds": 0.1},
            "mismatches": [],
        })
    }

    #[test]
    fn a_worker_that_needs_longer_than_its_packets_came_has_a_lower_rate() {
        let in_time = point(&report()).expect("a point");
        assert_eq!((in_time.sent, in_time.lost, in_time.locations["own queue"]), (100, 10, 7));
        assert_eq!((in_time.received_per_second, in_time.bits_per_second), (900.0, 720_000.0));
        let mut late = report();
        late["worker"]["seconds"] = json!(0.1 + TO_END + 0.1);
        let late = point(&late).expect("a point");
        assert!((late.received_per_second - 450.0).abs() < 1e-6, "{late:?}");
        let mut without = report();
        without["worker"] = Value::Null;
        assert_eq!(point(&without), Ok(in_time));
    }

    #[test]
    fn a_report_that_does_not_account_for_every_packet_is_refused() {
        for (pointer, value, expected) in [
            ("/packets/received", json!(89), "does not account for all packets"),
            ("/packets/unlocated", json!(0), "locations of 9 packets"),
            ("/sent/packets", Value::Null, "has no /sent/packets"),
            ("/mismatches", json!(["is it of this run?"]), "says: is it of this run?"),
        ] {
            let mut wrong = report();
            *wrong.pointer_mut(pointer).expect(pointer) = value;
            let said = point(&wrong).expect_err(pointer);
            assert!(said.contains(expected), "{said}");
        }
    }
}

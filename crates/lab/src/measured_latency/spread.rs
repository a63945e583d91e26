//! How the latencies of many events were spread.

use evforge_net::lateness::Lateness;
use serde_json::Value;

/// How the latencies of many events were spread, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySpread {
    /// Events that were looked at; messages where a broker acknowledges them.
    pub events: u64,
    /// Half of them had at most this.
    pub p50: f64,
    /// 99 % of them.
    pub p99: f64,
    /// 99.9 % of them; none if the run does not say it.
    pub p999: Option<f64>,
    /// The longest; none if the run does not say it.
    pub largest: Option<f64>,
}

impl LatencySpread {
    /// Of what a report of a run has below `latency`; none if it looked at no event.
    ///
    /// # Errors
    /// The figure that is missing.
    pub(super) fn of_report(latency: &Value) -> Result<Option<Self>, String> {
        if latency.is_null() {
            return Ok(None);
        }
        let seconds =
            |name: &str| latency[name].as_f64().ok_or_else(|| format!("has no {name} in a latency"));
        Ok(Some(Self {
            events: latency["events"].as_u64().ok_or("has no events in a latency")?,
            p50: seconds("p50_s")?,
            p99: seconds("p99_s")?,
            p999: Some(seconds("p99.9_s")?),
            largest: Some(seconds("largest_s")?),
        }))
    }

    /// Of what an output to Kafka counts itself: from arrival until a broker had acknowledged, each message once. None of another
    /// output, and if nothing was acknowledged.
    ///
    /// # Errors
    /// The figure that is missing.
    pub(super) fn of_kafka(counters: &Value) -> Result<Option<Self>, String> {
        let Some(messages) = counters["messages_acknowledged"].as_u64().filter(|messages| *messages > 0)
        else {
            return Ok(None);
        };
        let seconds = |name: &str| {
            let microseconds =
                counters[name].as_f64().ok_or_else(|| format!("has no {name} in the counters of an output"));
            microseconds.map(|microseconds| microseconds / 1e6)
        };
        Ok(Some(Self {
            events: messages,
            p50: seconds("acknowledged_after_p50")?,
            p99: seconds("acknowledged_after_p99")?,
            p999: None,
            largest: None,
        }))
    }

    /// Of what was counted here; none if nothing was.
    pub(super) fn of(lateness: &Lateness) -> Option<Self> {
        let below = |share| lateness.below(share).as_secs_f64();
        (lateness.count() > 0).then(|| Self {
            events: lateness.count(),
            p50: below(0.5),
            p99: below(0.99),
            p999: Some(below(0.999)),
            largest: Some(lateness.largest().as_secs_f64()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_latency_of_a_report_is_read_and_what_is_missing_is_named() {
        let mut latency =
            json!({"events": 32, "p50_s": 0.05, "p99_s": 0.1, "p99.9_s": 0.11, "largest_s": 0.12});
        let expected =
            LatencySpread { events: 32, p50: 0.05, p99: 0.1, p999: Some(0.11), largest: Some(0.12) };
        assert_eq!(LatencySpread::of_report(&latency), Ok(Some(expected)));
        assert_eq!(LatencySpread::of_report(&Value::Null), Ok(None));
        latency.as_object_mut().expect("an object").remove("p99.9_s");
        assert_eq!(LatencySpread::of_report(&latency), Err("has no p99.9_s in a latency".into()));
    }

    #[test]
    fn what_a_broker_has_acknowledged_is_known_by_message() {
        let counters = json!({"messages_acknowledged": 7, "acknowledged_after_p50": 2000, "acknowledged_after_p99": 50_000});
        let expected = LatencySpread { events: 7, p50: 0.002, p99: 0.05, p999: None, largest: None };
        assert_eq!(LatencySpread::of_kafka(&counters), Ok(Some(expected)));
        assert_eq!(LatencySpread::of_kafka(&json!({"accepted": 5})), Ok(None));
        assert!(LatencySpread::of_kafka(&json!({"messages_acknowledged": 7})).unwrap_err().contains("p50"));
    }

    #[test]
    fn what_is_counted_has_the_same_figures() {
        let mut lateness = Lateness::default();
        assert_eq!(LatencySpread::of(&lateness), None);
        lateness.add_many(1_000_000, 999);
        lateness.add(2_000_000_000);
        let spread = LatencySpread::of(&lateness).expect("figures");
        assert_eq!((spread.events, spread.largest), (1000, Some(2.0)));
        assert!((0.001..0.00104).contains(&spread.p50) && Some(spread.p50) == spread.p999, "{spread:?}");
    }
}

//! Numbers, counters and addresses as reports have them.

use evforge_core::counter::CounterSnapshot;
pub use evforge_core::quantity::grouped;
use serde_json::{Map, Value, json};
use std::net::SocketAddr;

/// A number with three digits and a prefix: 12.3 M.
pub fn scaled(value: f64) -> String {
    let (value, prefix) = match value {
        value if value >= 1e9 => (value / 1e9, " G"),
        value if value >= 1e6 => (value / 1e6, " M"),
        value if value >= 1e3 => (value / 1e3, " k"),
        value => (value, ""),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{prefix}")
}

/// Addresses as people read them.
pub(crate) fn listed(addresses: &[SocketAddr]) -> String {
    let names: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    names.join(", ")
}

/// Counters that had another name until release 0.2: former and present name. Reports have both until release 0.3.
const FORMER_NAMES: [(&str, &str); 6] = [
    ("leaps", "forward_jumps"),
    ("unconfirmed_leap", "unconfirmed_jump"),
    ("beside", "kernel_socket"),
    ("idle_packets", "heartbeats"),
    ("packets_no_idle_time", "packets_no_heartbeat_time"),
    ("mean_values", "averages"),
];

/// Counters as JSON, by name.
pub(crate) fn counters_json(counters: &CounterSnapshot) -> Value {
    let mut json: Map<String, Value> =
        counters.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect();
    for (former, present) in FORMER_NAMES {
        if let Some(value) = json.get(present).cloned() {
            json.insert(former.to_owned(), value);
        }
    }
    Value::Object(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    evforge_core::counters! {
        /// Counters, one of which was renamed.
        struct Counters: "test" {
            forward_jumps: Information, Times, "Jumps.";
            hits: Information, Hits, "Hits.";
        }
    }

    #[test]
    fn a_renamed_counter_is_there_under_both_names() {
        let counters = Counters { forward_jumps: 3, hits: 5 };
        let found = counters_json(&CounterSnapshot::of(&counters));
        assert_eq!(found, json!({ "forward_jumps": 3, "leaps": 3, "hits": 5 }));
    }
}

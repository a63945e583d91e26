//! Numbers, counters and addresses as reports have them.

use evforge_core::counter::CounterSnapshot;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// A count in groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

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

/// Counters as JSON, by name.
pub(crate) fn counters_json(counters: &CounterSnapshot) -> Value {
    Value::Object(counters.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect())
}

//! x
use crate::reading;
use evforge_core::counter::CounterInfo;

/// The name of a counter of a stage for Prometheus, as it is in queries.
pub fn counter_family(stage: &str, info: &CounterInfo) -> String {
    let total = if info.is_cumulative() { "_total" } else { "" };
    reading::family(stage, info.name, reading::unit(info.unit)) + total
}
/// x
pub fn document() -> String {
    String::new()
}

//! The names of the reference (the EFU of the ESS, as of March 2026) for counters that mean the same.
//!
//! One table: lines, `docs/metrics.md` and the tests are made of it. A counter of the reference that is not in it has nothing
//! here that means the same, or means something else than its name says.

use crate::reading::Value;

/// A counter of the reference, and what means the same here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Same {
    /// Its name behind the prefix. `*` stands for the name of an output.
    pub name: &'static str,
    /// The paths whose sum it is; `*` is the same output. It is there if the first of them is.
    pub of: &'static [&'static str],
    /// What differs, if anything does.
    pub note: &'static str,
}

const fn same(name: &'static str, of: &'static [&'static str]) -> Same {
    Same { name, of, note: "" }
}

const fn but(name: &'static str, of: &'static [&'static str], note: &'static str) -> Same {
    Same { name, of, note }
}

/// Every counter of the reference that has its like here.
pub const REFERENCE: &[Same] = &[
    same("receive.packets", &["receive.packets"]),
    same("receive.bytes", &["receive.bytes"]),
    but(
        "receive.dropped",
        &["loss.own_queue.packets"],
        "Packets that found the queue between receiving and forming full.",
    ),
    but("main.uptime", &["process.uptime_seconds"], "Whole seconds."),
    same("parser.essheader.errors.buffer", &["detector.packets_empty"]),
    same("parser.essheader.errors.size", &["detector.packets_wrong_length"]),
    same("parser.essheader.errors.pad", &["detector.packets_wrong_padding"]),
    same("parser.essheader.errors.cookie", &["detector.packets_wrong_cookie"]),
    same("parser.essheader.errors.version", &["detector.packets_wrong_version"]),
    same("parser.essheader.errors.type", &["detector.packets_wrong_type"]),
    same("parser.essheader.errors.output_queue", &["detector.packets_wrong_output_queue"]),
    same("parser.essheader.errors.timefrac", &["detector.packets_wrong_time_fraction"]),
    same("parser.essheader.errors.timing", &["detector.time_source_timing"]),
    same("parser.essheader.errors.time_status", &["detector.time_source_status"]),
    same("parser.essheader.errors.even_fibre_sync", &["detector.even_fibre_sync_lost"]),
    same("parser.essheader.errors.odd_fibre_sync", &["detector.odd_fibre_sync_lost"]),
    same("parser.essheader.heartbeats", &["detector.heartbeats"]),
    same("parser.essheader.version.v0", &["detector.version_0_packets"]),
    same("parser.essheader.version.v1", &["detector.version_1_packets"]),
    same("readouts.count", &["run.readouts"]),
    same("readouts.over_threshold", &["detector.over_threshold"]),
    same("readouts.bccalib", &["detector.calibration_readouts"]),
    same("readouts.adc_max", &["detector.full_scale"]),
    same("readouts.error_adc", &["detector.impossible_amplitude"]),
    same("readouts.error_bc", &["detector.impossible_bunch_crossing"]),
    same("readouts.error_channel", &["detector.impossible_channel"]),
    same("readouts.error_datalen", &["detector.wrong_length"]),
    same("readouts.error_fen", &["detector.impossible_fen"]),
    same("readouts.error_fiber", &["detector.impossible_fibre"]),
    same("readouts.error_timefrac", &["detector.wrong_time_fraction"]),
    same("readouts.error_vmm", &["detector.impossible_chip"]),
    but(
        "readouts.error_mapping",
        &[
            "detector.unmapped_ring",
            "detector.unmapped_fen",
            "detector.unmapped_hybrid",
            "detector.unmapped_channel",
        ],
        "Four reasons here, one there.",
    ),
    same("events.count", &["run.events"]),
    but(
        "producer.*.msg.delivery_success",
        &["output.*.messages_acknowledged"],
        "The name is that of the output, `kafka` unless the table is called otherwise.",
    ),
    but(
        "producer.*.stat_events",
        &["output.*.committed"],
        "Events whose messages the brokers have acknowledged.",
    ),
    same("producer.*.brokers.tx_req_retries", &["output.*.requests_retried"]),
    same("producer.*.error.msg_timeout", &["output.*.failed_timed_out"]),
    same("producer.*.error.msg_size", &["output.*.failed_too_large"]),
    same("producer.*.error.unknown_topic", &["output.*.failed_unknown_topic"]),
    same("producer.*.error.authentication", &["output.*.failed_not_authorised"]),
];

impl Same {
    /// Names and values: one for each output where there is a `*`, and otherwise one or none.
    pub(super) fn values(
        &self,
        outputs: &[String],
        value: impl Fn(&str) -> Option<Value>,
    ) -> Vec<(String, u64)> {
        let one = |output: &str| {
            let paths = self.of.iter().map(|path| path.replace('*', output));
            let values: Vec<Option<u64>> = paths.map(|path| value(&path).map(whole)).collect();
            // Only an output of Kafka has messages.
            let is_there = values.iter().all(Option::is_some)
                && (!self.name.contains('*')
                    || value(&format!("output.{output}.messages_acknowledged")).is_some());
            let sum = values.into_iter().flatten().fold(0, u64::saturating_add);
            is_there.then(|| (self.name.replace('*', output), sum))
        };
        match self.name.contains('*') {
            true => outputs.iter().filter_map(|output| one(output)).collect(),
            false => one("").into_iter().collect(),
        }
    }
}

/// The reference has whole numbers.
fn whole(value: Value) -> u64 {
    match value {
        Value::Whole(value) => value,
        Value::Real(value) => value as u64,
        Value::Millionths(value) => value / 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_there_if_all_of_it_is() {
        let same = but("sum", &["a", "b"], "");
        let value = |path: &str| (path == "a").then_some(Value::Whole(1));
        assert_eq!(same.values(&[], value), []);
        assert_eq!(same.values(&[], |_| Some(Value::Millionths(2_700_000))), [("sum".to_owned(), 4)]);
    }

    #[test]
    fn each_output_of_kafka_has_names_of_its_own() {
        let same = same("producer.*.stat_events", &["output.*.committed"]);
        let outputs = ["kafka".to_owned(), "csv".to_owned()];
        let value = |path: &str| {
            let known =
                ["output.kafka.committed", "output.kafka.messages_acknowledged", "output.csv.committed"];
            known.contains(&path).then_some(Value::Whole(3))
        };
        assert_eq!(same.values(&outputs, value), [("producer.kafka.stat_events".to_owned(), 3)]);
    }

    #[test]
    fn every_name_is_there_once_and_none_differs_from_ours_in_meaning() {
        let mut names: Vec<_> = REFERENCE.iter().map(|same| same.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REFERENCE.len());
        // A name that is ours as well must be that counter.
        for same in REFERENCE.iter().filter(|same| same.of.contains(&same.name)) {
            assert_eq!(same.of.len(), 1, "{}", same.name);
        }
    }
}

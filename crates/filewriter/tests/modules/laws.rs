//! Whatever comes, in whatever order, with a restart at whatever moment: a message that is refused leaves nothing, rows of a group
//! that belong together are as many, they are the sum over the messages, and a restart changes nothing.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{Written, plain};
use evforge_messages::da00::Variable;
use evforge_messages::f142::AlarmStatus;
use evforge_messages::{Da00, Encoder, Message, decode, examples, f142, f144};
use evforge_stream::storage::raw_rows::read_rows;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The modules under test, with settings that some of the examples fit.
fn modules() -> Vec<(&'static str, Value)> {
    let array = json!({"name": "signal", "data_type": "int16", "shape": [2, 3]});
    let constant = json!({"name": "total", "data_type": "float", "shape": [1]});
    vec![
        ("ev44", json!({"cue_interval": 7, "chunk_size": 5})),
        ("ev44", json!({"layout": "evforge", "chunk_size": 5, "vetoes": ["a"]})),
        ("ev44", json!({"layout": "evforge", "pixels": [1, 1 << 30]})),
        ("ev42", json!({"chunk_size": 3})),
        ("ev42", json!({"layout": "evforge"})),
        ("f144", json!({"dtype": "int16", "cue_interval": 3, "chunk_size": 2})),
        ("f142", json!({"chunk_size": 3})),
        ("al00", plain()),
        ("ep01", plain()),
        ("se00", json!({"dtype": "float", "chunk_size": 4})),
        ("senv", json!({"dtype": "uint16"})),
        ("tdct", json!({"chunk_size": 2})),
        ("ad00", json!({"array_size": [2, 3], "cue_interval": 2})),
        ("da00", json!({"variables": [array], "constants": [constant], "cue_interval": 2, "chunk_size": 6})),
        ("da00", json!({"accumulate": true, "shape": [2, 3], "axes": ["x", "y"]})),
        ("hs01", json!({"dtype": "double", "shape": [2, 3], "axes": ["x", "y"]})),
        ("ar51", json!({"chunk_size": 4})),
        ("pu00", json!({"chunk_size": 2})),
        ("evforge_ledger", json!({"chunk_size": 2})),
    ]
}

/// Rows that a message adds to datasets, as the tables say; none if it is to be refused.
#[derive(Default)]
struct Model {
    /// The pulse that was begun last, of those in order and of late ones.
    pulses: [Option<i64>; 2],
    period: Option<u32>,
}

type Rows = Option<Vec<(&'static str, u64)>>;

impl Model {
    fn rows(&mut self, kind: &str, settings: &Value, message: &Message<'_>) -> Rows {
        let own = settings.get("layout").is_some();
        let rows = match (kind, message) {
            ("ev44", Message::Ev44(events)) => {
                let firsts: Vec<usize> =
                    events.reference_time_index.iter().map(|first| usize::try_from(first).unwrap()).collect();
                let ends = firsts.iter().skip(1).copied().chain([events.events()]);
                let pixels = events.pixel_id.to_vec();
                let count = |first: usize, end: usize| match settings.get("pixels") {
                    None => end - first,
                    Some(_) => {
                        let own = pixels.get(first..end).unwrap_or_default();
                        own.iter().filter(|pixel| (1..=1 << 30).contains(*pixel)).count()
                    }
                };
                let counts = firsts.iter().zip(ends).map(|(first, end)| count(*first, end) as u64);
                let pulses: Vec<(i64, u64)> = events.reference_time.iter().zip(counts).collect();
                self.event_rows(own, &pulses, events.events() > 0)
            }
            ("ev42", Message::Ev42(events)) => {
                let count = events.time_of_flight.len() as u64;
                self.event_rows(own, &[(i64::try_from(events.pulse_time).unwrap(), count)], count > 0)
            }
            ("f144", Message::F144(log)) if matches!(log.value, f144::Value::Scalar(_)) => {
                vec![("value", 1), ("time", 1)]
            }
            ("f142", Message::F142(log)) if matches!(log.value, f142::Value::Scalar(_)) => {
                let alarm = u64::from(log.status != AlarmStatus::NoChange);
                vec![
                    ("value", 1),
                    ("time", 1),
                    ("alarm_status", alarm),
                    ("alarm_severity", alarm),
                    ("alarm_time", alarm),
                ]
            }
            ("al00", Message::Al00(_)) => {
                vec![("alarm_message", 1), ("alarm_time", 1), ("alarm_severity", 1)]
            }
            ("ep01", Message::Ep01(_)) => vec![("connection_status", 1), ("connection_status_time", 1)],
            ("se00", Message::Se00(samples)) => sample_rows(samples.values.len()),
            ("senv", Message::Senv(samples)) => sample_rows(samples.values.len()),
            ("tdct", Message::Tdct(stamps)) => sample_rows(stamps.timestamps.len())[1..].to_vec(),
            ("ad00", Message::Ad00(frame)) if frame.dimensions == [2, 3] => vec![("value", 1), ("time", 1)],
            ("da00", Message::Da00(array))
                if array.variable("signal").is_some_and(|signal| signal.shape == [2, 3]) =>
            {
                if settings.get("accumulate").is_some() { vec![] } else { vec![("signal", 1), ("time", 1)] }
            }
            ("hs01", Message::Hs01(histogram)) if histogram.current_shape == [2, 3] => vec![],
            ("ar51", Message::Ar51(packet)) => {
                vec![("data", packet.raw_data.len() as u64), ("data_index", 1), ("message_id", 1)]
            }
            ("pu00", Message::Pu00(pulse)) => {
                let is_new = pulse.period_number.is_some() && pulse.period_number != self.period;
                self.period = pulse.period_number.or(self.period);
                let change = u64::from(is_new);
                let each = ["time", "period_number", "vetoes", "proton_charge"].map(|name| (name, 1));
                [&each[..], &[("period_log/value", change), ("period_log/time", change)]].concat()
            }
            ("evforge_ledger", Message::Da00(row)) if row.variable("complete").is_some() => {
                ["time", "source_name", "complete", "reference_time", "live_fraction"]
                    .map(|name| (name, 1))
                    .to_vec()
            }
            _ => return None,
        };
        Some(rows)
    }

    /// Rows of pulses with their events, in order and late.
    fn event_rows(&mut self, own: bool, pulses: &[(i64, u64)], has_events: bool) -> Vec<(&'static str, u64)> {
        let mut rows = Vec::new();
        for (pulse, events) in pulses.iter().filter(|_| own || has_events) {
            let is_late = self.pulses[0].is_some_and(|newest| *pulse < newest);
            let is_new = self.pulses[usize::from(is_late)].replace(*pulse) != Some(*pulse);
            let record = u64::from(!own || is_new);
            let (of_events, of_pulses) = match is_late {
                false => (["event_id", "event_time_offset"], ["event_time_zero", "event_index"]),
                true => (
                    ["events_late/event_id", "events_late/event_time_offset"],
                    ["events_late/event_time_zero", "events_late/event_index"],
                ),
            };
            rows.extend(of_events.map(|name| (name, *events)));
            rows.extend(of_pulses.map(|name| (name, record)));
        }
        rows
    }
}

fn sample_rows(count: usize) -> Vec<(&'static str, u64)> {
    let cue = u64::from(count > 0);
    vec![("value", count as u64), ("time", count as u64), ("cue_index", cue), ("cue_timestamp_zero", cue)]
}

/// A message of the ledger, which the examples do not have.
fn ledger(seed: u64) -> Vec<u8> {
    let (complete, fraction, time) = ([seed.cast_signed() % 2], [0.5], [i64::from(seed as u32)]);
    let data = vec![
        Variable::single("complete", None, &complete),
        Variable::single("live_fraction", None, &fraction),
        Variable::single("reference_time", Some("ns"), &time),
    ];
    Da00 { source_name: "source", timestamp: time[0], data }.encode(&mut Encoder::new()).to_vec()
}

/// Messages of a seed that are the module's, and one that is not.
fn messages(kind: &str, seed: u64) -> Vec<Vec<u8>> {
    let schemas: &[&str] = match kind {
        "evforge_ledger" | "da00" => &["da00"],
        "ev44" => &["ev44", "da00"],
        other => &[other],
    };
    let is_own = |bytes: &Vec<u8>| schemas.contains(&std::str::from_utf8(&bytes[4..8]).unwrap_or_default());
    let all = examples::messages(seed);
    let foreign = all[usize::try_from(seed).unwrap_or(0) % all.len()].1.clone();
    let mut own: Vec<Vec<u8>> = all.into_iter().map(|(_, bytes)| bytes).filter(is_own).collect();
    own.push(foreign);
    if kind == "evforge_ledger" {
        own.push(ledger(seed));
    }
    own
}

/// The content of every dataset that grows or is set, but for cues that commits make.
fn content(file: &Written, own: bool) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let inner = file.group().groups().unwrap();
    for group in std::iter::once(file.group()).chain(inner) {
        for dataset in group.datasets().unwrap() {
            let name = dataset.name();
            if own && name.contains("/cue_") {
                continue;
            }
            let bytes = match dataset.shape().first() {
                Some(&rows) => read_rows(&dataset, 0, rows).unwrap(),
                None if dataset.dtype().unwrap().is::<f64>() => {
                    dataset.read_scalar::<f64>().unwrap().to_bits().to_ne_bytes().to_vec()
                }
                None => dataset.read_scalar::<u64>().unwrap().to_ne_bytes().to_vec(),
            };
            found.insert(name, bytes);
        }
    }
    found
}

fn check(kind: &str, settings: &Value, steps: &[(u64, bool)]) -> Result<(), TestCaseError> {
    let own = settings.get("layout").is_some();
    let mut file = Written::begin(kind, settings.clone());
    let mut straight = Written::begin(kind, settings.clone());
    let mut model = Model::default();
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for (seed, restarts) in steps {
        let pool = messages(kind, *seed);
        if *restarts {
            file.restart(&pool);
        }
        for bytes in &pool {
            let before = file.columns.all_rows();
            let written = file.write(bytes);
            prop_assert_eq!(&written, &straight.write(bytes));
            let message = decode(bytes).unwrap();
            match model.rows(kind, settings, &message) {
                Some(rows) => {
                    prop_assert!(written.is_ok(), "{} refuses {}: {:?}", kind, message, written);
                    rows.into_iter().for_each(|(name, rows)| *expected.entry(name).or_default() += rows);
                }
                None => {
                    prop_assert!(
                        written.is_err() || before == file.columns.all_rows(),
                        "{} {}",
                        kind,
                        message
                    );
                }
            }
            if written.is_err() {
                prop_assert_eq!(before, file.columns.all_rows());
            }
        }
    }
    file.close();
    straight.close();
    for (name, rows) in expected {
        prop_assert_eq!(file.dataset(name).shape()[0] as u64, rows, "{} of {}", name, kind);
    }
    prop_assert_eq!(file.module.events(), straight.module.events());
    let (found, straight) = (content(&file, own), content(&straight, own));
    for (name, bytes) in &found {
        prop_assert_eq!(Some(bytes), straight.get(name), "{} of {} {}", name, kind, settings);
    }
    prop_assert_eq!(found.len(), straight.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_the_sum_over_the_messages_and_restarts_change_nothing(
        steps in prop::collection::vec((any::<u64>(), prop::bool::weighted(0.3)), 1..8),
    ) {
        for (kind, settings) in modules() {
            check(kind, &settings, &steps)?;
        }
    }
}

//! What each module writes, as a table: datasets with their types, attributes and chunks. It is written from the facts about the
//! file writer of the ESS (kafka-to-nexus, the table of its modules) and, behind those, from what evforge's own modules promise.
//!
//! Chunks: as its `chunk_size` says, but for arrays that have one row for many of another (records of pulses, cues, the times of
//! arrays and frames): those have at most 256 rows in a chunk, since the last one is written whole with each commit.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{Written, plain};
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use serde_json::{Value, json};

/// A module with its settings, its class, and its datasets: name, type, attributes, rows of a chunk (0 for what does not grow).
type Row = (&'static str, Value, &'static str, Vec<Expected>);
type Expected = (&'static str, &'static str, &'static [(&'static str, &'static str)], usize);

const MIB: usize = 1 << 20;
const SLOW: usize = 256;
const EVENTS: usize = 8192;
const EPOCH: &str = "1970-01-01T00:00:00Z";
const NOTHING: &[(&str, &str)] = &[];
const NS: &[(&str, &str)] = &[("units", "ns")];
const TIME: &[(&str, &str)] = &[("start", EPOCH), ("units", "ns")];
const KELVIN: &[(&str, &str)] = &[("units", "K")];

fn cues(chunk: usize) -> [Expected; 2] {
    [("cue_index", "int64", NOTHING, chunk), ("cue_timestamp_zero", "int64", TIME, chunk)]
}

fn events(origin: &'static [(&'static str, &'static str)], chunk: usize, slow: usize) -> Vec<Expected> {
    let mut datasets = vec![
        ("event_time_offset", "int32", NS, chunk),
        ("event_id", "int32", NOTHING, chunk),
        ("event_time_zero", "uint64", origin, slow),
        ("event_index", "int64", NOTHING, slow),
    ];
    datasets.extend(cues(slow));
    datasets
}

fn log(value: Expected, chunk: usize) -> Vec<Expected> {
    let mut datasets = vec![value, ("time", "uint64", TIME, chunk)];
    datasets.extend(cues(chunk.min(SLOW)));
    datasets
}

fn with(mut datasets: Vec<Expected>, more: &[Expected]) -> Vec<Expected> {
    datasets.extend_from_slice(more);
    datasets
}

/// The scalars that a log has at its end.
fn closing(unit: &'static [(&'static str, &'static str)]) -> [Expected; 3] {
    ["minimum_value", "maximum_value", "average_value"].map(|name| (name, "float64", unit, 0))
}

fn of_the_reference() -> Vec<Row> {
    const NO_UNIT: &[(&str, &str)] = &[("units", "")];
    vec![
        ("ev44", plain(), "NXevent_data", events(TIME, EVENTS, SLOW)),
        ("ev44", json!({"chunk_size": 100}), "NXevent_data", events(TIME, 100, 100)),
        (
            "f144",
            json!({"dtype": "float", "value_units": "K"}),
            "NXlog",
            with(log(("value", "float32", KELVIN, 1024), 1024), &closing(KELVIN)),
        ),
        ("f144", plain(), "NXlog", with(log(("value", "float64", NO_UNIT, 1024), 1024), &closing(NO_UNIT))),
        (
            "f144",
            json!({"type": "short", "meta_data": false}),
            "NXlog",
            log(("value", "int16", NO_UNIT, 1024), 1024),
        ),
        (
            "alarm_info",
            plain(),
            "NXlog",
            vec![
                ("alarm_severity", "int16", NOTHING, 1024),
                ("alarm_time", "uint64", TIME, 1024),
                ("alarm_message", "text 200", NOTHING, 1024),
            ],
        ),
        (
            "epics_con_info",
            plain(),
            "NXlog",
            vec![
                ("connection_status", "int16", NOTHING, 1024),
                ("connection_status_time", "uint64", TIME, 1024),
            ],
        ),
        ("se00", plain(), "NXlog", log(("value", "int64", NOTHING, 4096), 4096)),
        ("se00", json!({"dtype": "uint8"}), "NXlog", log(("value", "uint8", NOTHING, 4096), 4096)),
        ("tdct", plain(), "NXlog", with(vec![("time", "uint64", TIME, 4096)], &cues(SLOW))),
        // Chunks of frames: at most a mebibyte where frames are smaller than that.
        (
            "ad00",
            json!({"dtype": "uint16", "array_size": [512, 256]}),
            "NXlog",
            with(vec![("value", "uint16", NOTHING, 4), ("time", "uint64", TIME, SLOW)], &cues(SLOW)),
        ),
        (
            "ad00",
            plain(),
            "NXlog",
            with(vec![("value", "float64", NOTHING, MIB / 8), ("time", "uint64", TIME, SLOW)], &cues(SLOW)),
        ),
        (
            "da00",
            json!({
                "variables": [{"name": "signal", "unit": "K", "label": "a label", "source": "a source",
                    "data_type": "int32", "axes": ["x"], "shape": [16]}],
                "constants": [{"name": "x", "unit": "K", "axes": ["x"], "data": [1.5, 2.5]}],
            }),
            "NXdata",
            with(
                vec![
                    (
                        "signal",
                        "int32",
                        &[
                            ("axes", "time:x"),
                            ("long_name", "a label"),
                            ("source", "a source"),
                            ("units", "K"),
                        ],
                        MIB / 64,
                    ),
                    ("x", "float64", &[("axes", "x"), ("units", "K")], 0),
                    ("time", "uint64", TIME, SLOW),
                ],
                &cues(SLOW),
            ),
        ),
    ]
}

fn of_our_own() -> Vec<Row> {
    const OFFSET: &[(&str, &str)] = &[("offset", EPOCH), ("units", "ns")];
    const COUNTS: &[(&str, &str)] = &[("units", "counts")];
    const CHARGE: &[(&str, &str)] = &[("units", "uAh")];
    let own_events = events(OFFSET, EVENTS, SLOW);
    vec![
        (
            "ev44",
            json!({"layout": "evforge", "vetoes": ["a", "b"]}),
            "NXevent_data",
            with(
                own_events.clone(),
                &[
                    ("event_veto", "uint8", &[("bits", "a\nb")], EVENTS),
                    ("total_counts", "uint64", COUNTS, 0),
                ],
            ),
        ),
        (
            "ev42",
            json!({"layout": "evforge"}),
            "NXevent_data",
            with(own_events, &[("total_counts", "uint64", COUNTS, 0)]),
        ),
        ("ev42", plain(), "NXevent_data", events(TIME, EVENTS, SLOW)),
        (
            "f142",
            json!({"units": "K", "dtype": "int64"}),
            "NXlog",
            with(
                with(log(("value", "int64", KELVIN, 1024), 1024), &closing(KELVIN)),
                &[
                    ("alarm_status", "text 32", NOTHING, 1024),
                    ("alarm_severity", "text 32", NOTHING, 1024),
                    ("alarm_time", "uint64", TIME, 1024),
                ],
            ),
        ),
        (
            "hs01",
            json!({"shape": [100]}),
            "NXmonitor",
            vec![
                ("data", "int64", COUNTS, 0),
                ("integral", "int64", COUNTS, 0),
                ("time_of_flight", "float64", NS, 0),
            ],
        ),
        (
            "da00",
            json!({"accumulate": true, "shape": [100], "dtype": "float64"}),
            "NXmonitor",
            vec![
                ("data", "float64", &[("units", "dimensionless")], 0),
                ("integral", "float64", &[("units", "dimensionless")], 0),
                ("time_of_flight", "float64", NS, 0),
            ],
        ),
        (
            "ar51",
            plain(),
            "NXcollection",
            vec![
                ("data", "uint8", &[("long_name", "payloads of UDP datagrams, one behind the other")], MIB),
                ("data_index", "int64", &[("long_name", "first byte of each payload")], SLOW),
                ("message_id", "int64", NOTHING, SLOW),
            ],
        ),
        ("senv", json!({"dtype": "uint16"}), "NXlog", log(("value", "uint16", NOTHING, 4096), 4096)),
        (
            "pu00",
            plain(),
            "NXcollection",
            vec![
                ("time", "uint64", TIME, SLOW),
                ("period_number", "uint32", NOTHING, SLOW),
                ("vetoes", "uint32", NOTHING, SLOW),
                ("proton_charge", "float32", CHARGE, SLOW),
                ("raw_frames", "uint64", NOTHING, 0),
                ("good_frames", "uint64", NOTHING, 0),
                ("good_proton_charge", "float64", CHARGE, 0),
            ],
        ),
    ]
}

fn type_name(descriptor: &TypeDescriptor) -> String {
    let bits = |size: &IntSize| match size {
        IntSize::U1 => 8,
        IntSize::U2 => 16,
        IntSize::U4 => 32,
        IntSize::U8 => 64,
    };
    match descriptor {
        TypeDescriptor::Integer(size) => format!("int{}", bits(size)),
        TypeDescriptor::Unsigned(size) => format!("uint{}", bits(size)),
        TypeDescriptor::Float(FloatSize::U4) => "float32".into(),
        TypeDescriptor::Float(FloatSize::U8) => "float64".into(),
        TypeDescriptor::FixedUnicode(room) => format!("text {room}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_module_writes_what_the_table_says() {
    for (kind, settings, class, expected) in of_the_reference().into_iter().chain(of_our_own()) {
        let mut file = Written::begin(kind, settings.clone());
        assert!(file.notes.is_empty(), "{kind} {settings}: {:?}", file.notes);
        file.close();
        let name = if kind == "alarm_info" { "al00" } else { kind };
        let name = if name == "epics_con_info" { "ep01" } else { name };
        for (attribute, value) in
            [("NX_class", class), ("topic", "topic"), ("source", "source"), ("writer_module", name)]
        {
            assert_eq!(file.attribute("", attribute).as_deref(), Some(value), "{kind}: {attribute}");
        }
        let mut found = BTreeMap::new();
        for dataset in file.group().datasets().unwrap() {
            let name = dataset.name().rsplit('/').next().unwrap().to_owned();
            let mut attributes: Vec<(String, String)> = Vec::new();
            for attribute in dataset.attr_names().unwrap() {
                let text = file.attribute(&name, &attribute).unwrap();
                attributes.push((attribute, text));
            }
            attributes.sort();
            let of = type_name(&dataset.dtype().unwrap().to_descriptor().unwrap());
            let chunk = dataset.chunk().map_or(0, |chunk| chunk[0]);
            assert_eq!(dataset.is_resizable(), chunk > 0, "{kind} {name}");
            found.insert(name, (of, attributes, chunk));
        }
        let expected: BTreeMap<_, _> = expected
            .into_iter()
            .map(|(name, of, attributes, chunk)| {
                let attributes: Vec<(String, String)> =
                    attributes.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
                (name.to_owned(), (of.to_owned(), attributes, chunk))
            })
            .collect();
        assert_eq!(found, expected, "{kind} {settings}");
    }
}

#[test]
fn every_module_is_in_the_table() {
    let rows: Vec<&str> = of_the_reference().iter().chain(&of_our_own()).map(|row| row.0).collect();
    for kind in evforge_filewriter::structure::ModuleKind::ALL {
        let is_there = rows.iter().any(|name| name.parse() == Ok(kind));
        // The ledger has a column for each variable of `docs/kafka.md`.
        assert!(is_there || kind.name() == "evforge_ledger", "{kind}");
    }
}

/// The names of the variables stand in the document about topics, and nowhere else.
#[test]
fn the_ledger_has_all_variables_of_the_document() {
    let document = include_str!("../../../../docs/kafka.md");
    let section = document.split("## The ledger").nth(1).unwrap().split("## Other topics").next().unwrap();
    let mut file = Written::begin("evforge_ledger", plain());
    file.close();
    let columns = file.group().member_names().unwrap();
    let table = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let modules = section.split("For each module, under").nth(1).unwrap().split_once(':').unwrap().1;
    let mut names: Vec<&str> = table.flat_map(|cell| cell.split(['`', ',', ' '])).collect();
    names.extend(modules.split('`'));
    let is_name = |name: &&str| name.len() > 2 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names: Vec<&str> = names.into_iter().filter(is_name).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in &names {
        assert!(columns.iter().any(|column| column == name), "{name} of docs/kafka.md has no column");
    }
    let others = ["time", "source_name"];
    for column in columns.iter().filter(|column| !others.contains(&column.as_str())) {
        assert!(names.contains(&column.as_str()), "{column} is not in docs/kafka.md");
    }
}

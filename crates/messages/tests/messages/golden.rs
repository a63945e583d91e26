//! Messages that the Python libraries of ESS and ISIS have made: every field as their index says.

use evforge_messages::{Encoder, Message, Schema, decode};
use evforge_testkit::{shared_file, shared_folder};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const T: i64 = 1_580_460_273_162_000_001;
const JOB: &str = "11111111-2222-4333-8444-555555555555";
const COMMAND: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const ISIS_TIME: i64 = 1_787_229_296_123_456_789;

fn message(test: &str, name: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/kafka/{name}.bin"))
}

/// What each message has, by its name.
fn expected() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut is = |name: &str, fields: Value| all.insert(name.to_owned(), fields);
    is(
        "ev44_two_pulses",
        json!({"schema": "ev44", "source_name": "freia", "message_id": 7, "reference_time": [T, T + 71_428_571],
            "reference_time_index": [0, 3], "time_of_flight": [10, 20, 30, 5, 6], "pixel_id": [1, 2, 3, 4, 65536]}),
    );
    is(
        "ev44_no_events",
        json!({"schema": "ev44", "source_name": "freia", "message_id": 8, "reference_time": [T],
            "reference_time_index": [0], "time_of_flight": [], "pixel_id": []}),
    );
    is(
        "ev42",
        json!({"schema": "ev42", "source_name": "multigrid", "message_id": 9, "pulse_time": T,
            "time_of_flight": [1, 2, u32::MAX], "detector_id": [1, 2, 3], "facility": null}),
    );
    let isis = json!({"isis_data": {"period_number": 2, "run_state": "RUNNING", "proton_charge": 0.5}});
    is(
        "ev42_isis",
        json!({"schema": "ev42", "source_name": "isis", "message_id": 10, "pulse_time": T, "time_of_flight": [1, 2],
            "detector_id": [3, 4], "facility": isis}),
    );
    is(
        "ev43",
        json!({"schema": "ev43", "source_name": "x", "message_id": 11, "pulse_time": [T, T + 1],
            "pulse_index": [0, 1], "time_of_flight": [5, 6], "detector_id": [7, 8]}),
    );
    is(
        "an44",
        json!({"schema": "an44", "source_name": "x", "message_id": 12, "reference_time": [T],
            "reference_time_index": [0], "time_of_flight": [5, 6], "pixel_id": [7, 8], "weight": [1, -2]}),
    );
    for name in
        ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
    {
        let floating = name.starts_with("float");
        let number = |whole: i32| if floating { json!(f64::from(whole)) } else { json!(whole) };
        let log = |value| json!({"schema": "f144", "source_name": format!("pv:{name}"), "timestamp": T, "value": value});
        is(&format!("f144_scalar_{name}"), log(json!({"type": name, "value": number(42)})));
        let numbers = [number(1), number(2), number(3)];
        is(&format!("f144_array_{name}"), log(json!({"type": name, "values": numbers})));
    }
    let f142 = |value, status: &str, severity: &str| {
        json!({"schema": "f142", "source_name": "pv", "timestamp": T, "value": value,
        "status": status, "severity": severity})
    };
    is("f142_double", f142(json!({"type": "float64", "value": 1.5}), "NO_CHANGE", "NO_CHANGE"));
    is("f142_alarm", f142(json!({"type": "int32", "value": 7}), "HIHI", "MAJOR"));
    is("f142_string", f142(json!("hello"), "NO_CHANGE", "NO_CHANGE"));
    is("f142_array", f142(json!({"type": "float64", "values": [1.0, 2.0]}), "NO_CHANGE", "NO_CHANGE"));
    is(
        "al00",
        json!({"schema": "al00", "source_name": "pv", "timestamp": T, "severity": "MAJOR", "message": "too hot"}),
    );
    for id in ["ep00", "ep01"] {
        let service = json!({"schema": id, "source_name": "pv", "timestamp": T, "status": "CONNECTED", "service_id": "svc"});
        is(id, service);
    }
    let signal = json!({"name": "signal", "unit": "counts", "label": null, "source": null, "axes": ["frame_time"],
        "shape": [3], "data": {"type": "int32", "values": [1, 2, 3]}});
    let edges = json!({"name": "frame_time", "unit": "ns", "label": null, "source": null, "axes": ["frame_time"],
        "shape": [4], "data": {"type": "int64", "values": [0, 10, 20, 30]}});
    is("da00", json!({"schema": "da00", "source_name": "cbm1", "timestamp": T, "data": [signal, edges]}));
    for (id, counts) in [("hs00", "uint32"), ("hs01", "int32")] {
        let dimension = json!({"length": 3, "unit": "ns", "label": "tof",
            "bin_boundaries": {"type": "float64", "values": [0.0, 1.0, 2.0, 3.0]}});
        is(
            id,
            json!({"schema": id, "source": "src", "timestamp": T, "dim_metadata": [dimension],
                "last_metadata_timestamp": T, "current_shape": [3], "offset": [],
                "data": {"type": counts, "values": [1, 2, 3]},
                "errors": {"type": "float64", "values": [1.0, 1.4, 1.7]}, "info": "i"}),
        );
    }
    is(
        "tdct",
        json!({"schema": "tdct", "name": "Chopper_3", "timestamps": [T, T + 71_428_571], "sequence_counter": 5}),
    );
    let samples = |id, values| {
        json!({"schema": id, "name": "adc", "channel": 3, "packet_timestamp": T, "time_delta": 22.0,
        "timestamp_location": "middle", "values": values, "timestamps": [], "message_counter": 6})
    };
    is("se00", samples("se00", json!({"type": "float64", "values": [1.5, 2.5]})));
    let mut senv = samples("senv", json!({"type": "uint16", "values": [1, 2, 3]}));
    senv["layout"] = json!("union");
    // The library goes through seconds as a floating-point number.
    senv["packet_timestamp"] = json!(T - 129);
    is("senv", senv);
    is(
        "ad00",
        json!({"schema": "ad00", "source_name": "cam", "id": 1, "timestamp": T, "dimensions": [2, 3],
            "data": {"type": "uint16", "values": [1, 2, 3, 4, 5, 6]}, "attributes": []}),
    );
    is(
        "pl72",
        json!({"schema": "pl72", "start_time": 1_580_460_273_162_u64, "stop_time": 0, "run_name": "r",
            "instrument_name": "freia", "nexus_structure": "{\"children\":[]}", "job_id": JOB, "broker": "b:9092",
            "service_id": "w", "filename": "run_1.nxs", "n_periods": 1, "detector_spectrum_map": null,
            "metadata": "{}", "control_topic": "freia_filewriter"}),
    );
    is(
        "6s4t",
        json!({"schema": "6s4t", "stop_time": 1_580_460_279_999_u64, "run_name": "r", "job_id": JOB,
            "service_id": "w", "command_id": COMMAND, "abort": false}),
    );
    is(
        "answ",
        json!({"schema": "answ", "service_id": "w", "job_id": JOB, "action": "StartJob", "outcome": "Success",
            "status_code": 201, "stop_time": 1_580_460_273_162_u64, "message": "ok", "command_id": COMMAND}),
    );
    is(
        "wrdn",
        json!({"schema": "wrdn", "service_id": "w", "job_id": JOB, "error_encountered": false,
            "file_name": "run_1.nxs", "metadata": "{\"events\":5}", "message": null}),
    );
    is(
        "x5f2",
        json!({"schema": "x5f2", "software_name": "evforge", "software_version": "0.1", "service_id": "unit-1",
            "host_name": "host", "process_id": 4711, "update_interval": 1000,
            "status_json": "{\"state\":\"running\"}"}),
    );
    is("json", json!({"schema": "json", "json": "{\"a\":1}"}));
    let bytes: Vec<u8> = (0..16).collect();
    is("ar51", json!({"schema": "ar51", "source_name": "freia", "message_id": 13, "raw_data": bytes}));
    is(
        "pu00_full",
        json!({"schema": "pu00", "source_name": "isis_scb", "message_id": 7, "reference_time": ISIS_TIME,
            "vetos": 0x0010_0002, "period_number": 2, "proton_charge": (200.0_f64 * 1.738e-6) as f32}),
    );
    is(
        "pu00_absent",
        json!({"schema": "pu00", "source_name": "isis_scb", "message_id": 8, "reference_time": ISIS_TIME,
            "vetos": null, "period_number": null, "proton_charge": null}),
    );
    let unit = |log: &str, unit: Value| json!({"schema": "un00", "source_name": log, "timestamp": ISIS_TIME, "units": unit});
    is("un00", unit("IN:DEMO:TEMP", json!("K")));
    is("un00_none", unit("IN:DEMO:COUNT", Value::Null));
    let names: Vec<String> = (0..32).map(|bit| format!("veto {bit}")).collect();
    is("vc00", json!({"schema": "vc00", "timestamp": ISIS_TIME, "vetoes": 0x42, "veto_names": names}));
    all
}

#[test]
fn golden_messages_have_every_value_of_their_index() {
    let test = "golden_messages_have_every_value_of_their_index";
    let Some(index) = shared_file(test, "vectors/kafka/INDEX.json") else { return };
    let index: BTreeMap<String, Value> = serde_json::from_slice(&index).unwrap();
    let expected = expected();
    let listed: BTreeSet<_> = index.keys().collect();
    assert_eq!(expected.keys().collect::<BTreeSet<_>>(), listed, "the index has other messages");
    let mut seen = BTreeSet::new();
    for (name, fields) in expected {
        let Some(bytes) = message(test, &name) else { return };
        let message = decode(&bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
        assert_eq!(message.to_json(), fields, "{name}");
        let line = message.to_string();
        assert!(line.starts_with(message.schema().id()) && !line.contains('\n'), "{name}: {line}");
        println!("{line}");
        seen.insert(message.schema());
    }
    // mo01 is made by no library.
    assert_eq!(seen.len(), Schema::ALL.len() - 1);
}

#[test]
fn golden_messages_stay_the_same_when_they_are_written_again() {
    let test = "golden_messages_stay_the_same_when_they_are_written_again";
    if !shared_folder().join("vectors/kafka").is_dir() {
        return evforge_testkit::skip(test, "the golden messages are missing");
    }
    let mut encoder = Encoder::new();
    for name in expected().keys() {
        let Some(bytes) = message(test, name) else { return };
        let original = decode(&bytes).unwrap();
        match original.encode(&mut encoder) {
            Some(again) => assert_eq!(decode(again).unwrap(), original, "{name}"),
            None => assert!(!original.schema().is_written(), "{name}"),
        }
    }
}

#[test]
fn a_message_is_read_at_any_alignment() {
    let test = "a_message_is_read_at_any_alignment";
    let Some(bytes) = message(test, "ev44_two_pulses") else { return };
    for shift in 0..16 {
        let mut moved = vec![0; shift];
        moved.extend(&bytes);
        let Ok(Message::Ev44(events)) = decode(&moved[shift..]) else { panic!("at {shift}") };
        assert_eq!(events.pixel_id, [1, 2, 3, 4, 65536]);
        let pulses: Vec<_> = events.pulses().collect();
        assert_eq!(pulses, [(T, 0..3), (T + 71_428_571, 3..5)]);
    }
}

//! Modules of logs: values, alarms, connections, samples, choppers.
#![allow(clippy::unwrap_used)]

#[path = "modules_common/mod.rs"]
mod common;

use common::{Written, plain, refused};
use evforge_filewriter::modules::SkipReason;
use evforge_messages::f142::{AlarmSeverity, AlarmStatus, Value as OldValue};
use evforge_messages::f144::Value;
use evforge_messages::{Array, Encoder, F142, F144, Scalar};
use serde_json::json;

fn f144(timestamp: i64, value: impl Into<Scalar>) -> Vec<u8> {
    let value = Value::Scalar(value.into());
    F144 { source_name: "source", timestamp, value }.encode(&mut Encoder::new()).to_vec()
}

#[test]
fn values_are_converted_and_their_extremes_survive_a_restart() {
    let mut file = Written::begin("f144", json!({"dtype": "int", "value_units": "mm", "cue_interval": 2}));
    file.write(&f144(10, 7.9)).unwrap();
    file.write(&f144(20, f64::NAN)).unwrap();
    file.restart(&[f144(30, 1e300)]);
    file.write(&f144(30, -1e300)).unwrap();
    file.write(&f144(40, 0.1)).unwrap();
    file.write(&f144(50, 3_u8)).unwrap();
    assert_eq!(file.module.notes(), ["values come as float64 and are converted to int32"]);
    file.close();
    assert_eq!(file.values::<i32>("value"), [7, 0, i32::MIN, 0, 3]);
    assert_eq!(file.values::<u64>("time"), [10, 20, 30, 40, 50]);
    assert_eq!(file.values::<i64>("cue_index"), [1, 3]);
    assert_eq!(file.values::<i64>("cue_timestamp_zero"), [20, 40]);
    assert_eq!(file.scalar::<f64>("minimum_value"), -1e300);
    assert_eq!(file.scalar::<f64>("maximum_value"), 7.9);
    assert_eq!(file.scalar::<f64>("average_value"), (7.9 - 1e300 + 0.1 + 3.0) / 4.0);
    for name in ["value", "minimum_value", "maximum_value", "average_value"] {
        assert_eq!(file.attribute(name, "units").as_deref(), Some("mm"), "{name}");
    }
}

#[test]
fn arrays_are_counted_and_leave_nothing() {
    let mut file = Written::begin("f144", json!({"meta_data": false}));
    let value = Value::Array(Array::from(&[1.5, 2.5]));
    let bytes = F144 { source_name: "source", timestamp: 1, value }.encode(&mut Encoder::new()).to_vec();
    let refused = file.write(&bytes).unwrap_err();
    assert_eq!(refused.reason, SkipReason::ValueKind);
    assert_eq!(refused.what, "an array of 2 values of type float64 where a single value is expected");
    file.close();
    assert_eq!(file.columns.all_rows(), [0, 0, 0, 0]);
    assert!(file.group().dataset("minimum_value").is_err());
}

#[test]
fn wrong_types_are_named() {
    let text = refused("f144", json!({"dtype": "flaot64"}));
    assert!(text.starts_with("dtype: found \"flaot64\", expected one of int8, uint8, "), "{text}");
    assert!(text.ends_with(", double: did you mean `float64`?"), "{text}");
    let text = refused("f144", json!({"value_units": 5}));
    assert_eq!(text, "value_units: found 5, expected a text");
}

#[test]
fn f142_has_its_alarms_next_to_it() {
    let mut file = Written::begin("f142", plain());
    for (timestamp, status) in [(10, AlarmStatus::HiHi), (20, AlarmStatus::NoChange)] {
        let severity = AlarmSeverity::Major;
        let value = OldValue::Scalar(1.5.into());
        let log = F142 { source_name: Some("source"), value, timestamp, status, severity };
        file.write(log.encode(&mut Encoder::new())).unwrap();
    }
    file.close();
    assert_eq!(file.values::<f64>("value"), [1.5, 1.5]);
    assert_eq!(file.values::<u64>("alarm_time"), [10]);
    assert_eq!(file.values::<hdf5_metno::types::FixedUnicode<32>>("alarm_status")[0].as_str(), "HIHI");
    assert_eq!(file.values::<hdf5_metno::types::FixedUnicode<32>>("alarm_severity")[0].as_str(), "MAJOR");
}

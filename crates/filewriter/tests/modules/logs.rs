//! Modules of logs: values, alarms, connections, samples, choppers.
#![allow(clippy::unwrap_used)]

use crate::common::{Written, plain, refused, stream};
use evforge_filewriter::modules::SkipReason;
use evforge_filewriter::structure::StreamModule;
use evforge_filewriter::structure::companions;
use evforge_messages::al00::Severity;
use evforge_messages::ep01::Connection;
use evforge_messages::f142::{AlarmSeverity, AlarmStatus, Value as OldValue};
use evforge_messages::f144::Value;
use evforge_messages::{Al00, Array, Column, Encoder, Ep01, F142, F144, Location, Pu00, Scalar, Se00, Tdct};
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
    assert_eq!(file.columns.all_rows(), [0, 0, 0, 0]);
    file.close();
    assert!(file.group().dataset("minimum_value").is_err());
}

#[test]
fn wrong_types_are_named() {
    let text = refused("f144", json!({"dtype": "flaot64"}));
    assert!(text.starts_with("dtype: found \"flaot64\", expected one of int8, uint8, "), "{text}");
    assert!(text.ends_with(", double: did you mean `float64`?"), "{text}");
    let text = refused("f144", json!({"value_units": 5}));
    assert_eq!(text, "value_units: found 5, expected a text");
    let text = refused("f144", json!({"meta_data": "yes"}));
    assert_eq!(text, "meta_data: found \"yes\", expected true or false");
    let text = refused("da00", json!({"accumulate": 1, "shape": [2]}));
    assert_eq!(text, "accumulate: found 1, expected true or false");
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

#[test]
fn alarms_and_connections() {
    let mut file = Written::begin("alarm_info", plain());
    let long = "ä".repeat(150);
    for (timestamp, severity, message) in [
        (10, Severity::Major, Some("too hot")),
        (20, Severity::Ok, None),
        (30, Severity::Invalid, Some("")),
        (40, Severity::Minor, Some(&long[..])),
    ] {
        let alarm = Al00 { source_name: Some("source"), timestamp, severity, message };
        file.write(alarm.encode(&mut Encoder::new())).unwrap();
    }
    file.close();
    let messages = file.values::<hdf5_metno::types::FixedUnicode<200>>("alarm_message");
    let messages: Vec<&str> = messages.iter().map(|message| message.as_str()).collect();
    assert_eq!(messages, ["too hot", "NO ALARM MESSAGE", "NO ALARM MESSAGE", &long[..200]]);
    assert_eq!(file.values::<i16>("alarm_severity"), [2, 0, 3, 1]);
    assert_eq!(file.values::<u64>("alarm_time"), [10, 20, 30, 40]);

    let mut file = Written::begin("epics_con_info", plain());
    let state =
        Ep01 { timestamp: 10, status: Connection::Disconnected, source_name: "source", service_id: None };
    file.write(state.encode(&mut Encoder::new())).unwrap();
    file.close();
    assert_eq!(file.values::<i16>("connection_status"), [3]);
    assert_eq!(file.values::<u64>("connection_status_time"), [10]);
}

#[test]
fn samples_have_the_times_of_the_message_or_steps() {
    let mut file = Written::begin("se00", json!({"dtype": "int16"}));
    let message = Se00 {
        name: "source",
        channel: 0,
        packet_timestamp: 100,
        time_delta: 2.6,
        timestamp_location: Location::Start,
        values: (&[1_i16, 2, 3]).into(),
        timestamps: Column::default(),
        message_counter: 1,
    };
    file.write(message.encode(&mut Encoder::new())).unwrap();
    let times = Se00 { values: (&[4.6, 5e9]).into(), timestamps: (&[200, 201]).into(), ..message };
    file.restart(&[times.encode(&mut Encoder::new()).to_vec()]);
    file.write(times.encode(&mut Encoder::new())).unwrap();
    let empty = Se00 { values: (&[0_i16; 0]).into(), ..message };
    file.write(empty.encode(&mut Encoder::new())).unwrap();
    file.close();
    assert_eq!(file.values::<i16>("value"), [1, 2, 3, 4, i16::MAX]);
    assert_eq!(file.values::<u64>("time"), [100, 103, 105, 200, 201]);
    assert_eq!(file.values::<i64>("cue_index"), [0, 3]);
    assert_eq!(file.values::<i64>("cue_timestamp_zero"), [100, 100]);
}

#[test]
fn choppers_have_a_cue_for_each_message() {
    let mut file = Written::begin("tdct", plain());
    for timestamps in [&[10_u64, 20, 30][..], &[], &[40]] {
        let message = Tdct { name: "source", timestamps: timestamps.into(), sequence_counter: 0 };
        file.write(message.encode(&mut Encoder::new())).unwrap();
    }
    file.close();
    assert_eq!(file.values::<u64>("time"), [10, 20, 30, 40]);
    assert_eq!(file.values::<i64>("cue_index"), [0, 3]);
    assert_eq!(file.values::<i64>("cue_timestamp_zero"), [10, 40]);
}

#[test]
fn pulses_of_isis_have_frames_and_periods() {
    let mut file = Written::begin("pu00", plain());
    let pulse = |reference_time, vetos, period_number, proton_charge| {
        let pulse = Pu00 {
            source_name: "source",
            message_id: 1,
            reference_time,
            vetos,
            period_number,
            proton_charge,
        };
        pulse.encode(&mut Encoder::new()).to_vec()
    };
    file.write(&pulse(10, None, Some(0), Some(0.5))).unwrap();
    file.write(&pulse(20, Some(4), Some(0), Some(0.25))).unwrap();
    file.restart(&[pulse(30, Some(0), Some(7), Some(1.0))]);
    file.write(&pulse(30, Some(0), Some(1), Some(1.0))).unwrap();
    file.write(&pulse(40, None, None, None)).unwrap();
    file.close();
    assert_eq!(file.values::<u64>("time"), [10, 20, 30, 40]);
    assert_eq!(file.values::<u32>("period_number"), [0, 0, 1, u32::MAX]);
    assert_eq!(file.values::<u32>("vetoes"), [0, 4, 0, 0]);
    assert!(file.values::<f32>("proton_charge")[3].is_nan());
    assert_eq!((file.scalar::<u64>("raw_frames"), file.scalar::<u64>("good_frames")), (4, 3));
    assert_eq!(file.scalar::<f64>("good_proton_charge"), 1.5);
    assert_eq!(file.values::<i32>("period_log/value"), [1, 2]);
    assert_eq!(file.values::<u64>("period_log/time"), [10, 30]);
}

#[test]
fn alarms_come_with_a_log_unless_they_are_there_or_switched_off() {
    let kinds = |group: &[&StreamModule]| -> Vec<&'static str> {
        companions(group).iter().map(|module| module.kind.name()).collect()
    };
    let log = stream("f144", plain());
    assert_eq!(kinds(&[&log]), ["al00", "ep01"]);
    assert_eq!(companions(&[&log])[0].sources, ["source"]);
    assert_eq!(kinds(&[&log, &stream("al00", plain())]), ["ep01"]);
    assert_eq!(kinds(&[&stream("f144", json!({"enable_epics_con_info": false}))]), ["al00"]);
    assert_eq!(kinds(&[&stream("ev44", plain())]), [""; 0]);
}

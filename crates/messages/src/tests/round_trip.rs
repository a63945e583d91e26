//! What was written is read again.

use crate::ev42::{Facility, IsisData, RunState};
use crate::examples::{foreign, messages};
use crate::senv::Layout;
use crate::{Column, Encoder, Ev42, Ev44, F142, Message, Schema, decode, f142};
use evforge_testkit::properties::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn there_is_an_example_of_every_schema() {
    let read: BTreeSet<Schema> =
        messages(1).iter().map(|(_, bytes)| decode(bytes).unwrap().schema()).collect();
    assert_eq!(read, Schema::ALL.iter().copied().collect());
}

proptest! {
    // As many forms as the schemas have need more than other properties do, and take no time.
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn every_schema_comes_back(seed: u64) {
        let mut encoder = Encoder::new();
        for (name, bytes) in messages(seed) {
            let message = decode(&bytes).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            let line = message.to_string();
            prop_assert!(line.starts_with(message.schema().id()), "{}", line);
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
            prop_assert_eq!(&message.to_json()["schema"], message.schema().id());
            if let Some(again) = message.encode(&mut encoder) {
                prop_assert_eq!(&decode(again).unwrap(), &message, "{}", name);
            } else {
                prop_assert!(!message.schema().is_written(), "{}", name);
            }
        }
    }

    #[test]
    fn the_layouts_of_senv_are_told_apart(seed: u64) {
        for (name, bytes) in messages(seed) {
            if let Ok(Message::Senv(samples)) = decode(&bytes) {
                let wanted = if name == "senv_2018" { Layout::Vector } else { Layout::Union };
                prop_assert_eq!(samples.layout, wanted);
                prop_assert_eq!(foreign::write_senv(&samples), bytes);
            }
        }
    }

    #[test]
    fn events_of_pulses_come_back(
        source_name in ".{0,20}",
        message_id: i64,
        pulses in vec((0..crate::TOO_LATE_NS, vec(any::<(i32, i32)>(), 0..30)), 1..6),
    ) {
        let (mut times, mut index, mut tof, mut ids) = (vec![], vec![], vec![], vec![]);
        for (time, events) in &pulses {
            times.push(*time);
            index.push(i32::try_from(tof.len()).unwrap());
            tof.extend(events.iter().map(|event| event.0));
            ids.extend(events.iter().map(|event| event.1));
        }
        let events = Ev44 {
            source_name: &source_name,
            message_id,
            reference_time: (&times).into(),
            reference_time_index: (&index).into(),
            time_of_flight: (&tof).into(),
            pixel_id: (&ids).into(),
        };
        let mut encoder = Encoder::new();
        let bytes = events.encode(&mut encoder);
        let read = Ev44::decode(bytes).unwrap();
        prop_assert_eq!(read, events);
        for ((time, range), (wanted, events)) in read.pulses().zip(&pulses) {
            prop_assert_eq!(time, *wanted);
            let own: Vec<_> = range.map(|event| (tof[event], ids[event])).collect();
            prop_assert_eq!(&own, events);
        }
    }

    #[test]
    fn events_of_one_pulse_come_back(
        message_id: u64,
        pulse_time in 0..crate::TOO_LATE_NS.unsigned_abs(),
        events in vec(any::<(u32, u32)>(), 0..50),
        isis in proptest::option::of((any::<u32>(), any::<bool>(), -1e6_f32..1e6)),
    ) {
        let (tof, ids): (Vec<_>, Vec<_>) = events.into_iter().unzip();
        let facility = isis.map(|(period_number, running, proton_charge)| {
            let run_state = if running { RunState::Running } else { RunState::Setup };
            Facility::IsisData(IsisData { period_number, run_state, proton_charge })
        });
        let events = Ev42 {
            source_name: None,
            message_id,
            pulse_time,
            time_of_flight: (&tof).into(),
            detector_id: (&ids).into(),
            facility,
        };
        let mut encoder = Encoder::new();
        prop_assert_eq!(Ev42::decode(events.encode(&mut encoder)).unwrap(), events);
    }

    #[test]
    fn texts_as_values_come_back(text: String, texts in vec(any::<String>(), 0..5)) {
        let mut encoder = Encoder::new();
        let texts = texts.iter().map(String::as_str).collect();
        for value in [f142::Value::Text(&text), f142::Value::Texts(texts)] {
            let (status, severity) = (f142::AlarmStatus::HiHi, f142::AlarmSeverity::Minor);
            let log = F142 { source_name: Some("pv"), value, timestamp: 5, status, severity };
            prop_assert_eq!(F142::decode(log.encode(&mut encoder)).unwrap(), log);
        }
    }
}

#[test]
fn a_message_is_as_long_as_its_events_and_begins_a_buffer_of_its_own() {
    let (tof, ids) = (vec![7_u32; 12_400], vec![9_u32; 12_400]);
    let mut encoder = Encoder::new();
    let mut lengths = Vec::new();
    for events in [12_400, 100, 0, 12_400] {
        let bytes = Ev44 {
            source_name: "freia",
            message_id: 1,
            reference_time: (&[5]).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: tof[..events].into(),
            pixel_id: ids[..events].into(),
        }
        .encode(&mut encoder);
        assert!(bytes.len() <= 8 * events + 128, "{} bytes for {events} events", bytes.len());
        let Ok(Message::Ev44(read)) = decode(bytes) else { panic!("{events} events are not read") };
        assert_eq!(read.events(), events);
        // Present, though empty.
        let table = crate::open::open::<crate::generated::ev44::Events<'_>>(Schema::Ev44, bytes).unwrap();
        assert!(table.time_of_flight().is_some() && table.pixel_id().is_some());
        lengths.push(bytes.len());
    }
    assert_eq!(lengths[0], lengths[3]);
}

#[test]
fn columns_at_odd_addresses_are_written_too() {
    let mut bytes = vec![0_u8];
    bytes.extend([1_i32, -2, 3].iter().flat_map(|value| value.to_le_bytes()));
    let mut encoder = Encoder::new();
    for shift in 1..5 {
        let column = Column::from_le_bytes(&bytes[1..]);
        let message = Ev44 {
            reference_time: (&[5]).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: column,
            ..Ev44::default()
        };
        assert_eq!(Ev44::decode(message.encode(&mut encoder)).unwrap().time_of_flight, [1, -2, 3], "{shift}");
        bytes.insert(0, 0);
        bytes.remove(0);
    }
}

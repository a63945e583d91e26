//! Modules of events: what of a message is in which dataset.
#![allow(clippy::unwrap_used)]

use crate::common::{Written, plain, refused};
use evforge_messages::da00::Variable;
use evforge_messages::{Da00, Data, Encoder, Ev42, Ev44};
use serde_json::json;

const T: i64 = 1_790_000_000_000_000_000;

fn ev44(source: &str, id: i64, pulses: &[i64], index: &[i32], events: &[(i32, i32)]) -> Vec<u8> {
    let (offsets, pixels): (Vec<i32>, Vec<i32>) = events.iter().copied().unzip();
    let message = Ev44 {
        source_name: source,
        message_id: id,
        reference_time: pulses.into(),
        reference_time_index: index.into(),
        time_of_flight: (&offsets).into(),
        pixel_id: (&pixels).into(),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

fn marks(source: &str, id: i64, names: &str, marks: &[u8]) -> Vec<u8> {
    let (id, length) = ([id], [marks.len() as i64]);
    let data = vec![
        Variable::single("message_id", None, &id),
        Variable::new("veto", None, vec!["event"], &length, Data::Numbers(marks.into())),
        Variable::text("veto_names", names),
    ];
    Da00 { source_name: source, timestamp: T, data }.encode(&mut Encoder::new()).to_vec()
}

#[test]
fn as_the_reference_writes_them() {
    let mut file = Written::begin("ev44", json!({"cue_interval": 3}));
    file.write(&ev44("a", 1, &[T, T + 10], &[0, 2], &[(1, 11), (2, 12), (3, 13)])).unwrap();
    // Without events: nothing of it.
    file.write(&ev44("a", 2, &[T + 20], &[0], &[])).unwrap();
    file.restart(&[ev44("a", 3, &[T + 30], &[0], &[(9, 9)])]);
    file.write(&ev44("a", 3, &[T + 30], &[0], &[(4, 14), (5, 15)])).unwrap();
    file.close();
    assert_eq!(file.values::<i32>("event_id"), [11, 12, 13, 14, 15]);
    assert_eq!(file.values::<i32>("event_time_offset"), [1, 2, 3, 4, 5]);
    assert_eq!(file.values::<u64>("event_time_zero"), [T as u64, T as u64 + 10, T as u64 + 30]);
    assert_eq!(file.values::<i64>("event_index"), [0, 2, 3]);
    assert_eq!(file.values::<i64>("cue_index"), [4]);
    assert_eq!(file.values::<i64>("cue_timestamp_zero"), [T + 35]);
    assert_eq!(file.module.events(), 5);
}

#[test]
fn without_pixels_they_have_none() {
    let mut file = Written::begin("ev44", plain());
    let message = Ev44 {
        source_name: "a",
        message_id: 1,
        reference_time: (&[T]).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: (&[1, 2]).into(),
        ..Ev44::default()
    };
    file.write(message.encode(&mut Encoder::new())).unwrap();
    file.close();
    assert_eq!(file.values::<i32>("event_id"), [0, 0]);
}

#[test]
fn every_pulse_has_a_record_and_one_that_goes_on_has_one() {
    let mut file = Written::begin("ev44", json!({"layout": "evforge"}));
    file.write(&ev44("a", 1, &[T, T + 10], &[0, 2], &[(1, 11), (2, 12), (3, 13)])).unwrap();
    file.restart(&[ev44("a", 2, &[T + 10], &[0], &[(9, 9)])]);
    file.write(&ev44("a", 2, &[T + 10, T + 20], &[0, 1], &[(4, 14)])).unwrap();
    file.write(&ev44("a", 3, &[T + 30], &[0], &[(5, 15)])).unwrap();
    // The same pulse of another source goes on with it.
    file.write(&ev44("b", 1, &[T + 30], &[0], &[(6, 16)])).unwrap();
    file.close();
    assert_eq!(file.values::<i32>("event_id"), [11, 12, 13, 14, 15, 16]);
    let zero: Vec<u64> = [0, 10, 20, 30].iter().map(|ns| T as u64 + ns).collect();
    assert_eq!(file.values::<u64>("event_time_zero"), zero);
    assert_eq!(file.values::<i64>("event_index"), [0, 2, 4, 4]);
    // One for each commit with a new pulse.
    assert_eq!(file.values::<i64>("cue_index"), [2, 4]);
    assert_eq!(file.values::<i64>("cue_timestamp_zero"), [T + 10, T + 30]);
    assert_eq!(file.scalar::<u64>("total_counts"), 6);
    assert_eq!(file.attribute("event_time_zero", "offset").as_deref(), Some("1970-01-01T00:00:00Z"));
    assert_eq!(file.attribute("event_time_zero", "start"), None);
    assert_eq!(file.attribute("total_counts", "units").as_deref(), Some("counts"));
}

#[test]
fn a_group_takes_the_events_of_its_pixels_and_all_pulses() {
    let settings = json!({"layout": "evforge", "pixels": [11, 13], "vetoes": ["chopper", "edge"]});
    let mut file = Written::begin("ev44", settings);
    file.write(&marks("a", 1, "chopper\nedge", &[0, 1, 2, 3])).unwrap();
    // The marks come before a restart, their events after it.
    file.restart(&[]);
    let events = [(1, 10), (2, 11), (3, 13), (4, 14)];
    file.write(&ev44("a", 1, &[T, T + 10, T + 20], &[0, 2, 3], &events)).unwrap();
    // Another source may come between marks and their events.
    file.write(&marks("b", 1, "chopper\nedge", &[3])).unwrap();
    // Marks of another message mark nothing.
    file.write(&marks("a", 7, "chopper\nedge", &[3])).unwrap();
    file.write(&ev44("a", 2, &[T + 30], &[0], &[(5, 12)])).unwrap();
    let other = file.write(&marks("a", 3, "edge\nchopper", &[3])).unwrap_err();
    assert!(other.what.contains("edge, chopper where the configuration has chopper, edge"), "{}", other.what);
    file.write(&ev44("b", 1, &[T + 30], &[0], &[(6, 13)])).unwrap();
    file.close();
    assert_eq!(file.values::<i32>("event_id"), [11, 13, 12, 13]);
    assert_eq!(file.values::<u8>("event_veto"), [1, 2, 0, 3]);
    assert_eq!(file.values::<i64>("event_index"), [0, 1, 2, 2]);
    assert_eq!(file.attribute("event_veto", "bits").as_deref(), Some("chopper\nedge"));
    assert_eq!(file.scalar::<u64>("total_counts"), 4);
}

#[test]
fn ev42_has_the_same_datasets() {
    let message = Ev42 {
        source_name: Some("a"),
        message_id: 1,
        pulse_time: T as u64,
        time_of_flight: (&[1, 2]).into(),
        detector_id: (&[7, u32::MAX]).into(),
        facility: None,
    };
    let mut file = Written::begin("ev42", plain());
    file.write(message.encode(&mut Encoder::new())).unwrap();
    file.close();
    assert_eq!(file.values::<i32>("event_id"), [7, -1]);
    assert_eq!(file.values::<i32>("event_time_offset"), [1, 2]);
    assert_eq!(file.values::<u64>("event_time_zero"), [T as u64]);
    assert_eq!(file.values::<i64>("event_index"), [0]);
}

#[test]
fn wrong_settings_are_named() {
    let text = refused("ev44", json!({"chunk_size": 0}));
    assert_eq!(text, "chunk_size: found 0, expected a whole number from 1 to 67108864");
    let text = refused("ev44", json!({"layout": "evforg"}));
    assert_eq!(text, "layout: found \"evforg\", expected one of reference, evforge: did you mean `evforge`?");
    let text = refused("ev44", json!({"pixels": [1, 2]}));
    assert_eq!(text, "pixels: found [1,2], expected nothing: it belongs to \"layout\": \"evforge\"");
    let text = refused("ev44", json!({"layout": "evforge", "pixels": [2, 1]}));
    assert_eq!(text, "pixels: found [2,1], expected a list with the first and the last pixel");
    let text = refused("ev44", json!({"layout": "evforge", "vetoes": ["a\nb"]}));
    assert!(text.starts_with("vetoes: found [\"a\\nb\"], expected at most 8 names"), "{text}");
    let notes = Written::begin("ev44", json!({"chunk_sizes": 5, "topic": "x"})).notes;
    assert_eq!(
        notes,
        ["chunk_sizes is no key of the module ev44, and is not used; did you mean `chunk_size`?"]
    );
}

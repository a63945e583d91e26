use super::super::test_support::{PULSE, record, taken};
use super::super::{EventTopics, MonitorPixels, TopicRole};
use super::*;
use crate::topic::Record;
use evforge_messages::da00::Variable;
use evforge_messages::hs01::{Counts, Dimension};
use evforge_messages::{Da00, Encoder, F144, Hs01, Pu00, Tdct};
use proptest::prelude::*;

fn topics() -> EventTopics {
    EventTopics::of(MonitorPixels::default())
}

fn f144(name: &str, time_ns: i64, value: f64) -> Record {
    let message = F144 { source_name: name, timestamp: time_ns, value: value.into() };
    record(message.encode(&mut Encoder::default()))
}

fn da00(name: &str, time_ns: i64, signal: &[f64], edges: &[f64]) -> Record {
    let (bins, points) = ([signal.len() as i64], [edges.len() as i64]);
    let data = vec![
        Variable::new("signal", Some("counts"), vec!["frame_time"], &bins[..], signal),
        Variable::new("frame_time", Some("ns"), vec!["frame_time"], &points[..], edges),
    ];
    record(Da00 { source_name: name, timestamp: time_ns, data }.encode(&mut Encoder::default()))
}

fn tdct(name: &str, times: &[u64]) -> Record {
    let message = Tdct { name, timestamps: times.into(), sequence_counter: 1 };
    record(message.encode(&mut Encoder::default()))
}

fn pulse(id: i64, charge: f32, vetoes: Option<u32>) -> Record {
    let message = Pu00 {
        source_name: "isis",
        message_id: id,
        reference_time: PULSE + id,
        vetos: vetoes,
        period_number: Some(3),
        proton_charge: Some(charge),
    };
    record(message.encode(&mut Encoder::default()))
}

#[test]
fn spectra_of_da00_are_added_up_and_those_of_hs01_replace_each_other() {
    let mut topics = topics();
    let hs01 = |counts: &[i32]| {
        let (shape, edges) = ([counts.len() as i32], [0.0, 1.0, 2.0, 3.0]);
        let dimension = Dimension {
            length: counts.len() as i32,
            unit: Some("us"),
            label: Some("time of flight"),
            bin_boundaries: Some(Counts::Float64((&edges).into())),
        };
        let message = Hs01 {
            source: Some("all"),
            timestamp: PULSE,
            dim_metadata: vec![dimension],
            current_shape: (&shape).into(),
            data: Some(Counts::Int32(counts.into())),
            ..Hs01::default()
        };
        record(message.encode(&mut Encoder::default()))
    };
    let messages = [
        da00("new", PULSE, &[1.0, 2.0, 0.0], &[0.0, 5.0, 10.0, 15.0]),
        da00("new", PULSE + 1, &[0.0, 1.0, 4.0], &[0.0, 5.0, 10.0, 15.0]),
        da00("middles", PULSE, &[1.0, 2.0], &[10.0, 20.0]),
        hs01(&[1, 2, 3]),
        hs01(&[5, 6, 7]),
    ];
    taken(&mut topics, TopicRole::Monitors, &messages);
    let spectrum = |name: &str| topics.notes().spectra().find(|(known, _)| *known == name).unwrap().1.clone();
    let new = spectrum("new");
    assert_eq!((&new.counts[..], new.is_sum, new.messages), (&[1.0, 3.0, 4.0][..], true, 2));
    assert_eq!((new.axis.as_str(), new.axis_unit.as_str(), new.edges[3]), ("frame_time", "ns", 15.0));
    assert_eq!(spectrum("middles").edges[..], [5.0, 15.0, 25.0]);
    let all = spectrum("all");
    assert_eq!((&all.counts[..], all.is_sum, all.axis_unit.as_str()), (&[5.0, 6.0, 7.0][..], false, "us"));
    let value = |name: &str| topics.notes().get(name).map(|note| (note.kind, note.value));
    assert_eq!(value("new"), Some((NoteKind::Sum, Some(8.0))));
    assert_eq!(value("all"), Some((NoteKind::Newest, Some(18.0))));
    // Other bins begin a sum afresh.
    taken(&mut topics, TopicRole::Monitors, &[da00("new", PULSE, &[9.0, 9.0], &[0.0, 1.0, 2.0])]);
    let note = topics.notes().spectra().find(|(name, _)| *name == "new").unwrap().1;
    assert_eq!((&note.counts[..], note.messages), (&[9.0, 9.0][..], 1));
}

#[test]
fn a_long_spectrum_is_added_up_over_neighbours_and_a_flat_one_says_why_it_is_none() {
    let mut topics = topics();
    let ones = vec![1.0; 1_000_000];
    let edges: Vec<f64> = (0..=1_000_000).map(f64::from).collect();
    let (shape, flat) = ([2_i64, 2], [1.0, 2.0, 3.0, 4.0]);
    let data = vec![Variable::new("signal", None, vec!["y", "x"], &shape[..], &flat[..])];
    let picture =
        record(Da00 { source_name: "picture", timestamp: PULSE, data }.encode(&mut Encoder::default()));
    taken(&mut topics, TopicRole::Monitors, &[da00("long", PULSE, &ones, &edges), picture]);
    let spectra: Vec<_> = topics.notes().spectra().collect();
    let long = spectra[0].1;
    assert_eq!((long.block, long.counts.len(), long.edges.len()), (100, 10_000, 10_001));
    assert!(long.counts.iter().all(|&counts| counts == 100.0) && long.edges[10_000] == 1e6);
    assert!(spectra[1].1.problem.as_ref().is_some_and(|problem| problem.contains("2 dimensions")));
    assert_eq!(topics.notes().get("picture").and_then(|note| note.value), Some(10.0));
}

#[test]
fn pulses_are_good_and_raw_and_charge_is_taken_once() {
    let mut topics = topics();
    let bad = [f32::NAN, -1.0, f32::INFINITY, 1e9];
    let good = [pulse(1, 0.25, Some(0)), pulse(2, 0.5, Some(4)), pulse(2, 0.5, Some(4))];
    let refused = bad.iter().zip(3..).map(|(&charge, id)| pulse(id, charge, Some(0)));
    taken(&mut topics, TopicRole::Logs, &good.into_iter().chain(refused).collect::<Vec<_>>());
    let (source, note) = topics.notes().pulses().next().unwrap();
    assert_eq!((source, note.pulses, note.pulses_good, note.period), ("isis", 6, Some(5), Some(3)));
    assert_eq!((note.charge, note.charge_good), (Some(750_000_000_000), Some(250_000_000_000)));
    assert_eq!(topics.counters().charges_refused, 4);
    assert_eq!(topics.notes_mut().take_charge(), Some(750_000_000_000));
    assert_eq!(topics.notes_mut().take_charge(), Some(0));
}

#[test]
fn choppers_have_a_rate_whatever_the_order_of_their_stamps() {
    let mut topics = topics();
    let start = PULSE as u64;
    taken(&mut topics, TopicRole::Logs, &[tdct("disc", &[start])]);
    assert_eq!(topics.notes().get("disc").unwrap().value, None, "one stamp makes no rate");
    let more: Vec<u64> = (0..40).rev().map(|turn| start + turn * 100_000_000).collect();
    taken(&mut topics, TopicRole::Logs, &[tdct("disc", &more), tdct("disc", &[0, u64::MAX >> 1])]);
    let rate = topics.notes().get("disc").unwrap().value.unwrap();
    assert!((rate - 10.0).abs() < 1e-9, "{rate}");
    assert_eq!(topics.notes().stamps("disc").last(), Some(&(start + 3_900_000_000)));
}

#[test]
fn names_are_bounded_and_what_is_not_noted_is_counted_by_its_reason() {
    let mut topics = topics();
    let now =
        i64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos())
            .unwrap();
    let mut messages: Vec<Record> =
        (0..5000).map(|number| f144(&format!("log {number}"), PULSE, 1.0)).collect();
    messages.extend([
        f144(&"x".repeat(201), PULSE, 1.0),
        f144("log 1", PULSE, f64::NAN),
        f144("log 1", now + 100 * 86_400_000_000_000, 7.0),
        f144("log 1", 1, 7.0),
    ]);
    // One source of pulses has its place, however many logs there are.
    messages.push(pulse(1, 0.5, None));
    for monitor in 0..40 {
        messages.push(da00(&format!("log {monitor}"), PULSE, &[1.0, 2.0], &[0.0, 1.0, 2.0]));
    }
    taken(&mut topics, TopicRole::Logs, &messages);
    let counters = topics.counters();
    let counted = (
        counters.messages_of_too_many_names,
        counters.messages_with_long_names,
        counters.messages_without_numbers,
        counters.messages_of_the_future,
        counters.spectra_left_out,
    );
    assert_eq!(counted, (4744, 1, 1, 1, 8));
    assert_eq!(topics.notes().values().count(), values::MOST);
    assert_eq!(topics.notes().pulses().count(), 1);
    assert_eq!(topics.notes().spectra().count(), spectra::MOST);
}

#[test]
fn a_ledger_is_noted_as_it_says_and_not_among_the_values() {
    let mut topics = topics();
    let row = |names: &[(&str, i64)], time_ns: i64| {
        let values: Vec<(&str, [i64; 1])> = names.iter().map(|&(name, value)| (name, [value])).collect();
        let data =
            values.iter().map(|(name, value)| Variable::single(name, Some("packets"), value)).collect();
        record(Da00 { source_name: "freia", timestamp: time_ns, data }.encode(&mut Encoder::default()))
    };
    let first = [("message_id", 7), ("packets_received", 90), ("packets_sent", 97), ("packets_lost", 7)];
    let unit = evforge_messages::Un00 { source_name: "log", timestamp: PULSE, units: Some("K") };
    let messages = [
        record(unit.encode(&mut Encoder::default())),
        row(&first, PULSE + 1),
        row(&[("message_id", 3), ("packets_received", 5)], PULSE),
        row(&[("message_id", 3)], PULSE + 2),
        f144("log", PULSE, 1.0),
    ];
    taken(&mut topics, TopicRole::Ledgers, &messages);
    let counters = topics.counters();
    assert_eq!((counters.messages_of_ledgers, counters.messages_without_numbers), (2, 1));
    let (name, note) = topics.notes().runs().next().unwrap();
    assert_eq!((name, note.row.is_module, note.messages), ("freia", false, 2));
    let row = (note.row.packets_sent, note.row.packets_received, note.row.packets_lost);
    assert_eq!(row, (Some(97), Some(90), Some(7)));
    let (name, log) = topics.notes().values().next().unwrap();
    assert_eq!((name, log.unit.as_str(), topics.notes().values().count()), ("log", "K", 1));
}

proptest! {
    /// Whatever numbers, names and times: each message is noted or counted, and everything stays within its bounds.
    #[test]
    fn whatever_is_sent_is_bounded_and_counted(
        messages in proptest::collection::vec(
            (0..5_u8, 0..400_usize, any::<i64>(), proptest::collection::vec(any::<f64>(), 0..6), 0..8_usize),
            1..300,
        ),
        role in prop_oneof![Just(TopicRole::Logs), Just(TopicRole::Monitors), Just(TopicRole::Ledgers)],
    ) {
        let mut topics = topics();
        let records: Vec<Record> = messages
            .iter()
            .map(|(kind, name, time, numbers, points)| {
                let name = if name % 7 == 0 { "y".repeat(*name) } else { name.to_string() };
                let one = numbers.first().copied().unwrap_or(f64::NAN);
                match kind {
                    0 => f144(&name, *time, one),
                    1 => tdct(&name, &numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>()),
                    2 => pulse(*time >> 8, one as f32, Some(*time as u32)),
                    3 => da00(&name, *time, numbers, &numbers[..(*points).min(numbers.len())]),
                    _ => da00(&name, *time, numbers, &(0..=*points).map(|edge| edge as f64).collect::<Vec<_>>()),
                }
            })
            .collect();
        // Its laws are looked at with every message.
        taken(&mut topics, role, &records);
        let notes = topics.notes();
        prop_assert!(notes.values().count() <= values::MOST && notes.spectra().count() <= spectra::MOST);
        for (name, note) in notes.values() {
            prop_assert!(name.len() <= LONGEST_NAME && note.value.is_none_or(f64::is_finite));
        }
        for (_, note) in notes.spectra() {
            prop_assert!(note.problem.is_some() || note.edges.len() == note.counts.len() + 1);
            prop_assert!(note.edges.windows(2).all(|edges| edges[0] < edges[1]));
        }
        prop_assert!(serde_json::to_string(notes).is_ok());
    }
}

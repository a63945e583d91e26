//! The clustering cases of the reference's own tests: vectors `multiblade_records`.

use evforge_testkit::shared_file;

use crate::multiblade::model::{Outcome, Rules, decode, events, form};
use crate::multiblade::production::{REFERENCE, produce};

fn vector(test: &str, name: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/multiblade_records/{name}.bin"))
}

/// Pixels of cassette 0 at these wires, on the strips of the same number.
fn diagonal(wires: &[u32]) -> Vec<u32> {
    wires.iter().map(|wire| wire * 32 + wire + 1).collect()
}

#[test]
fn section_3_4_first16_has_the_asserted_positions() {
    let test = "section_3_4_first16_has_the_asserted_positions";
    let Some(bytes) = vector(test, "clustering_first16") else { return };
    let outcomes =
        form(&decode(std::slice::from_ref(&bytes)), &Rules { flush_at_end: true, ..Rules::reference() });
    let positions: Vec<(u64, f64, f64)> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Event { time, wire, strip, .. } => Some((*time, *wire, *strip)),
            _ => None,
        })
        .collect();
    let asserted = [0.0, 1.652_173_913_043_478_3, 3.9, 8.112_676_056_338_028, 11.121_951_219_512_19, 15.0];
    assert_eq!(positions.len(), asserted.len());
    for (number, (&(time, wire, strip), position)) in positions.iter().zip(asserted).enumerate() {
        assert_eq!(time, 1000 * (number as u64 + 1));
        assert!((wire - position).abs() < 1e-9 && (strip - position).abs() < 1e-9, "{wire} {strip}");
    }

    let produced = |overrides: &[&str]| produce(REFERENCE, overrides, std::slice::from_ref(&bytes)).0;
    let times: Vec<u64> = (1..=6).map(|number| 1000 * number).collect();
    for (overrides, wires) in [
        (&[][..], [0, 1, 3, 8, 11, 15]),
        (&["detector.rounding=nearest"], [0, 2, 4, 8, 11, 15]),
        (&["detector.position=maximum"], [0, 2, 4, 9, 10, 15]),
    ] {
        let expected: Vec<(u64, u32)> = times.iter().copied().zip(diagonal(&wires)).collect();
        assert_eq!(produced(overrides), expected, "{overrides:?}");
    }
}

/// `rows.csv` says at which rows the reference returns an event: those before the end of all rows.
#[test]
fn section_3_4_all22_has_an_event_at_every_asserted_row() {
    let test = "section_3_4_all22_has_an_event_at_every_asserted_row";
    let Some(bytes) = vector(test, "clustering_all22") else { return };
    let Some(rows) = shared_file(test, "vectors/multiblade_records/rows.csv") else { return };
    let rows = String::from_utf8(rows).unwrap();
    let asserted = rows.lines().skip(1).filter(|line| line.ends_with(",1")).count();
    let readouts = decode(std::slice::from_ref(&bytes));
    assert_eq!(events(&form(&readouts, &Rules::reference())).len(), asserted);
    let ours = events(&form(&readouts, &Rules::ours()));
    assert_eq!(ours.len(), asserted + 1, "and the last one, at the end of the input");
    assert_eq!(produce(REFERENCE, &[], &[bytes]).0, ours);
}

/// Section 3.1: the record with which a sender ends a run closes the windows of all cassettes, not of the first
/// one only, and what stands behind it is not lost.
#[test]
fn section_3_1_an_end_of_run_closes_what_is_open() {
    let test = "section_3_1_an_end_of_run_closes_what_is_open";
    let Some(first) = vector(test, "clustering_first16") else { return };
    let Some(end) = vector(test, "end_of_run_marker") else { return };
    let packet = [&first[..], &end, &first].concat();
    let (events, ledger) = produce(REFERENCE, &[], &[packet]);
    let (once, _) = produce(REFERENCE, &[], &[first]);
    assert_eq!(events, [&once[..], &once].concat());
    let value = |name: &str| ledger.counters.value(name);
    assert_eq!((value("end_of_run_records"), value("readouts")), (Some(1), Some(64)));
    assert_eq!(ledger.unaccounted(), 0);
}

//! The model gives exactly what the reference gave.

use crate::sonde::captures::{generated, reference_events};
use crate::sonde::model::parse;
use evforge_testkit::shared_file;

#[test]
fn reference_events_are_reproduced_in_order() {
    let test = "reference_events_are_reproduced_in_order";
    let (Some(packets), Some(expected)) = (generated(test), reference_events(test)) else { return };
    let events: Vec<(u64, u32)> = packets
        .iter()
        .flat_map(|packet| parse(packet).events)
        .map(|(time, pixel)| (u64::from(time), pixel))
        .collect();
    assert_eq!(events.len(), 65_280);
    assert!(events == expected, "the model differs from the reference");
}

/// What the reference returns for each of its unit tests' packets: code or events, errors, samples.
pub(crate) const VECTORS: [(&str, i32, usize, usize); 17] = [
    ("err_short_header", -2, 0, 0),
    ("err_version", -3, 0, 0),
    ("err_length", -3, 0, 0),
    ("err_datatype", -3, 0, 0),
    ("err_unknown_data_format", -4, 0, 0),
    ("err_nb_event_mismatch", -3, 0, 0),
    ("err_invalid_geometry", 0, 1, 0),
    ("ok_header_only", 0, 0, 0),
    ("ok_events_1", 1, 0, 0),
    ("ok_events_3", 3, 0, 0),
    ("type_0xd5_seph_ok_1", 1, 0, 1),
    ("type_0xd5_seph_ok_3", 1, 0, 3),
    ("type_0xd5_seph_err_hdr_len_mismatch", -3, 0, 0),
    ("type_0xd4_meph_ok_1", 1, 0, 1),
    ("type_0xd4_meph_ok_n3m1", 3, 0, 3),
    ("type_0xd4_meph_err_hdr_len", -2, 0, 0),
    ("type_0xd4_meph_err_hdr_len_mismatch", -3, 0, 0),
];

#[test]
fn reference_results_of_single_packets_are_reproduced() {
    let test = "reference_results_of_single_packets_are_reproduced";
    for (name, returned, errors, samples) in VECTORS {
        let Some(bytes) = shared_file(test, &format!("vectors/sonde/{name}.bin")) else { return };
        let outcome = parse(&bytes);
        assert_eq!(
            (outcome.returned, outcome.errors, outcome.samples),
            (returned, errors, samples),
            "{name}"
        );
    }
    let events = |name: &str| {
        shared_file(test, &format!("vectors/sonde/{name}.bin")).map(|bytes| parse(&bytes).events)
    };
    assert_eq!(events("ok_events_1"), Some(vec![(1, 46)]));
    assert_eq!(events("ok_events_3"), Some(vec![(1, 14), (2, 19), (3, 46)]));
}

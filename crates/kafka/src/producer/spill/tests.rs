use super::*;
use crate::sending::record::About;
use proptest::prelude::*;

fn record<'a>(payload: &'a [u8], id: i64, headers: &'a [crate::client::Header]) -> Record<'a> {
    Record {
        topic: "freia_detector",
        partition: (id % 2 == 0).then_some(3),
        key: (id % 3 == 0).then_some(b"key"),
        timestamp_ms: 1000 + id,
        payload,
        headers,
        about: About { events: 7, source: "freia", id, arrival_ns: None },
    }
}

/// Reads and reports everything.
fn drain(spill: &mut Spill) -> Vec<OwnedRecord> {
    let mut all = Vec::new();
    while let Some(spilled) = spill.first().expect("readable").cloned() {
        all.push(spilled.record);
        spill.hand_on(true);
        spill.reported(spilled.segment);
    }
    all
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count() - 1
}

#[test]
fn what_goes_in_comes_out_in_order_and_the_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spill, notes) = Spill::open(folder.path(), 100_000_000).unwrap();
    assert!(notes.is_empty() && spill.is_empty());
    // Files of 16 MB: three are needed.
    let payload = vec![5; 1_000_000];
    for id in 1..=40 {
        spill.append(&record(&payload, id, &[])).unwrap();
    }
    assert_eq!((files(folder.path()), spill.waiting()), (3, 40));
    let all = drain(&mut spill);
    assert_eq!(all, (1..=40).map(|id| OwnedRecord::from(&record(&payload, id, &[]))).collect::<Vec<_>>());
    assert_eq!((files(folder.path()), spill.bytes()), (0, 0));
    // It goes on after it was empty.
    spill.append(&record(b"x", 41, &[])).unwrap();
    assert_eq!(drain(&mut spill).len(), 1);
}

#[test]
fn a_file_stays_until_all_its_messages_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spill, _) = Spill::open(folder.path(), 1_000_000).unwrap();
    spill.append(&record(b"a", 1, &[])).unwrap();
    spill.append(&record(b"b", 2, &[])).unwrap();
    let segment = spill.first().unwrap().unwrap().segment;
    spill.hand_on(true);
    spill.first().unwrap();
    spill.hand_on(true);
    assert!(spill.is_empty());
    spill.reported(segment);
    assert_eq!(files(folder.path()), 1);
    drop(spill);
    // A run that was killed now would find both.
    let (mut spill, _) = Spill::open(folder.path(), 1_000_000).unwrap();
    let mut ids = Vec::new();
    spill.visit_left_over(|record| ids.push(record.id)).unwrap();
    assert_eq!((ids, spill.first().unwrap().unwrap().is_left_over), (vec![1, 2], true));
    assert_eq!(drain(&mut spill).len(), 2);
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn limits_other_programs_and_damage_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spill, _) = Spill::open(folder.path(), 1000).unwrap();
    let error = spill.append(&record(&[0; 1000], 1, &[])).unwrap_err().to_string();
    assert!(error.contains("is full") && error.contains("spill_size"), "{error}");
    let other = Spill::open(folder.path(), 1000).unwrap_err().to_string();
    assert!(other.contains("another program"), "{other}");
    spill.append(&record(b"a", 1, &[])).unwrap();
    spill.append(&record(b"b", 2, &[])).unwrap();
    let path = spill.path(0);
    drop(spill);
    // The run was killed while the second one was written.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    std::fs::write(folder.path().join("spill-0000000001.messages"), b"something else").unwrap();
    let (mut spill, notes) = Spill::open(folder.path(), 1_000_000).unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("message 2 is damaged") && notes[1].contains("not a spill"), "{notes:?}");
    assert_eq!(drain(&mut spill).len(), 1);
    // What is no spill of ours is not deleted with it.
    spill.append(&record(b"c", 3, &[])).unwrap();
    assert_eq!(drain(&mut spill)[0].id, 3);
}

#[test]
fn part_of_a_message_is_cut_off_when_its_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spill, _) = Spill::open(folder.path(), 1_000_000).unwrap();
    let file = spill.file_of_memory();
    spill.write(file, &record(b"a", 1, &[])).unwrap();
    // The disk has refused the end of a message, and then to cut it off.
    let mut bytes = std::fs::read(spill.path(file)).unwrap();
    bytes.extend_from_slice(&bytes.clone()[..bytes.len() - 1]);
    std::fs::write(spill.path(file), &bytes).unwrap();
    spill.writes = None;
    spill.write(file, &record(b"b", 2, &[])).unwrap();
    let ids: Vec<i64> = drain(&mut spill).iter().map(|record| record.id).collect();
    assert_eq!(ids, [1, 2]);
}

proptest! {
    #[test]
    fn any_file_is_read_without_harm(bytes: Vec<u8>, flip in any::<prop::sample::Index>(), with_magic: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spill-0000000000.messages");
        let headers = [("name".into(), Some(vec![1, 2, 3])), ("none".into(), None)];
        let mut file = if with_magic { MAGIC.to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        let mut good = Vec::new();
        encode(&record(&bytes, 6, &headers), &mut good);
        let place = flip.index(good.len());
        let read_back = read(&mut &good[..]).unwrap().unwrap();
        prop_assert_eq!(read_back, OwnedRecord::from(&record(&bytes, 6, &headers)));
        good[place] ^= 0x10;
        file.extend_from_slice(&good);
        std::fs::write(&path, &file).unwrap();
        let (mut spill, _) = Spill::open(folder.path(), u64::MAX).unwrap();
        let count = spill.waiting();
        prop_assert_eq!(drain(&mut spill).len() as u64, count);
    }
}

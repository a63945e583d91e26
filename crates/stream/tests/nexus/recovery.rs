//! Files that recovery must refuse, or leave alone.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::common::{Feed, Run, batch, counter, flat_options};
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{NexusCounters, NexusError, NexusOptions, needs_recovery, recover};
use evforge_testkit::properties::cases;
use hdf5_metno::File;
use hdf5_metno::file::OpenMode;
use proptest::prelude::*;

fn with_counters(path: &Path) -> NexusOptions {
    flat_options(path).with_counters(&CounterSnapshot::of(&NexusCounters::default()))
}

/// A file as a killed writer leaves it: copied while it was being written.
fn killed(folder: &Path) -> Vec<u8> {
    let path = folder.join("alive.nxs");
    let mut writer = Run::fed_by(Feed::new(), &with_counters(&path));
    writer.take(&batch(&[(5, 1), (6, 2), (300_000_007, 48)])).unwrap();
    writer.commit().unwrap();
    writer.take(&batch(&[(300_000_008, 1)])).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    drop(writer);
    std::fs::remove_file(&path).unwrap();
    bytes
}

#[test]
fn a_copy_of_a_growing_file_recovers_to_its_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.nxs");
    std::fs::write(&path, killed(folder.path())).unwrap();
    assert!(needs_recovery(&path).unwrap());
    let recovered = recover(&path).unwrap();
    assert_eq!((recovered.events, recovered.pulses), (3, 4));
    // No date is known of these events: the file has the time at which it was made.
    assert!(
        recovered.end_time.as_str() > "2026" && !recovered.end_time.contains("00.300000007Z"),
        "{recovered:?}"
    );
    assert!(recovered.to_string().contains("3 events in 4 pulses"));
    assert!(recover(&path).unwrap().to_string().contains("whole"));
}

#[test]
fn files_of_earlier_layouts_are_repaired_and_those_of_later_ones_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.take(&batch(&[(5, 1), (6, 2)])).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    drop(writer);
    // Up to layout 2 each counter had a group of its own.
    let file = File::open_rw(&path).unwrap();
    let log = file.create_group("/entry/outputs/csv/offered").unwrap();
    let values = log.new_dataset_builder().empty::<i64>().chunk(8).shape(0..).create("value").unwrap();
    values.resize(3).unwrap();
    drop((values, log, file));
    // The text of a dataset, in place: it is the only one of its length that is there once.
    let say = |name: &str, from: &str, to: &str| {
        let offset = {
            let file = File::open(&path).unwrap();
            file.dataset(&format!("/entry/recording/{name}")).unwrap().offset().unwrap() as usize
        };
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(&bytes[offset..offset + from.len()], from.as_bytes());
        bytes[offset..offset + to.len()].copy_from_slice(to.as_bytes());
        std::fs::write(&path, bytes).unwrap();
    };
    for (from, to) in [("3", "2"), ("2", "1")] {
        say("layout_version", from, to);
        let state = if from == "3" { "complete" } else { "recovered" };
        say("state", state, "writing\0");
        let recovered = recover(&path).unwrap();
        assert_eq!((recovered.was_whole, recovered.events), (false, 2));
    }
    let values = |name: &str| File::open(&path).unwrap().dataset(name).unwrap().size();
    assert_eq!((values("/entry/ledger/time"), values("/entry/outputs/csv/offered/value")), (1, 1));
    say("layout_version", "1", "4");
    let error = recover(&path).unwrap_err().to_string();
    assert!(error.contains("version \"4\", this program knows the versions 1, 2, 3"), "{error}");
}

#[test]
fn a_row_of_counters_that_the_disk_has_not_kept_is_cut_away() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.nxs"), folder.path().join("copy.nxs"));
    let mut writer = Run::begin(&with_counters(&path)).unwrap();
    writer.take(&batch(&[(5, 1)])).unwrap();
    (0..3).for_each(|_| writer.observe(&DetectorLedger::default()).unwrap());
    writer.commit().unwrap();
    std::fs::copy(&path, &copy).unwrap();
    let row = {
        let file = File::open_as(&copy, OpenMode::ReadSWMR).unwrap();
        file.dataset("/entry/ledger/counters/counts").unwrap().chunk_info(2).unwrap()
    };
    let mut bytes = std::fs::read(&copy).unwrap();
    bytes[row.addr as usize..][..row.size as usize].fill(0);
    std::fs::write(&copy, bytes).unwrap();
    recover(&copy).unwrap();
    let ledger = File::open(&copy).unwrap().group("/entry/ledger").unwrap();
    assert_eq!(counter(&ledger.group("counters").unwrap(), "events"), Some(vec![-1, -1]));
    assert_eq!(ledger.dataset("time").unwrap().size(), 2);
}

#[test]
fn whole_files_are_not_touched_even_while_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    Run::begin(&flat_options(&path)).unwrap().finish(&DetectorLedger::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let reader = File::open(&path).unwrap();
    assert!(!needs_recovery(&path).unwrap());
    assert!(recover(&path).unwrap().was_whole);
    drop(reader);
    assert!(before == std::fs::read(&path).unwrap());
}

#[test]
fn foreign_and_missing_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(recover(&at("missing")), Err(NexusError::Io { .. })));
    for (name, bytes) in [("empty", &b""[..]), ("text", b"time_ns,pixel_id\n1,2\n")] {
        std::fs::write(at(name), bytes).unwrap();
        let error = recover(&at(name)).unwrap_err();
        assert!(matches!(error, NexusError::NotHdf5(_)) && error.to_string().contains(name), "{error}");
    }
    for (name, latest) in [("old", false), ("latest", true)] {
        let file = File::with_options()
            .with_fapl(|access| if latest { access.libver_latest() } else { access })
            .create(at(name))
            .unwrap();
        file.create_group("entry").unwrap();
        if latest {
            file.start_swmr().unwrap();
            file.flush().unwrap();
        }
        let bytes = std::fs::read(at(name)).unwrap();
        drop(file);
        // As it is when it is closed, and as its killed writer would have left it.
        for bytes in [std::fs::read(at(name)).unwrap(), bytes] {
            if bytes.len() < 48 {
                continue;
            }
            std::fs::write(at(name), &bytes).unwrap();
            let error = recover(&at(name)).unwrap_err();
            assert!(matches!(error, NexusError::NotOurs { .. }), "{name}: {error}");
            assert!(bytes == std::fs::read(at(name)).unwrap(), "{name} was changed");
        }
    }
}

#[test]
fn a_file_that_was_cut_is_said_to_be_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.nxs");
    let bytes = killed(folder.path());
    let whole = folder.path().join("whole.nxs");
    Run::begin(&flat_options(&whole)).unwrap().finish(&DetectorLedger::default()).unwrap();
    let half = std::fs::metadata(&whole).unwrap().len() / 2;
    std::fs::OpenOptions::new().write(true).open(&whole).unwrap().set_len(half).unwrap();
    assert!(recover(&whole).unwrap_err().to_string().contains("it was cut"));
    assert_eq!(std::fs::metadata(&whole).unwrap().len(), half);
    for length in [0, 7, 8, 47, 48, 1000, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = recover(&path).unwrap_err();
        assert!(
            matches!(error, NexusError::Damaged { .. } | NexusError::NotHdf5(_)),
            "{length} bytes: {error}"
        );
        assert!(bytes[..length] == std::fs::read(&path).unwrap(), "cut to {length} bytes and changed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(20)))]
    #[test]
    fn a_corrupt_superblock_is_an_error_and_never_a_panic(at in 0_usize..48, flip in 1..=255_u8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corrupt.nxs");
        let mut bytes = killed(folder.path());
        bytes[at] ^= flip;
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(needs_recovery(&path).is_err());
        prop_assert!(recover(&path).is_err());
        prop_assert!(bytes == std::fs::read(&path).unwrap());
    }

    #[test]
    fn corrupt_metadata_is_an_error_or_recovered_and_never_a_panic(at in 48_usize..4096, flip in 1..=255_u8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corrupt.nxs");
        let mut bytes = killed(folder.path());
        bytes[at] ^= flip;
        std::fs::write(&path, &bytes).unwrap();
        let _ = needs_recovery(&path);
        let _ = recover(&path);
    }
}

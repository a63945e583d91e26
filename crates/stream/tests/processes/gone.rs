//! A file that somebody removes or replaces while it is written.

use crate::common::{Run, batch, flat_options};
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{ExistingFile, NexusError, Reservation, needs_recovery, recover};

#[test]
fn a_file_that_is_removed_or_replaced_is_noticed_by_every_way_that_writes() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let elsewhere = folder.path().join("moved.nxs");
    let ledger = DetectorLedger::default();
    type Way = fn(&mut Run, &DetectorLedger) -> bool;
    let ways: [Way; 3] = [
        |writer, ledger| writer.observe(ledger).is_err_and(|error| error.to_string().contains("was removed")),
        |writer, _| matches!(writer.commit(), Err(NexusError::Gone { lost: 2, .. })),
        |writer, ledger| writer.finish(ledger).is_err_and(|error| error.to_string().contains("(2 events)")),
    ];
    for is_replaced in [false, true] {
        for notices in ways {
            let mut writer = Run::begin(&flat_options(&path)).unwrap();
            writer.take(&batch(&[(1000, 1), (2000, 2)])).unwrap();
            writer.observe(&ledger).unwrap();
            writer.commit().unwrap();
            std::fs::rename(&path, &elsewhere).unwrap();
            if is_replaced {
                std::fs::write(&path, "another file").unwrap();
            }
            assert!(notices(&mut writer, &ledger));
            assert!(matches!(writer.commit(), Err(NexusError::Stopped { .. })));
            drop(writer);
            assert_eq!(std::fs::read(&path).ok(), is_replaced.then(|| b"another file".to_vec()));
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[test]
fn what_another_run_holds_is_neither_mended_nor_reported_on() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let held = Reservation::take(&path, ExistingFile::Overwrite).unwrap();
    assert!(matches!(recover(&path), Err(NexusError::InUse(_))));
    drop(held);
    assert!(recover(&path).unwrap().was_whole);
    assert!(!needs_recovery(&path).unwrap());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "a lock file is left: {left:?}");
}

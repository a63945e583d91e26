//! What is refused, rejected and counted.

use std::fs;

use super::common::{offer, options, parsed, train_bytes};
use evforge_core::counter::{CounterSet, Law};
use evforge_train::file::{
    ArrivedTrain, FileError, FileRejection, Filed, TrainFileOptions, TrainFiles, repair,
};
use evforge_wire::train::{Train, TrainDetector};

const LPD: TrainDetector = TrainDetector::Lpd;

#[test]
fn trains_that_fit_no_file_are_rejected_by_their_reason() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path(), LPD);
    options.modules = 2;
    let mut files = TrainFiles::create(options).unwrap();
    let mut rejected = |module, number, expected| {
        assert_eq!(offer(&mut files, LPD, (module, number, 1), &[]).unwrap(), expected, "{module} {number}");
    };
    let reason = Filed::Rejected;
    rejected(2, 5, reason(FileRejection::NoModule(2)));
    rejected(0, 0, reason(FileRejection::WithoutNumber));
    rejected(0, 5, Filed::Taken(1));
    rejected(0, 5, reason(FileRejection::NotAscending(5)));
    rejected(0, 4, reason(FileRejection::NotAscending(5)));
    rejected(1, 4, Filed::Taken(1));
    rejected(0, 6, Filed::Taken(1));

    let mut write = |bytes: &[u8], image_bytes, expected| {
        let train = Train::parse(bytes, image_bytes).unwrap();
        let arrived = ArrivedTrain { module: 0, train, not_whole: &[], rejected: &[], arrival_ns: 1 };
        assert_eq!(files.write(&arrived).unwrap(), reason(expected));
    };
    let agipd = train_bytes(TrainDetector::Agipd, 0, 9, 1);
    let image_bytes = TrainDetector::Agipd.image_bytes();
    write(&agipd, image_bytes, FileRejection::OtherImages(image_bytes));
    // A train without images, whose own block is longer.
    let mut other = train_bytes(TrainDetector::Agipd, 0, 9, 0);
    write(&other, LPD.image_bytes(), FileRejection::OtherBlock(5408));
    other.drain(64..64 + 5408);
    other[48..52].fill(0);
    write(&other, LPD.image_bytes(), FileRejection::OtherBlock(0));

    files.finish().unwrap();
    let counters = files.counters();
    assert_eq!((counters.trains_offered, counters.trains_committed), (10, 3));
    assert_eq!((counters.trains_not_ascending, counters.trains_of_other_blocks), (2, 2));
    assert_eq!((counters.trains_without_number, counters.trains_of_no_module), (1, 1));
    assert_eq!(counters.trains_of_other_images, 1);
    assert_eq!(counters.imbalance(Law::Outputs), 0);
}

#[test]
fn sequences_begin_by_bytes_and_nothing_is_written_over() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().unwrap();
    let mut limited = options(folder.path(), LPD);
    limited.bytes_per_file = 2 * LPD.image_bytes() as u64;
    let mut files = TrainFiles::create(limited.clone()).unwrap();
    for number in 1..=5 {
        offer(&mut files, LPD, (0, number, 1), &[]).unwrap();
    }
    let names = |folder: &std::path::Path| {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(
        names(files.folder()),
        ["RAW-R0001-LPD00-S00000.h5", "RAW-R0001-LPD00-S00001.h5", "RAW-R0001-LPD00-S00002.h5.writing"]
    );
    // Dropped, it closes its files.
    let run = files.folder().to_owned();
    drop(files);
    assert_eq!(names(&run)[2], "RAW-R0001-LPD00-S00002.h5");
    let refused = TrainFiles::create(limited).unwrap_err();
    assert!(matches!(refused, FileError::Exists { .. }), "{refused}");
    // Another detector may be in the same run.
    TrainFiles::create(options(folder.path(), TrainDetector::Agipd)).unwrap();
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_can_be() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: fn(&mut TrainFileOptions), what: &str| {
        let mut options = options(folder.path(), LPD);
        change(&mut options);
        let error = TrainFiles::create(options).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    refused(|options| options.run = 10_000, "choose 0 to 9999");
    refused(|options| options.modules = 101, "choose 1 to 100");
    refused(|options| options.source = "A/B".into(), "FXE_DET_LPD1M-1");
    refused(|options| options.deflate = Some(10), "choose 0 to 9");
    refused(|options| options.trains_per_file = 0, "at least 1");
    refused(|options| options.sample = "a\0b".into(), "zero byte");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_unfinished_file_of_ours_is_not_touched() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("RAW-R0001-LPD00-S00000.h5.writing");
    for (content, finding) in
        [(&b"text"[..], "no HDF5 file"), (&b"\x89HDF\r\n\x1a\n\x03"[..], "ends within its header")]
    {
        fs::write(&path, content).unwrap();
        let error = repair(&path).unwrap_err().to_string();
        assert!(error.contains(finding), "{error}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    let named = folder.path().join("notes.txt");
    fs::write(&named, "text").unwrap();
    assert!(repair(&named).unwrap_err().to_string().contains(".h5.writing"));

    // One that is being written.
    let mut files = TrainFiles::create(options(folder.path(), LPD)).unwrap();
    offer(&mut files, LPD, (0, 1, 1), &[]).unwrap();
    let open = files.folder().join("RAW-R0001-LPD00-S00000.h5.writing");
    assert!(matches!(repair(&open), Err(FileError::InUse(_))));
    offer(&mut files, LPD, (0, 2, 1), &[]).unwrap();
    files.finish().unwrap();
    assert!(parsed(&train_bytes(LPD, 0, 1, 1), LPD).image(0).is_some());
}

//! Runs read by the EXtra-data package, unchanged and from PyPI.

use std::time::Duration;

use super::common::{ARRIVAL, offer, options, read_all_back, reader};
use evforge_train::file::{Filed, IncompleteImages, TrainFiles, default_source};
use evforge_wire::train::TrainDetector;
use serde_json::{Value, json};

const SCRIPT: &str = "test_train_readback.py";

/// What a train of these images is in the description for the reader.
fn described(number: u64, images: impl Iterator<Item = (u32, u16)>) -> Value {
    json!([
        number,
        ARRIVAL + number * 100_000_000,
        images.map(|(image, status)| json!([image, status])).collect::<Vec<_>>()
    ])
}

#[test]
fn extra_data_reads_every_detector_in_modules_and_sequences() {
    let _alone = crate::alone();
    let Some(reader) = reader("extra_data_reads_every_detector_in_modules_and_sequences", SCRIPT) else {
        return;
    };
    let (mut folders, mut runs) = (Vec::new(), Vec::new());
    for (detector, deflate) in [
        (TrainDetector::Lpd, None),
        (TrainDetector::Agipd, None),
        (TrainDetector::Dssc, None),
        (TrainDetector::Lpd, Some(1)),
        // What gets no smaller stays as it is, and says so.
        (TrainDetector::Dssc, Some(0)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), detector);
        (options.deflate, options.threads) = (deflate, 2);
        options.trains_per_file = 3;
        let mut files = TrainFiles::create(options).unwrap();
        let mut modules = serde_json::Map::new();
        // A train that is missing, one that only one module has, one without images; commits now and then.
        for module in [0, 3, 15] {
            let mut trains = Vec::new();
            for number in [1_000, 1_001, 1_002, 1_005, 1_006, 1_007, 1_009] {
                if number == 1_006 && module == 3 {
                    continue;
                }
                let images = if number == 1_005 { 0 } else { (number % 4) as u32 + 1 };
                let filed = offer(&mut files, detector, (module, number, images), &[]).unwrap();
                assert_eq!(filed, Filed::Taken(images.into()));
                trains.push(described(number, (0..images).map(|image| (image, 0))));
            }
            modules.insert(module.to_string(), Value::Array(trains));
        }
        files.finish().unwrap();
        let counters = files.counters();
        assert_eq!(
            (counters.trains_offered, counters.trains_committed, counters.trains_waiting),
            (20, 20, 0)
        );
        assert_eq!(counters.files_finished, 8);
        let spec = json!({"detector": detector.name(), "source": default_source(detector), "files": 8,
            "components": true, "modules": modules});
        runs.push((files.folder().to_owned(), spec));
        folders.push(folder);
    }
    read_all_back(reader, &runs);
}

#[test]
fn images_that_are_not_whole_are_left_out_or_marked() {
    let _alone = crate::alone();
    let Some(reader) = reader("images_that_are_not_whole_are_left_out_or_marked", SCRIPT) else { return };
    let (mut folders, mut runs) = (Vec::new(), Vec::new());
    let detector = TrainDetector::Lpd;
    for policy in [IncompleteImages::LeaveOut, IncompleteImages::Mark] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), detector);
        (options.incomplete_images, options.flush_interval) = (policy, Duration::ZERO);
        let mut files = TrainFiles::create(options).unwrap();
        let mut trains = Vec::new();
        for (number, missing) in [(7, vec![]), (8, vec![2, 0, 2, 77]), (9, vec![0, 1, 2]), (10, vec![1])] {
            offer(&mut files, detector, (0, number, 3), &missing).unwrap();
            let is_missing = |image: &u32| missing.contains(&(*image as usize));
            let images: Vec<_> = match policy {
                IncompleteImages::LeaveOut => {
                    (0..3).filter(|image| !is_missing(image)).map(|k| (k, 0)).collect()
                }
                IncompleteImages::Mark => {
                    (0..3).map(|k| (k, if is_missing(&k) { 0x8000 } else { 0 })).collect()
                }
            };
            trains.push(described(number, images.into_iter()));
        }
        files.finish().unwrap();
        let counters = files.counters();
        let expected = match policy {
            IncompleteImages::LeaveOut => (6, 6, 0),
            IncompleteImages::Mark => (12, 0, 6),
        };
        assert_eq!((counters.images_taken, counters.images_left_out, counters.images_marked), expected);
        assert_eq!(counters.commits, 4);
        let spec = json!({"detector": "LPD", "source": default_source(detector), "files": 1, "components": true,
            "modules": {"0": trains}});
        runs.push((files.folder().to_owned(), spec));
        folders.push(folder);
    }
    read_all_back(reader, &runs);
}

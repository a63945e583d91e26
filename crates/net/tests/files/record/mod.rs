//! Recordings: what they lose on a slow or full disk is what they say, and nothing else.

mod descriptors;
mod disk;
mod full_disk;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use disk::{HERE, TestDisk, check, numbers_in, put, put_until};
use evforge_core::packet::PacketSlab;
use evforge_net::record::{DiskFiles, FileNames, RecordQueue, Recorder, RecordingWriter, Rotation};
use evforge_testkit::properties::cases;
use proptest::prelude::*;

#[test]
fn a_disk_that_is_held_up_costs_what_the_report_says() {
    let disk = TestDisk::default();
    disk.hold_up(true);
    let writer = RecordingWriter::begin(disk.clone(), Rotation::default()).unwrap();
    let queue = RecordQueue { slabs: 3, packets_per_slab: 50, bytes_per_slab: 1 << 20 };
    let (recorder, mut inlets) = Recorder::start(writer, &HERE, queue).unwrap();
    let mut inlet = inlets.pop().unwrap();
    // More than the queue and the writer's memory hold: while the disk is held up some must be dropped.
    let total = 1000;
    for number in 0..total {
        put(inlet.slab_with_room(9000), number, 9000);
        inlet.commit();
    }
    let dropped = inlet.counts().dropped;
    assert!(dropped > 0, "{:?}", inlet.counts());
    disk.hold_up(false);
    // What comes now finds room again, sooner or later.
    for number in total..total + 40 {
        put(inlet.slab_with_room(9000), number, 9000);
        inlet.commit();
    }
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    let counters = &recording.counters;
    assert_eq!((counters.record_received, counters.record_received_bytes), (total + 40, (total + 40) * 9000));
    assert_eq!(counters.record_dropped_bytes, counters.record_dropped * 9000);
    let present: Vec<u64> = disk.numbers().concat();
    let different: BTreeSet<u64> = present.iter().copied().collect();
    assert_eq!(different.len(), present.len(), "a packet is there twice");
    assert!(present.is_sorted(), "the order is lost");
    let missing = (0..total + 40).filter(|number| !different.contains(number)).count() as u64;
    assert_eq!(missing, counters.record_dropped);
    // Whole slabs: the missing ones come in runs of a slab.
    assert_eq!(counters.record_dropped, counters.record_dropped_slabs * 50);
}

#[test]
fn a_file_that_cannot_be_opened_is_tried_again_and_what_is_missing_is_counted() {
    let disk = TestDisk::default();
    let rotation = Rotation { size: Some(10_000), time: None };
    let writer = RecordingWriter::begin(disk.clone(), rotation).unwrap();
    let (recorder, mut inlets) = Recorder::start(writer, &HERE, RecordQueue::of_bytes(8 << 20)).unwrap();
    let mut inlet = inlets.pop().unwrap();
    let files = || disk.files.lock().expect("no panic").len();
    let next = put_until(&mut inlet, 0, "nothing is written", || files() >= 3);
    assert_eq!(recorder.alarm(), None);
    disk.refuses.store(true, Ordering::Relaxed);
    let next = put_until(&mut inlet, next, "no alarm is raised", || {
        let alarm = recorder.alarm().unwrap_or_default();
        alarm.contains("too many open files") && !alarm.contains(" 0 packets have")
    });
    assert!(!recorder.has_failed(), "the recording has ended");
    disk.refuses.store(false, Ordering::Relaxed);
    let before = files();
    let total = put_until(&mut inlet, next, "the recording does not go on", || files() >= before + 2);
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    let counters = &recording.counters;
    assert_eq!((counters.record_received, &recording.failure), (total, &None));
    assert!(recording.interruption.as_deref().unwrap().contains("too many open files"), "{recording:?}");
    assert!(!recording.is_whole() && counters.record_not_written > 0);
    // What is missing is one piece in the middle, of the size that is told.
    let present = disk.numbers().concat();
    assert!(present.is_sorted() && present.first() == Some(&0) && present.last() == Some(&(total - 1)));
    assert_eq!(present.len() as u64 + counters.record_not_written, total);
    assert_eq!(present.windows(2).filter(|pair| pair[1] != pair[0] + 1).count(), 1);
}

#[test]
fn a_file_that_was_removed_counts_as_not_written_and_the_recording_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let files = DiskFiles::new(FileNames::single(&path)).unwrap();
    let writer = RecordingWriter::begin(files, Rotation::default()).unwrap();
    let (recorder, mut inlets) = Recorder::start(writer, &HERE, RecordQueue::of_bytes(8 << 20)).unwrap();
    let mut inlet = inlets.pop().unwrap();
    let left = || std::fs::read_dir(folder.path()).unwrap().next().map(|entry| entry.unwrap().path());
    let is_written = || left().is_some_and(|path| path.metadata().is_ok_and(|about| about.len() > 5000));
    let next = put_until(&mut inlet, 0, "nothing is written", is_written);
    std::fs::remove_file(left().unwrap()).unwrap();
    let next = put_until(&mut inlet, next, "no alarm is raised", || {
        recorder.alarm().is_some_and(|alarm| alarm.contains("was removed"))
    });
    let total = put_until(&mut inlet, next, "the recording does not go on", is_written);
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    assert_eq!((recording.counters.record_received, &recording.failure), (total, &None));
    assert!(recording.interruption.as_deref().unwrap().contains("was removed"), "{recording:?}");
    let present = numbers_in(std::fs::read(&path).unwrap());
    assert_eq!(present.len() as u64 + recording.counters.record_not_written, total);
    assert!(!present.contains(&0) && present.last() == Some(&(total - 1)));
}

#[test]
fn a_recording_never_replaces_a_file_that_appeared_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let files = DiskFiles::new(FileNames::single(&path)).unwrap();
    let writer = RecordingWriter::begin(files, Rotation::default()).unwrap();
    let (recorder, mut inlets) = Recorder::start(writer, &HERE, RecordQueue::of_bytes(8 << 20)).unwrap();
    let mut inlet = inlets.pop().unwrap();
    (0..100).for_each(|number| put(inlet.slab_with_room(1000), number, 1000));
    // Before the recording ends: it gets its name then.
    std::fs::write(&path, "somebody's data").unwrap();
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's data");
    let [file] = &recording.files[..] else { panic!("{recording:?}") };
    assert!(!file.complete && file.path != path && !recording.is_whole(), "{recording:?}");
    assert_eq!(numbers_in(std::fs::read(&file.path).unwrap()), (0..100).collect::<Vec<_>>());
    let told = recording.interruption.unwrap();
    assert!(told.contains("never replaced") && told.contains(file.path.to_str().unwrap()), "{told}");
}

#[test]
fn packets_of_several_inlets_all_get_there_with_their_destinations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let files = DiskFiles::new(FileNames::single(&path)).unwrap();
    let writer = RecordingWriter::begin(files, Rotation::default()).unwrap();
    let destinations = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
    let queue = RecordQueue { slabs: 400, packets_per_slab: 3, bytes_per_slab: 0 };
    let (recorder, inlets) = Recorder::start(writer, &destinations, queue).unwrap();
    let threads: Vec<_> = (0_u64..)
        .zip(inlets)
        .map(|(first, mut inlet)| {
            std::thread::spawn(move || {
                let mut batch = PacketSlab::new(7, 0);
                for numbers in (0..500).collect::<Vec<u64>>().chunks(7) {
                    batch.clear();
                    numbers.iter().for_each(|number| put(&mut batch, 2 * number + first, 20));
                    inlet.copy(&batch.batch());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(!path.exists() || recorder.inlets().len() == 2);
    let recording = recorder.end();
    check(&recording);
    assert_eq!((recording.counters.record_written, recording.counters.record_dropped), (1000, 0));
    let mut numbers = numbers_in(std::fs::read(&path).unwrap());
    let of_first: Vec<u64> = numbers.iter().copied().filter(|number| number % 2 == 0).collect();
    assert!(of_first.is_sorted());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    let bytes = std::fs::read(&path).unwrap();
    for address in [[10, 0, 0, 1], [10, 0, 0, 2]] {
        // Source 10.0.0.7 and the destination follow one another in the header.
        let sought = [&[10, 0, 0, 7][..], &address].concat();
        assert!(bytes.windows(8).any(|window| window == sought), "{address:?}");
    }
    assert!(DiskFiles::new(FileNames::single(&path)).is_err(), "a recording would be replaced");
}

#[test]
fn what_a_killed_process_leaves_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let mut writer =
        RecordingWriter::begin(DiskFiles::new(FileNames::single(&path)).unwrap(), Rotation::default())
            .unwrap();
    let mut slab = PacketSlab::new(1000, 0);
    (0..1000).for_each(|number| put(&mut slab, number, 60));
    assert_eq!(writer.write(&slab.batch(), 0, HERE[0]), 1000);
    writer.idle();
    let left = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert!(left.to_string_lossy().contains("run.pcapng.partial-"), "{left:?}");
    assert_eq!(numbers_in(std::fs::read(left).unwrap()), (0..1000).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    #[test]
    fn rotated_files_have_every_packet_once_and_keep_their_limits(
        lengths in proptest::collection::vec(8..3000_usize, 1..200),
        size in proptest::option::of(200..40_000_u64),
        milliseconds in proptest::option::of(1..50_u64),
        slab_packets in 1..40_usize,
    ) {
        let disk = TestDisk::default();
        let rotation = Rotation { size, time: milliseconds.map(Duration::from_millis) };
        let writer = RecordingWriter::begin(disk.clone(), rotation).unwrap();
        let queue = RecordQueue { slabs: 200, packets_per_slab: slab_packets, bytes_per_slab: 0 };
        let (recorder, mut inlets) = Recorder::start(writer, &HERE, queue).unwrap();
        let mut inlet = inlets.pop().unwrap();
        for (number, &length) in (0..).zip(&lengths) {
            put(inlet.slab_with_room(length), number, length);
            inlet.commit();
        }
        drop(inlet);
        let recording = recorder.end();
        check(&recording);
        let files = disk.numbers();
        prop_assert_eq!(files.concat(), (0..lengths.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(files.len(), recording.files.len());
        for (numbers, file) in files.iter().zip(&recording.files) {
            prop_assert!(file.complete);
            prop_assert_eq!(file.packets, numbers.len() as u64);
            prop_assert_eq!(
                (file.first_ns, file.last_ns),
                (numbers[0] * 1_000_000, numbers[numbers.len() - 1] * 1_000_000)
            );
            prop_assert!(numbers.len() == 1 || size.is_none_or(|size| file.file_bytes <= size));
            let covered = file.last_ns - file.first_ns;
            prop_assert!(milliseconds.is_none_or(|limit| covered < limit * 1_000_000));
        }
    }
}

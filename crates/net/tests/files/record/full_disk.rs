//! A disk that is full: what has been taken waits, and goes into the same file when there is space.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;

use evforge_core::packet::PacketSlab;
use evforge_net::record::{RecordInlet, RecordQueue, Recorder, RecordingWriter, Rotation};
use evforge_testkit::patience::wait_for;
use evforge_testkit::properties::cases;
use proptest::prelude::*;

use crate::record::disk::{HERE, TestDisk, check, numbers_in, put, put_until};

/// A disk with room for so many bytes.
fn small(room: usize) -> TestDisk {
    let disk = TestDisk::default();
    disk.room.store(room, Ordering::Relaxed);
    disk
}

fn start(disk: &TestDisk, queue: RecordQueue) -> (Recorder, RecordInlet) {
    let writer = RecordingWriter::begin(disk.clone(), Rotation::default()).expect("a file");
    let (recorder, mut inlets) = Recorder::start(writer, &HERE, queue).expect("a thread");
    (recorder, inlets.pop().expect("an inlet"))
}

const SMALL_QUEUE: RecordQueue = RecordQueue { slabs: 2, packets_per_slab: 100, bytes_per_slab: 0 };

#[test]
fn a_full_disk_is_waited_for_and_the_file_goes_on_where_it_was() {
    let disk = small(300_000);
    let (recorder, mut inlet) = start(&disk, SMALL_QUEUE);
    let next = put_until(&mut inlet, 0, "nothing is dropped while the disk is full", || {
        let alarm = recorder.alarm().unwrap_or_default();
        alarm.contains("The disk is full")
            && alarm.contains(" packets wait for space, ")
            && !alarm.contains(" 0 are")
    });
    assert!(!recorder.has_failed(), "the recording has ended");
    // What is in the file is readable, and ends with a whole packet; but a try may be under way.
    let (held, waited) = (recorder.inlets()[0], recorder.alarm().unwrap());
    assert!(held.dropped > 0 && waited.starts_with("file 0 cannot be written: "), "{waited}");
    let file = || Some(disk.files.lock().expect("no panic")[0].clone()).filter(|file| file.len() < 300_000);
    let first = numbers_in(wait_for("the file is cut back", file));
    assert!(first.len() > 10 && first == (0..first.len() as u64).collect::<Vec<_>>(), "{first:?}");
    disk.room.store(usize::MAX, Ordering::Relaxed);
    let total = put_until(&mut inlet, next, "the alarm does not say that it is over", || {
        let alarm = recorder.alarm().unwrap_or_default();
        alarm.starts_with("The disk was full from 20")
            && alarm.ends_with("packets are missing because of that.")
    });
    let dropped = inlet.counts().dropped;
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    let counters = &recording.counters;
    assert_eq!((&recording.failure, counters.record_not_written), (&None, 0));
    assert!(
        recording.files.len() == 1 && recording.files[0].complete && !recording.is_whole(),
        "{recording:?}"
    );
    assert_eq!((counters.record_received, counters.record_dropped), (total, dropped));
    let told = recording.interruption.as_deref().unwrap();
    assert!(told.contains(&format!("Z: {dropped} packets are missing because of that.")), "{told}");
    let present = disk.numbers().concat();
    let different: BTreeSet<u64> = present.iter().copied().collect();
    assert!(
        present.is_sorted() && different.len() == present.len(),
        "the order is lost, or a packet is there twice"
    );
    assert_eq!(present.len() as u64 + dropped, total);
    assert!(present.starts_with(&first) && present.last() == Some(&(total - 1)));
}

#[test]
fn a_disk_that_stays_full_ends_the_writing_with_the_recording_and_what_is_there_is_whole() {
    let disk = small(3_500_000);
    let (recorder, mut inlet) = start(&disk, RecordQueue::of_bytes(64 << 20));
    for number in 0..1000 {
        put(inlet.slab_with_room(9000), number, 9000);
        inlet.commit();
    }
    let total = put_until(&mut inlet, 1000, "no alarm is raised", || recorder.alarm().is_some());
    assert!(!recorder.has_failed(), "it does not wait");
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    let failure = recording.failure.as_deref().unwrap();
    assert!(
        failure.contains("file 0 cannot be written") && failure.contains("The disk is full"),
        "{failure}"
    );
    let [file] = &recording.files[..] else { panic!("{recording:?}") };
    assert!(!file.complete && file.path.ends_with("file 0.partial"));
    let counters = &recording.counters;
    assert!(file.packets > 100 && counters.record_not_written > 100, "{recording:?}");
    assert_eq!((counters.record_received, counters.record_dropped), (total, 0));
    let told = recording.interruption.as_deref().unwrap();
    let missing = counters.record_not_written;
    assert!(
        told.ends_with(&format!(" to the end: {missing} packets are missing because of that.")),
        "{told}"
    );
    assert_eq!(disk.numbers(), [(0..file.packets).collect::<Vec<_>>()]);
}

#[test]
fn space_that_comes_with_the_end_of_the_recording_is_used() {
    let disk = small(20_000);
    let (recorder, mut inlet) = start(&disk, RecordQueue::of_bytes(64 << 20));
    let total = put_until(&mut inlet, 0, "no alarm is raised", || recorder.alarm().is_some());
    disk.room.store(usize::MAX, Ordering::Relaxed);
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    assert_eq!((&recording.failure, recording.counters.record_written), (&None, total));
    assert_eq!(disk.numbers(), [(0..total).collect::<Vec<_>>()]);
    assert!(recording.interruption.unwrap().contains("Z: 0 packets are missing"));
}

#[test]
fn a_used_up_quota_is_waited_for_and_any_other_error_is_final() {
    for (refusal, is_final) in [(io::ErrorKind::QuotaExceeded, false), (io::ErrorKind::FileTooLarge, true)] {
        let mut disk = small(20_000);
        disk.refusal = refusal;
        let (recorder, mut inlet) = start(&disk, RecordQueue::of_bytes(64 << 20));
        put_until(&mut inlet, 0, "no alarm is raised", || recorder.alarm().is_some());
        assert_eq!(recorder.has_failed(), is_final, "{refusal:?}");
        disk.room.store(usize::MAX, Ordering::Relaxed);
        drop(inlet);
        let recording = recorder.end();
        check(&recording);
        assert_eq!(recording.failure.is_some(), is_final, "{recording:?}");
        assert_eq!(recording.counters.record_not_written > 0, is_final);
    }
}

#[test]
fn a_file_that_somebody_removes_to_make_space_is_missed_and_the_recording_goes_on() {
    let disk = small(20_000);
    let (recorder, mut inlet) = start(&disk, RecordQueue::of_bytes(64 << 20));
    let next = put_until(&mut inlet, 0, "no alarm is raised", || recorder.alarm().is_some());
    disk.room.store(usize::MAX, Ordering::Relaxed);
    disk.removed.store(true, Ordering::Relaxed);
    let files = || disk.files.lock().expect("no panic").len();
    let total = put_until(&mut inlet, next, "the recording does not go on", || files() == 2);
    drop(inlet);
    let recording = recorder.end();
    check(&recording);
    let told = recording.interruption.as_deref().unwrap();
    assert!(told.contains("was removed") && told.contains("The disk was full"), "{told}");
    let counters = &recording.counters;
    assert_eq!((&recording.failure, counters.record_received), (&None, total));
    assert!(counters.record_not_written > 0);
    assert_eq!(disk.numbers()[1].len() as u64 + counters.record_not_written, total);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    /// However often the disk is full, and whichever file is written then.
    #[test]
    fn every_packet_is_there_once_whenever_there_was_space(
        lengths in proptest::collection::vec(8..3000_usize, 1..200),
        size in proptest::option::of(200..40_000_u64),
        steps in proptest::collection::vec(0..60_000_usize, 1..20),
        slab_packets in 1..40_usize,
    ) {
        let disk = small(0);
        let mut writer = RecordingWriter::begin(disk.clone(), Rotation { size, time: None }).unwrap();
        let mut waits = 0;
        let mut steps = steps.into_iter();
        let mut free = |writer: &mut RecordingWriter| {
            waits += 1;
            match steps.next() {
                Some(step) => disk.room.fetch_add(step, Ordering::Relaxed),
                None => disk.room.swap(usize::MAX, Ordering::Relaxed),
            };
            writer.idle();
        };
        let numbers: Vec<u64> = (0..lengths.len() as u64).collect();
        let mut slab = PacketSlab::new(slab_packets, 200_000);
        for piece in numbers.chunks(slab_packets) {
            slab.clear();
            piece.iter().for_each(|&number| put(&mut slab, number, lengths[number as usize]));
            let mut next = writer.write(&slab.batch(), 0, HERE[0]);
            while next < piece.len() {
                prop_assert!(writer.is_waiting());
                free(&mut writer);
                next = writer.write(&slab.batch(), next, HERE[0]);
            }
        }
        writer.idle();
        while writer.is_waiting() {
            free(&mut writer);
        }
        prop_assert!(waits > 0);
        prop_assert_eq!((writer.written(), writer.not_written(), writer.failure()), (lengths.len() as u64, 0, None));
        let files = disk.numbers();
        prop_assert_eq!(files.concat(), numbers);
        let files = disk.files.lock().expect("no panic");
        let limit = |bytes: usize| size.is_none_or(|size| bytes as u64 <= size.max(4000));
        prop_assert!(files.iter().all(|file| limit(file.len())));
    }
}

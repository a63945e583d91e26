//! Finishing what a recording has left that was killed: every whole packet is kept, and no file is replaced.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::capture::CaptureReader;
use evforge_net::record::{DiskFiles, FileNames, FinishError, RecordingWriter, Rotation, finish_recording};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const PACKETS: u64 = 20;
const LEFT: &str = "run.pcapng.partial-20261031T120000Z-1-5be0c2a7";

/// A recorder that is writing `run.pcapng` in a folder, with its packets on the disk.
fn recorder(folder: &Path) -> (RecordingWriter, PathBuf) {
    let names = FileNames::single(&folder.join("run.pcapng"));
    let mut writer = RecordingWriter::begin(DiskFiles::new(names).expect("a recording"), Rotation::default())
        .expect("a recording");
    let mut slab = PacketSlab::new(PACKETS as usize, 0);
    for number in 0..PACKETS {
        let origin =
            PacketOrigin { source: ([10, 0, 0, 1], 77).into(), arrival_ns: number, ..Default::default() };
        assert!(slab.push(&[number as u8; 61], 61, origin));
    }
    writer.write(&slab.batch(), 0, HERE);
    writer.idle();
    let mut files =
        fs::read_dir(folder).expect("a recording").map(|entry| entry.expect("a recording").path());
    let partial =
        files.find(|path| path.to_string_lossy().contains("run.pcapng.partial-")).expect("a recording");
    (writer, partial)
}

/// The bytes of a recording that was not ended.
fn unfinished() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a recording");
    let (_writer, partial) = recorder(folder.path());
    fs::read(partial).expect("a recording")
}

/// The first byte of each packet.
fn packets(path: &Path) -> Vec<u8> {
    let mut reader = CaptureReader::open(path).expect("a recording");
    let mut slab = PacketSlab::new(1000, 0);
    reader.fill(&mut slab).expect("a recording");
    slab.batch().iter().map(|packet| packet.bytes[0]).collect()
}

#[test]
fn every_whole_packet_is_kept_wherever_the_file_ends() {
    let whole = unfinished();
    let block = (whole.len() - 100) / PACKETS as usize;
    for length in whole.len() - 2 * block..=whole.len() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(LEFT);
        fs::write(&left, &whole[..length]).unwrap();
        let finished = finish_recording(&left).unwrap();
        assert_eq!(finished.path, folder.path().join("run.pcapng"));
        assert_eq!(finished.file_bytes + finished.cut_bytes, length as u64);
        assert!(finished.cut_bytes < block as u64 + 100 && !left.exists());
        let found = packets(&finished.path);
        assert_eq!(found, (0..finished.packets as u8).collect::<Vec<_>>());
        assert!(finished.packets + 3 >= PACKETS && (length < whole.len()) == (finished.packets < PACKETS));
    }
}

#[test]
fn zeros_at_the_end_are_cut_away_and_damage_before_it_is_left_alone() {
    let whole = unfinished();
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(LEFT);
    fs::write(&left, [&whole[..], &vec![0; 3 << 20]].concat()).unwrap();
    let finished = finish_recording(&left).unwrap();
    assert_eq!((finished.packets, finished.cut_bytes), (PACKETS, 3 << 20));
    // The length of a block in the middle is damaged: more than 64 MiB, no multiple of 4, beyond the end of the file, too
    // long for a packet.
    let first = whole.windows(4).position(|word| word == 6_u32.to_le_bytes()).unwrap();
    for length in [u32::MAX, 61, 1 << 20, 1 << 17] {
        let mut damaged = whole.clone();
        damaged[first + 4..first + 8].copy_from_slice(&length.to_le_bytes());
        fs::write(&left, &damaged).unwrap();
        let error = finish_recording(&left).unwrap_err();
        assert!(matches!(error, FinishError::Damaged { .. }), "{length}: {error}");
        assert!(error.to_string().contains("the file was left as it is"), "{error}");
        assert!(fs::read(&left).unwrap() == damaged, "{length}");
    }
}

#[test]
fn no_file_is_replaced_and_none_that_is_being_written_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let whole = unfinished();
    let path = |name: &str| folder.path().join(name);
    let (writer, being_written) = recorder(folder.path());
    let error = finish_recording(&being_written).unwrap_err();
    assert!(matches!(error, FinishError::InUse(_)), "{error}");
    // The recording under way will want the name.
    let names = FileNames::single(&path("run.pcapng"));
    assert!(names.left_over().unwrap().is_empty());
    fs::write(path(LEFT), &whole).unwrap();
    assert_eq!(names.left_over().unwrap(), [path(LEFT)]);
    assert_eq!(finish_recording(&path(LEFT)).unwrap().path, path("run-recovered.pcapng"));
    drop(writer);
    // It is there.
    fs::write(path("run.pcapng"), "somebody's data").unwrap();
    fs::write(path("run.pcapng.partial"), &whole).unwrap();
    let finished = finish_recording(&path("run.pcapng.partial")).unwrap();
    assert_eq!(finished.path, path("run-recovered-2.pcapng"));
    assert_eq!(fs::read(path("run.pcapng")).unwrap(), b"somebody's data");
}

#[test]
fn what_is_no_recording_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let whole = unfinished();
    let path = |name: &str| folder.path().join(name);
    let beginning = &whole[..100];
    for (name, content, expected) in [
        ("run.pcapng", &whole[..], "not called like a recording that has not ended"),
        ("run.pcapng.partial-1", b"somebody's data", "does not begin as pcapng"),
        ("run.pcapng.partial-2", b"", "does not begin as pcapng"),
        ("run.pcapng.partial-3", beginning, "not a single whole packet"),
    ] {
        fs::write(path(name), content).unwrap();
        let error = finish_recording(&path(name)).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(fs::read(path(name)).unwrap(), content, "{name}");
    }
    std::os::unix::fs::symlink(path("run.pcapng"), path("run.pcapng.partial-4")).unwrap();
    assert!(finish_recording(&path("run.pcapng.partial-4")).is_err());
    assert!(
        finish_recording(&path("absent.pcapng.partial")).unwrap_err().to_string().contains("No such file")
    );
    assert_eq!(fs::read(path("run.pcapng")).unwrap(), whole);
}

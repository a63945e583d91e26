//! Writers that are killed, and disks that are full: what is in the file then, and what recovery makes of it.
//!
//! The writers are child processes: this test program again, told by the environment to be one.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Run, flat_options, read};
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameState, ProtonCharge};
use evforge_core::ledger::DetectorLedger;
use evforge_stream::nexus::{Compression, ExistingFile, NexusError, needs_recovery, recover};
use evforge_testkit::properties::cases;
use hdf5_metno::{File, OpenMode};

const EVENTS: &str = "/entry/instrument/detector/detector_events";
/// Time between the events of a child, in nanoseconds: 100 000 events per pulse of the test.
pub(crate) const SPACING: u64 = 1_000;

/// The event number `index` of a child.
pub(crate) fn event(index: u64) -> Event {
    Event { time_ns: index * SPACING, pixel_id: (index % 48) as u32 + 1 }
}

/// Events of a pulse of a child, and nanoseconds between pulses.
const OF_PULSE: u64 = 100_000;
const PERIOD: u64 = OF_PULSE * SPACING;

/// What a child tells of a pulse in the end. Of its first half it tells nothing but the time.
pub(crate) fn frame_of(start_ns: u64) -> Frame {
    let pulse = start_ns / PERIOD;
    let charge = Some(ProtonCharge { uah: pulse as f64 });
    Frame { period: Some(pulse as u32), charge, state: FrameState::Complete, ..Frame::default() }
}

/// Tells the pulse of the event number `index`.
fn tell(batch: &mut EventBatch, index: u64) {
    let start_ns = index / OF_PULSE * PERIOD;
    let is_known = index % OF_PULSE >= OF_PULSE / 2;
    let frame = if is_known { frame_of(start_ns) } else { Frame::default() };
    assert!(batch.begin_frame(start_ns, frame));
}

/// What a child is to do, in the variable `EVFORGE_TEST_WRITER`: path, compression (0, 1 or 2), bytes per file.
const TASK: &str = "EVFORGE_TEST_WRITER";

pub(crate) fn start_writer(path: &Path, compression: u64, limit: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_writer", "--nocapture", "--test-threads=1"])
        .env(TASK, format!("{}|{}|{limit}", path.display(), compression % 3))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The child: writes events without end and prints how many are committed, until it is killed or fails.
#[test]
fn child_writer() {
    let Ok(task) = std::env::var(TASK) else { return };
    let [path, compression, limit] = task.split('|').collect::<Vec<_>>()[..] else {
        panic!("bad task {task}")
    };
    limit_file_size(limit.parse().unwrap());
    let mut options = flat_options(Path::new(path));
    options.chunk_events = 4096;
    options.flush_interval = Duration::from_millis(3);
    options.frames = Some(Vec::new());
    options.compression = match compression {
        "0" => Compression::None,
        "1" => Compression::Lzf,
        _ => Compression::default(),
    };
    if options.compression == Compression::default() {
        // So that commits find chunks of all kinds: packed, plain, and full of both.
        options.chunk_events = 1024;
    }
    let mut writer = Run::begin(&options).unwrap();
    let mut batch = EventBatch::new(777);
    let mut index = 0;
    let (mut safe, mut rows) = (0, 0);
    loop {
        batch.clear();
        tell(&mut batch, index);
        while batch.push(event(index)) {
            index += 1;
            if index % (OF_PULSE / 2) == 0 {
                tell(&mut batch, index);
            }
        }
        let taken = writer.take(&batch).and_then(|()| {
            rows += 1;
            if rows % 100 == 0 { writer.observe(&DetectorLedger::default()) } else { Ok(()) }
        });
        if let Err(error) = taken {
            println!("\nfailed: {error}");
            println!("again: {}", writer.take(&batch).unwrap_err());
            drop(writer);
            return;
        }
        if writer.writer().committed_events() != safe {
            safe = writer.writer().committed_events();
            println!("\ncommitted {safe}");
        }
    }
}

/// Makes every file of this process fail to grow beyond `bytes` (0: no limit), like a disk that is full.
fn limit_file_size(bytes: u64) {
    if bytes == 0 {
        return;
    }
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: `limit` is a valid rlimit for the duration of the call, and ignoring SIGXFSZ, whose default is
    // to end the process, is allowed at any time.
    let status = unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit)
    };
    assert_eq!(status, 0);
}

/// Number after the last complete line that begins with `committed `.
fn last_committed(output: &str) -> u64 {
    let complete = output.rfind('\n').map_or("", |end| &output[..end]);
    let last = complete.lines().filter_map(|line| line.strip_prefix("committed ")).next_back();
    last.map_or(0, |number| number.parse().unwrap())
}

/// Checks every event of a file that a child has written, and returns their number.
fn check_events(file: &File) -> u64 {
    let events = file.group(EVENTS).unwrap();
    let (id, offset) = (read::<i32>(&events, "event_id"), read::<i32>(&events, "event_time_offset"));
    let (zero, index) = (read::<u64>(&events, "event_time_zero"), read::<i64>(&events, "event_index"));
    assert_eq!((id.len(), zero.len()), (offset.len(), index.len()));
    for pulse in 0..zero.len() {
        let end = index.get(pulse + 1).map_or(id.len(), |&end| end as usize);
        for at in index[pulse] as usize..end {
            let expected = event(at as u64);
            assert_eq!(
                (id[at] as u32, zero[pulse] + offset[at] as u64),
                (expected.pixel_id, expected.time_ns)
            );
        }
    }
    assert!(index.first().is_none_or(|&first| first == 0));
    check_frames(file, &zero);
    assert_eq!(events.dataset("total_counts").unwrap().read_scalar::<u64>().unwrap(), id.len() as u64);
    id.len() as u64
}

/// Each pulse has its frame, as it was known in the end. Of the last, which may go on, some may be unknown yet; its state comes last, so
/// where that is known, all is.
fn check_frames(file: &File, zero: &[u64]) {
    if !file.link_exists("/entry/framelog") {
        return;
    }
    let value = |name: &str| file.group(&format!("/entry/framelog/{name}")).unwrap();
    let (periods, states) =
        (read::<i32>(&value("period_log"), "value"), read::<i32>(&value("frame_state"), "value"));
    let charges = read::<f64>(&value("proton_charge"), "value");
    assert_eq!(
        read::<i64>(&value("is_good"), "time"),
        zero.iter().map(|&zero| zero as i64).collect::<Vec<_>>()
    );
    assert_eq!((periods.len(), states.len(), charges.len()), (zero.len(), zero.len(), zero.len()));
    for (pulse, &start) in zero.iter().enumerate() {
        let known = (frame_of(start).period.unwrap() as i32 + 1, 1, frame_of(start).charge.unwrap().uah);
        let found = (periods[pulse], states[pulse], charges[pulse]);
        let is_part_of_it = [0, known.0].contains(&found.0) && (found.2.is_nan() || found.2 == known.2);
        let may_go_on = pulse + 1 == zero.len() && found.1 == 0;
        assert!(found == known || (may_go_on && is_part_of_it), "pulse {pulse}: {found:?}");
    }
    let entry = file.group("/entry").unwrap();
    assert_eq!(entry.dataset("raw_frames").unwrap().read_scalar::<u64>().unwrap(), zero.len() as u64);
    let sum: f64 = charges.iter().filter(|charge| !charge.is_nan()).sum();
    assert_eq!(entry.dataset("proton_charge").unwrap().read_scalar::<f64>().unwrap(), sum);
}

#[test]
fn a_killed_writer_costs_nothing_that_was_committed() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    // Moments spread over the time, so that some lie within a commit.
    for round in 0..u64::from(cases(9)) {
        let path = folder.path().join(format!("run-{round}.nxs"));
        let mut child = start_writer(&path, round, 0);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while last_committed(&text) == 0 {
            assert!(output.read_line(&mut text).unwrap() > 0, "the writer ended early: {text}");
        }
        assert!(matches!(needs_recovery(&path), Err(NexusError::InUse(_))));
        assert!(matches!(recover(&path), Err(NexusError::InUse(_))));
        std::thread::sleep(Duration::from_micros(round * round * 7_919 % 400_000));
        child.kill().unwrap();
        child.wait().unwrap();
        output.read_to_string(&mut text).unwrap();
        let safe = last_committed(&text);

        assert!(File::open(&path).is_err(), "a killed writer's file should refuse a plain open");
        {
            let followed = File::open_as(&path, OpenMode::ReadSWMR).unwrap();
            let events = followed.group(EVENTS).unwrap();
            assert!(events.dataset("total_counts").unwrap().read_scalar::<u64>().unwrap() >= safe);
            assert!(read::<i32>(&events, "event_id").len() as u64 >= safe);
        }
        assert!(needs_recovery(&path).unwrap());
        // The next run does not destroy it by accident.
        let refusal = Run::begin(&flat_options(&path)).unwrap_err().to_string();
        assert!(refusal.contains("evforge write --recover"), "{refusal}");

        let recovered = recover(&path).unwrap();
        assert!(!recovered.was_whole && recovered.events >= safe, "{recovered} but {safe} were committed");
        let file = File::open(&path).unwrap();
        assert_eq!(check_events(&file), recovered.events);
        assert!(crate::common::text(&file, "/entry/recording/state").starts_with("recovered: on 2"));
        assert_eq!(crate::common::text(&file, "/entry/end_time"), recovered.end_time);
        drop(file);
        assert!(!needs_recovery(&path).unwrap());
        let before = std::fs::read(&path).unwrap();
        let again = recover(&path).unwrap();
        assert!(again.was_whole && again.events == recovered.events);
        assert!(before == std::fs::read(&path).unwrap(), "a whole file must not be touched");
    }
}

#[test]
fn a_full_disk_is_one_clear_error_and_costs_nothing_that_was_committed() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    for (round, limit) in (0_u64..).zip([3_000_000, 3_333_333, 5_000_001, 4 << 20, 2_999_999, 3_500_000]) {
        let path = folder.path().join(format!("run-{round}.nxs"));
        let output = start_writer(&path, round, limit).wait_with_output().unwrap();
        let (text, noise) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{text}\n{noise}");
        let failure = text.lines().find_map(|line| line.strip_prefix("failed: ")).unwrap();
        let safe = last_committed(&text);
        assert!(failure.contains(&*path.to_string_lossy()), "{failure}");
        assert!(failure.contains("File too large"), "{failure}");
        assert!(failure.contains(&format!("The {safe} events up to the last commit are safe")), "{failure}");
        assert!(text.contains("again: ") && text.contains("takes no more events"), "{text}");
        assert!(!noise.contains("HDF5"), "{noise}");

        assert!(needs_recovery(&path).unwrap());
        let recovered = recover(&path).unwrap();
        assert!(recovered.events >= safe, "{recovered} but {safe} were committed");
        assert_eq!(check_events(&File::open(&path).unwrap()), recovered.events);
    }
}

#[test]
fn a_killed_writers_file_can_be_overwritten_or_left_beside() {
    let _alone = crate::common::alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut child = start_writer(&path, 2, 0);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while last_committed(&text) == 0 {
        assert!(output.read_line(&mut text).unwrap() > 0, "the writer ended early: {text}");
    }
    let mut options = flat_options(&path);
    options.existing = ExistingFile::Overwrite;
    assert!(matches!(Run::begin(&options), Err(NexusError::InUse(_))));
    child.kill().unwrap();
    child.wait().unwrap();
    options.existing = ExistingFile::Number;
    let mut beside = Run::begin(&options).unwrap();
    assert_eq!(beside.writer().path(), folder.path().join("run-1.nxs"));
    drop(beside);
    options.existing = ExistingFile::Overwrite;
    let mut over = Run::begin(&options).unwrap();
    over.finish(&DetectorLedger::default()).unwrap();
    assert_eq!(check_events(&File::open(&path).unwrap()), 0);
}

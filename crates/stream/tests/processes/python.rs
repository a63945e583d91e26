//! Event files read by their users' programs: h5py and scippnexus, through `tests/python`.
#![allow(clippy::unwrap_used)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Feed, Run, batch, python, python_script};
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameState, FrameVeto, ProtonCharge};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, PacketLedger, SourceLedger};
use evforge_core::live_time::LiveTime;
use evforge_core::pulse::PulseTrain;
use evforge_core::run_identity::RunIdentity;
use evforge_stream::nexus::{Compression, NexusOptions, PulseOrigin, recover};
use evforge_testkit::patience::patience;
use serde_json::json;

evforge_core::counters! {
    /// Counters of a toy detector.
    struct ToyCounters: "toy" {
        readouts: Enters(Readouts), Readouts, "Readouts found in packets.";
        hits: Leaves(Readouts), Hits, "Hits made of readouts.";
        pauses: Information, Times, "Pauses.";
    }
}

const ANCHOR: u64 = 1_790_000_000_000_000_000;

/// Events in 40 pulses of 14 Hz, some of them empty: time on the detector's clock and pixel.
fn events(pixels: u32) -> Vec<(u64, u32)> {
    let train = PulseTrain::ess();
    let mut events = Vec::new();
    for pulse in (0..40).filter(|pulse| pulse % 7 != 3) {
        for number in 0..pulse * 3 % 50 {
            let time = train.start_ns(pulse).unwrap() + number * 1_234_567;
            // Pixel 0 is "no pixel": kept in the file, in no picture.
            events.push((time, (pulse * 31 + number * 7) as u32 % (pixels + 1)));
        }
    }
    events
}

/// Two seconds: of ten packets eight, and of none any.
fn live_time() -> LiveTime {
    let mut live = LiveTime::new();
    (0..8).for_each(|packet| live.observe(ANCHOR + packet, true, if packet == 4 { 2 } else { 0 }));
    live.observe(ANCHOR + 1_000_000_000, false, 0);
    live
}

fn live_rows() -> serde_json::Value {
    let second = 1_000_000_000;
    json!([["FEC 1", ANCHOR, second, 8, 2, 0.8], ["FEC 1", ANCHOR + second, second, 0, 0, null]])
}

fn ledger(step: u64) -> DetectorLedger {
    DetectorLedger {
        sources: vec![SourceLedger {
            name: "FEC 1".into(),
            packets: PacketLedger {
                sent: Some(step * 10),
                received: step * 9,
                lost: step,
                ..Default::default()
            },
            live_time: live_time(),
            ..SourceLedger::default()
        }],
        counters: CounterSnapshot::of(&ToyCounters { readouts: step * 100, hits: step * 100, pauses: 0 }),
        ..Default::default()
    }
}

#[test]
fn h5py_and_scippnexus_see_what_was_written() {
    let _alone = crate::common::alone();
    let test = "h5py_and_scippnexus_see_what_was_written";
    if python(test).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let flat = LogicalGeometry::flat(8, 6).unwrap();
    let deep = LogicalGeometry::new(5, 4, 3, 2).unwrap();
    for (name, geometry, shape, compression, kill) in [
        ("plain", flat, vec![6, 8], Compression::None, false),
        ("lzf", flat, vec![6, 8], Compression::Lzf, false),
        ("deflate", LogicalGeometry::new(5, 4, 3, 1).unwrap(), vec![3, 4, 5], Compression::Deflate(1), false),
        ("panels", deep, vec![2, 3, 4, 5], Compression::None, false),
        ("recovered", flat, vec![6, 8], Compression::Lzf, true),
    ] {
        let path = folder.path().join(format!("{name}.nxs"));
        let mut options = NexusOptions::new(&path, "demo", geometry)
            .with_counters(&CounterSnapshot::of(&ToyCounters::default()));
        options.detector = "banana".into();
        options.run = RunIdentity {
            title: Some("Bananen: ½ reif".into()),
            number: Some(4711),
            experiment: Some("2026-0815".into()),
            experiment_description: Some("Ripening".into()),
            user: Some("Ada Lovelace".into()),
            sample: Some("banana".into()),
        };
        options.configuration = "[detector]\nname = \"banana\"\n".into();
        let pitch = &["2mm", "3mm", "5mm"][..if geometry.nz() > 1 { 3 } else { 2 }];
        options.placement = crate::common::placement(geometry, pitch, "4.5m");
        options.compression = compression;
        let events = events(geometry.pixel_count());
        let mut writer = Run::fed_by(Feed::anchored(PulseTrain::ess(), ANCHOR, events[0].0), &options);
        for (step, events) in events.chunks(100).enumerate() {
            writer.take(&batch(events)).unwrap();
            if step < 3 {
                writer.observe(&ledger(step as u64)).unwrap();
            }
            writer.commit().unwrap();
        }
        let path = if kill {
            // A copy of a file that is being written is what a killed writer leaves.
            let copy = folder.path().join("copy.nxs");
            std::fs::copy(&path, &copy).unwrap();
            assert!(!recover(&copy).unwrap().was_whole);
            copy
        } else {
            writer.finish(&ledger(3)).unwrap();
            path
        };

        let last = events.last().unwrap().0 / (1_000_000_000 / 14);
        let train = PulseTrain::ess();
        let first = train.locate(events[0].0).unwrap().pulse;
        let pulses: Vec<u64> = (first..=last).map(|pulse| train.start_ns(pulse).unwrap() + ANCHOR).collect();
        let rows = if kill { 3 } else { 4 };
        let expected = json!({
            "shape": shape,
            "pitch": [2e-3, 3e-3],
            "detector": "banana",
            "times": events.iter().map(|event| event.0 + ANCHOR).collect::<Vec<_>>(),
            "pixels": events.iter().map(|event| event.1).collect::<Vec<_>>(),
            "pulses": pulses,
            "ledger": {
                "packets_sent": (0..rows).map(|step| step * 10).collect::<Vec<_>>(),
                "packets_lost": (0..rows).collect::<Vec<_>>(),
                "unaccounted": vec![0; rows],
            },
            // As many as rows in one of the files: it must be clear which axis the texts have.
            "counters": {
                "hits": (0..rows).map(|step| step * 100).collect::<Vec<_>>(),
                "pauses": vec![0; rows],
                "readouts": (0..rows).map(|step| step * 100).collect::<Vec<_>>(),
            },
            "live_time": if kill { json!([]) } else { live_rows() },
            "state": if kill { "recovered" } else { "complete" },
            "run": {
                "title": "Bananen: ½ reif", "number": 4711, "entry_identifier": "4711", "experiment": "2026-0815",
                "experiment_description": "Ripening", "user": "Ada Lovelace", "sample": "banana",
            },
        });
        let expectation = folder.path().join("expected.json");
        std::fs::write(&expectation, expected.to_string()).unwrap();
        let output = python(test).unwrap().arg("whole").args([&path, &expectation]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
    }
}

/// Pulses of the readout: at odd times, some of them empty, with times of flight of many periods.
#[test]
fn h5py_and_scippnexus_see_the_pulses_of_the_readout() {
    let _alone = crate::common::alone();
    let test = "h5py_and_scippnexus_see_the_pulses_of_the_readout";
    let Some(mut command) = python(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(8, 6).unwrap());
    options.placement = crate::common::placement(options.geometry, &["2mm", "3mm"], "4.5m");
    options.pulse_origin = PulseOrigin::Readout;
    let mut writer = Run::begin(&options).unwrap();
    let (mut pulses, mut times, mut pixels) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = EventBatch::new(7);
    for number in 0..30_u64 {
        let pulse = ANCHOR + number * 2_200_000_000 + number * number;
        pulses.push(pulse);
        assert!(events.begin_pulse(pulse));
        for event in 0..number * 5 % 13 {
            let (time_ns, pixel_id) = (pulse + event * 170_000_001, ((number + event * 3) % 48 + 1) as u32);
            if events.is_full() {
                writer.take(&events).unwrap();
                events.clear();
                assert!(events.begin_pulse(pulse));
            }
            assert!(events.push(Event { time_ns, pixel_id }));
            times.push(time_ns);
            pixels.push(pixel_id);
        }
    }
    writer.take(&events).unwrap();
    writer.finish(&ledger(0)).unwrap();
    let expected = json!({
        "shape": [6, 8], "pitch": [2e-3, 3e-3], "detector": "detector", "times": times, "pixels": pixels,
        "pulses": pulses, "ledger": {"packets_sent": [0]}, "live_time": live_rows(),
        "state": "complete",
    });
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, expected.to_string()).unwrap();
    let output = command.arg("whole").args([&path, &expectation]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Clocks that go back now and then, by a little and by minutes, in files that ended and in those of killed writers.
#[test]
fn scippnexus_slices_by_pulse_time_whatever_the_clock_did() {
    let _alone = crate::common::alone();
    let test = "scippnexus_slices_by_pulse_time_whatever_the_clock_did";
    let Some(mut command) = python_script(test, "test_pulse_slices.py") else { return };
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=20_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let path = folder.path().join(format!("run{seed}.nxs"));
        let mut options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(8, 6).unwrap());
        options.pulse_origin = PulseOrigin::Readout;
        let mut writer = Run::begin(&options).unwrap();
        let mut events = EventBatch::new(500);
        let mut clock = ANCHOR;
        for number in 0..60_u64 {
            clock = match random(6) {
                0 if number > 2 => clock - random(100),
                1 if number > 2 => clock - random(300_000_000_000),
                _ => clock + 1 + random(100_000_000),
            };
            assert!(events.begin_pulse(clock));
            for event in 0..random(5) {
                assert!(events.push(Event { time_ns: clock + event * 1000, pixel_id: (number % 49) as u32 }));
            }
            if random(10) == 0 {
                writer.take(&events).unwrap();
                writer.commit().unwrap();
                events.clear();
            }
        }
        if seed % 2 == 0 {
            let copy = folder.path().join(format!("copy{seed}.nxs"));
            std::fs::copy(&path, &copy).unwrap();
            recover(&copy).unwrap();
            command.arg(&copy);
        }
        writer.take(&events).unwrap();
        writer.finish(&ledger(0)).unwrap();
        assert!(writer.writer().counters().pulses_late > 0, "seed {seed}");
        command.arg(&path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Frames with vetoes that count and that do not, in three periods; of some nobody has said everything.
#[test]
fn h5py_and_scippnexus_see_frames() {
    let _alone = crate::common::alone();
    let Some(mut command) = python("h5py_and_scippnexus_see_frames") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = NexusOptions::new(&path, "demo", LogicalGeometry::flat(8, 6).unwrap());
    options.pulse_origin = PulseOrigin::Readout;
    let veto = |bit, name: &str, counts| FrameVeto { bit, name: name.to_owned(), counts, frames: 0 };
    options.frames = Some(vec![veto(0, "overflow", false), veto(17, "Störung", true)]);
    let mut writer = Run::begin(&options).unwrap();
    let mut events = EventBatch::new(200);
    let (mut pulses, mut times, mut pixels, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..40_u64 {
        let start = ANCHOR + number * 20_000_000;
        let vetoes = [0, 1, 1 << 17, 1 << 31][number as usize % 4];
        let frame = Frame {
            period: (number % 9 != 4).then_some(number as u32 % 3),
            vetoes,
            is_vetoed: vetoes & !1 != 0,
            charge: (number % 5 != 1).then_some(ProtonCharge { uah: 1.738e-6 * number as f64 }),
            state: FrameState::ALL[number as usize / 10],
        };
        assert!(events.begin_frame(start, frame));
        for event in 0..number % 4 {
            let (time_ns, pixel_id) = (start + event * 1000, (number + event) as u32 % 48 + 1);
            assert!(events.push(Event { time_ns, pixel_id }));
            times.push(time_ns);
            pixels.push(pixel_id);
        }
        pulses.push(start);
        let uah = frame.charge.map(|charge| charge.uah);
        let period = frame.period.map_or(0, |period| period + 1);
        rows.push(json!([period, vetoes, !frame.is_vetoed, uah, frame.state.name()]));
        if number % 15 == 14 {
            writer.take(&events).unwrap();
            writer.commit().unwrap();
            events.clear();
        }
    }
    writer.take(&events).unwrap();
    writer.finish(&ledger(0)).unwrap();
    let expected = json!({
        "shape": [6, 8], "pitch": null, "detector": "detector", "times": times, "pixels": pixels,
        "pulses": pulses, "ledger": {"packets_sent": [0]}, "live_time": live_rows(), "state": "complete",
        "frames": rows, "vetoes": [[0, "overflow", false], [17, "Störung", true]],
    });
    let expectation = folder.path().join("expected.json");
    std::fs::write(&expectation, expected.to_string()).unwrap();
    let output = command.arg("whole").args([&path, &expectation]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn h5py_follows_a_file_that_grows() {
    let _alone = crate::common::alone();
    // Chunks of all kinds: not compressed; packed, and packed anew at the next commit; and plain until they are full.
    for (compression, chunk) in
        [(Compression::None, 4096), (Compression::default(), 1024), (Compression::default(), 16_384)]
    {
        follow(compression, chunk);
    }
}

fn follow(compression: Compression, chunk_events: usize) {
    let Some(mut command) = python("h5py_follows_a_file_that_grows") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = crate::common::flat_options(&path);
    options.flush_interval = Duration::from_millis(20);
    (options.compression, options.chunk_events) = (compression, chunk_events);
    options.frames = (compression == Compression::None).then(Vec::new);
    let mut writer = Run::begin(&options).unwrap();
    command.arg("follow").arg(&path).args(["--events", "60000"]);
    let mut follower = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let mut time = 0;
    while follower.try_wait().unwrap().is_none() {
        let events: Vec<(u64, u32)> = (0..500).map(|n| (time + n * 10_000, n as u32 % 48 + 1)).collect();
        time += 5_000_000;
        writer.take(&batch(&events)).unwrap();
        writer.observe(&DetectorLedger::default()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        if begin.elapsed() > patience() {
            follower.kill().unwrap();
        }
    }
    writer.finish(&DetectorLedger::default()).unwrap();
    let output = follower.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

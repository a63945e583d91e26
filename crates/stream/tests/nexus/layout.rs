//! What is in an event file, read back through HDF5.

use crate::common::{Feed, Run, batch, counter, flat_options, read};
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::event::Event;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, PacketLedger, SourceLedger};
use evforge_core::live_time::LiveTime;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStageSettings, Veto, VetoRange};
use evforge_stream::nexus::{Compression, NexusOptions, replace_report};
use hdf5_metno::File;
use hdf5_metno::types::FixedUnicode;

evforge_core::counters! {
    /// Counters of a toy detector.
    struct ToyCounters: "toy" {
        readouts: Enters(Readouts), Readouts, "Readouts found in packets.";
        hits: Leaves(Readouts), Hits, "Hits made of readouts.";
    }
}

const EVENTS: &str = "/entry/instrument/detector/detector_events";
const SECOND: u64 = 1_000_000_000;

#[test]
fn events_pulses_and_empty_pulses_are_where_readers_look() {
    let folder = tempfile::tempdir().unwrap();
    for compression in [Compression::None, Compression::Lzf, Compression::Deflate(4)] {
        let path = folder.path().join(format!("{compression:?}.nxs"));
        let mut options = flat_options(&path);
        options.compression = compression;
        let feed = Feed::anchored(PulseTrain::european_xfel(), 1_700_000_000 * SECOND, 5);
        let mut writer = Run::fed_by(feed, &options);
        // Pulse 0: two events; 1 and 2: none; 3: one. Split over batches in mid-pulse.
        writer.take(&batch(&[(5, 1)])).unwrap();
        writer.commit().unwrap();
        writer.take(&batch(&[(6, 2), (300_000_007, 48)])).unwrap();
        writer.finish(&DetectorLedger::default()).unwrap();

        let file = File::open(&path).unwrap();
        let events = file.group(EVENTS).unwrap();
        assert_eq!(read::<i32>(&events, "event_id"), [1, 2, 48]);
        assert_eq!(read::<i32>(&events, "event_time_offset"), [5, 6, 7]);
        let zeros: Vec<u64> = (0..4).map(|n| 1_700_000_000 * SECOND + n * 100_000_000).collect();
        assert_eq!(read::<u64>(&events, "event_time_zero"), zeros);
        assert_eq!(read::<i64>(&events, "event_index"), [0, 2, 2, 2]);
        assert_eq!(read::<i64>(&events, "cue_index"), [0, 2]);
        assert_eq!(events.dataset("total_counts").unwrap().read_scalar::<u64>().unwrap(), 3);
        assert_eq!(crate::common::text(&file, "/entry/start_time"), "2023-11-14T22:13:20Z");
        assert_eq!(crate::common::text(&file, "/entry/end_time"), "2023-11-14T22:13:20.300000007Z");
        assert_eq!(crate::common::text(&file, "/entry/recording/state"), "complete");
        let clock = "arrival stamp of the first packet in the capture";
        assert_eq!(crate::common::text(&file, "/entry/recording/clock"), clock);
        let report: serde_json::Value =
            serde_json::from_str(&crate::common::text(&file, "/entry/recording/report")).unwrap();
        assert_eq!(report["file"]["events"], 3);
        assert_eq!(report["file"]["empty_pulses"], 2);
    }
}

#[test]
fn the_pixel_grid_has_as_many_dimensions_as_the_detector() {
    let folder = tempfile::tempdir().unwrap();
    for (sides, shape) in [
        ([4, 3, 1, 1], vec![3, 4]),
        ([4, 3, 2, 1], vec![2, 3, 4]),
        ([4, 3, 1, 5], vec![5, 3, 4]),
        ([4, 3, 2, 5], vec![5, 2, 3, 4]),
    ] {
        let [nx, ny, nz, panels] = sides;
        let path = folder.path().join(format!("{}.nxs", shape.len() * 10 + shape[0]));
        let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
        let mut options = NexusOptions::new(&path, "demo", geometry);
        let pitch = &["1mm", "2mm", "3mm"][..if nz > 1 { 3 } else { 2 }];
        options.placement = crate::common::placement(geometry, pitch, "2m");
        let mut writer = Run::begin(&options).unwrap();
        writer.finish(&DetectorLedger::default()).unwrap();
        let file = File::open(&path).unwrap();
        let detector = file.group("/entry/instrument/detector").unwrap();
        assert_eq!(detector.dataset("detector_number").unwrap().shape(), shape);
        let numbers = read::<i32>(&detector, "detector_number");
        assert!(numbers.iter().copied().eq(1..=geometry.pixel_count() as i32));
        let columns = [-1.5e-3, -0.5e-3, 0.5e-3, 1.5e-3];
        let of_pixels: Vec<usize> = (usize::from(panels > 1)..shape.len()).collect();
        for (name, axes, expected) in [
            ("x_pixel_offset", of_pixels, columns.repeat((ny * nz) as usize)),
            ("y_pixel_offset", vec![shape.len() - 2], vec![-2e-3, 0.0, 2e-3]),
        ] {
            let offsets = read::<f64>(&detector, name);
            assert_eq!(offsets.len(), expected.len(), "{name}: a value for each pixel or row");
            assert!(offsets.iter().zip(&expected).all(|(offset, value)| (offset - value).abs() < 1e-12));
            let indices = detector.attr(&format!("{name}_indices")).unwrap().read_raw::<i32>().unwrap();
            let axes: Vec<i32> = axes.into_iter().map(|axis| axis as i32).collect();
            assert_eq!(indices, axes[..]);
        }
        // Panels whose places are not known are nowhere.
        assert_eq!(detector.dataset("depends_on").is_ok(), panels == 1);
    }
}

#[test]
fn what_is_not_known_of_a_place_is_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let file = File::open(&path).unwrap();
    let instrument = file.group("/entry/instrument").unwrap();
    for name in ["x_pixel_offset", "y_pixel_offset", "depends_on", "description"] {
        assert!(instrument.dataset(&format!("detector/{name}")).is_err(), "{name}");
    }
    assert!(instrument.group("detector/pixel_shape").is_err());
    assert!(instrument.dataset("source/depends_on").is_err());
}

#[test]
fn panels_that_are_placed_have_groups_of_their_own_with_their_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let geometry = LogicalGeometry::new(3, 2, 1, 2).unwrap();
    let mut options = NexusOptions::new(&path, "demo", geometry);
    options.placement = crate::common::two_panels(geometry);
    let mut writer = Run::begin(&options).unwrap();
    writer.take(&batch(&[(1, 1), (2, 7), (3, 12), (4, 6), (5, 0)])).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let file = File::open(&path).unwrap();
    for (panel, numbers, events, first) in
        [(0, 1..=6, [1, 6], "distance"), (1, 7..=12, [7, 12], "rotation_z")]
    {
        let detector = file.group(&format!("/entry/instrument/detector_{panel}")).unwrap();
        assert!(read::<i32>(&detector, "detector_number").into_iter().eq(numbers));
        let group = detector.group(&format!("detector_{panel}_events")).unwrap();
        assert_eq!(read::<i32>(&group, "event_id"), events);
        let path = format!("{}/transformations/{first}", detector.name());
        assert_eq!(crate::common::text(&file, &format!("{}/depends_on", detector.name())), path);
    }
    let report: serde_json::Value =
        serde_json::from_str(&crate::common::text(&file, "/entry/recording/report")).unwrap();
    assert_eq!(report["file"]["events_outside_monitors"], 1, "the event without a pixel is in no panel");
}

#[test]
fn marks_of_vetoes_stand_beside_the_events_and_layers_have_a_depth() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = flat_options(&path);
    options.geometry = LogicalGeometry::new(3, 2, 4, 1).unwrap();
    options.placement = crate::common::placement(options.geometry, &["1mm", "1mm", "500mm"], "2m");
    options.vetoes = vec!["prompt pulse".into(), "shutter".into()];
    let veto = |name: &str, from| Veto { name: name.into(), range: VetoRange::TimeOfFlight(from, from + 1) };
    let settings = PulseStageSettings {
        vetoes: vec![veto("prompt pulse", 5), veto("shutter", 6)],
        ..PulseStageSettings::new(PulseTrain::european_xfel(), CalendarRule::Readout)
    };
    let mut writer = Run::fed_by(Feed::with(settings), &options);
    writer.take(&batch(&[(5, 1), (6, 24)])).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();

    let file = File::open(&path).unwrap();
    let events = file.group(EVENTS).unwrap();
    assert_eq!(read::<u8>(&events, "event_veto"), [1, 2]);
    let detector = file.group("/entry/instrument/detector").unwrap();
    let numbers = detector.dataset("detector_number").unwrap();
    assert_eq!(numbers.shape(), [4, 2, 3]);
    assert_eq!(read::<f64>(&detector, "z_pixel_offset"), [-0.75, -0.25, 0.25, 0.75]);
}

#[test]
fn the_ledger_is_a_time_series() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let ledger = |readouts: u64, hits: u64, sent: Option<u64>| DetectorLedger {
        sources: vec![SourceLedger {
            name: "FEC 1".into(),
            packets: PacketLedger { sent, received: 9, lost: 1, ..PacketLedger::default() },
            ..SourceLedger::default()
        }],
        counters: CounterSnapshot::of(&ToyCounters { readouts, hits }),
        ..Default::default()
    };
    let options = flat_options(&path).with_counters(&CounterSnapshot::of(&ToyCounters::default()));
    let mut writer = Run::begin(&options).unwrap();
    writer.observe(&ledger(1, 1, None)).unwrap();
    writer.finish(&ledger(5, 4, Some(10))).unwrap();
    assert_eq!(ToyCounters::STAGE, "toy");

    let file = File::open(&path).unwrap();
    let series = file.group("/entry/ledger").unwrap();
    assert_eq!(series.dataset("time").unwrap().size(), 2);
    let table = series.group("counters").unwrap();
    assert_eq!(counter(&table, "readouts"), Some(vec![1, 5]));
    assert_eq!(read::<FixedUnicode<256>>(&table, "description")[1].as_str(), "Hits made of readouts. [hits]");
    assert_eq!(read::<i64>(&table, "time"), read::<i64>(&series, "time"));
    for (name, last) in [("packets_sent", 10.0), ("packets_lost", 1.0), ("packets_reordered", 0.0)] {
        let values = read::<f64>(&series, &format!("{name}/value"));
        assert!(values[0].is_nan() && values[1] == last, "{name}: {values:?}");
    }
    assert_eq!(read::<i64>(&series, "packets_received/value"), [9, 9]);
    assert_eq!(read::<i64>(&series, "unaccounted/value"), [0, 1]);
    // Locks are per open file: replacing needs it to ourselves.
    drop((table, series, file));

    replace_report(&path, "{\"elapsed_s\": 1}").unwrap();
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(100_000));
    replace_report(&path, &long).unwrap();
    assert_eq!(crate::common::text(&File::open(&path).unwrap(), "/entry/recording/report"), long);
}

#[test]
fn clocks_that_jump_do_not_write_millions_of_empty_pulses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.take(&batch(&[(1, 1), (SECOND * 1_000_000_000, 1), (7, 1), (100_000_007, 1)])).unwrap();
    writer.take(&batch(&[(u64::MAX, 1), (100_000_008, 0), (100_000_009, u32::MAX)])).unwrap();
    let counters = writer.writer().counters();
    writer.finish(&DetectorLedger::default()).unwrap();
    assert_eq!((counters.pulses, counters.empty_pulses), (4, 0));
    assert_eq!((counters.events_outside_epoch, counters.events_without_pixel), (1, 2));
    assert_eq!((counters.events_taken, counters.events), (7, 6));
    let file = File::open(&path).unwrap();
    let events = file.group(EVENTS).unwrap();
    assert_eq!(read::<i64>(&events, "event_index"), [0, 1]);
    assert_eq!(read::<i32>(&events, "event_id"), [1, 1]);
    // The clock was ahead before.
    assert_eq!((counters.events_late, counters.pulses_late), (4, 2));
    let late = events.group("events_late").unwrap();
    assert_eq!(read::<i64>(&late, "event_index"), [0, 1]);
    assert_eq!(read::<i32>(&late, "event_id"), [1, 1, 0, 0]);
}

#[test]
fn options_that_make_no_sense_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let good = flat_options(&folder.path().join("run.nxs"));
    let refusal = |change: &dyn Fn(&mut NexusOptions)| {
        let mut options = good.clone();
        change(&mut options);
        Run::begin(&options).unwrap_err().to_string()
    };
    assert!(refusal(&|o| o.detector = "a/b".into()).contains("`a/b`"));
    assert!(refusal(&|o| o.run.title = Some("a\0b".into())).contains("run.title: contains"));
    assert!(refusal(&|o| o.compression = Compression::Deflate(10)).contains("level 10"));
    let output = |id: &str| (id.to_owned(), Vec::new());
    assert!(refusal(&|o| o.outputs = vec![output("a/b")]).contains("`a/b` cannot be the id"));
    assert!(refusal(&|o| o.outputs = vec![output("csv"), output("csv")]).contains("two outputs"));
    assert!(refusal(&|o| o.path = "/nonexistent-folder/run.nxs".into()).contains("No such file"));
    assert!(!good.path.exists());
}

#[test]
fn a_report_without_room_is_said_and_costs_no_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut options = flat_options(&path);
    options.report_space = 10;
    let mut writer = Run::begin(&options).unwrap();
    writer.take(&batch(&[(1, 1)])).unwrap();
    let error = writer.finish(&DetectorLedger::default()).unwrap_err().to_string();
    assert!(error.contains("the events are complete"), "{error}");
    let events = File::open(&path).unwrap().group(EVENTS).unwrap();
    assert_eq!(read::<i32>(&events, "event_id"), [1]);
}

#[test]
fn a_writer_that_is_dropped_keeps_its_events_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.take(&batch(&[(1, 1)])).unwrap();
    drop(writer);
    let file = File::open(&path).unwrap();
    assert_eq!(read::<i32>(&file.group(EVENTS).unwrap(), "event_id"), [1]);
    assert!(crate::common::text(&file, "/entry/recording/state").starts_with("incomplete"));
}

#[test]
fn big_batches_are_committed_before_the_interval() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    let mut events = evforge_core::event::EventBatch::new(1 << 20);
    for time_ns in 0..1 << 20 {
        assert!(events.push(Event { time_ns, pixel_id: 1 }));
    }
    writer.take(&events).unwrap();
    assert_eq!(writer.writer().committed_events(), 1 << 20);
}

/// Sources with a packet a second, and one lost with each in the seconds `lossy`.
fn live_ledger(seconds: u64, lossy: std::ops::Range<u64>) -> DetectorLedger {
    let mut live = LiveTime::new();
    (0..seconds)
        .for_each(|second| live.observe(second * 1_000_000_000, true, i64::from(lossy.contains(&second))));
    let source =
        |name: &str| SourceLedger { name: name.into(), live_time: live.clone(), ..SourceLedger::default() };
    DetectorLedger { sources: vec![source("FEC 1"), source("FEC 2")], ..DetectorLedger::default() }
}

#[test]
fn live_time_grows_with_the_run_in_rows_that_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    let mut seen = Vec::new();
    // More than fits into seconds: they are doubled twice under way.
    for seconds in (1..5000).step_by(7) {
        writer.observe(&live_ledger(seconds, 20..3000)).unwrap();
        writer.commit().unwrap();
        let file = File::open_as(&path, hdf5_metno::OpenMode::ReadSWMR).unwrap();
        let rows = read::<i64>(&file.group("/entry/live_time").unwrap(), "time");
        assert!(rows.starts_with(&seen), "rows were changed at {seconds} s");
        seen = rows;
    }
    assert!(seen.len() > 1000, "{} rows", seen.len());
    writer.finish(&live_ledger(5000, 20..3000)).unwrap();

    let file = File::open(&path).unwrap();
    let live = file.group("/entry/live_time").unwrap();
    let column = |name: &str| read::<i64>(&live, name);
    let (sources, times, durations) = (read::<i32>(&live, "source"), column("time"), column("duration"));
    let (received, lost) = (column("packets_received"), column("packets_lost"));
    let fractions = read::<f64>(&live, "live_fraction");
    for source in [0, 1] {
        let (mut until, mut sums) = (0, (0, 0));
        for row in (0..sources.len()).filter(|&row| sources[row] == source) {
            assert_eq!(times[row], until, "a gap or an overlap");
            until += durations[row];
            sums = (sums.0 + received[row], sums.1 + lost[row]);
            let end = until / 1_000_000_000;
            // What is missing at a packet was lost since the one before, a second earlier.
            if end <= 19 {
                assert_eq!((lost[row], fractions[row]), (0, 1.0));
            }
            if times[row] >= 20_000_000_000 && end < 2999 {
                assert_eq!(fractions[row], 0.5, "row {row}");
            }
        }
        assert_eq!(sums, (5000, 2980));
    }
    assert!(durations.contains(&1_000_000_000) && durations.contains(&2_000_000_000));
}

#[test]
fn a_run_is_called_as_its_operator_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.nxs");
    let mut writer = Run::begin(&flat_options(&path)).unwrap();
    writer.finish(&DetectorLedger::default()).unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(crate::common::text(&file, "/entry/title"), "demo run");
    let entry = file.group("/entry").unwrap();
    for absent in
        ["run_number", "entry_identifier", "experiment_identifier", "user", "proton_charge", "total_pulses"]
    {
        assert!(!entry.link_exists(absent), "{absent}");
    }
}

//! A file on the page, while it grows and afterwards.

use super::arguments::ViewArguments;
use super::beam;
use super::ending::Report;
use super::page::{BATCH, Page, Shown, SourceState};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::reading_watch::ReadingWatch;
use evforge_config::Config;
use evforge_core::batch_filler::BatchFiller;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::pulse::{PulseSource, PulseTrain};
use evforge_kafka::topic::Until;
use evforge_net::crash_note::CrashNote;
use evforge_stream::nexus::{EventFollower, FileState, place_pixels};
use serde_json::Map;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Events that are read before anything else is looked at.
const AT_ONCE: u64 = 1 << 17;
/// How long nothing is done when nothing has come.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows a file.
pub(super) fn view_file(
    arguments: &ViewArguments,
    path: &Path,
    config: Option<&Config>,
    stop: &Arc<AtomicBool>,
) -> Result<ExitStatus, CommandError> {
    let _note = CrashNote::while_hdf5_reads(path);
    let watch = ReadingWatch::start(path, ReadingWatch::PATIENCE, stop)?;
    let mut follower = EventFollower::open(path)?;
    let (shown, notes) = shown(arguments, path, config, &mut follower)?;
    let mut page = Page::start(arguments, shown, config, notes)?;
    if let Some(vetoes) = follower.content().frame_vetoes.clone() {
        page.expect_frames(vetoes);
    }
    // A file that is complete, or grows no further, is shown on.
    let serves_on = arguments.span.until(Until::Forever).waits();
    let deadline = arguments.ends_after.map(|time| time.to_std());
    let is_over = |page: &Page| {
        stop.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| page.elapsed() >= deadline)
    };
    let mut batch = EventBatch::new(BATCH);
    let mut state = FileState::Growing;
    let mut is_read = false;
    while (!is_read || state == FileState::Growing) && !is_over(&page) {
        watch.step();
        let mut hand_on = |batch: &EventBatch| page.take(batch);
        let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
        is_read = !follower.read(AT_ONCE, &mut filler);
        filler.finish();
        if is_read && state == FileState::Growing {
            state = follower.look()?.clone();
            // What came with the end is read as well.
            is_read = false;
            if state == FileState::Growing {
                std::thread::sleep(PAUSE);
            }
        }
        page.tell(|| source_state(&mut follower, &state));
    }
    let ended = match (&state, is_read) {
        (FileState::Complete, true) => "the file is complete",
        (FileState::Incomplete(_), true) => "no more of the file comes, and it is not whole",
        _ => "stopped on request",
    };
    let last = page.end(source_state(&mut follower, &state), ended);
    drop(watch);
    while is_read && serves_on && !is_over(&page) {
        std::thread::sleep(PAUSE);
    }
    let report = Report {
        input: path.display().to_string(),
        state: last,
        more: Map::new(),
        is_to_the_end: is_read && state != FileState::Growing,
    };
    Ok(report.tell(arguments))
}

/// What the page pictures the file with, and where that is from.
fn shown(
    arguments: &ViewArguments,
    path: &Path,
    config: Option<&Config>,
    follower: &mut EventFollower,
) -> Result<(Shown, Vec<String>), CommandError> {
    let mut pixel_ids = None;
    let known = match config {
        Some(config) => {
            let detector = config.build_detector()?;
            let ledger = evforge_pipeline::ledger_at_start(detector.as_ref());
            let monitors = ledger.beam_monitors.iter().map(|data| data.plan().clone()).collect();
            // Without a configuration the numbers of the detectors in the file say which pixels its ids are.
            pixel_ids = detector.pixel_ids();
            Some((detector.geometry(), monitors))
        }
        None => None,
    };
    let some_ids = follower.some_ids();
    let content = follower.content();
    let placed =
        place_pixels(content, known, some_ids).map_err(|why| format!("{}: {why}", path.display()))?;
    let stated = content.configuration.as_deref().and_then(stated_pulses);
    let (train, of_pulses) = arguments.train(config, content.period_ns, stated)?;
    let of_file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = config.map(|config| config.name.clone()).or_else(|| content.instrument.clone());
    let title = name.map_or_else(|| of_file.clone(), |name| format!("{name}: {of_file}"));
    let notes = vec![
        format!("pixels {}", placed.said),
        format!("pulses {of_pulses}: the spectrum is one period long"),
    ];
    let shown = Shown { title, geometry: placed.geometry, pixel_ids, monitors: placed.monitors, train };
    follower.set_pixels(placed.rules);
    Ok((shown, notes))
}

/// The pulses that the configuration in a file of ours states: this table, and nothing else of it, is taken from a file.
fn stated_pulses(text: &str) -> Option<PulseTrain> {
    let mut table: toml::Table = text.parse().ok()?;
    let source: Option<PulseSource> = match table.remove("pulses") {
        Some(pulses) => pulses.try_into().ok(),
        None => Some(PulseSource::default()),
    };
    source.map(|source| source.train)
}

fn source_state(follower: &mut EventFollower, state: &FileState) -> SourceState {
    let counters = follower.counters();
    let mut faults = follower.faults();
    if let FileState::Incomplete(why) = state {
        faults.push(why.clone());
    }
    SourceState {
        counters: CounterSnapshot::of(&counters),
        sources: Vec::new(),
        came: (counters.pulses_read, 0, counters.events_shown),
        refused: None,
        faults,
        alarms: Vec::new(),
        frames: None,
        beam: Some(beam::of_file(follower.logs())),
    }
}

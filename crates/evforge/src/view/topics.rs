//! Topics on the page.

use super::arguments::ViewArguments;
use super::beam;
use super::ending::Report;
use super::page::{BATCH, Page, Shown, SourceState};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::kafka::ending::refused_json;
use evforge_config::Config;
use evforge_core::batch_filler::BatchFiller;
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_kafka::client::{ClientSettings, Deadline};
use evforge_kafka::events::{EventTopics, MonitorPixels, TopicRole, TopicUse, Went};
use evforge_kafka::topic::{Begin, Until};
use serde_json::{Map, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Messages of each topic that are read before anything else is looked at.
const AT_ONCE: usize = 64;
/// How long nothing is done when nothing has come.
const PAUSE: Duration = Duration::from_millis(10);
/// Changes of topics that are shown, the newest.
const CHANGES: usize = 4;
/// How long nothing comes before it is said why.
const QUIET: Duration = Duration::from_secs(3);

/// Shows topics.
pub(super) fn view_topics(
    arguments: &ViewArguments,
    config: Option<&Config>,
    stop: &Arc<AtomicBool>,
) -> Result<ExitStatus, CommandError> {
    let config = config.ok_or(
        "messages do not say how many pixels there are: name the configuration of the instrument with --config FILE",
    )?;
    let detector = config.build_detector()?;
    let geometry = detector.geometry();
    let ledger = evforge_pipeline::ledger_at_start(detector.as_ref());
    let mut monitors: Vec<BeamMonitorPlan> =
        ledger.beam_monitors.iter().map(|data| data.plan().clone()).collect();
    // Monitors that nobody has described are one picture.
    let others = (monitors.is_empty() && !arguments.monitors.is_empty()).then(|| geometry.pixel_count() + 1);
    let pixels = MonitorPixels::new(&monitors, others);
    monitors.extend(others.map(all_monitors));
    let (train, of_pulses) = arguments.train(Some(config), None, None)?;
    let topics = topics(arguments);
    let (begin, until) = (arguments.span.begin(Begin::Newest), arguments.span.until(Until::Forever));
    let settings = settings(arguments);
    let mut source =
        EventTopics::open(&settings, &topics, (begin, until), pixels, &Deadline::of_opening().or_when(stop))?;
    let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
    let input = format!("topics {}", names.join(", "));
    let shown =
        Shown { title: config.name.clone(), geometry, pixel_ids: detector.pixel_ids(), monitors, train };
    let notes = vec![input.clone(), format!("pulses {of_pulses}: the spectrum is one period long")];
    let mut page = Page::start(arguments, shown, Some(config), notes)?;
    let mut spectra = beam::Spectra::default();
    let deadline = arguments.ends_after.map(|time| time.to_std());
    let mut batch = EventBatch::new(BATCH);
    let (mut heard, mut is_at_the_end) = (Instant::now(), false);
    while !stop.load(Ordering::Relaxed)
        && deadline.is_none_or(|deadline| page.elapsed() < deadline)
        && !is_at_the_end
    {
        let mut hand_on = |batch: &EventBatch| page.take(batch);
        let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
        let went = source.read(AT_ONCE, PAUSE, &mut filler);
        filler.finish();
        match went? {
            Went::On => heard = Instant::now(),
            Went::Idle => {}
            Went::ToTheEnd => is_at_the_end = true,
        }
        page.add_charge(source.notes_mut().take_charge());
        page.tell(|| source_state(&mut source, &mut spectra, heard));
    }
    let ended = if is_at_the_end { "all messages that were there" } else { "stopped on request" };
    let last = page.end(source_state(&mut source, &mut spectra, Instant::now()), ended);
    let mut more = Map::new();
    more.insert("refused".to_owned(), refused_json(source.refused()));
    more.insert("values".to_owned(), json!(source.notes()));
    more.insert("told_by_runs".to_owned(), json!(beam::runs(source.notes())));
    // As of a live run: one to which nothing came is of no use, one without an event may be.
    let is_to_the_end = is_at_the_end || source.counters().messages_read == 0;
    let report = Report { input, state: last, more, is_to_the_end };
    Ok(report.tell(arguments))
}

/// How the brokers are reached.
fn settings(arguments: &ViewArguments) -> ClientSettings {
    let mut settings = arguments.client.settings();
    if let Some(Some(brokers)) = &arguments.kafka {
        settings.brokers = Some(brokers.clone());
    }
    settings
}

fn topics(arguments: &ViewArguments) -> Vec<TopicUse> {
    let of = |names: &[String], role: TopicRole| -> Vec<TopicUse> {
        names.iter().map(|name| TopicUse { name: name.clone(), role }).collect()
    };
    let mut all = of(&arguments.events, TopicRole::Events);
    all.extend(of(&arguments.monitors, TopicRole::Monitors));
    all.extend(of(&arguments.logs, TopicRole::Logs));
    all.extend(of(&arguments.ledgers, TopicRole::Ledgers));
    // A topic that is named twice is read once.
    let mut names = std::collections::BTreeSet::new();
    all.retain(|topic| names.insert(topic.name.clone()));
    all
}

/// The picture of all monitors that the configuration does not know.
fn all_monitors(first_pixel: u32) -> BeamMonitorPlan {
    BeamMonitorPlan {
        name: "monitors".to_owned(),
        kind: BeamMonitorKind::Event0D,
        first_pixel,
        nx: 1,
        ny: 1,
        histogram: TimeOfFlightBins::default(),
        alongside: true,
    }
}

fn source_state(source: &mut EventTopics, spectra: &mut beam::Spectra, heard: Instant) -> SourceState {
    let counters = source.counters();
    let is_of_use = counters.messages_of_events + counters.messages_noted + counters.messages_of_ledgers > 0;
    let refused = source.first_refused().filter(|_| !is_of_use).map(str::to_owned);
    let faults = source.first_refused().map(|first| {
        format!("{} messages were refused, the first one because: {first}", counters.messages_refused)
    });
    // Of several complaints the latest says most.
    let complaints = if heard.elapsed() >= QUIET { source.complaints() } else { Vec::new() };
    let complaint = complaints.iter().rfind(|complaint| !complaint.broker.is_empty());
    let left_out = counters.messages_of_too_many_names + counters.spectra_left_out;
    let told = beam::told(source.notes_mut(), spectra, left_out);
    let waiting = complaint.map(|complaint| format!("waiting: {}", complaint.sentence()));
    let losses = source.changes().iter().filter(|change| change.what.is_loss());
    let changes: Vec<String> = losses.rev().take(CHANGES).map(ToString::to_string).collect();
    SourceState {
        counters: CounterSnapshot::of(&counters).and(source.refused()),
        sources: source.sources(),
        came: (counters.messages_read, counters.bytes, counters.events_shown),
        refused,
        faults: faults.into_iter().collect(),
        alarms: waiting.into_iter().chain(changes).chain(beam::alarms(&told.state.runs)).collect(),
        frames: source.frames(),
        beam: Some(told),
    }
}

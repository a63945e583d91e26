//! Thresholds that are changed while a run goes on: the events are those of a run that knew of the changes from the
//! beginning, whatever the slabs, batches, threads and sources.

use crate::common::{Keep, form_packets};
use evforge_config::Config;
use evforge_control::{Control, Refusal, RunFacts, WantedChange, WantedTime};
use evforge_core::change::{Change, ChangeRefusal, ChangeTime};
use evforge_core::counter::CounterSnapshot;
use evforge_core::event_log::EventLog;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_lab::simulation::simulation;
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::report::RunReport;
use evforge_pipeline::run_control::RunControl;
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Detectors with the parameters that are changed, and packets of half a second or more.
struct Case {
    name: &'static str,
    overrides: Vec<String>,
    keys: [&'static str; 2],
    /// Amplitudes of readouts lie up to here.
    largest: u64,
    /// A threshold that some events do not reach.
    high: u64,
    packets: Vec<Vec<u8>>,
}

impl Case {
    fn of(name: &'static str, pulses: usize, further: &[&str], keys: [&'static str; 2], high: u64) -> Self {
        let mut overrides: Vec<String> = further.iter().map(|text| (*text).to_owned()).collect();
        overrides.extend(["simulation.beam.neutrons=2kHz".to_owned(), "simulation.seed=11".to_owned()]);
        let mut simulation =
            simulation(&shipped(name, &overrides)).expect("a detector that can be simulated");
        let packets = (0..pulses).flat_map(|_| simulation.next_pulse().packets);
        let packets = packets.map(|packet| below_the_thresholds_of_the_chips(packet.bytes));
        Self { name, keys, largest: 900, high, packets: packets.collect(), overrides }
    }

    fn config(&self, further: &[String]) -> Config {
        shipped(self.name, &[&self.overrides[..], further].concat())
    }

    fn config_with(&self, changes: &[Change], further: &[String]) -> Config {
        let mut config = self.config(further);
        let entry = |change: &Change| {
            let Change { at, key, value } = change;
            let text =
                format!("at_ns={}\nrestarts={}\nkey={:?}\nvalue={value}", at.time_ns, at.restarts, &**key);
            toml::from_str(&text).expect("an entry of [[change]]")
        };
        config.common.changes = changes.iter().map(entry).collect();
        config
    }
}

/// Simulated readouts have crossed the threshold of their chip, and would pass whatever their amplitude.
fn below_the_thresholds_of_the_chips(mut packet: Vec<u8>) -> Vec<u8> {
    let is_ess = packet.get(2..5) == Some(b"ESS");
    let (first, length) = match packet.len() % 20 {
        _ if !is_ess => (16, 6),
        10 => (30, 20),
        _ => (32, 20),
    };
    for record in packet.get_mut(first..).unwrap_or_default().chunks_exact_mut(length) {
        if is_ess {
            record[15] &= 0x7F;
        } else if record[4] & 0x80 != 0 {
            record[4] &= 0xBF;
        }
    }
    packet
}

fn shipped(name: &str, overrides: &[String]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    Config::read(&path, overrides).unwrap_or_else(|error| panic!("{error}"))
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    vec![
        Case::of(
            "gdgem-srs",
            10,
            &[],
            ["gdgem.clustering.x.adc_threshold", "gdgem.clustering.y.adc_threshold"],
            250,
        ),
        Case::of(
            "nmx",
            40,
            &[],
            ["ess_gdgem.clustering.x.adc_threshold", "detector.clustering.y.adc_threshold"],
            150,
        ),
        Case::of("freia", 40, &[], ["ess_multiblade.wire_threshold", "ess_multiblade.strip_threshold"], 250),
        Case::of("trex", 40, &[], ["ess_multigrid.min_adc", "detector.min_adc"], 150),
    ]
});

/// Packets from memory, some in each slab.
struct Packets<'a> {
    packets: &'a [Vec<u8>],
    next: usize,
    in_a_slab: usize,
    /// The others wait until they are let go: those who ask change a run in the middle of its data.
    let_go: Arc<AtomicUsize>,
    name: &'static Path,
}

impl PacketSource for Packets<'_> {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        let let_go = self.let_go.load(Ordering::Relaxed).min(self.packets.len());
        let some = self.next..let_go.min(self.next + self.in_a_slab);
        if some.is_empty() {
            // A slab without packets is what a pipe gives while nothing comes.
            std::thread::sleep(Duration::from_micros(100));
        }
        for packet in &self.packets[some] {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
            self.next += 1;
        }
        Ok(if self.next == self.packets.len() { Fill::End } else { Fill::More })
    }
    fn path(&self) -> &Path {
        self.name
    }
    fn packets(&self) -> u64 {
        self.next as u64
    }
    fn position(&self) -> u64 {
        self.next as u64
    }
    fn total_bytes(&self) -> Option<u64> {
        None
    }
    fn stage(&self) -> &'static str {
        "memory"
    }
    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::default()
    }
}

/// Runs over packets while `ask` asks.
fn run(
    config: &Config,
    packets: &'static [Vec<u8>],
    in_a_slab: usize,
    ask: impl FnOnce(&RunControl, &AtomicUsize) + Send,
) -> (EventLog, RunReport) {
    let stop = Arc::new(AtomicBool::new(false));
    let control =
        RunControl::new(RunFacts::default(), Arc::clone(&stop), MonitorTap::default(), PacketTap::default());
    let let_go = Arc::new(AtomicUsize::new(0));
    let input =
        Packets { packets, next: 0, in_a_slab, let_go: Arc::clone(&let_go), name: Path::new("memory") };
    let kept = Keep::default();
    let run = CaptureRun {
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: control.clone(),
        samples: None,
        config,
        input: Box::new(input),
        outputs: vec![kept.output()],
        stop: &stop,
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            ask(&control, &let_go);
            let_go.store(usize::MAX, Ordering::Relaxed);
        });
        run.run(|_| {}).expect("a run")
    });
    assert_eq!(report.state.ledger.unaccounted(), 0);
    (kept.log(), report)
}

fn wanted(key: &str, value: u64, at: WantedTime) -> Vec<WantedChange> {
    vec![WantedChange { key: key.to_owned(), value, at }]
}

/// The changes of a report, in the order in which they were taken.
fn changes(report: &RunReport) -> Vec<Change> {
    report.state.ledger.changes.changes().to_vec()
}

/// Whenever a change is asked for: with the same changes in the configuration the events are the same, and so are all
/// counters.
#[test]
fn a_run_that_is_changed_gives_what_a_run_gives_that_knew_it_before() {
    for case in &*CASES {
        let plain = form_packets(&case.config(&[]), &case.packets);
        for (threads, in_a_slab) in [("input.threads=1", 1), ("input.threads=2", 7), ("input.threads=1", 100)]
        {
            let config = case.config(&[threads.to_owned(), "input.events_per_batch=50".to_owned()]);
            let (events, report) = run(&config, &case.packets, in_a_slab, |control, let_go| {
                for step in 0..40_u64 {
                    let_go.store(case.packets.len() / 40 * step as usize, Ordering::Relaxed);
                    let key = case.keys[(step % 2) as usize];
                    let at = if step % 3 == 0 {
                        WantedTime::Earliest
                    } else {
                        WantedTime::After(step * 1_000_000)
                    };
                    let value = step * 7919 % case.largest;
                    match &control.change(wanted(key, value, at))[0] {
                        // What has no time yet is asked for again by the next step.
                        Err(Refusal::Change(ChangeRefusal::NoTimeYet)) => {}
                        Ok(_) => {}
                        Err(refusal) => panic!("{}: {refusal}", case.name),
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let changed = changes(&report);
            assert!(changed.len() > 20, "{}: {}", case.name, changed.len());
            let (again, ledger) = form_packets(&case.config_with(&changed, &[]), &case.packets);
            assert!(events == again, "{} with {in_a_slab} packets in a slab", case.name);
            let counted = report.state.ledger.counters.value("below_threshold");
            assert_eq!(counted, ledger.counters.value("below_threshold"), "{}", case.name);
            assert!(events != plain.0, "{}", case.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Changes of a configuration: the same events for any slabs, batches and threads.
    #[test]
    fn events_with_changes_do_not_depend_on_slabs_batches_and_threads(
        case in 0..4_usize,
        steps in proptest::collection::vec((0..1000_u64, 0..2_usize, 0..900_u64), 1..12),
        in_a_slab in 1..60_usize,
        batch in 1..300_usize,
        threads in 1..3_usize,
    ) {
        let case = &CASES[case];
        let (first, last) = span(case);
        let at = |share: u64| first + (last - first) / 1000 * share;
        let changes: Vec<Change> = steps
            .iter()
            .map(|&(share, key, value)| Change {
                at: ChangeTime { restarts: 0, time_ns: at(share) },
                key: case.keys[key].into(),
                value,
            })
            .collect();
        let (expected, _) = form_packets(&case.config_with(&changes, &[]), &case.packets);
        let config = case.config_with(
            &changes,
            &[format!("input.threads={threads}"), format!("input.events_per_batch={batch}")],
        );
        let (events, report) = run(&config, &case.packets, in_a_slab, |_, _| {});
        prop_assert!(events == expected);
        prop_assert_eq!(report.state.ledger.changes.changes().len(), steps.len());
    }
}

/// The first and the last event of a case.
fn span(case: &Case) -> (u64, u64) {
    let (log, _) = form_packets(&case.config(&[]), &case.packets);
    let times: Vec<u64> = log.events().map(|event| event.time_ns).collect();
    (*times.iter().min().expect("events"), *times.iter().max().expect("events"))
}

/// Before a change the events are those of the old threshold, after it those of the new one: clusters that lie across it
/// apart.
#[test]
fn a_change_divides_the_events_at_its_time() {
    for case in &*CASES {
        let (first, last) = span(case);
        let middle = first + (last - first) / 2;
        let change = |at, value| Change {
            at: ChangeTime { restarts: 0, time_ns: at },
            key: case.keys[0].into(),
            value,
        };
        let with = |changes: &[Change]| {
            form_packets(&case.config_with(changes, &[]), &case.packets).0.events().collect::<Vec<_>>()
        };
        let (low, high) = (with(&[]), with(&[change(0, case.high)]));
        assert!(high.len() < low.len() && high.len() > 40, "{}: {} and {}", case.name, high.len(), low.len());
        let divided = with(&[change(middle, case.high)]);
        // No cluster, and no window, is longer.
        let reach = 20_000_000;
        let before = |time: u64| time < middle - reach;
        let after = |time: u64| time > middle + reach;
        let part = |events: &[evforge_core::event::Event], is_in: &dyn Fn(u64) -> bool| {
            events.iter().filter(|event| is_in(event.time_ns)).copied().collect::<Vec<_>>()
        };
        assert!(part(&divided, &before) == part(&low, &before), "{}", case.name);
        assert!(part(&divided, &after) == part(&high, &after), "{}", case.name);
        assert!(part(&low, &before).len() > 50 && part(&high, &after).len() > 20, "{}", case.name);
    }
}

#[test]
fn what_is_too_early_is_refused_with_the_earliest_time_and_changes_nothing() {
    let case = &CASES[0];
    let plain = form_packets(&case.config(&[]), &case.packets);
    let (events, report) = run(&case.config(&[]), &case.packets, 3, |control, let_go| {
        let_go.store(case.packets.len() / 2, Ordering::Relaxed);
        let key = case.keys[0];
        let earliest = loop {
            if let Some(earliest) = control.earliest_change().expect("a run that goes on") {
                break earliest;
            }
        };
        let early = WantedTime::Exactly(ChangeTime { time_ns: earliest.time_ns - 1, ..earliest });
        let refusal = control.change(wanted(key, 1000, early)).remove(0).expect_err("too early");
        let text = refusal.to_string();
        let Refusal::Change(ChangeRefusal::TooEarly { earliest: later, .. }) = refusal else {
            panic!("{text}")
        };
        assert!(later >= earliest && text.contains(&format!("The earliest time is {later}")), "{text}");
        for (key, value, expected) in [
            ("gdgem.sorting.window", 1, "these can: clustering.x.adc_threshold, clustering.y.adc_threshold"),
            (key, 1024, "expected 0 to 1023 ADC counts"),
        ] {
            let refusal = control.change(wanted(key, value, WantedTime::Earliest)).remove(0);
            let text = refusal.expect_err("refused").to_string();
            assert!(text.contains(expected), "{text}");
        }
        let keys: Vec<String> =
            control.parameters().iter().map(|parameter| parameter.key.to_string()).collect();
        assert_eq!(keys, case.keys);
    });
    assert!(events == plain.0 && changes(&report).is_empty());
}

/// Ten thousand changes while packets come, from several who ask at the same time: each is taken once, in the record with its
/// time, and the events are those of the record.
#[test]
fn ten_thousand_changes_under_load_lose_nothing() {
    const ASKING: u64 = 4;
    const EACH: u64 = 2500;
    let case = &CASES[0];
    let config = case.config(&["input.threads=2".to_owned()]);
    let (events, report) = run(&config, &case.packets, 2, |control, let_go| {
        let_go.store(case.packets.len() / 10, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for asking in 0..ASKING {
                scope.spawn(move || {
                    for step in (0..EACH).step_by(10) {
                        let some = (step..step + 10).map(|step| WantedChange {
                            key: case.keys[(asking % 2) as usize].to_owned(),
                            value: (asking * EACH + step) % case.largest,
                            at: WantedTime::After(step * 100),
                        });
                        let_go
                            .fetch_max(case.packets.len() * step as usize / EACH as usize, Ordering::Relaxed);
                        loop {
                            let outcomes = control.change(some.clone().collect());
                            if outcomes.iter().all(Result::is_ok) {
                                break;
                            }
                            let unknown = Err(Refusal::Change(ChangeRefusal::NoTimeYet));
                            assert!(outcomes.iter().all(|outcome| *outcome == unknown), "{outcomes:?}");
                        }
                    }
                });
            }
        });
    });
    let changed = changes(&report);
    assert_eq!(changed.len() as u64, ASKING * EACH);
    assert_eq!(report.state.ledger.handed_over(), case.packets.len() as u64);
    let mut values: Vec<u64> = changed.iter().map(|change| change.value).collect();
    let mut expected: Vec<u64> = (0..ASKING * EACH).map(|value| value % case.largest).collect();
    values.sort_unstable();
    expected.sort_unstable();
    assert!(values == expected);
    let (again, _) = form_packets(&case.config_with(&changed, &[]), &case.packets);
    assert!(events == again);
    assert_eq!(report.to_json()["streams"][0]["changes"].as_array().map(Vec::len), Some(changed.len()));
}

#[test]
fn who_asks_a_run_that_has_ended_is_told() {
    let case = &CASES[0];
    let mut kept = None;
    let (_, report) = run(&case.config(&[]), &case.packets, 100, |control, _| kept = Some(control.clone()));
    let control = kept.expect("a handle");
    assert_eq!(control.earliest_change(), Err(Refusal::Ended));
    assert_eq!(control.change(wanted(case.keys[0], 1, WantedTime::Earliest)), [Err(Refusal::Ended)]);
    // The last state stays.
    assert_eq!(control.state().ledger.handed_over(), report.state.ledger.handed_over());
}

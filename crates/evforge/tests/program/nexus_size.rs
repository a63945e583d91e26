//! A file without events, and a minute of NMX at 20 kHz: how large they are, and that programs with a stock HDF5 read all of it.

use crate::common::workspace;
use evforge_config::Config;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_core::time::{Clock, ManualClock};
use evforge_lab::simulated_source::SimulatedSource;
use evforge_lab::simulation;
use evforge_lab::truth_files::TruthFiles;
use evforge_net::clock::SystemClock;
use evforge_outputs::QueueSettings;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_stream::nexus::{NexusCounters, NexusOptions, NexusOutput};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const PULSES: u64 = 60 * 14;

/// A file on a clock that goes as the data do: it commits every two seconds of the measurement, however fast that is simulated.
#[derive(Debug)]
struct InDataTime {
    file: NexusOutput,
    clock: Arc<ManualClock>,
    first_ns: Option<u64>,
}

impl Output for InDataTime {
    fn name(&self) -> String {
        self.file.name()
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if let Some(now) = batch.pulses().last().and_then(|pulse| pulse.unix_ns) {
            let first = *self.first_ns.get_or_insert(now);
            let now = Duration::from_nanos(now.saturating_sub(first));
            self.clock.advance(now.saturating_sub(self.clock.elapsed()));
        }
        self.file.poll()?;
        self.file.take(batch)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        self.file.poll()
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.file.observe(state)
    }

    fn progress(&self) -> OutputProgress {
        self.file.progress()
    }

    fn counters(&self) -> CounterSnapshot {
        self.file.counters()
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.file.finish(state)
    }

    fn abandon(&mut self) -> Option<String> {
        self.file.abandon()
    }
}

/// Of a file as a run writes it.
fn options(config: &Config, path: &Path) -> NexusOptions {
    let detector = config.build_detector().expect("a detector");
    let ledger = evforge_pipeline::ledger_at_start(detector.as_ref());
    let mut options = NexusOptions::new(path, &config.name, detector.geometry())
        .with_counters(&ledger.counters)
        .with_beam_monitors(&ledger.beam_monitors)
        .with_outputs(&[("nexus".to_owned(), NexusCounters::infos().to_vec())]);
    options.placement = config.place(detector.geometry(), []).expect("a placement");
    options.configuration.clone_from(&config.text);
    options
}

#[test]
fn a_file_of_freia_without_events_takes_less_than_200_kilobytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("freia.nxs");
    let config = Config::read(&workspace().join("configs/freia.toml"), &[]).expect("a shipped configuration");
    let clock = Arc::new(ManualClock::default());
    let mut file = NexusOutput::new(options(&config, &path), clock).expect("a file");
    file.finish(&Arc::new(RunState::default())).expect("a whole file");
    let length = std::fs::metadata(&path).expect("the file").len();
    assert!(length < 200_000, "{length} bytes");
    println!("{length} bytes");
}

#[test]
fn a_minute_of_nmx_takes_less_than_ten_megabytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nmx.nxs");
    // A batch is a fraction of the interval between commits.
    let small = ["input.events_per_batch=2048".to_owned()];
    let config =
        Config::read(&workspace().join("configs/nmx.toml"), &small).expect("a shipped configuration");
    let mut settings = simulation::settings(&config).expect("a table [simulation]");
    settings.beam.neutrons = "20kHz".parse().expect("a rate");
    let simulation = simulation::simulation_with(&config, &settings).expect("a simulation");
    let truth = TruthFiles::create(None, None).expect("no file");
    let source = SimulatedSource::new(simulation, PULSES, Box::new(truth));

    let clock = Arc::new(ManualClock::default());
    let file = NexusOutput::new(options(&config, &path), Arc::clone(&clock) as Arc<dyn Clock>);
    let file = file.expect("a file");
    let output = InDataTime { file, clock, first_ns: None };
    let run = CaptureRun {
        config: &config,
        input: Box::new(source),
        outputs: vec![("nexus".to_owned(), Box::new(output) as Box<dyn Output>, QueueSettings::COMPLETE)],
        samples: None,
        stop: &AtomicBool::new(false),
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = run.run(|_| {}).expect("a run");
    assert!(report.is_success(), "{}", report.to_text());
    let counters = report.state.outputs[0].all_counters();
    let (events, commits) = (counters.value("events"), counters.value("commits"));
    let (events, commits) = (events.expect("a counter"), commits.expect("a counter"));
    assert!(events > 1_100_000 && (25..40).contains(&commits), "{events} events, {commits} commits");
    let length = std::fs::metadata(&path).expect("the file").len();
    assert!(length < 10_000_000, "{length} bytes for {events} events");
    println!(
        "{length} bytes for {events} events in {commits} commits: {:.2} each",
        length as f64 / events as f64
    );

    let file = hdf5_metno::File::open(&path).expect("an ordinary file");
    let group = file.group("/entry/instrument/detector/detector_events").expect("the events");
    let mut last = Vec::new();
    for name in ["event_id", "event_time_offset"] {
        let dataset = group.dataset(name).expect("an array");
        let values = dataset.read_1d::<i32>().expect("values");
        assert_eq!(values.len() as u64, events, "{name}");
        assert!(dataset.storage_size() < events * 3, "{name}: {} bytes", dataset.storage_size());
        last.push((dataset.name(), values[values.len() - 1]));
    }
    drop((group, file));
    // What comes with HDF5 knows neither this program nor its libraries.
    let h5dump = |arguments: &[&str]| Command::new("h5dump").args(arguments).arg(&path).output();
    let Ok(dump) = h5dump(&["-y"]) else {
        evforge_testkit::skip("a_minute_of_nmx_takes_less_than_ten_megabytes", "h5dump is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&dump.stderr);
    assert!(dump.status.success() && said.is_empty(), "h5dump: {said}");
    for (name, value) in last {
        let dump = h5dump(&["-y", "-d", &name, "-s", &(events - 1).to_string(), "-c", "1"]).expect("h5dump");
        let text = String::from_utf8_lossy(&dump.stdout);
        assert!(
            text.lines().any(|line| line.trim() == value.to_string()),
            "{name} does not end with {value}: {text}"
        );
    }
}

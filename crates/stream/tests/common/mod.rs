//! What the tests of this crate share. Each test program uses a part of it.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::placement::{PanelSettings, Placement, PlacementSettings, Trust};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{Calendar, CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::quantity::{Angle, Length};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_stream::nexus::{NexusError, NexusOptions, NexusWriter};
use hdf5_metno::types::FixedUnicode;
use hdf5_metno::{File, Group, H5Type};

/// A detector of 8 x 6 pixels, and commits only when asked for.
pub(crate) fn flat_options(path: &Path) -> NexusOptions {
    let mut options = NexusOptions::new(path, "demo", LogicalGeometry::flat(8, 6).unwrap());
    options.flush_interval = Duration::from_secs(3600);
    options
}

fn settings(pitch: &[&str], panel: Vec<PanelSettings>) -> PlacementSettings {
    PlacementSettings {
        pitch: pitch.iter().map(|text| text.parse().expect("a length")).collect(),
        figures: Trust::Plausible,
        note: "made up".into(),
        source_distance: Some("30m".parse().expect("a length")),
        monitors: BTreeMap::new(),
        arc: None,
        panel_columns: None,
        panel,
    }
}

fn panel(distance: &str) -> PanelSettings {
    PanelSettings {
        distance: distance.parse().expect("a length"),
        angle: Angle::default(),
        elevation: Angle::default(),
        offset: [Length::default(); 3],
        rotation: [Angle::default(); 3],
    }
}

/// Pixels with this pitch; one panel stands at `distance`, several are not placed.
pub(crate) fn placement(geometry: LogicalGeometry, pitch: &[&str], distance: &str) -> Option<Placement> {
    let panels = if geometry.panels() == 1 { vec![panel(distance)] } else { Vec::new() };
    Some(settings(pitch, panels).place(geometry).expect("a placement"))
}

/// Two panels, the second one turned about its own axis and swung sideways.
pub(crate) fn two_panels(geometry: LogicalGeometry) -> Option<Placement> {
    let right_angle = Angle { degrees: 90.0 };
    let turned = PanelSettings {
        rotation: [Angle::default(), Angle::default(), right_angle],
        angle: right_angle,
        ..panel("2m")
    };
    Some(settings(&["1mm", "1mm"], vec![panel("2m"), turned]).place(geometry).expect("a placement"))
}

pub(crate) fn batch(events: &[(u64, u32)]) -> EventBatch {
    let mut batch = EventBatch::new(events.len());
    for &(time_ns, pixel_id) in events {
        assert!(batch.push(Event { time_ns, pixel_id }));
    }
    batch
}

/// The clock of the computer.
#[derive(Debug)]
pub(crate) struct WallClock(Instant);

impl WallClock {
    pub(crate) fn shared() -> Arc<dyn Clock> {
        Arc::new(Self(Instant::now()))
    }
}

impl Clock for WallClock {
    fn unix_ns(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A stage that gives events their pulses.
#[derive(Debug)]
pub(crate) struct Feed(PulseStage);

impl Feed {
    /// With 10 pulses per second where the readout tells none; the readout carries the date.
    pub(crate) fn new() -> Self {
        let settings = PulseStageSettings::new(PulseTrain::european_xfel(), CalendarRule::Readout);
        Self(PulseStage::new(settings))
    }

    /// With these pulses, and `anchor_ns` to add to times of which the first is `first_ns`.
    pub(crate) fn anchored(train: PulseTrain, anchor_ns: u64, first_ns: u64) -> Self {
        let settings = PulseStageSettings::new(train, CalendarRule::Capture(WallClock::shared()));
        let mut stage = PulseStage::new(settings);
        stage.packets_arrived(anchor_ns + first_ns, anchor_ns + first_ns);
        Self(stage)
    }

    pub(crate) fn with(settings: PulseStageSettings) -> Self {
        Self(PulseStage::new(settings))
    }

    pub(crate) fn batches(&mut self, events: &EventBatch) -> Vec<Arc<PulsedBatch>> {
        let mut batches = Vec::new();
        self.0.hand_on(events, None, &mut |batch| batches.push(Arc::new(batch)));
        batches
    }
}

/// A writer that gets its events as a run gives them to it.
#[derive(Debug)]
pub(crate) struct Run {
    feed: Feed,
    options: NexusOptions,
    writer: Option<NexusWriter>,
}

impl Run {
    pub(crate) fn begin(options: &NexusOptions) -> Result<Self, NexusError> {
        let mut run = Self::fed_by(Feed::new(), options);
        run.create(Calendar::default())?;
        Ok(run)
    }

    /// The file is made with the first events.
    pub(crate) fn fed_by(feed: Feed, options: &NexusOptions) -> Self {
        Self { feed, options: options.clone(), writer: None }
    }

    fn create(&mut self, calendar: Calendar) -> Result<(), NexusError> {
        self.writer = Some(NexusWriter::create(&self.options, calendar, WallClock::shared())?);
        Ok(())
    }

    pub(crate) fn writer(&mut self) -> &mut NexusWriter {
        self.writer.as_mut().expect("a file")
    }

    /// Takes events, and commits when that is due.
    pub(crate) fn take(&mut self, events: &EventBatch) -> Result<(), NexusError> {
        for batch in self.feed.batches(events) {
            if self.writer.is_none() {
                self.create(batch.calendar())?;
            }
            self.writer().take_events(&batch)?;
            if self.writer().is_due() {
                self.writer().commit()?;
            }
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<(), NexusError> {
        self.writer().commit()
    }

    pub(crate) fn observe(&mut self, ledger: &DetectorLedger) -> Result<(), NexusError> {
        self.writer().observe(&state(ledger))?;
        if self.writer().is_due() { self.commit() } else { Ok(()) }
    }

    pub(crate) fn finish(&mut self, ledger: &DetectorLedger) -> Result<(), NexusError> {
        self.writer().finish(&state(ledger))
    }
}

/// The state of a run of which nothing is known but its ledger.
pub(crate) fn state(ledger: &DetectorLedger) -> RunState {
    RunState { ledger: ledger.clone(), ..RunState::default() }
}

pub(crate) fn read<T: H5Type>(group: &Group, name: &str) -> Vec<T> {
    group.dataset(name).unwrap().read_raw().unwrap()
}

/// A counter over time, from a table of them; none if it is not there.
pub(crate) fn counter(table: &Group, name: &str) -> Option<Vec<i64>> {
    let place = read::<FixedUnicode<256>>(table, "counter").iter().position(|found| **found == *name)?;
    Some(table.dataset("counts").unwrap().read_2d::<i64>().unwrap().column(place).to_vec())
}

/// Text of a dataset, up to 128 kB.
pub(crate) fn text(file: &File, path: &str) -> String {
    let read = || file.dataset(path).unwrap().read_scalar::<FixedUnicode<131072>>().unwrap().to_string();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(8 << 20);
        thread.spawn_scoped(scope, read).unwrap().join().unwrap()
    })
}

/// The command that runs the read-back script, or none with `test` reported as skipped.
pub(crate) fn python(test: &str) -> Option<Command> {
    python_script(test, "test_nexus_readback.py")
}

/// The command that runs a script of `tests/python`, or none with `test` reported as skipped.
///
/// The Python with the packages of `tests/python/requirements.txt` is taken from `EVFORGE_PYTHON`, or else from `.venv`
/// at the root of the workspace.
pub(crate) fn python_script(test: &str, script: &str) -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = match std::env::var_os("EVFORGE_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => root.join(".venv/bin/python"),
    };
    // Importing takes a second.
    static IMPORTS: OnceLock<bool> = OnceLock::new();
    let probe = || {
        let mut probe = Command::new(&interpreter);
        probe.args(["-c", "import h5py, scipp, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    if !*IMPORTS.get_or_init(probe) {
        let missing = format!(
            "{} cannot import h5py and scippnexus: python3 -m venv .venv && .venv/bin/pip install -r \
             tests/python/requirements.txt",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    let mut command = Command::new(interpreter);
    command.arg(root.join("tests/python").join(script));
    Some(command)
}

/// Lets the tests of the program `processes` run one at a time. A process that one test starts inherits all
/// files that HDF5 has open for the others, and keeps the locks on them until it ends.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In the environment of a test that runs on a small disk: the folder that is one.
const SMALL_DISK: &str = "EVFORGE_TEST_SMALL_DISK";

/// Runs the test `child` of this program again, with a folder that is a file system of `size` (as `mount` takes it),
/// which only it can see. Reports `test` as skipped where none can be mounted.
pub(crate) fn on_small_disk(test: &str, child: &str, size: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77; shift 2; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", size])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", child, "--nocapture", "--test-threads=1"])
        .env(SMALL_DISK, folder.path())
        .output();
    let Ok(output) = output else {
        evforge_testkit::skip(test, "the program unshare is not there");
        return;
    };
    let said =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || said.contains("unshare failed") {
        evforge_testkit::skip(test, "a file system cannot be mounted without root");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{child} was not run: {said}");
}

/// The small disk that this process is to test on; none if it is not the child.
pub(crate) fn small_disk() -> Option<PathBuf> {
    std::env::var_os(SMALL_DISK).map(PathBuf::from)
}

/// What fills a disk.
#[derive(Debug)]
pub(crate) struct Ballast(PathBuf);

impl Ballast {
    /// Takes all the room there is on the file system of `folder`.
    pub(crate) fn fill(folder: &Path) -> Self {
        let path = folder.join("ballast");
        let mut file = std::fs::File::create(&path).expect("a file on a disk that is not full");
        let block = vec![0x5a; 64 << 10];
        for length in [block.len(), 4096] {
            while std::io::Write::write_all(&mut file, &block[..length]).is_ok() {}
        }
        Self(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("the ballast");
    }
}

//! What an output may know of the run when it is made.

use crate::kept::Kept;
use crate::packet_tap::PacketTap;
use evforge_control::ControlAccess;
use evforge_core::counter::CounterInfo;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::pixel_ids::{PixelIds, Pixels};
use evforge_core::placement::Placement;
use evforge_core::pulse::PulseTrain;
use evforge_core::run_identity::RunIdentity;
use evforge_core::run_state::{OutputState, RunState};
use evforge_core::time::Clock;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What an output needs of a run to show its monitor data and to switch them.
///
/// No method may wait for the thread that forms events.
pub trait MonitorControl: fmt::Debug + Send + Sync {
    /// Switches the collection on or off; it may follow a little later.
    ///
    /// # Errors
    /// A sentence for a person, if the run does not want it switched.
    fn switch(&self, on: bool) -> Result<(), String>;

    /// True if it is switched on.
    fn is_on(&self) -> bool;

    /// The latest copy of what has been collected, as a JSON object, and asks for a newer one. None before the
    /// first copy.
    fn json(&self) -> Option<String>;
}

/// What is not as it should be at the host: asked while no packets come.
pub trait HostAdvice: fmt::Debug + Send + Sync {
    /// The findings that matter most, the first one most of all. It reads the host, which takes its time, and is asked from a
    /// thread that may wait.
    fn findings(&self) -> Vec<HostFinding>;
}

/// One of them, as `evforge doctor` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFinding {
    /// What it is about: "receive buffer".
    pub subject: String,
    /// What was found.
    pub found: String,
    /// What would be right; none if that is no value.
    pub wanted: Option<String>,
    /// The command or the setting that repairs it.
    pub fix: Option<String>,
}

/// The run, as far as it is known before the first packet.
#[derive(Clone, Debug)]
pub struct OutputContext {
    /// Name of the instrument.
    pub instrument: String,
    /// Name of the detector's section in the configuration.
    pub detector: String,
    /// What the run is called, and whose it is.
    pub run: RunIdentity,
    /// The pixels.
    pub geometry: LogicalGeometry,
    /// Their ids, where the facility has given them: events carry these. None where they are those of the geometry.
    pub pixel_ids: Option<Arc<PixelIds>>,
    /// Where the pixels are; none if the configuration does not say.
    pub placement: Option<Placement>,
    /// The configured train of pulses.
    pub train: PulseTrain,
    /// True if the readout reports the pulses, and with them the date.
    pub tells_pulses: bool,
    /// Names of the vetoes, in the order of the bits of a mark.
    pub vetoes: Vec<String>,
    /// The configuration as text.
    pub configuration: String,
    /// The ledger before the first packet: it has all counters and beam monitors.
    pub ledger: DetectorLedger,
    /// The outputs of the run, each with all counters that it will have.
    pub outputs: Vec<(String, Vec<CounterInfo>)>,
    /// Events that one batch holds at most.
    pub batch_events: usize,
    /// The clock of the run.
    pub clock: Arc<dyn Clock>,
    /// The monitor data of the detector, if they can be had.
    pub monitor: Option<Arc<dyn MonitorControl>>,
    /// What to look at while no packets come; none where none are received.
    pub advice: Option<Arc<dyn HostAdvice>>,
    /// For an output that serves requests (the page): where they go. None where nobody can ask.
    pub control: Option<ControlAccess>,
    /// What outlives this run in the same program; none where there is one run only.
    pub kept: Option<Kept>,
    /// Raw packets, for an output that asks for them when it is made; none where nothing is going to run.
    pub packets: Option<PacketTap>,
    /// Set when the run is to end: an output that waits for somebody while it is made gives up then.
    pub asked_to_end: Arc<AtomicBool>,
    /// Sentences that an output has to say when it is made (what it recovered, for example) go here.
    pub notes: Notes,
}

impl OutputContext {
    /// The pixels with their ids.
    pub fn pixels(&self) -> Pixels {
        Pixels { geometry: self.geometry, ids: self.pixel_ids.clone() }
    }

    /// The state of the run before its first packet: the counters of the detector and of all outputs are there, and 0.
    pub fn state_at_start(&self) -> RunState {
        let output =
            |(id, _): &(String, Vec<CounterInfo>)| OutputState { id: id.clone(), ..OutputState::default() };
        RunState {
            ledger: self.ledger.clone(),
            outputs: self.outputs.iter().map(output).collect(),
            ..RunState::default()
        }
    }
}

/// Sentences for people, collected while outputs are made.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<std::sync::Mutex<Vec<String>>>);

impl Notes {
    /// Adds a sentence.
    pub fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(note.into());
    }

    /// Takes all of them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

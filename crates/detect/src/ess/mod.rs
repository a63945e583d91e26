//! The ESS readout: what all its detectors share.
//!
//! ```text
//! packets ──► front ──────► vmm stage ──► time line ──► former ──► pulse line ──► events with their pulses
//!             header rules   wiring        order         clusters   latest pulse
//!             sequences      calibration   over queues   or windows at or before
//!             pulse watch    thresholds                  position   the event
//! ```
//!
//! | file | question |
//! |---|---|
//! | `settings`, `table` | what can be configured; how `[ess]` is written |
//! | `front` | is the header sound, which queue sent it, what does it say about the pulses |
//! | `time_source` | are pulses absent, repeated or out of order, is the time source synchronised |
//! | `pulse_period` | which distance most pulses have |
//! | `pulse_line` | which pulse an event belongs to |
//! | `neutron_former` | what detectors add each of whose hits is a neutron |
//! | `neutrons` | single neutrons of beam monitors that send alongside |
//! | `wiring` | which module, plane and coordinate a channel is |
//! | `unwired` | which readouts nothing is wired to |
//! | `stage` | what the records of a detector are |
//! | `vmm_stage` | VMM3a records to hits |
//! | `former` | what a detector adds of its own |
//! | `shared_former` | how several threads share the forming of events |
//! | `decode_ahead` | how several threads read the records of packets |
//! | `module_detector` | a detector of modules, on one thread or on several |
//! | `module_former` | what detectors add whose hits meet in modules only: their windows |
//! | `pipeline` | all of it as a [`Detector`](evforge_core::detector::Detector) |
//! | `files` | what wirings and calibrations in JSON files say |
//! | `ticks` | the unit of time |
//!
//! Source: ESS readout formats, sections 1, 2.1 and 3. What differs from the reference: events may span packets;
//! a wrapped sequence number is no gap; an event is filed under the latest pulse at or before its time, whichever
//! packet brought its hits and whichever pulse that packet names, so that an event of the previous pulse is found
//! at that pulse; an early record does not cost its neighbours.

mod counters;
mod decode_ahead;
pub mod files;
mod former;
mod front;
mod module_detector;
mod module_former;
mod neutron_former;
mod neutrons;
mod pipeline;
mod pulse_line;
mod pulse_period;
pub mod settings;
mod shared_former;
mod stage;
mod table;
pub mod ticks;
mod time_source;
mod unwired;
mod vmm_stage;
mod wiring;

pub use counters::{
    DeadTimeCounters, FilingCounters, HeaderCounters, NeutronCounters, TimeSourceCounters, VmmCounters,
};
pub use former::{HitFormer, Place, Placed};
pub use front::{Front, FrontPacket};
pub use module_detector::ModuleDetector;
pub use module_former::{ModuleFormer, WindowAnalysis};
pub use neutron_former::NeutronFormer;
pub use neutrons::MonitorHistograms;
pub use pipeline::{EssPipeline, EssVmm};
pub use pulse_line::{EssUnit, Filing, PeriodCounts, PulseLine, TimeUnit};
pub use settings::{
    CalibratedVmm, EssSettings, HybridSettings, MaskedVmmChannels, PlaceRequest, VmmSettings,
};
pub use shared_former::{PartFormer, SharedFormer};
pub use stage::{MonitorNeutron, MonitorReadouts, ReadoutStage};
pub use table::{TypeName, type_byte};
pub use time_source::NearPulse;
pub use vmm_stage::{PacketHits, VmmStage};

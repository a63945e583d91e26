//! What a capture can tell of the gaps and matching windows of a detector (`evforge windows`): which ones there are, and how its hits
//! are read.

use crate::ess::{EssSettings, VmmSettings};
use crate::gdgem::GdGemSettings;
use crate::gdgem::settings::TrackSettings;
use crate::multiblade::MultiBladeSettings;
use crate::multiblade::caen::settings::WindowSettings;
use crate::settings::pairing::PairingSettings;

/// The windows, and the hits by which they are measured.
#[derive(Debug)]
pub struct MeasuredWindows<'a> {
    /// The windows as they are configured.
    pub windows: WindowKind,
    /// Where hits come from.
    pub hits: HitSource<'a>,
}

/// The windows of a detector.
#[derive(Clone, Debug)]
pub enum WindowKind {
    /// Clusters on two planes, and their matching.
    Tracks(Box<TrackSettings>),
    /// Windows of cassettes. How long a tick is in picoseconds, where windows are counted in them.
    Cassettes(WindowSettings, PairingSettings, Option<u64>),
    /// Windows of columns: gap in picoseconds, span of grids.
    Columns(u64, u64, PairingSettings),
}

/// How packets become hits with a place, a time and an amplitude.
#[derive(Debug)]
pub enum HitSource<'a> {
    /// VMMs behind SRS.
    Srs(&'a GdGemSettings),
    /// Records of CAEN digitisers.
    CaenRecords(&'a MultiBladeSettings),
    /// VMM3a in the ESS readout.
    Ess {
        /// Header, pulses and order.
        ess: &'a EssSettings,
        /// Wiring and calibration.
        vmm: Box<VmmSettings>,
        /// Wired targets that are one module: 2 where each plane is a target.
        targets_of_module: u16,
    },
}

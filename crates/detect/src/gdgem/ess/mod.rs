//! Gd-GEM in the ESS readout: VMM3a hybrids, panels of two planes of strips each (NMX).
//!
//! ```text
//! packets ──► [ess](crate::ess): header, wiring, order over the queues ──► tracks ──► pulse line ──► events
//! ```
//!
//! | file | question |
//! |---|---|
//! | `settings` | what can be configured |
//! | `strips` | which strip a channel is |
//! | `files` | the wiring and the calibration in JSON files |
//! | `former` | hits to events, each at its pulse |
//!
//! Source: ESS readout formats, section 3, "NMX". Clusters, their matching, limits and position are those of
//! [`tracks`](super::tracks), as for the prototype. What differs from the reference:
//!
//! * Events may span packets. The reference forgets its hits after each packet.
//! * With equal limits for both, clusters of a plane that are close in time make one event whatever lies between their
//!   strips, as in the reference; the limits of the spans then tell a track from two neutrons at once.
//! * The position is the centre of *all* hits of the latest time, rounded half up. The reference takes one of them, by
//!   the order in which they came, and where clusters have been joined it takes the latest of the cluster that
//!   began first, not of the event.
//! * The longest time is that from the first hit to the last. The reference adds a nanosecond and rounds both ends down
//!   first: where the limit lies within 2 ns of a whole number of ticks, the two can differ.
//! * Pixels of a panel follow those of the panel before: `panel · nx · ny + y · nx + x + 1`. What the reference calls
//!   panels are sectors here: they share the strip numbers and the pixel ids (section 7).

pub mod files;
mod former;
pub mod settings;
mod strips;

pub use former::TrackFormer;
pub use settings::EssGdGemSettings;
pub use strips::StripHybrid;

use crate::beam_monitors::{BeamMonitorSettings, alongside};
use crate::dealt_hits::{Share, Shares};
use crate::ess::{EssVmm, SharedFormer};
use crate::panel_kind::PanelKind;
use crate::plane_matching::PLANES;
use crate::settings::SettingsError;
use crate::workers::Workers;
use evforge_core::detector::Detector;
use std::sync::Arc;

/// A Gd-GEM in the ESS readout.
pub type EssGdGem = EssVmm<TrackFormer>;

/// A detector with these settings.
///
/// # Errors
/// The first invalid setting.
pub fn new(settings: &EssGdGemSettings) -> Result<EssGdGem, SettingsError> {
    settings.check()?;
    let tracks = settings.tracks();
    let former = TrackFormer::new(&tracks);
    EssVmm::new(&settings.ess, &settings.vmm()?, former, settings.geometry)
}

/// The same with these beam monitors alongside, formed by these threads: each has some of the panels, or sectors.
///
/// # Errors
/// The first invalid setting.
pub fn detector(
    settings: &EssGdGemSettings,
    monitors: Option<&BeamMonitorSettings>,
    workers: Option<Arc<dyn Workers>>,
) -> Result<Box<dyn Detector>, SettingsError> {
    settings.check()?;
    let tracks = settings.tracks();
    let kinds = tracks.panel_kinds();
    let parts = workers.as_ref().map_or(1, |workers| workers.count()).min(kinds.len());
    let is_alike = kinds.iter().all(|kind| *kind == PanelKind::TwoPlanes);
    let Some(workers) = workers.filter(|_| parts > 1 && is_alike) else {
        return Ok(Box::new(alongside(monitors, &settings.ess, new(settings)?)?));
    };
    let panels = kinds.len();
    let formers = (0..parts)
        .map(|part| TrackFormer::of_some((part as u32..panels as u32).step_by(parts).collect(), &tracks));
    let share = |target: usize| {
        let (panel, plane) = (target / PLANES, target % PLANES);
        Share { part: (panel % parts) as u32, target: (panel / parts * PLANES + plane) as u32 }
    };
    let shares = Arc::new(Shares::new(parts, (0..panels * PLANES).map(share)));
    // An event has two hits at least.
    let events = settings.ess.sorting.max_held_hits * panels.div_ceil(parts);
    let former = SharedFormer::new(formers, events, Arc::clone(&shares), Arc::clone(&workers));
    let detector = EssVmm::new(&settings.ess, &settings.vmm()?, former, settings.geometry)?;
    Ok(Box::new(alongside(monitors, &settings.ess, detector.decoded_by(workers, shares))?))
}

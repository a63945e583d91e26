//! Beam monitors in the ESS readout: how many neutrons the beam brings, so that detector counts can be
//! normalised.
//!
//! ```text
//! records ──► stage ──► single neutrons ──► former ──► events, each at its pulse, and a histogram per monitor
//!                  └──► sums of integrating monitors ──► a histogram per monitor
//! ```
//!
//! | file | question |
//! |---|---|
//! | `settings` | what can be configured |
//! | `stage` | which monitor a record is of, and meaning |
//! | `counters` | what is counted |
//!
//! Source: ESS readout formats, section 2.4. A monitor that sends single neutrons owns a range of pixel ids; one that
//! integrates has no events: its values go into its histogram at once, at the time of flight from the pulse of
//! their packet, or from its previous pulse if they are earlier. A bad record costs only itself (the reference
//! stays at it and counts it again and again).

mod counters;
pub mod settings;
mod stage;

pub use crate::ess::NeutronCounters;
pub use counters::BeamMonitorCounters;
pub use settings::{BeamMonitorSettings, MonitorSettings};

use crate::ess::{EssPipeline, EssSettings, HitFormer, MonitorHistograms, NeutronFormer, ReadoutStage};
use crate::settings::SettingsError;
use stage::MonitorStage;

/// The beam monitors of one stream.
pub type BeamMonitors = EssPipeline<MonitorStage, NeutronFormer>;

/// Beam monitors with these settings.
///
/// # Errors
/// The first invalid setting.
pub fn new(settings: &BeamMonitorSettings) -> Result<BeamMonitors, SettingsError> {
    settings.check()?;
    let former =
        NeutronFormer::new(settings.ess.sorting.max_held_hits, MonitorHistograms::new(settings.plans(0)));
    let stage = MonitorStage::new(settings, &settings.ess, 0);
    BeamMonitors::of_stages(&settings.ess, stage, former, settings.geometry()?)
}

/// A detector with beam monitors that send packets of their own type to the same ports; without, if there are none. Their
/// pixels follow those of the detector. `ess` are the settings of the detector, with the type of the monitors in its rules.
///
/// # Errors
/// The first invalid setting.
pub fn alongside<S: ReadoutStage<F::Hit>, F: HitFormer>(
    settings: Option<&BeamMonitorSettings>,
    ess: &EssSettings,
    detector: EssPipeline<S, F>,
) -> Result<EssPipeline<S, F>, SettingsError> {
    let Some(settings) = settings else { return Ok(detector) };
    settings.check()?;
    let pixels = detector.pixel_count();
    let histograms = MonitorHistograms::new(settings.plans(pixels));
    Ok(detector.with_monitors(Box::new(MonitorStage::new(settings, ess, pixels)), histograms))
}

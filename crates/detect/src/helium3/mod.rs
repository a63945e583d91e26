//! Helium-3 tubes in the ESS readout: LOKI, BIFROST, MIRACLES, CSPEC, TBL3HE, with R5560 digitisers.
//!
//! ```text
//! records ──► stage ──► charges ──► division ──► pixel ──► former ──► events, each at its pulse
//!                wiring, masks        tube, place              order, dead time
//! ```
//!
//! | file | question |
//! |---|---|
//! | `settings`, `checks` | what can be configured, and what cannot be |
//! | `wiring` | which group of which FEN is where |
//! | `calibration` | intervals and polynomials, from the configuration or a file |
//! | `mapping_file` | the wiring of the five instruments from their files |
//! | `division` | which tube and which pixel charges mean |
//! | `stage` | records to neutrons |
//! | `counters` | what is counted |
//!
//! A neutron is one record with the charges of both ends of a chain of tubes (of four corners of a bundle of straws). A / (A + B) lies
//! in the interval of a tube; its place there is the place along the tube, which a polynomial corrects. Source: ESS's other
//! instruments, section 1. What differs from the reference is in `docs/helium3.md`.

mod calibration;
mod checks;
mod counters;
mod division;
mod mapping_file;
mod settings;
mod stage;
#[cfg(test)]
pub(crate) mod tests;
mod wiring;

pub use calibration::as_json;
pub use counters::Helium3Counters;
pub use division::CalibratedTube;
pub use settings::{
    Axis, CalibrationPart, Charges, GroupCalibration, Helium3Settings, MaskedGroups, Outside, Rounding,
    Steps, TubeSettings, WiringEntry,
};
pub use wiring::{Group, Groups};

use crate::beam_monitors::{BeamMonitorSettings, alongside};
use crate::ess::{EssPipeline, MonitorHistograms, NeutronFormer, ticks};
use crate::settings::SettingsError;
use stage::Helium3Stage;

/// Helium-3 tubes of an instrument.
pub type Helium3 = EssPipeline<Helium3Stage, NeutronFormer>;

/// Tubes with these settings, and with these beam monitors alongside.
///
/// # Errors
/// The first invalid setting.
pub fn new(
    settings: &Helium3Settings,
    monitors: Option<&BeamMonitorSettings>,
) -> Result<Helium3, SettingsError> {
    settings.check()?;
    let groups = settings.expand()?;
    let mut former = NeutronFormer::new(settings.ess.sorting.max_held_hits, MonitorHistograms::default());
    if let Some(length) = settings.dead_time {
        former = former.with_dead_time(ticks::in_duration(length), settings.groups_of_pixels(&groups));
    }
    let stage = Helium3Stage::new(settings, &groups);
    alongside(monitors, &settings.ess, Helium3::of_stages(&settings.ess, stage, former, settings.geometry)?)
}

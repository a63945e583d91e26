//! Multi-Blade: many small wire chambers (*cassettes*) with wires on one side and strips on the other.
//!
//! ```text
//! packets ──► readouts ──► hits ──► windows of each cassette ──► wires × strips ──► events
//!              wiring       order      window                     position
//! ```
//!
//! | module | question |
//! |---|---|
//! | [`caen`] | the prototype's readout: CAEN digitisers |
//! | [`ess`] | the ESS readout: VMM3a behind the ESS readout |
//! | [`settings`] | what belongs together and where it was: what can be configured |
//! | `window` | which hits of a cassette belong together |
//! | `cassettes` | the open windows of all cassettes |
//! | `neutrons` | the neutrons of windows in which several are told apart |
//! | `position` | where the neutron was, or why there is none |
//! | `pixels` | which pixel a wire and a strip of a cassette are |
//! | `counters` | what happens to the hits |

pub mod caen;
mod cassettes;
mod counters;
pub mod ess;
mod neutrons;
mod pixels;
mod position;
pub mod settings;
mod window;

pub use caen::{MultiBlade, MultiBladeCounters, MultiBladeSettings};
pub use cassettes::{BladeHit, Cassettes};
pub use counters::CassetteCounters;
pub use ess::EssMultiBladeSettings;
pub use neutrons::{BladeNeutrons, BladeSums};
pub use pixels::CassettePixels;

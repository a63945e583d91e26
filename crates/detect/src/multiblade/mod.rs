//! Multi-Blade: many small wire chambers (*cassettes*) with wires on one side and strips on the other, read out
//! by CAEN digitisers.
//!
//! ```text
//! packets ──► readouts ──► hits ──► windows of each cassette ──► wires × strips ──► events
//!              wiring       order      window                     position
//! ```
//!
//! | file | question |
//! |---|---|
//! | `settings` | what can be configured |
//! | `readout_stage` | readouts of a packet to hits |
//! | `wiring` | which cassette, plane and wire or strip a channel is |
//! | `window` | which hits of a cassette belong together |
//! | `cassettes` | the open windows of all cassettes |
//! | `position` | where the neutron was, or why there is none |
//! | `pipeline` | all of it as a [`Detector`](evforge_core::detector::Detector) |
//! | `counters` | what is counted |
//!
//! Source: EFU formats of 2018, section 3. Rules that differ from the reference of 2018: the strips and wires of
//! a neutron must be neighbours one by one, so that two hits of one channel cannot hide a hole; a cluster on one
//! plane only is never an event; an unknown digitizer costs its own readouts and not those behind them; the last
//! window of a cassette is closed at the end of the input, or (in order of time) once time has passed it.

mod cassettes;
mod counters;
mod pipeline;
mod position;
mod readout_stage;
pub mod settings;
mod window;
mod wiring;

pub use counters::MultiBladeCounters;
pub use pipeline::MultiBlade;
pub use readout_stage::{PassAll, ReadoutFilter};
pub use settings::MultiBladeSettings;

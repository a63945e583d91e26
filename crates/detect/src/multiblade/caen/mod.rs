//! The prototype's readout: CAEN digitisers, 64 channels each.
//!
//! | file | question |
//! |---|---|
//! | `settings` | what can be configured |
//! | `readout_stage` | readouts of a packet to hits |
//! | `wiring` | which cassette, plane and wire or strip a channel is |
//! | `pipeline` | what a packet is; all of it as a [`Pipeline`](crate::pipeline::Pipeline) |
//! | `former` | hits into windows, as they arrive or in order of time, and events out |
//! | `counters` | what is counted of packets and readouts |
//!
//! Source: EFU formats of 2018, section 3. Rules that differ from the reference of 2018: the strips and wires of
//! a neutron must be neighbours one by one (unless the settings let some be missing), so that two hits of one
//! channel cannot hide a hole; a cluster on one plane only is never an event; an unknown digitizer costs its own
//! readouts and not those behind them; the last window of a cassette is closed at the end of the input, or (in
//! order of time) once time has passed it.

mod counters;
mod former;
mod pipeline;
mod readout_stage;
pub mod settings;
mod wiring;

pub use counters::MultiBladeCounters;
pub use pipeline::MultiBlade;
pub use settings::MultiBladeSettings;

//! What is known besides the events: values of logs, pulses and their charge, spectra of beam monitors, what a run tells of itself.
//!
//! Whoever feeds the page tells it with [`LiveView::tell_beam`](crate::LiveView::tell_beam): everything at once, and as often as it
//! likes. Spectra of the beam monitors of a run are in its ledger, and need not be told. Nothing of it grows without a bound: what is
//! beyond [`told::MOST_VALUES`] and the like is not taken, and counted in `left_out`.
//!
//! | you look for | it is in |
//! |---|---|
//! | the JSON objects | `state.rs` |
//! | what is told, and its bounds | `told.rs` |
//! | what was told last; values as points of the history | `board.rs` |
//! | what is known now, all together | `known.rs` |
//! | spectra of the beam monitors of a run | `of_run.rs` |
//! | answers over HTTP | `handlers.rs` |

mod board;
pub(crate) mod handlers;
mod of_run;
mod state;
mod told;

pub(crate) use board::BeamBoard;
pub(crate) use board::{is_any, known};
pub use state::{BeamState, MonitorSpectrum, MonitorSpectrumState, PulseState, ToldByRun, ValueState};
pub(crate) use state::{Charge, charge_of, microampere_hours};
pub use told::{BeamTold, Seen};

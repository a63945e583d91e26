//! Events as outputs get them: each with its pulse, its time since that pulse and its place on the calendar.
//!
//! ```text
//! detector ──► EventBatch ──► PulseStage ──► PulsedBatch ──► outputs
//! ```
//!
//! One stage between forming and the outputs decides all of it, once for all outputs ([`PulseStage`]). Nobody behind it
//! derives a pulse, a time of flight or a date again.
//!
//! | question | answer |
//! |---|---|
//! | which pulse | that of the readout where it tells pulses; else that of the configured train ([`PulseTrain`](crate::pulse::PulseTrain)); before the first pulse of the train none: such events get a reference time of their own ([`PulseOrigin::None`]) |
//! | time of flight | event time less start of its pulse; none without a pulse, and for an event before its pulse |
//! | date | event time plus the anchor ([`Calendar`]), which is 0 where the readout carries the date |
//! | empty pulses | those that the readout reports; of a train all, up to a gap of ten seconds, so that "nothing came" can be told from "not measured" |
//! | vetoes | a bit for each rule that applies ([`Veto`]); no event is removed |
//!
//! The decision behind it is `docs/development/decisions/0014-pulses-and-the-date-in-one-place.md`.

mod batch;
mod calendar;
mod counters;
mod stage;
#[cfg(test)]
mod tests;
mod veto;

pub use batch::{Pulse, PulseOrigin, PulsedBatch, TimeOffset};
pub use calendar::{Calendar, CalendarOrigin, CalendarRule, EARLIEST_DATE_NS};
pub use counters::PulseCounters;
pub use stage::{PulseStage, PulseStageSettings};
pub use veto::{MOST_VETOES, Veto, VetoRange};

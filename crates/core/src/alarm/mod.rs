//! What needs a person. Every alarm is declared here ([`AlarmKind`]) and raised here, from the state of a run: log, page,
//! `evforge ctl`, command port, metrics, Kafka status and report have the same list.
//!
//! | question | answer |
//! |---|---|
//! | which alarms are there, and what is to be done | [`AlarmKind`] |
//! | which are raised now | [`RunState::alarms`](crate::run_state::RunState::alarms) |
//! | which have begun or are over | [`AlarmHistory`] |
//! | which sources lose packets at the moment | [`LossWatch`] |
//! | how full are the disks, is the clock kept right | [`HostHealth`] |

mod health;
mod history;
mod kind;
mod losses;
mod raised;
mod recent_loss;
mod samples;
#[cfg(test)]
mod tests;

pub use health::{DiskSpace, HostHealth};
pub use history::{AlarmHistory, AlarmRecord, Turn};
pub use kind::{Alarm, AlarmKind, Rank};
pub use losses::LossWatch;
pub use recent_loss::RecentLoss;
pub use samples::states_with_every_alarm;

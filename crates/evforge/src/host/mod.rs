//! What limits receiving on this host: `evforge doctor`, `evforge tune`, and what `run` says before it begins.

mod advice;
mod arguments;
mod before_run;
mod doctor;
mod text;
mod tune;

pub(crate) use advice::advice;
pub(crate) use before_run::tell_what_matters;
pub(crate) use doctor::{DoctorArguments, doctor};
pub(crate) use tune::{TuneArguments, tune};

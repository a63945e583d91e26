//! What can be asked of a run that goes on, and the command port of the ESS EFU.
//!
//! ```text
//! scripts of the EFU ─► CommandPort ─┐
//!                                    ├─► ControlDesk ─► Control: a run
//! whatever else asks ────────────────┘     counts, notes who asked
//! ```
//!
//! A program may have one run after the other: a [`ControlSlot`] says which one is asked, and a [`RunService`] starts and stops
//! them.
//!
//! | you look for | it is in |
//! |---|---|
//! | what a run answers and does | [`control`], the trait [`Control`] |
//! | which run is asked now, if there is one | [`slot`] |
//! | starting and stopping the runs of a service | [`runs`], the trait [`RunService`]; what the service itself has of it: [`Runs`] |
//! | how much the groups of a log say | [`log_levels`], the trait [`LogLevels`] |
//! | one request and its answer, whoever asks | [`request`] |
//! | what waits for the thread that forms events | [`requests`] |
//! | the place that all requests go through: counted, and noted with who asked | [`desk`] |
//! | all counters of a run, in order and by name | [`named_counters`] |
//! | which stages are alive | [`activity`] |
//! | the text commands of the EFU and their replies | [`commands`] |
//! | the TCP port on which they come | [`command_port`] |
//! | what must be known to change something over HTTP | [`token`] |
//! | what an HTTP server is given | [`access`] |
//! | how often an address may ask | [`allowance`] |
//! | the table `[control]` | [`settings`] |
//!
//! Start with [`Control`]: `evforge_pipeline::run_control::RunControl` implements it, and everything else here needs nothing
//! more of a run.

#![forbid(unsafe_code)]

pub mod access;
pub mod activity;
pub mod allowance;
pub mod command_port;
pub mod commands;
pub mod control;
pub mod desk;
pub mod log_levels;
pub mod named_counters;
pub mod request;
pub mod requests;
pub mod runs;
pub mod runs_of_service;
pub mod settings;
pub mod slot;
pub mod token;

pub use access::ControlAccess;
pub use command_port::CommandPort;
pub use control::{ConfiguredValue, Control, Refusal, RunFacts, ValueOrigin, WantedChange, WantedTime};
pub use desk::{ControlDesk, Note, Origin, Say};
pub use log_levels::{LogGroup, LogLevels};
pub use request::{Answer, Request};
pub use runs::{RunEnded, RunPhase, RunService, RunStarted, RunsState, WantedRun};
pub use runs_of_service::Runs;
pub use settings::ControlSettings;
pub use slot::ControlSlot;
pub use token::{Token, TokenError};

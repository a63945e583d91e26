//! Why a point could not be measured.

use crate::two_hosts::TwoHostsError;
use std::io;
use std::path::PathBuf;

/// Why a point could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The end was asked for.
    #[error("ended on request")]
    Stopped,
    /// A program could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program, with its command.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// A program ended, or did not begin, as it should.
    #[error("{program} has failed: {said}")]
    Failed {
        /// The program with its arguments.
        program: String,
        /// What it said last.
        said: String,
    },
    /// Two hosts could not be had as they were asked for.
    #[error(transparent)]
    Hosts(#[from] TwoHostsError),
    /// A report could not be read.
    #[error("the report {} {problem}", path.display())]
    Report {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

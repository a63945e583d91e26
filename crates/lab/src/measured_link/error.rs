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
    /// Pulses were to be sent, and the sender's report has none.
    #[error("the sender's report has no pulses in it: please report this as a fault of evforge")]
    NoPulses,
    /// A socket of this process.
    #[error("a receive buffer cannot be looked at: {0}")]
    Socket(#[from] evforge_net::socket::ReceiveError),
    /// Packets that nobody reads are not all in the buffer.
    #[error(
        "{found} of {sent} packets of {size} B are in a receive buffer of {buffer} B that has room for them"
    )]
    Kept {
        /// Packets that are there.
        found: usize,
        /// Packets that were sent.
        sent: usize,
        /// Their payload.
        size: usize,
        /// The buffer that the kernel gave, before it is doubled.
        buffer: usize,
    },
    /// The kernel gives a smaller buffer than the one that is to be measured.
    #[error(
        "a receive buffer of {asked} B was asked for, and the kernel gives {granted} B: run this as root, leave larger ones than \
         that out of --buffer, or allow them: sudo sysctl -w net.core.rmem_max={asked}"
    )]
    Buffer {
        /// Bytes asked for.
        asked: u64,
        /// Bytes given.
        granted: usize,
    },
    /// A report could not be read.
    #[error("the report {} {problem}", path.display())]
    Report {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

//! Where events go: files, messages, pictures. The contract of an output.
//!
//! MUST, MAY and MUST NOT are meant as in RFC 2119. What the runtime does around an output (queue, policy, retries) is in
//! `evforge_outputs`, and in words for everybody in `docs/outputs.md`.
//!
//! | | the output | the runtime |
//! |---|---|---|
//! | O1 | runs on a thread of its own, and is called by nobody else | |
//! | O2 | [`take`](Output::take) MUST take a batch whole or not at all. It MAY keep the shared batch (no copy), and say [`Taken::NotNow`] as long as it has no room, which is no fault and nobody is informed | offers a batch that was not taken again, in order, after 10 ms |
//! | O3 | MUST return from every call within about a second; what takes longer is spread over several `poll`s | |
//! | O4 | [`poll`](Output::poll) does what is due: commit, reconnect, flush | calls it at least ten times a second, also when nothing comes |
//! | O5 | MUST NOT report events in [`progress`](Output::progress) as committed before nothing but the loss of the machine can take them | accepted = committed + pending + left out + failed, in every snapshot; what is pending when the output ends is missed, by what `progress` says after `abandon` (there `committed` MAY have become less: a file is gone) |
//! | O6 | returns [`OutputError::Retry`] where the cause may pass (no space, no connection); nothing of the batch at hand is then taken | tries again, at first after 0.1 s, later once a second, tells everybody who watches, and lets the policy of the queue act meanwhile. A state that could not be observed is not shown again: the next one is |
//! | O7 | returns [`OutputError::Final`] where it cannot go on | calls [`abandon`](Output::abandon), and nothing after it; counts all further events as missed; the other outputs continue |
//! | O8 | [`finish`](Output::finish) brings everything taken to where it belongs. After `Retry` it is called again | gives up after the patience of the output, and abandons it |
//! | O9 | [`abandon`](Output::abandon) MUST leave nothing that looks whole, keeps what it has, and states what that is | calls it after every final failure, and instead of `finish` if the input has failed |
//! | O10 | counts what it leaves out in [`counters`](Output::counters), each declared once | shows them in report, page and event files |
//! | O11 | MUST NOT hold more memory than its plan says (`OutputPlan::memory_bound`), the batches it keeps included | adds it to what `run --check` promises |

use crate::counter::CounterSnapshot;
pub use crate::output_state::OutputProgress;
use crate::pulsed::PulsedBatch;
use crate::run_state::RunState;
use std::sync::Arc;

/// What happened to a batch that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was taken: the output answers for its events from now on.
    Yes,
    /// Not now: there is no room, and it will be offered again.
    NotNow,
}

/// Why an output could not do its work, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The cause may pass by itself, or somebody can remove it: the same call is tried again.
    #[error("{0}")]
    Retry(String),
    /// It will not.
    #[error("{0}")]
    Final(String),
}

impl OutputError {
    /// The reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::Retry(reason) | Self::Final(reason) => reason,
        }
    }

    /// That error with words of its own: `explain` gets what the system says.
    #[must_use]
    pub fn explained(self, explain: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Retry(reason) => Self::Retry(explain(&reason)),
            Self::Final(reason) => Self::Final(explain(&reason)),
        }
    }
}

impl From<std::io::Error> for OutputError {
    /// Missing space and broken connections may pass, everything else is final.
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        match error.kind() {
            Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::WouldBlock
            | Kind::Interrupted
            | Kind::TimedOut
            | Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown => Self::Retry(error.to_string()),
            _ => Self::Final(error.to_string()),
        }
    }
}

/// A consumer of events; see the [module](self) for what it must and may do.
pub trait Output: Send {
    /// What this output is, for people: "events in run.csv".
    fn name(&self) -> String;

    /// Takes a batch, in the order of emission, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be taken now (`Retry`), or no batch can be taken any more (`Final`).
    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError>;

    /// Does what is due. Does nothing by default.
    ///
    /// # Errors
    /// If that is not possible now (`Retry`), or not any more (`Final`).
    fn poll(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Takes note of the state of the run: ledger, losses, hints, alarms and all outputs, about once a second, and once at
    /// the end. Does nothing by default.
    ///
    /// # Errors
    /// If it cannot be passed on.
    fn observe(&mut self, _state: &Arc<RunState>) -> Result<(), OutputError> {
        Ok(())
    }

    /// How far it is.
    fn progress(&self) -> OutputProgress;

    /// Its own counters. None by default. Which there are never changes.
    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::default()
    }

    /// The input has ended: brings everything to where it belongs.
    ///
    /// # Errors
    /// If that is not possible now (`Retry`: it is tried again), or the result is not complete (`Final`).
    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError>;

    /// The input has failed before its end, or this output has: leaves nothing behind that looks whole, and keeps what it
    /// has. Says what it left, if anything. Does nothing by default.
    fn abandon(&mut self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn missing_space_and_connections_may_pass_and_the_rest_is_final() {
        for kind in [ErrorKind::StorageFull, ErrorKind::ConnectionRefused, ErrorKind::BrokenPipe] {
            assert!(matches!(OutputError::from(Error::from(kind)), OutputError::Retry(_)), "{kind}");
        }
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::InvalidData] {
            assert!(matches!(OutputError::from(Error::from(kind)), OutputError::Final(_)), "{kind}");
        }
        let error = OutputError::Retry("full".into()).explained(|reason| format!("disk {reason}"));
        assert_eq!(error, OutputError::Retry("disk full".into()));
    }
}

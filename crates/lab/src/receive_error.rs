//! Why a measurement could not receive.

use evforge_net::affinity::PinError;
use evforge_net::live_receiver::LiveReceiveError;
use evforge_net::session::{ReceiveState, Received, SessionError};
use std::fmt;

/// Why receiving failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiveRunError {
    /// A way in could not be had or does not receive.
    Receive(LiveReceiveError),
    /// A thread could not be bound to its core.
    Pin(PinError),
    /// The system gives no more threads.
    NoThread(std::io::Error),
}

impl fmt::Display for ReceiveRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receive(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::NoThread(error) => write!(f, "the system gives no more threads: {error}"),
        }
    }
}

impl std::error::Error for ReceiveRunError {}

impl From<LiveReceiveError> for ReceiveRunError {
    fn from(error: LiveReceiveError) -> Self {
        Self::Receive(error)
    }
}

impl From<SessionError<PinError>> for ReceiveRunError {
    fn from(error: SessionError<PinError>) -> Self {
        match error {
            SessionError::NoThread(error) => Self::NoThread(error),
            SessionError::Place(error) => Self::Pin(error),
        }
    }
}

/// A thread that has received to the end.
pub(crate) struct WholeThread<R, H> {
    pub(crate) receiver: R,
    pub(crate) handler: H,
    pub(crate) state: ReceiveState,
}

/// The threads of a session, if all of them have received to the end: else nothing can be measured.
pub(crate) fn whole<R, H>(threads: Vec<Received<R, H>>) -> Result<Vec<WholeThread<R, H>>, LiveReceiveError> {
    let whole = |Received { receiver, handler, end }: Received<R, H>| match end.failure {
        Some(failure) => Err(failure),
        None => Ok(WholeThread { receiver, handler, state: end.state }),
    };
    threads.into_iter().map(whole).collect()
}

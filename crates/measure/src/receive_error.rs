//! Why a measurement could not receive.

use evforge_net::affinity::PinError;
use evforge_net::live_receiver::LiveReceiveError;
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
    /// A thread has ended for a fault of this program.
    Thread,
}

impl fmt::Display for ReceiveRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receive(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::NoThread(error) => write!(f, "the system gives no more threads: {error}"),
            Self::Thread => {
                f.write_str("a receiving thread has panicked: please report this as a fault of evforge")
            }
        }
    }
}

impl std::error::Error for ReceiveRunError {}

impl From<LiveReceiveError> for ReceiveRunError {
    fn from(error: LiveReceiveError) -> Self {
        Self::Receive(error)
    }
}

//! Why a link could not be tested.

use super::drop::GeneratorError;
use evforge_net::affinity::PinError;
use evforge_net::live_receiver::LiveReceiveError;
use evforge_net::session::SessionError;
use evforge_net::socket::SendError;
use evforge_train::generate::{ProfileError, SourceError};
use thiserror::Error;

/// Why sending failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinkSendError {
    /// The settings of a stream are impossible.
    #[error(transparent)]
    Settings(#[from] GeneratorError),
    /// Structure or content of trains are impossible.
    #[error(transparent)]
    Trains(#[from] SourceError),
    /// The times of trains are impossible.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A socket could not be made or does not send.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A thread could not be bound to its core.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// There are more flows than ports from that of the source on.
    #[error("the source ports from {0} on go beyond 65535: begin with a lower one")]
    SourcePorts(u16),
    /// There are more modules than ports from that of a node on.
    #[error(
        "the ports of the modules, from {0} on, go beyond 65535: begin with a lower one, or send fewer modules"
    )]
    ModulePorts(u16),
    /// A thread has ended for a fault of this program.
    #[error("a sending thread has panicked: please report this as a fault of evforge")]
    Thread,
}

/// Why receiving failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinkReceiveError {
    /// A receive backend could not be had or does not receive.
    #[error(transparent)]
    Receive(#[from] LiveReceiveError),
    /// A thread could not be bound to its core.
    #[error(transparent)]
    Pin(PinError),
    /// The system gives no more threads.
    #[error("the system gives no more threads: {0}")]
    NoThread(std::io::Error),
}

impl From<SessionError<PinError>> for LinkReceiveError {
    fn from(error: SessionError<PinError>) -> Self {
        match error {
            SessionError::NoThread(error) => Self::NoThread(error),
            SessionError::Place(error) => Self::Pin(error),
        }
    }
}

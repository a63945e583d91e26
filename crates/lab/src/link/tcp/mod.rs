//! A TCP connection at full speed: what the same hosts carry by the protocol that repeats what is lost. The slides of the European
//! XFEL and *Reliable UDP at 10 Gb/s* hold their UDP figures against it.
//!
//! There are no packets to be counted: the sender writes pieces of one size, and bytes are counted at both ends. A piece is what a
//! packet is elsewhere in [`link`](super), so that figures stand side by side; how many the kernel puts into a segment is its own
//! affair. Lost are pieces that never came because the connection ended.

mod receive;
mod report;
mod send;

pub use receive::{TcpReceived, TcpReceiver, TcpReceiving};
pub use report::TcpReport;
pub use send::{TcpSending, TcpSent, send};

use std::io;
use std::net::SocketAddr;

/// Why a connection could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TcpError {
    /// Nobody can listen there.
    #[error(
        "cannot listen at TCP {address}: {source}. See who has the port: ss -ltnp 'sport = :{}'",
        address.port()
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody listens there.
    #[error("cannot connect to TCP {address}: {source}. Start the receiver first: evforge receive --tcp --port {}", address.port())]
    Connect {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The connection failed.
    #[error("the TCP connection with {address} has failed after {bytes} bytes: {source}")]
    Broken {
        /// The other end.
        address: SocketAddr,
        /// Bytes until then.
        bytes: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The thread could not be bound to its core.
    #[error(transparent)]
    Pin(#[from] evforge_net::affinity::PinError),
}

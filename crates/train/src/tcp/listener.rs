//! Where connections come to.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

/// Why trains cannot be received over TCP.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen at TCP {address}: {source}; is another program there, or is the address not one of this host?"
)]
pub struct ListenError {
    /// Where it was to listen.
    pub address: SocketAddr,
    source: io::Error,
}

/// Listens for senders of trains.
#[derive(Debug)]
pub struct TrainListener {
    listeners: Vec<(TcpListener, SocketAddr)>,
}

impl TrainListener {
    /// At these addresses; port 0 is one that the system chooses.
    ///
    /// # Errors
    /// The first address at which it is not possible.
    pub fn open(addresses: &[SocketAddr]) -> Result<Self, ListenError> {
        let listen = |&address: &SocketAddr| {
            let open = || {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let local = listener.local_addr()?;
                Ok((listener, local))
            };
            open().map_err(|source| ListenError { address, source })
        };
        Ok(Self { listeners: addresses.iter().map(listen).collect::<Result<_, _>>()? })
    }

    /// Where it listens.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|(_, address)| *address).collect()
    }

    /// A connection that waits at one of the addresses, and from where; none if there is none.
    pub(super) fn accept(&self) -> io::Result<Option<(TcpStream, IpAddr)>> {
        for (listener, _) in &self.listeners {
            match listener.accept() {
                Ok((stream, from)) => return Ok(Some((stream, from.ip()))),
                Err(error) if is_no_connection(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// True if nobody has connected, or has gone again before it was accepted.
fn is_no_connection(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(kind, WouldBlock | Interrupted | ConnectionAborted)
}

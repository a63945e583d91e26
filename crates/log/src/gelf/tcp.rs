//! GELF over TCP: JSON, ended by a byte of 0, never compressed.

use super::message::{Identity, to_json};
use crate::record::Record;
use crate::settings::GelfAddress;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a connection may take, or a message on it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection.
pub(super) struct Tcp(TcpStream);

impl Tcp {
    /// Connects, to the first address of the name that takes the connection.
    pub(super) fn connect(address: &GelfAddress) -> Result<Self> {
        let mut failure = Error::new(ErrorKind::NotFound, "the name has no address");
        for address in (address.host.as_str(), address.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    stream.set_write_timeout(Some(PATIENCE))?;
                    stream.set_nodelay(true)?;
                    // A host that has lost its power says nothing.
                    socket2::SockRef::from(&stream).set_keepalive(true)?;
                    return Ok(Self(stream));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Whether the other side has closed: the next message would be lost, and no error would tell.
    pub(super) fn is_closed(&mut self) -> bool {
        let mut told = [0; 256];
        if self.0.set_nonblocking(true).is_err() {
            return true;
        }
        let read = self.0.read(&mut told);
        let is_open = match read {
            // Graylog says nothing; whatever it is, it is not read.
            Ok(length) => length > 0,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        self.0.set_nonblocking(false).is_err() || !is_open
    }

    /// Sends a message.
    pub(super) fn send(&mut self, record: &Record, identity: &Identity) -> Result<()> {
        let mut bytes = to_json(record, identity, None);
        bytes.push(0);
        self.0.write_all(&bytes)
    }
}

//! GELF over UDP.

use super::chunks::{compressed, datagrams};
use super::message::{Identity, to_json};
use crate::counters::LogCounts;
use crate::record::Record;
use crate::settings::GelfSettings;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// A name is looked up again after this time.
const NAME_HOLDS: Duration = Duration::from_secs(60);
/// Texts of a message that does not fit are cut to this first, and then to half of it, and so on.
const FIRST_CUT: usize = 128 << 10;

/// The way to Graylog by UDP.
pub(super) struct Udp {
    settings: GelfSettings,
    socket: Option<(UdpSocket, Instant)>,
    /// Tells the messages of this program from those of others, with a number.
    identity: u64,
    number: u64,
}

impl Udp {
    pub(super) fn new(settings: GelfSettings) -> Self {
        // Keys that the system has drawn.
        let identity = RandomState::new().build_hasher().finish();
        Self { settings, socket: None, identity, number: 0 }
    }

    /// Sends a message: whether one before has met a host at which nobody listens, and is lost.
    pub(super) fn send(&mut self, record: &Record, identity: &Identity, counts: &LogCounts) -> Result<bool> {
        self.number = self.number.wrapping_add(1);
        let number = self.identity.wrapping_add(self.number);
        let json = compressed(to_json(record, identity, None), self.settings.compression)?;
        let mut parts = datagrams(&json, self.settings.chunk_bytes, number);
        let mut most = FIRST_CUT;
        while parts.is_none() && most > 0 {
            let json = compressed(to_json(record, identity, Some(most)), self.settings.compression)?;
            parts = datagrams(&json, self.settings.chunk_bytes, number);
            most /= 2;
            if parts.is_some() {
                counts.count(|counts| counts.gelf_shortened += 1);
            }
        }
        let parts =
            parts.ok_or_else(|| Error::new(ErrorKind::InvalidData, "the message has too many fields"))?;
        let sent = parts.iter().try_fold(false, |lost, part| Ok(self.send_datagram(part)? || lost));
        if sent.is_err() {
            self.socket = None;
        }
        sent
    }

    fn send_datagram(&mut self, bytes: &[u8]) -> Result<bool> {
        let socket = self.socket()?;
        match socket.send(bytes) {
            // What one sent before has met: this one has not been sent.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => socket.send(bytes).map(|_| true),
            sent => sent.map(|_| false),
        }
    }

    fn socket(&mut self) -> Result<&UdpSocket> {
        let socket = match self.socket.take() {
            Some((socket, since)) if since.elapsed() < NAME_HOLDS => (socket, since),
            _ => (self.open()?, Instant::now()),
        };
        Ok(&self.socket.insert(socket).0)
    }

    fn open(&self) -> Result<UdpSocket> {
        let to = (self.settings.address.host.as_str(), self.settings.address.port);
        let mut failure = Error::new(ErrorKind::NotFound, "the name has no address");
        for address in to.to_socket_addrs()? {
            match open_to(address) {
                Ok(socket) => return Ok(socket),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

fn open_to(address: SocketAddr) -> Result<UdpSocket> {
    let own: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(own)?;
    socket.connect(address)?;
    socket.set_write_timeout(Some(Duration::from_secs(1)))?;
    Ok(socket)
}

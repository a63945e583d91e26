//! The trains of a module on their way to the next node.

use evforge_wire::train::StreamHeader;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Bytes that are written at once: few enough that a low rate makes no silence that the receiver would take for a fault.
const AT_ONCE: usize = 64 << 10;
/// How long the system tries to connect.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// How long the kernel may take for a train at most.
const LONGEST_TRAIN: Duration = Duration::from_secs(10);
/// Pauses before a connection is made again: the first, and the longest. Each is twice as long as the one before, until a train is sent.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// What happened to a train that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// All of it was given to the kernel.
    Sent,
    /// There was no connection.
    NotConnected,
    /// The other side took nothing for too long, or all of it took too long; the connection is closed.
    TimedOut,
    /// The connection broke inside it.
    BrokenOff,
}

#[derive(Debug)]
enum Link {
    /// Made again with the first train from then on.
    Closed(Instant),
    /// A thread tries.
    Connecting(Receiver<io::Result<TcpStream>>),
    Open(TcpStream),
}

/// Sends the trains of one module, over one connection at a time. It is made with the first train, and again after ever longer pauses.
#[derive(Debug)]
pub struct TrainStream {
    to: SocketAddr,
    sender: u64,
    module: u8,
    /// Trains so far, sent or not.
    sequence: u64,
    link: Link,
    /// Failures since a train was sent.
    failures: u32,
    bytes: u64,
    connections: u64,
    failed_attempts: u64,
}

impl TrainStream {
    /// To this node; `sender` is a number that no other sender has, the same for all modules of one.
    pub fn new(to: SocketAddr, sender: u64, module: u8) -> Self {
        Self {
            to,
            sender,
            module,
            sequence: 0,
            link: Link::Closed(Instant::now()),
            failures: 0,
            bytes: 0,
            connections: 0,
            failed_attempts: 0,
        }
    }

    /// Sends a train with this number and at least one byte. `pace` is called before each piece with its bytes, and may wait.
    ///
    /// It waits no longer than `patience` (above 0) for a connection that is being made, or for a receiver that takes nothing, and 10 s
    /// for one that takes little. A train that is not sent has its place in the sequence all the same: the receiver sees that it is
    /// missing.
    pub fn send(
        &mut self,
        number: u64,
        train: &[u8],
        patience: Duration,
        mut pace: impl FnMut(usize),
    ) -> Sending {
        let header = StreamHeader {
            module: self.module,
            sender: self.sender,
            sequence: self.sequence,
            train: number,
            bytes: train.len() as u64,
        };
        self.sequence += 1;
        if !self.is_connected(patience) {
            return Sending::NotConnected;
        }
        let header = header.write();
        let mut pieces = std::iter::once(&header[..]).chain(train.chunks(AT_ONCE));
        let mut left = LONGEST_TRAIN;
        let outcome = pieces.try_for_each(|piece| {
            pace(piece.len());
            let begun = Instant::now();
            let written = self.write(piece, begun + left);
            left = left.saturating_sub(begun.elapsed());
            written
        });
        match outcome {
            Ok(()) => {
                self.failures = 0;
                Sending::Sent
            }
            Err(sending) => {
                self.close();
                sending
            }
        }
    }

    /// Bytes given to the kernel, connections made, and attempts to make one that have failed.
    pub const fn totals(&self) -> [u64; 3] {
        [self.bytes, self.connections, self.failed_attempts]
    }

    fn write(&mut self, mut piece: &[u8], end: Instant) -> Result<(), Sending> {
        let Link::Open(stream) = &mut self.link else { return Err(Sending::NotConnected) };
        while !piece.is_empty() {
            if Instant::now() >= end {
                return Err(Sending::TimedOut);
            }
            match stream.write(piece) {
                Ok(0) => return Err(Sending::BrokenOff),
                Ok(bytes) => {
                    self.bytes += bytes as u64;
                    piece = &piece[bytes..];
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(Sending::TimedOut),
                    _ => return Err(Sending::BrokenOff),
                },
            }
        }
        Ok(())
    }

    /// True if there is a connection, or comes to be in time.
    fn is_connected(&mut self, patience: Duration) -> bool {
        if matches!(self.link, Link::Closed(again) if Instant::now() >= again) {
            self.begin_to_connect();
        }
        if let Link::Connecting(attempt) = &self.link {
            match attempt.recv_timeout(patience) {
                Ok(Ok(stream)) => {
                    self.connections += 1;
                    self.link = Link::Open(stream);
                }
                // It goes on, and the next train may have it.
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    self.failed_attempts += 1;
                    self.close();
                }
            }
        }
        let Link::Open(stream) = &self.link else { return false };
        if is_there(stream) && stream.set_write_timeout(Some(patience)).is_ok() {
            return true;
        }
        self.close();
        false
    }

    /// A thread of its own connects: however long that takes, nobody waits for it.
    fn begin_to_connect(&mut self) {
        let (done, attempt) = sync_channel(1);
        let to = self.to;
        let connect = move || {
            let made = TcpStream::connect_timeout(&to, CONNECT_TIME);
            // What is written is to be there at once. Whoever asked for it may have ended.
            let _ = done.send(made.and_then(|stream| stream.set_nodelay(true).map(|()| stream)));
        };
        match Builder::new().name("trains connect".to_owned()).spawn(connect) {
            Ok(_) => self.link = Link::Connecting(attempt),
            Err(_) => {
                self.failed_attempts += 1;
                self.close();
            }
        }
    }

    /// Closes what there is, for a while.
    fn close(&mut self) {
        let [first, longest] = PAUSES;
        let pause = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        self.link = Link::Closed(Instant::now() + pause);
    }
}

/// False if the other side has closed the connection, or says something: nothing is to come from there.
fn is_there(stream: &TcpStream) -> bool {
    let look = || -> io::Result<usize> {
        stream.set_nonblocking(true)?;
        let found = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        found
    };
    look().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

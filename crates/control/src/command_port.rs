//! The TCP port on which text commands come.
//!
//! Everything that somebody can send is bounded: clients at a time, bytes of a request, requests per second of a client, and
//! how long a client may keep its connection without a word or without taking a reply. What is too much waits in the kernel's
//! buffers, or is closed; nothing of it costs the run more than the reading of its counters.

use crate::commands::{CommandError, Generation, LARGEST_REQUEST, reply};
use crate::desk::{ControlDesk, Origin};
use evforge_core::seats::{LEAVING_SOON, Limits, Seat, Seats, shut};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Clients at a time.
pub const SEATS: Limits = Limits { most: 32, most_of_one: 16 };

/// Requests that a client may send at once.
const BURST: u32 = 200;
/// Time that a further one of them costs.
const PACE: Duration = Duration::from_millis(2);
/// How often whoever waits looks whether the port is to be closed.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long connections may do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Without a first request that the port knows. People type it.
    pub first: Duration,
    /// Without a further request.
    pub idle: Duration,
    /// Without taking a reply.
    pub reply: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let [first, idle, reply] = [60, 600, 5].map(Duration::from_secs);
        Self { first, idle, reply }
    }
}

/// Why the port cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "the command port {address} cannot be opened: {source}. Is another program listening there? See control.command_port"
)]
pub struct PortError {
    address: SocketAddr,
    source: std::io::Error,
}

/// A port that has been opened, and takes no commands yet.
#[derive(Debug)]
pub struct BoundCommandPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundCommandPort {
    /// Opens the port at `address`.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn open(address: SocketAddr) -> Result<Self, PortError> {
        let refuse = |source| PortError { address, source };
        let listener = TcpListener::bind(address).map_err(refuse)?;
        listener.set_nonblocking(true).map_err(refuse)?;
        let address = listener.local_addr().map_err(refuse)?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes commands from now on, until what is returned is dropped.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn serve(
        self,
        desk: Arc<ControlDesk>,
        generation: Generation,
        patience: Patience,
    ) -> std::io::Result<CommandPort> {
        let Self { listener, address } = self;
        let stop = Arc::new(AtomicBool::new(false));
        let service = Service { desk, generation, patience, stop: Arc::clone(&stop), seats: Arc::default() };
        let thread = std::thread::Builder::new()
            .name("command port".into())
            .spawn(move || service.accept(&listener))?;
        Ok(CommandPort { address, stop, thread: Some(thread) })
    }
}

/// A port that takes commands, until it is dropped.
#[derive(Debug)]
pub struct CommandPort {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CommandPort {
    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for CommandPort {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has panicked, or not: the port is closed.
            let _ = thread.join();
        }
    }
}

/// What all connections share.
#[derive(Clone)]
struct Service {
    desk: Arc<ControlDesk>,
    generation: Generation,
    patience: Patience,
    stop: Arc<AtomicBool>,
    seats: Arc<Seats<Arc<TcpStream>>>,
}

impl Service {
    fn accept(&self, listener: &TcpListener) {
        let mut connections: Vec<JoinHandle<()>> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let late = self.seats.out_of_time(self.patience.first, Instant::now());
            self.desk.counts().count(|counts| counts.connections_timed_out += late.len() as u64);
            shut(late, Shutdown::Both);
            match (!self.seats.is_crowded(SEATS)).then(|| listener.accept()) {
                Some(Ok((stream, peer))) => connections.extend(self.take(stream, peer)),
                // Nobody, or no descriptor for them.
                Some(Err(_)) => std::thread::sleep(PATIENCE),
                None => std::thread::sleep(LEAVING_SOON),
            }
            connections.retain(|connection| !connection.is_finished());
        }
        for connection in connections {
            let _ = connection.join();
        }
    }

    /// Serves a client, unless there are too many: then it is closed, or the oldest that has asked for nothing.
    fn take(&self, stream: TcpStream, peer: SocketAddr) -> Option<JoinHandle<()>> {
        let (counts, stream) = (self.desk.counts(), Arc::new(stream));
        let taken = self.seats.take(peer.ip(), SEATS, Arc::clone(&stream), Instant::now());
        let is_closed = !matches!(taken, Ok((_, None)));
        counts.count(|counts| {
            counts.connections += u64::from(taken.is_ok());
            counts.connections_refused += u64::from(is_closed);
        });
        let (seat, gives_way) = taken.ok()?;
        shut(gives_way, Shutdown::Both);
        let service = self.clone();
        let serve = move || {
            // What happens on a connection ends it, at worst.
            let _ = service.serve(&stream, peer, &seat);
        };
        std::thread::Builder::new().name("command client".into()).spawn(serve).ok()
    }

    fn serve(
        &self,
        mut stream: &TcpStream,
        peer: SocketAddr,
        seat: &Seat<Arc<TcpStream>>,
    ) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(self.patience.reply))?;
        stream.set_nodelay(true)?;
        let origin = Origin { way: "command port", peer: Some(peer) };
        let is_over = || self.stop.load(Ordering::Relaxed);
        let asked = || _ = seat.keep();
        converse(&mut stream, &self.desk, &origin, self.generation, self.patience.idle, &is_over, &asked)
    }
}

/// Answers the requests that come on a stream, as the port does on each of its connections, until the other end leaves, says
/// nothing for `idle`, or it `is_over`. Reading may time out: then it is asked whether it is over. `asked` hears of each request that
/// the port knows.
///
/// # Errors
/// If the stream fails, or does not take an answer in time.
pub fn converse(
    stream: &mut (impl Read + Write),
    desk: &ControlDesk,
    origin: &Origin,
    generation: Generation,
    idle: Duration,
    is_over: &dyn Fn() -> bool,
    asked: &dyn Fn(),
) -> std::io::Result<()> {
    // One more than a request may have, so that it is known if there is more.
    let mut buffer = vec![0; LARGEST_REQUEST + 1];
    let mut last = Instant::now();
    let mut pace = Pace::new(last);
    while !is_over() {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if is_time_out(&error) => {
                if last.elapsed() >= idle {
                    desk.counts().count(|counts| counts.connections_timed_out += 1);
                    return Ok(());
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(wait) = pace.next(Instant::now()) {
            desk.counts().count(|counts| counts.commands_held_back += 1);
            std::thread::sleep(wait);
        }
        let request = buffer.get(..read).unwrap_or_default();
        let reply = reply(desk, origin, request, generation);
        if reply != CommandError::Command.reply() && reply != CommandError::Size.reply() {
            asked();
        }
        if let Err(error) = stream.write_all(reply.as_bytes()) {
            if is_time_out(&error) {
                desk.counts().count(|counts| counts.connections_timed_out += 1);
            }
            return Err(error);
        }
        last = Instant::now();
    }
    Ok(())
}

fn is_time_out(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// How fast a client may ask.
struct Pace {
    /// Until then its requests are paid for.
    paid_until: Instant,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { paid_until: now }
    }

    /// Takes a request; how long it has to wait, if it has to.
    fn next(&mut self, now: Instant) -> Option<Duration> {
        self.paid_until = self.paid_until.max(now) + PACE;
        let ahead = self.paid_until.saturating_duration_since(now);
        ahead.checked_sub(BURST * PACE).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests;

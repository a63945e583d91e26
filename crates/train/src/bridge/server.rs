//! The server: one thread that accepts clients, and one for each of them.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::TcpKeepalive;

use super::counters::BridgeCounters;
use super::shelf::{Shelf, Taken};
use super::zmtp::{Broken, read_request, send, shake_hands};

/// How often a client that waits for a train is looked at: it may have gone.
const LOOK: Duration = Duration::from_millis(500);
/// After so long a silence the kernel asks whether the host of a client is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// A pause after a connection that could not be accepted: the process may have no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) shelf: Shelf,
    counters: Mutex<BridgeCounters>,
    clients: Mutex<Clients>,
    most_clients: usize,
    patience: Duration,
}

#[derive(Debug, Default)]
struct Clients {
    /// By the number of the connection.
    open: BTreeMap<u64, (TcpStream, Option<JoinHandle<()>>)>,
    connections: u64,
    has_ended: bool,
}

impl Shared {
    pub(super) fn new(queue: usize, most_clients: usize, patience: Duration) -> Self {
        Self {
            shelf: Shelf::new(queue),
            counters: Mutex::default(),
            clients: Mutex::default(),
            most_clients,
            patience,
        }
    }

    pub(super) fn counters(&self) -> MutexGuard<'_, BridgeCounters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clients that are connected.
    pub(super) fn clients_now(&self) -> u64 {
        self.clients().open.len() as u64
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts clients until [`end`].
pub(super) fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.clients().has_ended {
            return;
        }
        match accepted {
            Ok((stream, _)) => {
                // Without a thread for it, it is closed.
                let _ = admit(stream, shared);
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn admit(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let mut clients = shared.clients();
    if clients.open.len() >= shared.most_clients {
        shared.counters().clients_too_many += 1;
        return Ok(());
    }
    let own = stream.try_clone()?;
    let number = clients.connections;
    let builder = thread::Builder::new().name("bridge-client".into());
    let thread = builder.spawn({
        let shared = Arc::clone(shared);
        move || {
            let broken = serve(&stream, &shared);
            let mut counters = shared.counters();
            match broken {
                Broken::Gone => {}
                Broken::TooSlow => counters.clients_too_slow += 1,
                Broken::OtherProtocol => counters.clients_of_other_protocol += 1,
                Broken::OtherRequest => counters.clients_with_other_requests += 1,
            }
            drop(counters);
            // The thread that ends all takes the entry, to wait for this one.
            let mut clients = shared.clients();
            if !clients.has_ended {
                clients.open.remove(&number);
            }
        }
    })?;
    clients.connections += 1;
    clients.open.insert(number, (own, Some(thread)));
    Ok(())
}

/// Serves a client until it breaks off.
fn serve(stream: &TcpStream, shared: &Shared) -> Broken {
    match answer(stream, shared) {
        Ok(()) => Broken::Gone,
        Err(broken) => broken,
    }
}

fn answer(stream: &TcpStream, shared: &Shared) -> Result<(), Broken> {
    stream.set_nodelay(true)?;
    // A client may be silent for as long as it likes, and one whose host has gone is silent for ever: the kernel tells them apart.
    socket2::SockRef::from(stream)
        .set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4))?;
    stream.set_write_timeout(Some(shared.patience))?;
    shake_hands(&mut Until { stream, end: Instant::now() + shared.patience })?;
    shared.counters().clients += 1;
    stream.set_read_timeout(None)?;
    let mut next = None;
    let mut reader = stream;
    let mut writer = stream;
    loop {
        // It may take as long as it likes with the last one.
        let addresses = read_request(&mut reader)?;
        let (train, skipped) = loop {
            match shared.shelf.take(&mut next, LOOK) {
                Taken::Train(train, skipped) => break (train, skipped),
                Taken::Nothing if is_there(stream) => {}
                Taken::Nothing | Taken::End => return Ok(()),
            }
        };
        shared.counters().trains_skipped += skipped;
        send(&mut writer, addresses.iter().map(Vec::as_slice).chain(train.frames()))?;
        shared.counters().replies += 1;
    }
}

/// False if the other side has closed the connection.
fn is_there(stream: &TcpStream) -> bool {
    let look = || -> io::Result<usize> {
        stream.set_nonblocking(true)?;
        let found = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        found
    };
    match look() {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

/// Ends all threads of the server that listens at `address`.
pub(super) fn end(shared: &Shared, address: SocketAddr, acceptor: JoinHandle<()>) {
    shared.shelf.end();
    let clients = {
        let mut clients = shared.clients();
        clients.has_ended = true;
        std::mem::take(&mut clients.open)
    };
    // The thread that accepts waits for a connection.
    if TcpStream::connect_timeout(&address, PAUSE).is_ok() {
        // One that has panicked has said so.
        let _ = acceptor.join();
    }
    for (_, (stream, thread)) in clients {
        let _ = stream.shutdown(Shutdown::Both);
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// A connection that is read until a moment.
struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

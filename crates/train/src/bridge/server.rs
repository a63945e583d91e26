//! The server: one thread that accepts clients, and one for each of them.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use evforge_core::seats::{LEAVING_SOON, Limits, Seat, Seats, shut};
use socket2::TcpKeepalive;

use super::counters::BridgeCounters;
use super::shelf::{Shelf, Taken};
use super::zmtp::{Broken, read_request, send, shake_hands};

/// How often a client that waits for a train is looked at: it may have gone.
const LOOK: Duration = Duration::from_millis(500);
/// After so long a silence the kernel asks whether the host of a client is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// A pause while nobody connects, or nobody can: the process may have no descriptors left.
const PAUSE: Duration = Duration::from_millis(20);

/// What the threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) shelf: Shelf,
    counters: Mutex<BridgeCounters>,
    clients: Mutex<Clients>,
    seats: Arc<Seats<Arc<TcpStream>>>,
    limits: Limits,
    patience: Duration,
}

#[derive(Debug, Default)]
struct Clients {
    /// By the number of the connection.
    open: BTreeMap<u64, (Arc<TcpStream>, JoinHandle<()>)>,
    connections: u64,
    has_ended: bool,
}

impl Shared {
    pub(super) fn new(queue: usize, most_clients: usize, patience: Duration) -> Self {
        Self {
            shelf: Shelf::new(queue),
            counters: Mutex::default(),
            clients: Mutex::default(),
            seats: Arc::default(),
            // Several clients on one host are usual, and the bridge listens on this host only unless told otherwise.
            limits: Limits { most: most_clients, most_of_one: most_clients },
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
    while !shared.clients().has_ended {
        let late = shared.seats.out_of_time(shared.patience, Instant::now());
        shared.counters().clients_too_slow += late.len() as u64;
        shut(late, Shutdown::Both);
        match (!shared.seats.is_crowded(shared.limits)).then(|| listener.accept()) {
            Some(Ok((stream, from))) => {
                // Without a thread for it, it is closed.
                let _ = admit(stream, from.ip(), shared);
            }
            Some(Err(_)) => thread::sleep(PAUSE),
            None => thread::sleep(LEAVING_SOON),
        }
    }
}

fn admit(stream: TcpStream, from: IpAddr, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut clients = shared.clients();
    let stream = Arc::new(stream);
    let taken = shared.seats.take(from, shared.limits, Arc::clone(&stream), Instant::now());
    shared.counters().clients_too_many += u64::from(!matches!(taken, Ok((_, None))));
    let Ok((seat, gives_way)) = taken else { return Ok(()) };
    shut(gives_way, Shutdown::Both);
    let own = Arc::clone(&stream);
    let number = clients.connections;
    let builder = thread::Builder::new().name("bridge-client".into());
    let thread = builder.spawn({
        let shared = Arc::clone(shared);
        move || {
            let broken = serve(&stream, &shared, &seat);
            drop(seat);
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
    clients.open.insert(number, (own, thread));
    Ok(())
}

/// Serves a client until it breaks off.
fn serve(stream: &TcpStream, shared: &Shared, seat: &Seat<Arc<TcpStream>>) -> Broken {
    match answer(stream, shared, seat) {
        Ok(()) => Broken::Gone,
        Err(broken) => broken,
    }
}

fn answer(mut stream: &TcpStream, shared: &Shared, seat: &Seat<Arc<TcpStream>>) -> Result<(), Broken> {
    stream.set_nodelay(true)?;
    // A client may be silent for as long as it likes, and one whose host has gone is silent for ever: the kernel tells them apart.
    socket2::SockRef::from(stream)
        .set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 4))?;
    stream.set_write_timeout(Some(shared.patience))?;
    shake_hands(&mut stream)?;
    if !seat.keep() {
        return Ok(());
    }
    shared.counters().clients += 1;
    let mut next = None;
    loop {
        // It may take as long as it likes with the last one.
        let addresses = read_request(&mut stream)?;
        let (train, skipped) = loop {
            match shared.shelf.take(&mut next, LOOK) {
                Taken::Train(train, skipped) => break (train, skipped),
                Taken::Nothing if is_there(stream) => {}
                Taken::Nothing | Taken::End => return Ok(()),
            }
        };
        shared.counters().trains_skipped += skipped;
        send(&mut stream, addresses.iter().map(Vec::as_slice).chain(train.frames()))?;
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

/// Ends all threads of the server.
pub(super) fn end(shared: &Shared, acceptor: JoinHandle<()>) {
    shared.shelf.end();
    let clients = {
        let mut clients = shared.clients();
        clients.has_ended = true;
        std::mem::take(&mut clients.open)
    };
    // One that has panicked has said so.
    let _ = acceptor.join();
    for (_, (stream, thread)) in clients {
        let _ = stream.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

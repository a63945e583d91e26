//! The connection to carbon: made, watched, and made again, by a thread of its own.

use super::buffer::Buffer;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for a connection, and for room in one.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same at the end of a run.
const LAST_PATIENCE: Duration = Duration::from_millis(500);
/// Until a broken connection is made again; twice as long after each failure, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest time between attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The system breaks a connection over which it could not deliver something for so long.
pub(super) const UNDELIVERED: Duration = Duration::from_secs(10);
/// How often it is looked whether the connection is still there.
const LOOK: Duration = Duration::from_millis(500);
/// Addresses of a name that are tried.
const MOST_ADDRESSES: usize = 4;

/// What the thread and its owner share.
#[derive(Debug)]
struct State {
    buffer: Buffer,
    /// Why there is no connection, if there was an attempt.
    away: Option<String>,
    /// Until when the rest is to be sent.
    ends: Option<Instant>,
    is_over: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends blocks of lines, in their order, as soon as somebody takes them.
#[derive(Debug)]
pub(super) struct Sender {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Starts the thread, which connects at once.
    pub(super) fn start(address: &str, most_bytes: usize) -> io::Result<Self> {
        let state = State { buffer: Buffer::new(most_bytes), away: None, ends: None, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let mut work = Work {
            address: address.to_owned(),
            shared: Arc::clone(&shared),
            started: Instant::now(),
            connection: None,
            next_attempt: Instant::now(),
            pause: FIRST_PAUSE,
        };
        let thread = std::thread::Builder::new().name("graphite".into()).spawn(move || work.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Adds a block.
    pub(super) fn push(&self, text: &str) {
        self.shared.lock().buffer.push(text);
        self.shared.changed.notify_all();
    }

    /// What was counted.
    pub(super) fn counters(&self) -> super::GraphiteCounters {
        self.shared.lock().buffer.counters
    }

    /// Why nothing is sent at this moment; none if it is, or was not tried yet.
    pub(super) fn away(&self) -> Option<String> {
        self.shared.lock().away.clone()
    }

    /// Sends the rest, for at most so long; what is left then is dropped, and counted.
    pub(super) fn end(&mut self, within: Duration) {
        {
            let mut state = self.shared.lock();
            state.ends.get_or_insert(Instant::now() + within);
        }
        self.shared.changed.notify_all();
        let mut state = self.shared.lock();
        // A name may take longer to be looked up than anybody wants to wait.
        let latest = Instant::now() + within + LAST_PATIENCE;
        while !state.is_over {
            let Some(left) = latest.checked_duration_since(Instant::now()) else { break };
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.buffer.give_up();
        let is_over = state.is_over;
        drop(state);
        if let Some(thread) = self.thread.take().filter(|_| is_over) {
            // A panic has been printed by its thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// What the thread has.
struct Work {
    address: String,
    shared: Arc<Shared>,
    started: Instant,
    connection: Option<TcpStream>,
    next_attempt: Instant,
    pause: Duration,
}

impl Work {
    fn run(&mut self) {
        loop {
            let ends = self.shared.lock().ends;
            let is_late = ends.is_some_and(|ends| Instant::now() >= ends);
            self.look();
            if self.connection.is_none()
                && (Instant::now() >= self.next_attempt || ends.is_some())
                && !is_late
            {
                self.connect(ends.is_some());
            }
            while let Some(block) = self.connection.as_ref().and_then(|_| self.shared.lock().buffer.next()) {
                let written =
                    self.connection.as_mut().map(|connection| connection.write_all(block.text.as_bytes()));
                match written {
                    Some(Ok(())) => self.shared.lock().buffer.written(&block, self.started.elapsed()),
                    Some(Err(error)) => self.broken(&error.to_string()),
                    None => break,
                }
            }
            if ends.is_some() && (is_late || self.shared.lock().buffer.is_empty()) {
                self.finish();
                return;
            }
            let state = self.shared.lock();
            if ends.is_none() && state.ends.is_some() {
                continue;
            }
            let wait = match (&self.connection, ends) {
                (_, Some(_)) => Duration::from_millis(50),
                (Some(_), None) if state.buffer.is_empty() => LOOK,
                (Some(_), None) => Duration::ZERO,
                (None, None) => self.next_attempt.saturating_duration_since(Instant::now()).min(LOOK),
            };
            drop(self.shared.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Notices that the other side has closed the connection: carbon never says anything.
    fn look(&mut self) {
        let Some(connection) = &self.connection else { return };
        let mut byte = [0];
        let seen = connection.set_nonblocking(true).and_then(|()| connection.peek(&mut byte));
        let restored = connection.set_nonblocking(false);
        let why = match seen.and_then(|seen| restored.map(|()| seen)) {
            Ok(0) => "the other side has closed the connection".to_owned(),
            // What it says nobody wants to know, but the next look must see what is behind it.
            Ok(_) => {
                let _ = io::Read::read(&mut &*connection, &mut [0; 4096]);
                return;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Err(error) => error.to_string(),
        };
        self.broken(&why);
    }

    fn broken(&mut self, why: &str) {
        self.connection = None;
        self.next_attempt = Instant::now() + self.pause;
        let mut state = self.shared.lock();
        state.buffer.connection_lost(self.started.elapsed());
        state.away = Some(format!("the connection to Graphite at {} is broken: {why}", self.address));
    }

    fn connect(&mut self, is_last: bool) {
        match connect(&self.address, if is_last { LAST_PATIENCE } else { PATIENCE }) {
            Ok(connection) => {
                self.connection = Some(connection);
                self.pause = FIRST_PAUSE;
                let mut state = self.shared.lock();
                state.buffer.counters.graphite_connections += 1;
                state.away = None;
            }
            Err(error) => {
                self.next_attempt = Instant::now() + self.pause;
                self.pause = (2 * self.pause).min(LONGEST_PAUSE);
                let mut state = self.shared.lock();
                state.buffer.counters.graphite_attempts_failed += 1;
                state.away = Some(format!("Graphite at {} cannot be reached: {error}", self.address));
            }
        }
    }

    /// Says that nothing more comes, and waits until the other side has taken everything: it closes then.
    fn finish(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.shutdown(Shutdown::Write);
            let _ = connection.set_read_timeout(Some(LAST_PATIENCE));
            let _ = io::Read::read(&mut &connection, &mut [0; 64]);
        }
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

fn connect(address: &str, patience: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()?.take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(connection) => {
                connection.set_write_timeout(Some(patience))?;
                rustix::net::sockopt::set_tcp_user_timeout(&connection, UNDELIVERED.as_millis() as u32)?;
                return Ok(connection);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

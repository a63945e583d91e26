//! The agent: starts senders for whoever knows its token.

use super::allowed;
use super::protocol::{self, Answer, Ended, LONGEST_REQUEST, PROTOCOL, Request};
use crate::measured_link::ProcessorAccount;
use crate::two_hosts::program_ending_with_this;
use evforge_core::seats::{LEAVING_SOON, Limits, Seat, Seats, shut};
use evforge_core::whole_file;
use std::io::{self, BufReader, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections at once.
const SEATS: Limits = Limits { most: 16, most_of_one: 8 };
/// How long whoever connects may take to say what is wanted.
const TO_ASK: Duration = Duration::from_secs(5);
/// How often somebody who waits hears that a program runs.
const BEAT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(5);
/// Why a connection has lost its seat.
const NOT_IN_TIME: &str = "nothing was asked for, in time or before others came";
/// What is kept of what a program says last, in bytes.
const MOST_SAID: usize = 4000;

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The address cannot be had.
    #[error("the agent cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Starts senders for whoever knows its token, one at a time.
pub struct Agent<'a> {
    listener: TcpListener,
    address: SocketAddr,
    program: PathBuf,
    folder: PathBuf,
    is_token: &'a (dyn Fn(&[u8]) -> bool + Sync),
    is_busy: AtomicBool,
    seats: Arc<Seats<Arc<TcpStream>>>,
    to_ask: Duration,
}

impl<'a> Agent<'a> {
    /// Listens at `address` for requests to start `program`, which is evforge; reports of senders go into `folder`. `is_token` tells
    /// whether a token is the right one.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn listen(
        address: SocketAddr,
        program: &Path,
        folder: &Path,
        is_token: &'a (dyn Fn(&[u8]) -> bool + Sync),
    ) -> Result<Self, AgentError> {
        let failed = |source| AgentError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (program, folder) = (program.to_owned(), folder.to_owned());
        let (is_busy, seats) = (AtomicBool::new(false), Arc::default());
        Ok(Self { listener, address, program, folder, is_token, is_busy, seats, to_ask: TO_ASK })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set; programs that are under way are ended then. `tell` hears what happens, a line each.
    pub fn serve(&self, stop: &AtomicBool, tell: &(dyn Fn(&str) + Sync)) {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                shut(self.seats.out_of_time(self.to_ask, Instant::now()), Shutdown::Read);
                match (!self.seats.is_crowded(SEATS)).then(|| self.listener.accept()) {
                    Some(Ok((connection, peer))) => {
                        let connection = Arc::new(connection);
                        match self.seats.take(peer.ip(), SEATS, Arc::clone(&connection), Instant::now()) {
                            Ok((seat, gives_way)) => {
                                shut(gives_way, Shutdown::Read);
                                scope.spawn(move || {
                                    let outcome = self.attend(&connection, &seat, stop);
                                    tell(&format!(
                                        "{peer}: {}",
                                        outcome.unwrap_or_else(|error| error.to_string())
                                    ));
                                });
                            }
                            Err(none_left) => tell(&format!("{peer}: closed at once: {none_left}")),
                        }
                    }
                    // Nobody, or somebody who is gone again.
                    Some(Err(_)) => std::thread::sleep(Duration::from_millis(20)),
                    None => std::thread::sleep(LEAVING_SOON),
                }
            }
            shut(self.seats.out_of_time(Duration::ZERO, Instant::now()), Shutdown::Read);
        });
    }

    /// One connection, to its end; what has become known of it.
    fn attend(
        &self,
        connection: &TcpStream,
        seat: &Seat<Arc<TcpStream>>,
        stop: &AtomicBool,
    ) -> io::Result<String> {
        connection.set_nonblocking(false)?;
        connection.set_write_timeout(Some(TO_ASK))?;
        let mut writer = connection;
        let request = match self.request(connection, seat) {
            Ok(request) => request,
            Err(reason) => {
                // Who has gone does not hear it.
                let _ = protocol::write(&mut writer, &Answer::Refused(reason.clone()));
                return Ok(format!("refused: {reason}"));
            }
        };
        let ended = self.run(&request.arguments, connection, stop);
        self.is_busy.store(false, Ordering::Release);
        let ended = ended?;
        protocol::write(&mut writer, &Answer::Ended(ended.clone()))?;
        let status = ended.status.map_or("a signal".to_owned(), |status| format!("status {status}"));
        Ok(format!("sent, ended with {status}"))
    }

    /// What somebody with the token asks for, who keeps the seat and has the agent alone; or why nothing comes of it.
    fn request(&self, connection: &TcpStream, seat: &Seat<Arc<TcpStream>>) -> Result<Request, String> {
        let request = protocol::read(&mut BufReader::new(connection), LONGEST_REQUEST)
            .map_err(|error| format!("this is no request: {error}"))?
            .ok_or(NOT_IN_TIME)?;
        self.refusal(&request).map_or(Ok(()), Err)?;
        if !seat.keep() {
            return Err(NOT_IN_TIME.to_owned());
        }
        if self.is_busy.swap(true, Ordering::Acquire) {
            return Err("a sender is under way already".to_owned());
        }
        Ok(request)
    }

    /// The token first: nobody else learns anything.
    fn refusal(&self, request: &Request) -> Option<String> {
        if !(self.is_token)(request.token.as_bytes()) {
            return Some("the token is wrong: give --token-file the file that the agent has".to_owned());
        }
        let own = env!("CARGO_PKG_VERSION");
        if request.protocol != PROTOCOL || request.evforge != own {
            return Some(format!(
                "the agent is evforge {own} (protocol {PROTOCOL}), and this is evforge {} (protocol {}): install the same on both hosts",
                request.evforge.chars().take(40).collect::<String>(),
                request.protocol
            ));
        }
        allowed::problem(&request.arguments)
    }

    fn run(&self, arguments: &[String], connection: &TcpStream, stop: &AtomicBool) -> io::Result<Ended> {
        let report = self.folder.join("sent.json");
        // Of a program before.
        let _ = std::fs::remove_file(&report);
        let mut command = program_ending_with_this(&self.program);
        command.args(arguments).args(["--quiet", "--overwrite", "--report"]).arg(&report);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let (before, clock) = (ProcessorAccount::read(), Instant::now());
        let started = command.spawn().map_err(|error| {
            let advice =
                "setpriv, of the package util-linux, starts the sender: sudo apt-get install util-linux";
            io::Error::new(error.kind(), format!("{error} ({advice})"))
        });
        let mut sender = match started {
            Ok(child) => Sender(child),
            Err(error) => {
                protocol::write(&mut &*connection, &Answer::Refused(error.to_string()))?;
                return Err(error);
            }
        };
        let said = sender.0.stderr.take().map(|errors| std::thread::spawn(move || tail(errors)));
        let mut writer = connection;
        protocol::write(&mut writer, &Answer::Started)?;
        connection.set_read_timeout(Some(POLL))?;
        let mut beat = Instant::now();
        let status = loop {
            if let Some(status) = sender.0.try_wait()? {
                break status;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(io::Error::new(ErrorKind::Interrupted, "ended, as the agent is to end"));
            }
            if is_closed(connection) {
                return Err(io::Error::new(
                    ErrorKind::ConnectionAborted,
                    "ended, as nobody waits for it any more",
                ));
            }
            if beat.elapsed() >= BEAT {
                protocol::write(&mut writer, &Answer::Running)?;
                beat = Instant::now();
            }
        };
        let (after, seconds) = (ProcessorAccount::read(), clock.elapsed().as_secs_f64());
        let core = allowed::core(arguments);
        let text = whole_file::bytes(&report, whole_file::RESULTS).ok();
        Ok(Ended {
            status: status.code(),
            said: said.and_then(|said| said.join().ok()).unwrap_or_default(),
            report: text.and_then(|text| serde_json::from_slice(&text).ok()),
            core: core.and_then(|core| after.since(&before, core)),
            interrupts_per_second: after.interrupts_since(&before).map(|count| count as f64 / seconds),
        })
    }
}

/// Killed when dropped.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits a moment for something to read: nothing is expected, so that it can only be the end.
fn is_closed(mut connection: &TcpStream) -> bool {
    match connection.read(&mut [0; 64]) {
        Ok(count) => count == 0,
        Err(error) => {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
        }
    }
}

/// Reads to the end, and keeps what came last.
fn tail(mut errors: impl Read) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = errors.read(&mut piece) {
        kept.extend_from_slice(&piece[..count]);
        let excess = kept.len().saturating_sub(MOST_SAID);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests;

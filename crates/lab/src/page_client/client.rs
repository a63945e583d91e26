//! A client of the live page.

use super::messages::{Told, Wants, check_frame, told};
use crate::measured_link::MeasureError;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket, client};

/// How long the greeting may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An update that a page had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageUpdate {
    /// When all of it was there, its picture included. Drawing is no part of it.
    pub at: Instant,
    /// Events that were counted before its picture was made.
    pub events: u64,
    /// True if a picture came with it: else the events are those of the last one.
    pub has_picture: bool,
}

/// All that a page was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSeen {
    /// The updates in their order.
    pub updates: Vec<PageUpdate>,
    /// Updates that it has missed because it was slow.
    pub skipped: u64,
    /// Bytes of the pictures.
    pub picture_bytes: u64,
}

impl PageSeen {
    /// Pictures and their bytes per second, between the first and the last update; none before there were two.
    pub fn rates(&self) -> Option<(f64, f64)> {
        let (first, last) = self.updates.first().zip(self.updates.last())?;
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let pictures = self.updates.iter().skip(1).filter(|update| update.has_picture).count();
        (seconds > 0.0).then(|| (pictures as f64 / seconds, self.picture_bytes as f64 / seconds))
    }
}

/// A browser without a screen, in a thread of its own: it ends with the run.
pub struct PageClient {
    thread: JoinHandle<Result<PageSeen, String>>,
    address: SocketAddr,
}

impl PageClient {
    /// Opens the page's WebSocket, waits for its greeting, and says what it wants to see.
    ///
    /// # Errors
    /// If nobody answers there, or not as a page of this version does.
    pub fn open(address: SocketAddr, wants: Wants) -> Result<Self, MeasureError> {
        let (tell, greeted) = channel();
        let thread = std::thread::Builder::new().name("page client".into()).spawn(move || {
            let mut socket = connect(address)?;
            let first = socket.read().map_err(|error| error.to_string())?;
            let Message::Text(text) = first else { return Err("its first message is no greeting".into()) };
            let Told::Hello { pictures, .. } = told(&text)? else {
                return Err("its first message is no greeting".into());
            };
            if let Some(looks) = wants.looks(&pictures) {
                socket.send(Message::text(looks)).map_err(|error| error.to_string())?;
            }
            let _ = tell.send(());
            watch(&mut socket)
        });
        let thread = thread
            .map_err(|source| MeasureError::Start { program: "a client of the page".into(), source })?;
        let client = Self { thread, address };
        client.wait_for_greeting(&greeted)
    }

    fn wait_for_greeting(self, greeted: &Receiver<()>) -> Result<Self, MeasureError> {
        match greeted.recv_timeout(PATIENCE) {
            Ok(()) => Ok(self),
            Err(_) if self.thread.is_finished() => {
                let address = self.address;
                let said = self.finish().err();
                Err(said.unwrap_or_else(|| failed(address, "there was no greeting")))
            }
            Err(_) => Err(failed(self.address, &format!("there was no greeting within {PATIENCE:?}"))),
        }
    }

    /// What it was shown, after the run has ended.
    ///
    /// # Errors
    /// If the page did not end with the run, or said something that a page does not understand.
    pub fn finish(self) -> Result<PageSeen, MeasureError> {
        let ended = self.thread.join().unwrap_or_else(|_| Err("its thread has panicked".into()));
        ended.map_err(|said| failed(self.address, &said))
    }
}

fn failed(address: SocketAddr, said: &str) -> MeasureError {
    MeasureError::Failed {
        program: format!("a client of the page at http://{address}"),
        said: said.to_owned(),
    }
}

fn connect(address: SocketAddr) -> Result<WebSocket<TcpStream>, String> {
    let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    // An acknowledgement waits for nothing.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (socket, _) =
        client(format!("ws://{address}/api/live"), stream).map_err(|error| error.to_string())?;
    Ok(socket)
}

/// Takes updates until the page says that the run has ended.
fn watch(socket: &mut WebSocket<TcpStream>) -> Result<PageSeen, String> {
    let mut seen = PageSeen::default();
    // The update whose picture is still to come: its number and its events.
    let mut pending: Option<(u64, u64)> = None;
    loop {
        let message =
            socket.read().map_err(|error| format!("it was lost before the run had ended: {error}"))?;
        let (number, events, has_picture) = match message {
            Message::Text(text) => match told(&text)? {
                Told::Hello { .. } => return Err("it greets twice".into()),
                Told::Refused { message } => return Err(format!("it refuses what was wanted: {message}")),
                Told::Status { number, frames, skipped, events } => {
                    seen.skipped = skipped;
                    // A client has one look.
                    if !frames.is_empty() {
                        pending = Some((number, events));
                        continue;
                    }
                    (number, events, false)
                }
            },
            Message::Binary(bytes) => {
                let (number, events) = pending.take().ok_or("a picture comes without its update")?;
                check_frame(&bytes)?;
                seen.picture_bytes += bytes.len() as u64;
                (number, events, true)
            }
            Message::Close(frame) => {
                let code = frame.map(|frame| u16::from(frame.code));
                return match code {
                    // "Going away": the run has ended.
                    Some(1001) => Ok(seen),
                    other => {
                        Err(format!("it was closed with code {other:?}, expected 1001 at the end of the run"))
                    }
                };
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
        };
        seen.updates.push(PageUpdate { at: Instant::now(), events, has_picture });
        let acknowledged = socket.send(Message::text(format!("ack {number}")));
        // A run that has ended meanwhile no longer listens; that it has ended comes next.
        match acknowledged {
            Ok(()) | Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {}
            Err(tungstenite::Error::Io(_)) => {}
            Err(error) => return Err(format!("an update could not be acknowledged: {error}")),
        }
    }
}

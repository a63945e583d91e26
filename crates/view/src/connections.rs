//! How many connections may be open, and for how long they may do nothing.
//!
//! The page must never cost the run anything. A connection costs a descriptor, of which a process has a limited number, and
//! outputs need some: to begin the next file of a recording, for example. So there are limits for all connections and for
//! those of one address, and the last [`RESERVE`] descriptors of the process are never taken.

use crate::shared::Shared;
use evforge_core::seats::{self, LEAVING_SOON, Limits};
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// Descriptors that connections leave to the rest of the process.
const RESERVE: u64 = 64;

/// What an excess connection is sent before it is closed.
const TOO_MANY: &str = "HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\n\
    connection: close\r\n\
    content-length: 78\r\n\r\n\
    too many connections to this live view are open: close some, or try it later.\n";

/// The seat of a connection, which its first request keeps.
pub(crate) type Seat = seats::Seat<oneshot::Sender<()>>;

/// The places for connections.
#[derive(Debug)]
pub(crate) struct Places {
    shared: Arc<Shared>,
    limits: Limits,
    /// Descriptors with this number and above are not for connections: the system gives the lowest one that is free.
    reserved_from: Option<u64>,
}

impl Places {
    /// All free. Outputs keep descriptors of those that this process may have now.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let options = &shared.options;
        let limits =
            Limits { most: options.most_connections, most_of_one: options.most_connections_of_one_address };
        let reserved_from = descriptor_limit().map(|limit| limit - RESERVE.min(limit / 2));
        Self { limits, reserved_from, shared }
    }

    /// A place for a connection from this address. If there is none, it is answered, closed and counted, or the oldest one is that
    /// has asked for nothing.
    pub(crate) fn seat(&self, stream: TcpStream, from: IpAddr) -> Option<Connection> {
        let clients = &self.shared.clients;
        let (leave, told) = oneshot::channel();
        let taken = (!self.is_reserved(&stream))
            .then(|| clients.connections.take(from, self.limits, leave, Instant::now()))
            .and_then(Result::ok);
        let is_closed = !matches!(taken, Some((_, None)));
        clients.connections_refused.fetch_add(is_closed.into(), Relaxed);
        let Some((seat, gives_way)) = taken else {
            turn_away(stream);
            return None;
        };
        // One that has ended just now gives way, too.
        let _ = gives_way.map(|gives_way| gives_way.send(()));
        // Updates are small or in a hurry; without it they only come later.
        let _ = stream.set_nodelay(true);
        let patience = self.shared.options.write_timeout;
        Some(Connection { stream, patience, stalled: None, told: Some(told), seat: Arc::new(seat) })
    }

    /// Waits until so many connections that had to go have ended that others may come.
    pub(crate) async fn not_crowded(&self) {
        while self.shared.clients.connections.is_crowded(self.limits) {
            sleep(LEAVING_SOON).await;
        }
    }

    /// Waits until all places are free.
    pub(crate) async fn all_free(&self) {
        while self.shared.clients.connections.open() > 0 {
            sleep(LEAVING_SOON).await;
        }
    }

    fn is_reserved(&self, stream: &TcpStream) -> bool {
        use std::os::fd::AsRawFd;
        let number = u64::try_from(stream.as_raw_fd()).unwrap_or(u64::MAX);
        self.reserved_from.is_some_and(|reserved| number >= reserved)
    }
}

/// Descriptors that this process may have open, where the system tells.
fn descriptor_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Tells a connection that it is one too many, if that goes at once.
fn turn_away(stream: TcpStream) {
    if let Ok(stream) = stream.into_std() {
        let _ = io::Write::write(&mut &stream, TOO_MANY.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}

/// A connection that has its place, also as a WebSocket, and fails when its other end takes nothing for too long.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    patience: Duration,
    /// Runs while there is something to write and the other end takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Is told when it has to make room for another one.
    told: Option<oneshot::Receiver<()>>,
    /// Dropped behind the stream, so that its descriptor is free before its place.
    pub(crate) seat: Arc<Seat>,
}

impl Connection {
    /// `written`, unless nothing could be written for too long.
    fn in_time<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let told = self.told.as_mut().map_or(Poll::Pending, |told| Pin::new(told).poll(cx));
        if let Poll::Ready(told) = told {
            self.told = None;
            // Nobody tells it any more once it has asked.
            if told.is_ok() {
                let _ = self.stream.try_write(TOO_MANY.as_bytes());
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.in_time(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.in_time(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LiveView, ViewOptions};
    use evforge_core::geometry::LogicalGeometry;
    use evforge_core::pulse::PulseTrain;

    #[test]
    fn the_answer_to_one_too_many_is_as_long_as_it_says() {
        let (head, body) = TOO_MANY.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{}", body.len());
    }

    #[test]
    fn the_last_descriptors_are_not_for_connections() {
        let geometry = LogicalGeometry::flat(4, 4).unwrap();
        let view = LiveView::start(ViewOptions {
            address: "127.0.0.1:0".parse().unwrap(),
            ..ViewOptions::new("Test", geometry, PulseTrain::ess())
        })
        .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            for (reserved_from, has_place) in [(None, true), (Some(u64::MAX), true), (Some(0), false)] {
                let places = Places { reserved_from, ..Places::new(view.shared()) };
                let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
                let from = client.local_addr().unwrap().ip();
                let (stream, _) = listener.accept().await.unwrap();
                assert_eq!(places.seat(stream, from).is_some(), has_place, "{reserved_from:?}");
            }
        });
        assert_eq!(view.shared().clients.connections_refused.load(Relaxed), 1);
    }
}

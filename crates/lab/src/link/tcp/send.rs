//! The sender: pieces of one size, as fast as the connection takes them.

use super::TcpError;
use crate::link::sent::{read_report, report_json};
use evforge_metrics::parse::in_table;
use evforge_net::affinity::pin_current_thread;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a sender that waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Counters of the protocols of the network namespace of this thread.
const COUNTERS: &str = "/proc/thread-self/net/snmp";

/// What to send, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSending {
    /// Where to.
    pub to: SocketAddr,
    /// Bytes of a piece: of each call of the kernel.
    pub piece: usize,
    /// Send buffer to ask the kernel for, in bytes; none leaves it to the kernel, which then makes it as large as it needs.
    pub buffer: Option<usize>,
    /// Core of this thread; none leaves it to the system.
    pub core: Option<usize>,
    /// Ends after so long; none does not.
    pub duration: Option<Duration>,
    /// Ends with the piece that reaches so many bytes; none does not.
    pub bytes: Option<u64>,
}

/// What was sent. As a file, the receiver takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSent {
    /// `tcp`: no report of UDP packets is taken for this.
    pub protocol: String,
    /// Where to.
    pub destination: SocketAddr,
    /// Where from: what the receiver sees.
    pub source: SocketAddr,
    /// Bytes of a piece.
    pub piece_bytes: u64,
    /// Whole pieces written.
    pub packets: u64,
    /// Bytes written.
    pub bytes: u64,
    /// From the first call of the kernel to the end of the last, in seconds.
    pub elapsed_s: f64,
    /// Pieces per second.
    pub packets_per_second: f64,
    /// Bits per second.
    pub bits_per_second: f64,
    /// The send buffer that the kernel granted, as it counts it; it grows where none was asked for.
    pub buffer_bytes: Option<u64>,
    /// Segments that the host sent again meanwhile, those of other connections included; none if the kernel does not tell.
    pub retransmitted: Option<u64>,
}

impl TcpSent {
    /// Reads a sender's report.
    ///
    /// # Errors
    /// If the file cannot be read or is none, in words that say what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        let report: Self = read_report(path, "evforge send --tcp", " (give --sent the file of --report)")?;
        match report.protocol.as_str() {
            "tcp" => Ok(report),
            other => Err(format!("{}: the protocol is `{other}`, expected tcp", path.display())),
        }
    }

    /// As JSON, with a line end.
    pub fn json(&self) -> String {
        report_json(self)
    }
}

/// Segments that this host has sent again so far.
fn retransmitted() -> Option<u64> {
    in_table(&std::fs::read_to_string(COUNTERS).ok()?, "Tcp", "RetransSegs")
}

fn connect(settings: &TcpSending) -> std::io::Result<(TcpStream, Option<u64>)> {
    let socket = Socket::new(Domain::for_address(settings.to), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(bytes) = settings.buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    socket.connect_timeout(&settings.to.into(), PATIENCE)?;
    socket.set_write_timeout(Some(LOOK))?;
    let buffer = socket.send_buffer_size().ok().map(|bytes| bytes as u64);
    Ok((socket.into(), buffer))
}

/// Sends in this thread until the time is over, all has been sent or `stop` is set, and closes the connection.
///
/// # Errors
/// If nobody listens, or the connection breaks.
pub fn send(settings: &TcpSending, stop: &AtomicBool) -> Result<TcpSent, TcpError> {
    settings.core.map_or(Ok(()), pin_current_thread)?;
    let failed = |source| TcpError::Connect { address: settings.to, source };
    let (mut connection, buffer_bytes) = connect(settings).map_err(failed)?;
    let source = connection.local_addr().map_err(failed)?;
    let piece = vec![0x5a; settings.piece.max(1)];
    let before = retransmitted();
    let start = Instant::now();
    let (mut bytes, mut of_piece) = (0_u64, 0);
    let is_over = |bytes: u64| {
        stop.load(Ordering::Relaxed)
            || settings.duration.is_some_and(|most| start.elapsed() >= most)
            || settings.bytes.is_some_and(|most| bytes >= most)
    };
    let mut elapsed = Duration::ZERO;
    // A piece that has begun is finished, unless the other end takes nothing any more.
    while of_piece > 0 || !is_over(bytes) {
        match connection.write(&piece[of_piece..]) {
            Ok(written) => {
                bytes += written as u64;
                of_piece = (of_piece + written) % piece.len();
                elapsed = start.elapsed();
            }
            // The buffer has been full for a while.
            Err(error) if error.kind() == ErrorKind::WouldBlock && is_over(bytes) => break,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(source) => return Err(TcpError::Broken { address: settings.to, bytes, source }),
        }
    }
    // What is in the buffers still goes out behind this; if the other end has gone, its report says what is missing.
    let _ = connection.shutdown(Shutdown::Write);
    let (packets, seconds) = (bytes / piece.len() as u64, elapsed.as_secs_f64());
    let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    Ok(TcpSent {
        protocol: "tcp".to_owned(),
        destination: settings.to,
        source,
        piece_bytes: piece.len() as u64,
        packets,
        bytes,
        elapsed_s: seconds,
        packets_per_second: per_second(packets as f64),
        bits_per_second: per_second(8.0 * bytes as f64),
        buffer_bytes,
        retransmitted: retransmitted().zip(before).map(|(now, before)| now.saturating_sub(before)),
    })
}

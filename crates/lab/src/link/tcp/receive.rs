//! The receiver: one connection, read as fast as it delivers.

use super::TcpError;
use crate::link::LinkProgress;
use crate::link::ProcessorUse;
use crate::link::first_second::{Beginning, FirstSecond};
use crate::link::work_for;
use evforge_core::seats::{Limits, Seats};
use evforge_net::affinity::pin_current_thread;
use evforge_net::session::{SessionClock, SessionLimits};
use evforge_net::thread_time::processor_time;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long a call of the kernel waits before anything else is looked at.
const PATIENCE: Duration = Duration::from_millis(20);
/// Bytes that are read at once at most.
const AT_ONCE: usize = 1 << 20;

/// Connections that may wait to be the one that sends. A sender may take its time, so that they have no time-out.
const SEATS: Limits = Limits { most: 8, most_of_one: 4 };

/// How to receive, and how long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpReceiving {
    /// Core of this thread; none leaves it to the system.
    pub core: Option<usize>,
    /// Time to spend on each read, to be as slow as an application.
    pub work: Duration,
    /// When it is over, at the latest.
    pub limits: SessionLimits,
}

/// Waits for a connection.
#[derive(Debug)]
pub struct TcpReceiver {
    listener: TcpListener,
    address: SocketAddr,
    buffer_bytes: Option<u64>,
}

/// What came.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReceived {
    /// Where.
    pub address: SocketAddr,
    /// From whom; none if nobody has sent anything.
    pub source: Option<SocketAddr>,
    /// The receive buffer that the kernel granted, as it counts it; it grows where none was asked for.
    pub buffer_bytes: Option<u64>,
    /// Bytes read.
    pub bytes: u64,
    /// Reads that brought some.
    pub reads: u64,
    /// What came in the first second.
    pub first_second: FirstSecond,
    /// From the first byte to the last, in seconds.
    pub seconds: f64,
    /// True if the sender has closed the connection: all it sent has come.
    pub is_closed: bool,
    /// Processor time of this thread meanwhile.
    pub processor: ProcessorUse,
}

impl TcpReceiver {
    /// Listens at an address, where port 0 lets the kernel choose, with a receive buffer of so many bytes; none leaves it to the
    /// kernel, which then makes it as large as it needs.
    ///
    /// # Errors
    /// If the address is not to be had.
    pub fn listen(address: SocketAddr, buffer: Option<usize>) -> Result<Self, TcpError> {
        let failed = |source| TcpError::Listen { address, source };
        let socket =
            Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(failed)?;
        if let Some(bytes) = buffer {
            // Before it listens: the window is agreed on when a connection begins.
            socket.set_recv_buffer_size(bytes).map_err(failed)?;
        }
        socket.set_reuse_address(true).map_err(failed)?;
        socket.bind(&address.into()).map_err(failed)?;
        socket.listen(SEATS.most as i32).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let buffer_bytes = socket.recv_buffer_size().ok().map(|bytes| bytes as u64);
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, buffer_bytes })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes the first connection by which something comes and reads it to its end, until the time is over, nothing has come for long enough or `stop` is
    /// set. `watch` is called in this thread at most 50 times per second.
    ///
    /// # Errors
    /// If the core cannot be had, or the connection breaks.
    pub fn receive(
        self,
        settings: &TcpReceiving,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&LinkProgress),
    ) -> Result<TcpReceived, TcpError> {
        settings.core.map_or(Ok(()), pin_current_thread)?;
        let clock = SessionClock::start(settings.limits.clone(), stop);
        let mut received = TcpReceived {
            address: self.address,
            source: None,
            buffer_bytes: self.buffer_bytes,
            bytes: 0,
            reads: 0,
            first_second: FirstSecond::default(),
            seconds: 0.0,
            is_closed: false,
            processor: ProcessorUse::default(),
        };
        let Some((connection, source)) = self.accept(&clock)? else { return Ok(received) };
        received.source = Some(source);
        read((connection, source), (settings.work, clock), &mut received, watch)?;
        Ok(received)
    }

    fn accept(&self, clock: &SessionClock<'_>) -> Result<Option<(TcpStream, SocketAddr)>, TcpError> {
        let failed = |source| TcpError::Listen { address: self.address, source };
        let seats = Arc::<Seats<SocketAddr>>::default();
        let mut waiting: Vec<(TcpStream, SocketAddr, _)> = Vec::new();
        while !clock.is_over() {
            match self.listener.accept() {
                Ok((connection, source)) => {
                    connection.set_nonblocking(true).map_err(failed)?;
                    // There is always one that gives way: none has said anything.
                    if let Ok((seat, gives_way)) = seats.take(source.ip(), SEATS, source, Instant::now()) {
                        waiting.retain(|(_, other, _)| Some(*other) != gives_way);
                        waiting.push((connection, source, seat));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // The other end has gone again before it was taken.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(source) => return Err(failed(source)),
            }
            if let Some(begun) = waiting.iter().position(|(connection, ..)| has_begun(connection)) {
                let (connection, source, _) = waiting.swap_remove(begun);
                connection.set_nonblocking(false).map_err(failed)?;
                connection.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
                return Ok(Some((connection, source)));
            }
        }
        Ok(None)
    }
}

/// Whether something has come by a connection that does not block, or its end.
fn has_begun(connection: &TcpStream) -> bool {
    !matches!(connection.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

fn read(
    (mut connection, source): (TcpStream, SocketAddr),
    (work, mut clock): (Duration, SessionClock<'_>),
    received: &mut TcpReceived,
    watch: &mut dyn FnMut(&LinkProgress),
) -> Result<(), TcpError> {
    let mut memory = vec![0; AT_ONCE];
    let mut first: Option<(Instant, Duration)> = None;
    let mut beginning = Beginning::default();
    let mut told = Instant::now();
    while !clock.is_over() {
        match connection.read(&mut memory) {
            Ok(0) => {
                received.is_closed = true;
                break;
            }
            Ok(bytes) => {
                let now = Instant::now();
                let (begun, processor) = *first.get_or_insert_with(|| (now, processor_time()));
                let so_far = FirstSecond { packets: received.reads, bytes: received.bytes, missing: 0 };
                beginning.look((now - begun).as_nanos() as u64, || so_far);
                received.bytes += bytes as u64;
                received.reads += 1;
                let so_far = FirstSecond { packets: received.reads, bytes: received.bytes, missing: 0 };
                received.first_second = beginning.seen(so_far);
                received.seconds = (now - begun).as_secs_f64();
                work_for(work);
                received.processor =
                    ProcessorUse { used: processor_time().saturating_sub(processor), of: begun.elapsed() };
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => {
                return Err(TcpError::Broken { address: source, bytes: received.bytes, source: error });
            }
        }
        clock.note(received.bytes);
        if told.elapsed() >= PATIENCE {
            told = Instant::now();
            watch(&LinkProgress {
                elapsed: clock.elapsed(),
                packets: received.reads,
                bytes: received.bytes,
                irregularities: 0,
            });
        }
    }
    Ok(())
}

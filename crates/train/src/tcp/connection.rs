//! One connection: its bytes to trains.

use crate::assembly::{AssembledTrain, IncompleteCause, StreamAssembly, TrainBuffer};
use evforge_core::seats::Seat;
use evforge_net::clock::wall_clock_ns;
use evforge_net::session::{LONGEST_DRAIN, PATIENCE};
use evforge_wire::train::{StreamHeader, StreamRejection};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that are read at once at most.
const AT_ONCE: usize = 1 << 20;

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// By its sender, between two trains.
    Ended,
    /// By its sender, or by the network, elsewhere.
    CutOff,
    /// Nothing came for the time-out.
    Silent,
    /// What stands before a train is of no use.
    Rejected(StreamRejection),
    /// A train larger than there may be was announced.
    TooLarge,
    /// A train of another sender or module was announced.
    OtherSource,
    /// The place of a train in its sequence was not above that of the one before.
    SequenceBack,
    /// The run has ended.
    Stopped,
}

/// What a connection has to know.
pub(super) struct Terms<'a> {
    pub(super) assembly: &'a StreamAssembly,
    /// The run is over: what comes without a wait is still taken.
    pub(super) over: &'a AtomicBool,
    /// Milliseconds since `born` when something has come last.
    pub(super) heard_ms: &'a AtomicU64,
    pub(super) born: Instant,
    /// Kept by whoever has announced a train.
    pub(super) seat: Seat<Arc<TcpStream>>,
}

struct Connection<'a> {
    stream: &'a TcpStream,
    terms: Terms<'a>,
    time_out: Duration,
    /// Since when the run is over.
    draining: Option<Instant>,
}

/// Reads trains until the connection ends, and gives them to `deliver`, which may return their memory.
pub(super) fn receive<'a>(
    stream: &'a TcpStream,
    terms: Terms<'a>,
    deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
) -> ConnectionEnd {
    // A stream accepted from a listener that does not block may not block either.
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(PATIENCE))).is_err() {
        return ConnectionEnd::CutOff;
    }
    let (assembly, time_out) = (terms.assembly, terms.assembly.settings().time_out);
    let mut connection = Connection { stream, terms, time_out, draining: None };
    let mut before = None;
    let end = loop {
        let next = connection.next(before.as_ref(), deliver);
        match next {
            Ok(header) => before = Some(header),
            Err((header, end)) => {
                before = before.or(header);
                break end;
            }
        }
    };
    if let Some(header) = before {
        assembly.leave(&header);
    }
    end
}

impl Connection<'_> {
    /// Reads the next train, behind the one with the header `before`. Its header; or how the connection has ended, with the header if
    /// it is one.
    fn next(
        &mut self,
        before: Option<&StreamHeader>,
        deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
    ) -> Result<StreamHeader, (Option<StreamHeader>, ConnectionEnd)> {
        let header = self.header(before).map_err(|end| (None, end))?;
        let assembly = self.terms.assembly;
        if before.is_none() {
            if !self.terms.seat.keep() {
                return Err((None, ConnectionEnd::Ended));
            }
            assembly.enter(&header);
        }
        let Self { terms, draining, .. } = self;
        let wants = || {
            terms.heard();
            let is_over = terms.over.load(Ordering::Relaxed);
            !is_over || draining.get_or_insert_with(Instant::now).elapsed() < LONGEST_DRAIN
        };
        let Some(mut train) = assembly.open(&header, wall_clock_ns(), wants) else {
            return Err((Some(header), ConnectionEnd::Stopped));
        };
        let mut there = 0;
        let filled = self.fill(train.rest(), true, &mut there);
        train.advance(there);
        let cause = filled.err().map(|end| match end {
            ConnectionEnd::Silent => (IncompleteCause::TimeOut, end),
            ConnectionEnd::Stopped => (IncompleteCause::EndOfRun, end),
            _ => (IncompleteCause::CutOff, end),
        });
        let closed = assembly.close(train, wall_clock_ns(), cause.map(|(cause, _)| cause));
        if let Some(buffer) = deliver(closed) {
            assembly.give_back(buffer);
        }
        match cause {
            None => Ok(header),
            Some((_, end)) => Err((Some(header), end)),
        }
    }

    /// Reads and checks what stands before a train.
    fn header(&mut self, before: Option<&StreamHeader>) -> Result<StreamHeader, ConnectionEnd> {
        let (mut bytes, mut there) = ([0; StreamHeader::BYTES], 0);
        self.fill(&mut bytes, false, &mut there).map_err(|end| match end {
            ConnectionEnd::CutOff if there == 0 => ConnectionEnd::Ended,
            end => end,
        })?;
        let header = StreamHeader::parse(&bytes).map_err(ConnectionEnd::Rejected)?;
        if header.bytes > self.terms.assembly.settings().largest_train as u64 {
            return Err(ConnectionEnd::TooLarge);
        }
        if let Some(before) = before {
            if (header.sender, header.module) != (before.sender, before.module) {
                return Err(ConnectionEnd::OtherSource);
            }
            if header.sequence <= before.sequence {
                return Err(ConnectionEnd::SequenceBack);
            }
        }
        Ok(header)
    }

    /// Reads until `memory` is full, and counts in `there`. Silence is no fault before the first byte, unless it `is_inside` a train.
    fn fill(&mut self, memory: &mut [u8], is_inside: bool, there: &mut usize) -> Result<(), ConnectionEnd> {
        let mut last = Instant::now();
        while *there < memory.len() {
            let end = memory.len().min(*there + AT_ONCE);
            let is_over = self.terms.over.load(Ordering::Relaxed);
            match self.stream.read(&mut memory[*there..end]) {
                Ok(0) => return Err(ConnectionEnd::CutOff),
                Ok(bytes) => {
                    *there += bytes;
                    last = Instant::now();
                    self.terms.assembly.note(bytes);
                    self.terms.heard();
                    if is_over && self.draining.get_or_insert(last).elapsed() >= LONGEST_DRAIN {
                        return Err(ConnectionEnd::Stopped);
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if is_over {
                        return Err(ConnectionEnd::Stopped);
                    }
                    if (is_inside || *there > 0) && last.elapsed() >= self.time_out {
                        return Err(ConnectionEnd::Silent);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(ConnectionEnd::CutOff),
            }
        }
        Ok(())
    }
}

impl Terms<'_> {
    /// Something has come, or is waited for here and not there.
    fn heard(&self) {
        let since = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard_ms.store(since, Ordering::Relaxed);
    }
}

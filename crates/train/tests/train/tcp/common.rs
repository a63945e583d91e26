//! A node to which trains come over TCP, and senders of anything.

use crate::assembly::common as assembly;
use evforge_core::counter::{CounterSet, CounterSnapshot, Law};
use evforge_net::session::SessionLimits;
use evforge_testkit::patience::{patience, wait_for, wait_until};
use evforge_train::assembly::{AssemblyCounters, AssemblySettings};
use evforge_train::node::{NodeSettings, NodeTrain, ReceivedTrains, SinkError, TrainSink, run_streams};
use evforge_train::tcp::{StreamCounters, TrainListener};
use evforge_wire::train::StreamHeader;
use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Of so many connections, with buffers enough for a slow machine.
pub(crate) fn settings(connections: usize) -> NodeSettings {
    let settings = AssemblySettings {
        sources: connections,
        open_trains: connections,
        open_trains_of_source: 1,
        buffers: connections + 16,
        time_out: patience(),
        ..assembly::settings()
    };
    let limits = SessionLimits { ends_after: Some(patience()), ..SessionLimits::default() };
    NodeSettings { limits, ..NodeSettings::new(settings, Vec::new()) }
}

/// The header of a small train.
pub(crate) fn header(module: u8, sequence: u64, number: u64, train: &[u8]) -> StreamHeader {
    StreamHeader { module, sender: 77, sequence, train: number, bytes: train.len() as u64 }
}

/// A small train with what stands before it: number 1000 and the place in the sequence.
pub(crate) fn streamed(module: u8, sequence: u64) -> Vec<u8> {
    let train = train(sequence);
    [&header(module, sequence, 1000 + sequence, &train).write()[..], &train].concat()
}

/// A small train.
pub(crate) fn train(sequence: u64) -> Vec<u8> {
    assembly::train(1000 + sequence, assembly::IMAGES)
}

/// Module and bytes of each train that has come.
pub(crate) type Came = Arc<Mutex<Vec<(u8, Vec<u8>)>>>;

/// Keeps all trains.
pub(crate) struct Keeps(pub(crate) Came);

impl TrainSink for Keeps {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        let bytes = train.train.bytes().expect("it is handed on").to_vec();
        self.0.lock().expect("nobody has panicked").push((train.module, bytes));
        Ok(())
    }
}

/// A node that runs.
pub(crate) struct Running<'a> {
    pub(crate) address: SocketAddr,
    seen: &'a Mutex<AssemblyCounters>,
}

impl Running<'_> {
    /// A connection.
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("it listens")
    }

    /// A connection over which these bytes, at least one, are taken: once there is room, which is when the node has seen the end of one
    /// before.
    pub(crate) fn connect_when_there_is_room(&self, bytes: &[u8]) -> TcpStream {
        wait_for("room for a connection", || {
            let before = self.counters().bytes_received;
            let mut stream = self.connect();
            // It may be closed already.
            let _ = stream.write_all(bytes);
            stream.set_nonblocking(true).expect("a stream");
            let is_taken = wait_for("bytes that are taken, or the end", || {
                let is_closed = !matches!(stream.read(&mut [0]), Err(error) if error.kind() == WouldBlock);
                let is_taken = self.counters().bytes_received > before;
                (is_taken || is_closed).then_some(is_taken)
            });
            stream.set_nonblocking(false).expect("a stream");
            is_taken.then_some(stream)
        })
    }

    /// What its assembly has counted.
    pub(crate) fn counters(&self) -> AssemblyCounters {
        *self.seen.lock().expect("nobody has panicked")
    }

    /// Waits until its assembly has counted something.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&AssemblyCounters) -> bool) {
        wait_until(what, || is_so(&self.counters()));
    }

    /// Sends these bytes over a connection of their own, ends it, and waits until the node has seen the end.
    pub(crate) fn has_all_of(&self, bytes: &[u8]) {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("it is taken");
        stream.shutdown(std::net::Shutdown::Write).expect("a stream");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        assert_eq!(stream.read(&mut [0]).expect("the node closes it"), 0);
    }

    /// Sends these bytes over a connection of their own, and waits until the node closes it.
    pub(crate) fn is_closed_after(&self, bytes: &[u8]) {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        // The node may have closed it before all is written.
        let _ = stream.write_all(bytes);
        let end = stream.read(&mut [0]);
        assert!(!matches!(end, Ok(1..)), "nothing is sent back");
        if let Err(error) = end {
            assert!(!matches!(error.kind(), TimedOut | WouldBlock), "it is not closed");
        }
    }
}

/// Runs a node while `sends` does something, and ends it then. The laws hold, and all buffers are back.
pub(crate) fn received(
    settings: &NodeSettings,
    sinks: &mut [Box<dyn TrainSink>],
    sends: impl FnOnce(&Running<'_>) + Send,
) -> (ReceivedTrains, AssemblyCounters, StreamCounters) {
    let listener = TrainListener::open(&[SocketAddr::from(([127, 0, 0, 1], 0))]).expect("it listens");
    let (address, stop, seen) = (listener.local_addresses()[0], AtomicBool::new(false), Mutex::default());
    let received = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Also if `sends` panics.
            struct Stops<'a>(&'a AtomicBool);
            impl Drop for Stops<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            let _stops = Stops(&stop);
            sends(&Running { address, seen: &seen });
        });
        run_streams(settings, listener, sinks, &stop, |progress| {
            *seen.lock().expect("nobody has panicked") = progress.assembly;
        })
        .expect("it runs")
    });
    let (assembly, streams) = (received.assembly(), received.streams.expect("streams").counters);
    assert_eq!(CounterSnapshot::of(&assembly).unaccounted(), 0, "{assembly:?}");
    assert_eq!(CounterSnapshot::of(&streams).unaccounted(), 0, "{streams:?}");
    assert_eq!(received.counters.imbalance(Law::Trains), 0, "{received:?}");
    assert_eq!((assembly.trains_open, streams.connections_open), (0, 0));
    assert_eq!(assembly.packets_received, 0, "there are none");
    assert_eq!(assembly.buffers_free, settings.assembly.buffers as u64, "a buffer is lost");
    (received, assembly, streams)
}

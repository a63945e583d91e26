//! All connections of a node: as many as may be, with a thread each.

use super::connection::{ConnectionEnd, Terms, receive};
use super::counters::StreamCounters;
use super::listener::TrainListener;
use crate::assembly::{AssembledTrain, StreamAssembly, TrainBuffer};
use evforge_core::seats::{Limits, Seats};
use evforge_net::affinity::{PinError, pin_current_thread_in_turn};
use evforge_wire::train::StreamRejection;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// A connection by which nothing came for so long makes room for another one: a sender whose host lost its power does not say so.
const SILENCE: Duration = Duration::from_secs(60);

/// The connections of a node, each read by a thread in `scope`.
pub(crate) struct Connections<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    assembly: &'scope StreamAssembly,
    over: &'scope AtomicBool,
    cores: &'scope [usize],
    open: Vec<Open<'scope>>,
    seats: Arc<Seats<Arc<TcpStream>>>,
    limits: Limits,
    silence: Duration,
    made: usize,
    born: Instant,
    counters: StreamCounters,
}

struct Open<'scope> {
    thread: ScopedJoinHandle<'scope, Result<ConnectionEnd, PinError>>,
    stream: Arc<TcpStream>,
    heard_ms: Arc<AtomicU64>,
    is_replaced: bool,
}

impl Open<'_> {
    /// It makes room for another one.
    fn replace(&mut self) {
        self.is_replaced = true;
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl<'scope, 'env> Connections<'scope, 'env> {
    /// None yet. There are at most as many as the assembly has sources.
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        assembly: &'scope StreamAssembly,
        over: &'scope AtomicBool,
        cores: &'scope [usize],
    ) -> Self {
        let most = assembly.settings().sources;
        Self {
            scope,
            assembly,
            over,
            cores,
            open: Vec::new(),
            seats: Arc::default(),
            // One host may send the trains of all modules, and a sender may connect long before its first train.
            limits: Limits { most, most_of_one: most },
            silence: SILENCE,
            made: 0,
            born: Instant::now(),
            counters: StreamCounters::default(),
        }
    }

    /// Accepts those that wait, each read by a thread that gives its trains to a `deliver` of its own; looks at those that have ended.
    ///
    /// # Errors
    /// If a thread could not be put on its core.
    pub(crate) fn attend<D>(
        &mut self,
        listener: &TrainListener,
        deliver: impl Fn() -> D,
    ) -> Result<(), PinError>
    where
        D: FnMut(AssembledTrain) -> Option<TrainBuffer> + Send + 'scope,
    {
        self.look()?;
        // As many at once as may be: a flood of them holds nothing else up.
        for _ in 0..=self.limits.most {
            match (!self.seats.is_crowded(self.limits)).then(|| listener.accept()) {
                Some(Ok(Some((stream, from)))) => self.accept(stream, from, deliver()),
                Some(Ok(None)) | None => break,
                Some(Err(_)) => {
                    self.counters.connections_failed += 1;
                    break;
                }
            }
        }
        Ok(())
    }

    fn accept<D>(&mut self, stream: TcpStream, from: IpAddr, mut deliver: D)
    where
        D: FnMut(AssembledTrain) -> Option<TrainBuffer> + Send + 'scope,
    {
        self.counters.connections_accepted += 1;
        let stream = Arc::new(stream);
        let Ok((seat, gives_way)) = self.seats.take(from, self.limits, Arc::clone(&stream), Instant::now())
        else {
            self.counters.connections_refused += 1;
            self.replace_one();
            return;
        };
        if let Some(gives_way) = gives_way {
            self.open.iter_mut().filter(|open| Arc::ptr_eq(&open.stream, &gives_way)).for_each(Open::replace);
        }
        let heard_ms = Arc::new(AtomicU64::new(self.now_ms()));
        let (assembly, over, cores, born) = (self.assembly, self.over, self.cores, self.born);
        let (number, heard, own) = (self.made, Arc::clone(&heard_ms), Arc::clone(&stream));
        let thread = Builder::new().name(format!("trains {number}")).spawn_scoped(self.scope, move || {
            pin_current_thread_in_turn(cores, number)?;
            let terms = Terms { assembly, over, heard_ms: &heard, born, seat };
            Ok(receive(&own, terms, &mut deliver))
        });
        match thread {
            Ok(thread) => {
                self.made += 1;
                self.open.push(Open { thread, stream, heard_ms, is_replaced: false });
            }
            Err(_) => {
                self.counters.connections_failed += 1;
                self.counters.connections_refused += 1;
            }
        }
    }

    /// Closes the connection that has been silent for longest, and for long enough: the one that was just refused is made again.
    fn replace_one(&mut self) {
        let now_ms = self.now_ms();
        let silence = |open: &Open<'_>| {
            Duration::from_millis(now_ms.saturating_sub(open.heard_ms.load(Ordering::Relaxed)))
        };
        let longest = self.open.iter_mut().max_by_key(|open| silence(open));
        if let Some(open) = longest.filter(|open| silence(open) >= self.silence) {
            open.replace();
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Counts those that have ended.
    fn look(&mut self) -> Result<(), PinError> {
        let mut at = 0;
        while at < self.open.len() {
            if self.open[at].thread.is_finished() {
                let open = self.open.swap_remove(at);
                self.count(open)?;
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Waits for all of them: the run is over, and they know it. What happened to them.
    ///
    /// # Errors
    /// As [`Connections::attend`].
    pub(crate) fn end(mut self) -> Result<StreamCounters, PinError> {
        for open in std::mem::take(&mut self.open) {
            self.count(open)?;
        }
        Ok(self.counters())
    }

    /// What happened to them so far.
    pub(crate) fn counters(&self) -> StreamCounters {
        let tally = self.assembly.tally();
        StreamCounters {
            connections_open: self.open.len() as u64,
            trains_skipped: tally.skipped,
            trains_before: tally.before,
            waits_for_buffer: tally.waits,
            ..self.counters
        }
    }

    fn count(&mut self, open: Open<'scope>) -> Result<(), PinError> {
        let Open { thread, is_replaced, .. } = open;
        let end = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        *counter(&mut self.counters, end, is_replaced) += 1;
        Ok(())
    }
}

fn counter(counters: &mut StreamCounters, end: ConnectionEnd, is_replaced: bool) -> &mut u64 {
    match end {
        ConnectionEnd::Ended if is_replaced => &mut counters.connections_replaced,
        ConnectionEnd::Ended => &mut counters.connections_ended,
        ConnectionEnd::CutOff => &mut counters.connections_cut_off,
        ConnectionEnd::Silent => &mut counters.connections_silent,
        ConnectionEnd::Rejected(StreamRejection::WrongMagic(_)) => &mut counters.connections_wrong_magic,
        ConnectionEnd::Rejected(StreamRejection::OtherVersion(_)) => &mut counters.connections_other_version,
        ConnectionEnd::Rejected(StreamRejection::WrongModule(_)) => &mut counters.connections_wrong_module,
        ConnectionEnd::Rejected(StreamRejection::Empty) | ConnectionEnd::TooLarge => {
            &mut counters.connections_wrong_size
        }
        ConnectionEnd::OtherSource => &mut counters.connections_other_source,
        ConnectionEnd::SequenceBack => &mut counters.connections_sequence_back,
        ConnectionEnd::Stopped => &mut counters.connections_stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::AssemblySettings;
    use evforge_testkit::patience::wait_until;
    use evforge_wire::train::{StreamHeader, TrainDetector};
    use std::io::{Read, Write};
    use std::net::SocketAddr;

    #[test]
    fn a_connection_that_says_nothing_makes_room_and_one_that_sent_trains_does_after_a_long_silence() {
        let assembly = StreamAssembly::new(AssemblySettings::new(TrainDetector::Lpd, 1)).expect("settings");
        let listener = TrainListener::open(&[SocketAddr::from(([127, 0, 0, 1], 0))]).expect("it listens");
        let connect = || TcpStream::connect(listener.local_addresses()[0]).expect("it listens");
        let over = AtomicBool::new(false);
        let counters = std::thread::scope(|scope| {
            let mut connections = Connections::new(scope, &assembly, &over, &[]);
            let mut attend = |silence, is_so: &dyn Fn(&StreamCounters) -> bool| {
                connections.silence = silence;
                wait_until("the connections are as expected", || {
                    connections.attend(&listener, || |_| None).expect("any core");
                    is_so(&connections.counters())
                });
            };
            let mut first = connect();
            attend(SILENCE, &|counters| counters.connections_open == 1);
            let mut second = connect();
            attend(SILENCE, &|counters| counters.connections_replaced == 1);
            assert_eq!(first.read(&mut [0]).ok(), Some(0), "it has made room");
            // A train of one byte.
            let header = StreamHeader { module: 0, sender: 1, sequence: 0, train: 1, bytes: 1 };
            let sent = [&header.write()[..], &[0]].concat();
            second.write_all(&sent).expect("it is taken");
            wait_until("it has sent a train", || assembly.counters().bytes_received == sent.len() as u64);
            let mut third = connect();
            attend(SILENCE, &|counters| counters.connections_refused == 1);
            assert_eq!(third.read(&mut [0]).ok(), Some(0), "it is closed");
            // Next time the second one has been silent for long enough.
            let fourth = connect();
            attend(Duration::ZERO, &|counters| counters.connections_replaced == 2);
            assert_eq!(second.read(&mut [0]).ok(), Some(0), "it has made room");
            let fifth = connect();
            attend(SILENCE, &|counters| counters.connections_open == 1);
            over.store(true, Ordering::Relaxed);
            let counters = connections.end().expect("any core");
            drop((fourth, fifth));
            counters
        });
        assert_eq!((counters.connections_accepted, counters.connections_refused), (5, 2));
        assert_eq!((counters.connections_replaced, counters.connections_stopped), (2, 1));
    }
}

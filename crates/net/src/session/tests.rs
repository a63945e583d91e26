//! Sessions with a receiver that follows a script.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::time::{Clock, ManualClock};
use evforge_testkit::patience::patience;

use crate::interfaces::InterfacesInUse;
use crate::live_receiver::{LiveReceiveError, ReceiveLosses};
use crate::socket::{ReceiveError, ReceiverCounters};
use crate::xdp::XdpCounters;

use super::*;

/// What the receiver does when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// This many packets are there.
    Packets(usize),
    /// Nothing comes before the deadline.
    Nothing,
    /// The thread is held up until a step is given on the way, and does that.
    Held,
    /// One packet comes, and then the kernel fails.
    Failure,
}
use Step::{Failure, Held, Nothing, Packets};

#[derive(Debug)]
struct Script {
    born: Instant,
    steps: VecDeque<Step>,
    /// When those have been done: the steps that a test gives on the way.
    given: Option<Receiver<Step>>,
    /// When the steps have been done: packets for ever, or nothing.
    for_ever: bool,
    counters: ReceiverCounters,
    /// Attempts that were not to wait.
    polls: usize,
}

impl Default for Script {
    fn default() -> Self {
        let (steps, counters) = (VecDeque::new(), ReceiverCounters::default());
        Self { born: Instant::now(), steps, given: None, for_ever: false, counters, polls: 0 }
    }
}

impl Script {
    fn of(steps: &[Step]) -> Self {
        Self { steps: steps.iter().copied().collect(), ..Self::default() }
    }

    /// One whose steps are given on the way.
    fn given() -> (Sender<Step>, Self) {
        let (give, given) = channel();
        (give, Self { given: Some(given), ..Self::default() })
    }

    fn for_ever() -> Self {
        Self { for_ever: true, ..Self::default() }
    }

    fn push(&mut self, slab: &mut PacketSlab, packets: usize) -> usize {
        for _ in 0..packets {
            slab.push(&[0; 8], 8, PacketOrigin::default());
        }
        self.counters.packets += packets as u64;
        packets
    }
}

impl PacketReceiver for Script {
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError> {
        assert!(self.born.elapsed() < 2 * patience(), "the session does not end");
        let wait = deadline.saturating_duration_since(Instant::now());
        self.polls += usize::from(wait.is_zero());
        let given = || self.given.as_ref()?.try_recv().ok();
        let step = self.steps.pop_front().or_else(given);
        let held = || self.given.as_ref()?.recv_timeout(patience()).ok();
        match if step == Some(Held) { held() } else { step } {
            Some(Packets(packets)) => Ok(self.push(slab, packets)),
            Some(Failure) => {
                self.push(slab, 1);
                let address = SocketAddr::from(([127, 0, 0, 1], 9000));
                Err(ReceiveError::Receive { address, source: io::Error::other("cable eaten") }.into())
            }
            None if self.for_ever => {
                // It is to leave the processor to others.
                std::thread::sleep(Duration::from_millis(1));
                Ok(self.push(slab, 1))
            }
            Some(Nothing | Held) | None => {
                std::thread::sleep(wait);
                Ok(0)
            }
        }
    }

    fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    fn losses(&self) -> ReceiveLosses {
        ReceiveLosses { frame_checks: 1, ..ReceiveLosses::default() }
    }

    fn xdp_counters(&self) -> Option<XdpCounters> {
        None
    }

    fn alarms(&self) -> Vec<String> {
        vec!["smoke".to_owned()]
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        vec![([127, 0, 0, 1], 9000).into()]
    }

    fn description(&self) -> String {
        "script".to_owned()
    }

    fn warnings(&self) -> Vec<String> {
        vec!["written by hand".to_owned()]
    }

    fn interfaces(&self) -> Vec<InterfacesInUse> {
        vec![InterfacesInUse::Named("lo".to_owned())]
    }
}

#[derive(Debug)]
struct Count {
    slab: PacketSlab,
    packets: usize,
    /// Panics at the first packet.
    panics: bool,
}

impl Count {
    fn new() -> Self {
        Self { slab: PacketSlab::new(64, 1 << 17), packets: 0, panics: false }
    }
}

impl PacketHandler for Count {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        &mut self.slab
    }

    fn received(&mut self, packets: usize, _receiver: &dyn PacketReceiver) {
        assert!(packets == 0 || !self.panics, "the handler has a fault");
        assert_eq!(packets, self.slab.len());
        self.packets += packets;
        self.slab.clear();
    }

    fn dropped(&self) -> u64 {
        2
    }
}

fn limits() -> SessionLimits {
    SessionLimits { ends_after: Some(patience()), ..SessionLimits::default() }
}

fn thread(script: Script) -> ReceivingThread<Script, Count> {
    ReceivingThread { name: "script".to_owned(), receiver: script, handler: Count::new() }
}

type Outcome = Vec<Received<Script, Count>>;

/// Receives with one thread for each script.
fn session(
    stop: &AtomicBool,
    scripts: Vec<Script>,
    attend: impl FnMut(&SessionProgress<'_>) -> Attend,
) -> Outcome {
    session_by(SessionClock::start(limits(), stop), scripts, attend)
}

fn session_by(
    clock: SessionClock<'_>,
    scripts: Vec<Script>,
    attend: impl FnMut(&SessionProgress<'_>) -> Attend,
) -> Outcome {
    let begun = Instant::now();
    let threads = scripts.into_iter().map(thread).collect();
    let received = receive_with_threads(clock, threads, &|_| Ok::<(), Infallible>(()), attend);
    assert!(begun.elapsed() < patience(), "the session did not end by itself");
    received.expect("the system gives threads")
}

fn packets(outcome: &Outcome) -> Vec<usize> {
    outcome.iter().map(|thread| thread.handler.packets).collect()
}

#[test]
fn stop_ends_it_and_what_is_waiting_is_still_fetched() {
    let stop = AtomicBool::new(true);
    let waiting = Script::of(&[Packets(3), Packets(4), Packets(5), Nothing, Packets(100)]);
    let outcome = session(&stop, vec![waiting, Script::default()], |_| Attend::Pause);
    // Until nothing comes: what comes after that is of the time after the session.
    assert_eq!(packets(&outcome), [12, 0]);
    assert!(outcome.iter().all(|thread| thread.end.failure.is_none()));
    let first = &outcome[0];
    assert!(first.receiver.polls >= 1, "the last attempt does not wait");
    assert_eq!(first.end.state, ReceiveState::of(&first.receiver, 2));
    assert_eq!((first.end.state.counters.packets, first.end.state.own_queue), (12, 2));
}

#[test]
fn before_the_first_packet_nobody_is_idle() {
    const IDLE: Duration = Duration::from_secs(10);
    let stop = AtomicBool::new(false);
    let limited =
        |ends_after| SessionLimits { ends_after, idle_limit: Some(IDLE), ..SessionLimits::default() };
    let start = |limits| {
        let clock = Arc::new(ManualClock::default());
        (Arc::clone(&clock), SessionClock::start_by(limits, &stop, clock))
    };
    // It would have been idle for long.
    let (time, clock) = start(limited(Some(10 * IDLE)));
    session_by(clock, vec![Script::default()], |_| {
        time.advance(IDLE);
        Attend::Pause
    });
    assert!(time.elapsed() >= 10 * IDLE);
    // The silence is twice as long before the packets as the limit; then come 5, and silence for ever.
    let (time, clock) = start(limited(None));
    let (give, late) = Script::given();
    time.advance(2 * IDLE);
    let mut is_given = false;
    let outcome = session_by(clock, vec![late], |progress| {
        if !is_given {
            give.send(Packets(5)).expect("the thread receives");
            is_given = true;
        } else if progress.packets > 0 {
            time.advance(IDLE);
        }
        Attend::Pause
    });
    assert_eq!(packets(&outcome), [5]);
    // One thread that receives is enough for all: the other one is silent for longer than the limit between its two packets.
    let (time, clock) = start(limited(None));
    let ((give_quiet, quiet), (give_busy, busy)) = (Script::given(), Script::given());
    give_quiet.send(Packets(1)).expect("it is there");
    let mut seen = 0;
    let outcome = session_by(clock, vec![quiet, busy], |progress| {
        if progress.packets > seen || seen == 7 {
            seen = progress.packets;
            time.advance(IDLE / 2);
            match seen {
                1..=5 => give_busy.send(Packets(1)).expect("the thread receives"),
                6 => give_quiet.send(Packets(1)).expect("the thread receives"),
                _ => {}
            }
        }
        Attend::Pause
    });
    assert_eq!(packets(&outcome), [2, 5]);
}

#[test]
fn a_receiver_that_is_held_up_is_not_idle() {
    const IDLE: Duration = Duration::from_secs(10);
    let stop = AtomicBool::new(false);
    let time = Arc::new(ManualClock::default());
    let limits = SessionLimits { idle_limit: Some(IDLE), ..limits() };
    let clock = SessionClock::start_by(limits, &stop, Arc::clone(&time) as Arc<dyn Clock>);
    let (give, script) = Script::given();
    let script = Script { steps: [Packets(5), Held].into(), ..script };
    let (mut looks_at_5, mut looks_at_8) = (0, 0);
    let outcome = session_by(clock, vec![script], |progress| {
        match progress.packets {
            5 => {
                looks_at_5 += 1;
                time.advance(2 * IDLE);
                if looks_at_5 == 3 {
                    give.send(Packets(3)).expect("it is there");
                }
            }
            // It has looked, and found nothing, when the last packet comes.
            8 => {
                looks_at_8 += 1;
                if looks_at_8 == 5 {
                    give.send(Packets(1)).expect("it is there");
                }
            }
            9 => time.advance(2 * IDLE),
            _ => {}
        }
        Attend::Pause
    });
    assert_eq!(packets(&outcome), [9]);
}

#[test]
fn a_sender_that_never_stops_is_not_waited_for_for_ever() {
    let stop = AtomicBool::new(false);
    let ends_after = Duration::from_millis(50);
    let limited = SessionLimits { ends_after: Some(ends_after), ..limits() };
    let clock = SessionClock::start(limited, &stop);
    let outcome = session_by(clock.clone(), vec![Script::for_ever()], |_| Attend::Pause);
    assert!(clock.elapsed() >= ends_after + LONGEST_DRAIN);
    assert_eq!(outcome[0].end.state.counters.packets, outcome[0].handler.packets as u64);
}

#[test]
fn a_thread_that_fails_ends_all_and_tells_why() {
    let stop = AtomicBool::new(false);
    let scripts = vec![Script::default(), Script::of(&[Packets(2), Failure, Packets(9)])];
    let outcome = session(&stop, scripts, |_| Attend::Pause);
    let failures: Vec<_> = outcome.iter().map(|thread| thread.end.failure.as_ref()).collect();
    assert!(failures[0].is_none());
    assert!(failures[1].expect("it has failed").to_string().contains("cable eaten"));
    // What came before the failure is handled.
    assert_eq!(packets(&outcome), [0, 3]);
}

#[test]
fn a_thread_without_its_place_ends_all() {
    let stop = AtomicBool::new(false);
    let place = |number| if number == 1 { Err("core 99 is not there") } else { Ok(()) };
    let threads = vec![thread(Script::default()), thread(Script::default()), thread(Script::default())];
    let clock = SessionClock::start(limits(), &stop);
    let error = receive_with_threads(clock.clone(), threads, &place, |_| Attend::Pause).unwrap_err();
    assert_eq!(error.to_string(), "core 99 is not there");
    assert!(clock.elapsed() < patience());
}

#[test]
fn a_panic_of_a_handler_ends_all_and_goes_on_in_the_callers_thread() {
    let stop = AtomicBool::new(false);
    let clock = SessionClock::start(limits(), &stop);
    let mut faulty = thread(Script::of(&[Nothing, Packets(1)]));
    faulty.handler.panics = true;
    let threads = vec![thread(Script::default()), faulty];
    let watched = clock.clone();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        receive_with_threads(watched, threads, &|_| Ok::<(), Infallible>(()), |_| Attend::Pause)
    }));
    let panic = panic.expect_err("it goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the handler has a fault"));
    assert!(clock.elapsed() < patience());
}

#[test]
fn a_panic_of_whoever_watches_ends_the_threads() {
    let stop = AtomicBool::new(false);
    let clock = SessionClock::start(limits(), &stop);
    let watched = clock.clone();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        receive_with_threads(watched, vec![thread(Script::default())], &|_| Ok::<(), Infallible>(()), |_| {
            panic!("nobody looks any more")
        })
    }));
    assert!(panic.is_err());
    assert!(clock.elapsed() < patience());
}

#[test]
fn whoever_watches_sees_what_all_threads_know_and_can_end_it() {
    let stop = AtomicBool::new(false);
    let scripts = vec![Script::of(&[Packets(3)]), Script::of(&[Packets(4)])];
    let mut seen = ReceiveState::default();
    let outcome = session(&stop, scripts, |progress| {
        seen = progress.state();
        if progress.packets == 7 && seen.counters.packets == 7 { Attend::End } else { Attend::Pause }
    });
    assert_eq!(packets(&outcome), [3, 4]);
    assert_eq!((seen.own_queue, seen.losses.frame_checks), (4, 2));
    assert_eq!(seen.alarms, ["smoke", "smoke"]);
}

#[test]
fn in_turn_the_same_rules_hold() {
    let stop = AtomicBool::new(false);
    let run = |limits, mut script: Script| {
        let (clock, mut handler) = (SessionClock::start(limits, &stop), Count::new());
        let end = receive_in_turn(clock.clone(), &mut script, &mut handler);
        assert!(clock.elapsed() < patience(), "the session did not end by itself");
        (handler.packets, end.failure.map(|error| error.to_string()))
    };
    let idle = SessionLimits { idle_limit: Some(Duration::from_millis(40)), ..limits() };
    assert_eq!(run(idle, Script::of(&[Nothing, Nothing, Nothing, Packets(2), Packets(3)])), (5, None));
    let failed = run(limits(), Script::of(&[Packets(2), Failure]));
    assert!(failed.0 == 3 && failed.1.is_some_and(|error| error.contains("cable eaten")));
    let short = SessionLimits { ends_after: Some(Duration::from_millis(10)), ..limits() };
    assert!(run(short, Script::for_ever()).0 > 0);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(run(limits(), Script::of(&[Packets(1), Packets(1), Nothing, Packets(1)])), (2, None));
}

#[test]
fn receivers_told_together_say_everything_once() {
    let summary = ReceiverSummary::of(&[Script::default(), Script::default()]);
    assert_eq!(summary.addresses.len(), 1);
    assert_eq!(summary.warnings, ["written by hand"]);
    assert_eq!(summary.interfaces, [InterfacesInUse::Named("lo".to_owned())]);
    assert_eq!(summary.description, "2 sockets, each a script");
    assert_eq!(ReceiverSummary::of(&[Script::default()]).description, "script");
}

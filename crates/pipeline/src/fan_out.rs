//! Events to several sinks, each on a thread of its own.
//!
//! The forming thread fills a batch and hands it, shared, to a queue per sink. When the last sink has let go
//! of a batch, it comes home and is filled again: there are never more batches than places in the queues.
//!
//! # What happens when a sink is slow or fails
//! | input | a full queue |
//! |---|---|
//! | a capture file | waits: nothing is ever dropped |
//! | live | drops the newest batch for this sink only, counts its events and pulses, and goes on |
//!
//! A batch with pulses and no events travels like any other: that nothing came is a measurement.
//!
//! A sink that reports an error gets no more events: it is told at once to leave nothing behind that looks whole, what it
//! misses is counted, the other sinks go on, whoever watches the run is told, and the report names it.

use crate::latency::LatencySummary;
use evforge_core::event::{EventBatch, PixelId};
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::EventSink;
use evforge_net::clock::wall_clock_ns;
use evforge_net::lateness::Lateness;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// What to do when the queue of a sink is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait until there is room: for input that waits as well.
    Wait,
    /// Drop the newest batch for this sink and count its events: for live input.
    Drop,
}

/// A sink and the length of its queue.
pub struct SinkPlan {
    /// The sink.
    pub sink: Box<dyn EventSink>,
    /// Events that may wait for it.
    pub queued_events: usize,
}

impl SinkPlan {
    /// Events that may wait for a sink that must have everything.
    pub const COMPLETE_EVENTS: usize = 1 << 21;

    /// A sink that must have everything: files and messages. It may fall behind by two million events
    /// (25 MB).
    pub fn complete(sink: Box<dyn EventSink>) -> Self {
        Self { sink, queued_events: Self::COMPLETE_EVENTS }
    }

    /// A sink that only needs to be up to date: pictures. It may fall behind by 65 536 events.
    pub fn picture(sink: Box<dyn EventSink>) -> Self {
        Self { sink, queued_events: 1 << 16 }
    }

    /// Batches of `batch_events` that may wait.
    fn batches(&self, batch_events: usize) -> usize {
        (self.queued_events / batch_events.max(1)).max(1)
    }

    /// Upper bound of the memory of what waits, in bytes.
    pub fn memory_bound(queued_events: usize) -> usize {
        queued_events * (size_of::<u64>() + size_of::<PixelId>())
    }
}

/// What became of the events handed to one sink, or of the mean values handed to theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkOutcome {
    /// The sink, as it calls itself.
    pub name: String,
    /// Events it had taken without an error before it failed, if it did. A sink that fails may have taken events that
    /// never reached its file; what is in there then is in the note.
    pub taken: u64,
    /// Events dropped because its queue was full.
    pub dropped: u64,
    /// Events it did not get, or did not keep, because it had failed.
    pub missed: u64,
    /// Pulses that began in batches that were dropped or missed. One of them that goes on in a batch that was
    /// taken begins there for the sink, so this is an upper bound.
    pub pulses_lost: u64,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// What it left behind after it, or the input, had failed.
    pub note: Option<String>,
    /// From the arrival of packets to the moment at which the sink had taken their events; of a batch, all its events
    /// count as the earliest one. None if that was not measured.
    pub latency: Option<LatencySummary>,
}

/// A batch on its way, which goes home when the last sink has let go of it.
struct SharedBatch {
    events: EventBatch,
    /// Pulses that begin in it.
    pulses: u64,
    /// Arrival of the packets of its earliest event, if that is measured.
    arrival_ns: Option<u64>,
    home: Sender<EventBatch>,
}

impl Drop for SharedBatch {
    fn drop(&mut self) {
        // At the end nobody is at home any more, and the batch is simply gone.
        let _ = self.home.send(std::mem::take(&mut self.events));
    }
}

enum Message {
    Events(Arc<SharedBatch>),
    Ledger(Arc<DetectorLedger>),
    Finish(Arc<DetectorLedger>),
    Abandon,
}

#[derive(Default)]
struct Counts {
    taken: AtomicU64,
    missed: AtomicU64,
    pulses_lost: AtomicU64,
}

impl Counts {
    /// A batch that the sink has taken.
    fn take(&self, batch: &SharedBatch) {
        self.taken.fetch_add(batch.events.len() as u64, Ordering::Relaxed);
    }

    /// A batch that the sink has not taken because it has failed.
    fn miss(&self, batch: &SharedBatch) {
        self.missed.fetch_add(batch.events.len() as u64, Ordering::Relaxed);
        self.pulses_lost.fetch_add(batch.pulses, Ordering::Relaxed);
    }
}

/// Why a sink has failed, for all who watch it.
#[derive(Clone, Debug)]
pub(crate) struct SinkFailure {
    sink: Arc<str>,
    why: Arc<OnceLock<String>>,
}

impl SinkFailure {
    /// None yet, of the sink of this name.
    pub(crate) fn of(sink: String) -> Self {
        Self { sink: sink.into(), why: Arc::default() }
    }

    /// The sink, as it calls itself.
    pub(crate) fn sink(&self) -> &str {
        &self.sink
    }

    /// It has failed. The first reason counts.
    pub(crate) fn set(&self, why: &str) {
        self.why.get_or_init(|| why.to_owned());
    }

    /// Why it has failed, if it has.
    pub(crate) fn get(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    /// The same with the name of the sink, for people.
    pub(crate) fn told(&self) -> Option<String> {
        self.get().map(|why| format!("{}: {why}", self.sink))
    }
}

/// How the service of a sink has ended.
#[derive(Default)]
struct Served {
    /// What it left behind.
    note: Option<String>,
    delays: Lateness,
}

struct Branch {
    failure: SinkFailure,
    queue: SyncSender<Message>,
    thread: JoinHandle<Served>,
    counts: Arc<Counts>,
    dropped: u64,
}

/// Hands batches to sinks.
pub struct FanOut {
    branches: Vec<Branch>,
    home: Sender<EventBatch>,
    come_home: Receiver<EventBatch>,
    when_full: WhenFull,
    handed_over: u64,
    /// The last pulse handed over: if the next batch begins with it, it goes on.
    open_pulse: Option<u64>,
}

impl FanOut {
    /// Starts a thread for each sink. Batches hold `batch_events` events each.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn start(plans: Vec<SinkPlan>, batch_events: usize, when_full: WhenFull) -> std::io::Result<Self> {
        let start = |plan: SinkPlan| start_branch(plan, batch_events);
        let branches = plans.into_iter().map(start).collect::<std::io::Result<Vec<_>>>()?;
        let (home, come_home) = channel();
        Ok(Self { branches, home, come_home, when_full, handed_over: 0, open_pulse: None })
    }

    /// Events handed over so far.
    pub fn handed_over(&self) -> u64 {
        self.handed_over
    }

    /// Hands the events and pulses of `batch` to every sink and gives it back empty (or another empty one in its place).
    /// `arrival_ns` is when the packets of its earliest event came in, if it is measured how long that takes.
    pub fn deliver(&mut self, batch: &mut EventBatch, arrival_ns: Option<u64>) {
        if batch.is_blank() {
            return;
        }
        self.handed_over += batch.len() as u64;
        let pulses = batch.pulses_begun(self.open_pulse) as u64;
        self.open_pulse = batch.pulses().last().map(|pulse| pulse.time_ns);
        let mut empty = self.come_home.try_recv().unwrap_or_else(|_| EventBatch::new(batch.capacity()));
        empty.clear();
        let events = std::mem::replace(batch, empty);
        let shared = Arc::new(SharedBatch { events, pulses, arrival_ns, home: self.home.clone() });
        for branch in &mut self.branches {
            branch.deliver(&shared, self.when_full);
        }
    }

    /// Lets every sink take note of the state of the input.
    pub fn observe(&self, ledger: &Arc<DetectorLedger>) {
        for branch in &self.branches {
            // A sink that is behind will see the next state.
            let _ = branch.queue.try_send(Message::Ledger(Arc::clone(ledger)));
        }
    }

    /// Events that sinks have dropped or missed so far, over all sinks.
    pub fn lost_to_sinks(&self) -> u64 {
        let lost = |branch: &Branch| branch.dropped + branch.counts.missed.load(Ordering::Relaxed);
        self.branches.iter().map(lost).sum()
    }

    /// The sinks that have failed so far, each with the reason.
    pub fn failures(&self) -> Vec<String> {
        self.branches.iter().filter_map(|branch| branch.failure.told()).collect()
    }

    /// Ends all sinks and waits for them: `complete` if the input came to its end, otherwise they leave
    /// nothing behind that looks whole.
    pub fn end(self, ledger: DetectorLedger, complete: bool) -> Vec<SinkOutcome> {
        let ledger = Arc::new(ledger);
        for branch in &self.branches {
            let message = if complete { Message::Finish(Arc::clone(&ledger)) } else { Message::Abandon };
            // Fails only if the sink's thread has panicked, which joining it reports.
            let _ = branch.queue.send(message);
        }
        self.branches.into_iter().map(Branch::end).collect()
    }
}

impl Branch {
    fn deliver(&mut self, batch: &Arc<SharedBatch>, when_full: WhenFull) {
        let message = Message::Events(Arc::clone(batch));
        match when_full {
            WhenFull::Wait => {
                if self.queue.send(message).is_err() {
                    self.counts.miss(batch);
                }
            }
            WhenFull::Drop => match self.queue.try_send(message) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    self.dropped += batch.events.len() as u64;
                    self.counts.pulses_lost.fetch_add(batch.pulses, Ordering::Relaxed);
                }
                Err(TrySendError::Disconnected(_)) => self.counts.miss(batch),
            },
        }
    }

    fn end(self) -> SinkOutcome {
        drop(self.queue);
        let served = self.thread.join().unwrap_or_else(|_| {
            self.failure.set("its thread panicked: please report this");
            Served::default()
        });
        SinkOutcome {
            name: self.failure.sink().to_owned(),
            taken: self.counts.taken.load(Ordering::Relaxed),
            dropped: self.dropped,
            missed: self.counts.missed.load(Ordering::Relaxed),
            pulses_lost: self.counts.pulses_lost.load(Ordering::Relaxed),
            failure: self.failure.get().map(str::to_owned),
            note: served.note,
            latency: LatencySummary::of(&served.delays),
        }
    }
}

fn start_branch(plan: SinkPlan, batch_events: usize) -> std::io::Result<Branch> {
    let failure = SinkFailure::of(plan.sink.name());
    let counts = Arc::new(Counts::default());
    let (queue, messages) = sync_channel(plan.batches(batch_events));
    let (thread_counts, told) = (Arc::clone(&counts), failure.clone());
    let thread = std::thread::Builder::new()
        .name("sink".into())
        .spawn(move || serve(plan.sink, &messages, &thread_counts, &told))?;
    Ok(Branch { failure, queue, thread, counts, dropped: 0 })
}

/// Serves a sink until it is ended. One that has failed is abandoned at once, and gets nothing more.
fn serve(
    mut sink: Box<dyn EventSink>,
    messages: &Receiver<Message>,
    counts: &Counts,
    failure: &SinkFailure,
) -> Served {
    let mut served = Served::default();
    while let Ok(message) = messages.recv() {
        let has_failed = failure.get().is_some();
        let (result, is_over) = match message {
            Message::Events(batch) if has_failed => {
                counts.miss(&batch);
                continue;
            }
            Message::Ledger(_) if has_failed => continue,
            Message::Finish(_) | Message::Abandon if has_failed => return served,
            Message::Events(batch) => {
                let result = sink.take(&batch.events);
                match result {
                    Ok(()) => {
                        counts.take(&batch);
                        if let Some(arrival_ns) = batch.arrival_ns {
                            let delay = wall_clock_ns().saturating_sub(arrival_ns);
                            served.delays.add_many(delay, batch.events.len() as u64);
                        }
                    }
                    Err(_) => counts.miss(&batch),
                }
                (result, false)
            }
            Message::Ledger(ledger) => (sink.observe(&ledger), false),
            Message::Finish(ledger) => (sink.finish(&ledger), true),
            Message::Abandon => {
                served.note = sink.abandon();
                return served;
            }
        };
        if let Err(error) = result {
            served.note = sink.abandon();
            failure.set(&error.to_string());
        }
        if is_over {
            break;
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::Event;
    use evforge_core::sink::SinkError;
    use std::sync::Mutex;

    /// Takes events as slowly as `gate` lets it, and fails after `fails_after` batches.
    struct Slow {
        gate: Arc<Mutex<()>>,
        seen: Arc<Mutex<Vec<u64>>>,
        fails_after: usize,
    }

    impl EventSink for Slow {
        fn name(&self) -> String {
            "slow".into()
        }
        fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
            drop(self.gate.lock());
            if self.fails_after == 0 {
                return Err("full disk".into());
            }
            self.fails_after -= 1;
            self.seen.lock().unwrap().extend(events.times_ns());
            Ok(())
        }
        fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
            Ok(())
        }
    }

    type Seen = Arc<Mutex<Vec<u64>>>;

    fn slow(fails_after: usize, queue: usize) -> (SinkPlan, Arc<Mutex<()>>, Seen) {
        let (gate, seen) = (Arc::new(Mutex::new(())), Seen::default());
        let sink = Slow { gate: Arc::clone(&gate), seen: Arc::clone(&seen), fails_after };
        (SinkPlan { sink: Box::new(sink), queued_events: 2 * queue }, gate, seen)
    }

    fn deliver(fan_out: &mut FanOut, times: std::ops::Range<u64>) {
        let mut batch = EventBatch::new(2);
        for time_ns in times {
            assert!(batch.push(Event { time_ns, pixel_id: 1 }));
            if batch.is_full() {
                fan_out.deliver(&mut batch, None);
                assert!(batch.is_empty() && batch.capacity() == 2);
            }
        }
    }

    #[test]
    fn live_input_drops_for_the_slow_sink_only_and_counts_it() {
        let (slow_plan, gate, slow_seen) = slow(usize::MAX, 3);
        let (fast_plan, _open, fast_seen) = slow(usize::MAX, 1000);
        let held = gate.lock().unwrap();
        let mut fan_out = FanOut::start(vec![slow_plan, fast_plan], 2, WhenFull::Drop).unwrap();
        deliver(&mut fan_out, 0..200);
        drop(held);
        let outcomes = fan_out.end(DetectorLedger::default(), true);
        let slow = &outcomes[0];
        assert!(slow.dropped >= 190 && slow.taken + slow.dropped == 200, "{slow:?}");
        assert_eq!(slow_seen.lock().unwrap().len() as u64, slow.taken);
        assert_eq!((outcomes[1].taken, outcomes[1].dropped), (200, 0));
        assert_eq!(*fast_seen.lock().unwrap(), (0..200).collect::<Vec<_>>());
    }

    /// Pulses 0 to 99, each begun in one batch and gone on with in the next; no events.
    fn deliver_empty_pulses(fan_out: &mut FanOut) {
        let mut batch = EventBatch::new(2);
        for pulse in 0..100_u64 {
            let continued = pulse.checked_sub(1);
            assert!(continued.into_iter().chain([pulse]).all(|pulse| batch.begin_pulse(pulse)));
            fan_out.deliver(&mut batch, None);
        }
    }

    #[test]
    fn pulses_without_events_travel_and_are_counted_where_they_are_lost() {
        let (slow_plan, gate, _) = slow(usize::MAX, 3);
        let (fast_plan, _open, _) = slow(usize::MAX, 1000);
        let (failing, _open, _) = slow(0, 1000);
        let held = gate.lock().unwrap();
        let mut fan_out = FanOut::start(vec![slow_plan, fast_plan, failing], 2, WhenFull::Drop).unwrap();
        deliver_empty_pulses(&mut fan_out);
        drop(held);
        let outcomes = fan_out.end(DetectorLedger::default(), true);
        // The batch that the slow sink holds, and those in its queue, have reached it.
        assert!((96..100).contains(&outcomes[0].pulses_lost), "{:?}", outcomes[0]);
        assert_eq!((outcomes[1].pulses_lost, outcomes[2].pulses_lost), (0, 100));
        assert!(outcomes.iter().all(|outcome| outcome.taken + outcome.dropped + outcome.missed == 0));
    }

    #[test]
    fn file_input_waits_and_loses_nothing() {
        let (plan, _gate, seen) = slow(usize::MAX, 1);
        let mut fan_out = FanOut::start(vec![plan], 2, WhenFull::Wait).unwrap();
        deliver(&mut fan_out, 0..500);
        let outcomes = fan_out.end(DetectorLedger::default(), true);
        assert_eq!((outcomes[0].taken, outcomes[0].dropped, outcomes[0].missed), (500, 0, 0));
        assert_eq!(seen.lock().unwrap().len(), 500);
    }

    #[test]
    fn a_sink_that_fails_is_named_and_the_others_go_on() {
        let (failing, _gate, _) = slow(3, 4);
        let (working, _open, seen) = slow(usize::MAX, 4);
        let mut fan_out = FanOut::start(vec![failing, working], 2, WhenFull::Wait).unwrap();
        deliver(&mut fan_out, 0..100);
        let outcomes = fan_out.end(DetectorLedger::default(), true);
        assert_eq!(outcomes[0].failure.as_deref(), Some("full disk"));
        assert_eq!((outcomes[0].taken, outcomes[0].missed), (6, 94));
        assert_eq!((outcomes[1].failure.as_deref(), seen.lock().unwrap().len()), (None, 100));
    }

    /// Fails where it is told to, and notes every call.
    struct Failing {
        at: &'static str,
        calls: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Failing {
        fn called(&self, call: &'static str) -> Result<(), SinkError> {
            self.calls.lock().unwrap().push(call);
            if call == self.at { Err(format!("{call} has failed").into()) } else { Ok(()) }
        }
    }

    impl EventSink for Failing {
        fn name(&self) -> String {
            "failing".into()
        }
        fn take(&mut self, _: &EventBatch) -> Result<(), SinkError> {
            self.called("take")
        }
        fn observe(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
            self.called("observe")
        }
        fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
            self.called("finish")
        }
        fn abandon(&mut self) -> Option<String> {
            self.calls.lock().unwrap().push("abandon");
            Some("what is left".into())
        }
    }

    #[test]
    fn a_sink_is_abandoned_once_after_any_failure_and_what_it_left_is_told() {
        for (at, expected) in [
            ("take", &["take", "abandon"][..]),
            ("observe", &["take", "observe", "abandon"]),
            ("finish", &["take", "observe", "take", "finish", "abandon"]),
        ] {
            let calls = Arc::new(Mutex::new(Vec::new()));
            let sink = Box::new(Failing { at, calls: Arc::clone(&calls) });
            let plan = SinkPlan { sink, queued_events: 100 };
            let mut fan_out = FanOut::start(vec![plan], 2, WhenFull::Wait).unwrap();
            deliver(&mut fan_out, 0..2);
            fan_out.observe(&Arc::new(DetectorLedger::default()));
            deliver(&mut fan_out, 2..4);
            if at != "finish" {
                // It is told while the run goes on.
                let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
                while fan_out.failures().is_empty() && std::time::Instant::now() < end {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                assert_eq!(fan_out.failures(), [format!("failing: {at} has failed")]);
            }
            let outcomes = fan_out.end(DetectorLedger::default(), true);
            assert_eq!(*calls.lock().unwrap(), expected, "{at}");
            assert_eq!(outcomes[0].note.as_deref(), Some("what is left"), "{at}");
            assert_eq!(outcomes[0].failure, Some(format!("{at} has failed")));
            assert_eq!(outcomes[0].taken + outcomes[0].missed, 4, "{at}");
        }
    }
}

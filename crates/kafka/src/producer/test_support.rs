//! What the tests of the producer share: batches, and a transport that keeps what it is given.

use super::record::{FailureKind, OnDisk, OwnedRecord, Record, Refused, Report, Ticket, Transport, Trouble};
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameState, ProtonCharge};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::time::ManualClock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Batches of at most this many events (time in ms, pixel), with pulses every 100 ms and a calendar that begins at 5 s.
pub(crate) fn batches(events: &[(u64, u32)], most: usize) -> Vec<Arc<PulsedBatch>> {
    let train = PulseTrain::from_millihertz(10_000, 0).expect("10 Hz");
    // The calendar is anchored to the first time: an event of time 0, which has a batch of its own, makes it 5 s.
    let clock = Arc::new(ManualClock::starting_at(5_000_000_000));
    let mut stage = PulseStage::new(PulseStageSettings::new(train, CalendarRule::Live(clock)));
    let mut made = Vec::new();
    let mut batch = EventBatch::new(1);
    let _ = batch.push(Event { time_ns: 0, pixel_id: 1 });
    stage.hand_on(&batch, None, &mut |_| ());
    for events in events.chunks(most) {
        let mut batch = EventBatch::new(most);
        for &(time_ms, pixel_id) in events {
            let _ = batch.push(Event { time_ns: time_ms * 1_000_000, pixel_id });
        }
        stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
    }
    made
}

/// Frames (time in ms, period, events) in batches that have at most this many events, begun with the frame; their calendar begins
/// at 5 s.
pub(crate) fn frame_batches(frames: &[(u64, Option<u32>, u64)], most: u64) -> Vec<Arc<PulsedBatch>> {
    let told = PulseStageSettings {
        is_told: true,
        ..PulseStageSettings::new(PulseTrain::default(), CalendarRule::Readout)
    };
    let mut stage = PulseStage::new(told);
    let mut made = Vec::new();
    for &(time_ms, period, events) in frames {
        let time_ns = 5_000_000_000 + time_ms * 1_000_000;
        let (state, charge) = (FrameState::Complete, Some(ProtonCharge { uah: 0.5 }));
        let frame = Frame { period, vetoes: 2, charge, state, ..Frame::default() };
        for first in (0..events.max(1)).step_by(most as usize) {
            let mut batch = EventBatch::new(most as usize);
            let _ = batch.begin_frame(time_ns, frame);
            for number in first..events.min(first + most) {
                let _ = batch.push(Event { time_ns: time_ns + number, pixel_id: 1 });
            }
            stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
        }
    }
    made
}

/// A broker in memory.
#[derive(Debug, Default)]
pub(crate) struct Broker {
    /// Messages that were acknowledged.
    pub(crate) topic: Vec<OwnedRecord>,
    /// Messages given to the client and not acknowledged.
    pub(crate) in_memory: VecDeque<(OwnedRecord, Ticket)>,
    /// How many of these there can be.
    pub(crate) room: usize,
    pub(crate) is_down: bool,
    /// Nothing is heard of it.
    pub(crate) is_silent: bool,
    /// Nothing is heard of messages with events.
    pub(crate) loses_events: bool,
    /// The next message fails for this reason.
    pub(crate) fails: Option<FailureKind>,
    /// All messages were given up.
    pub(crate) is_purged: bool,
}

/// A transport whose broker the test holds as well.
#[derive(Clone, Debug)]
pub(crate) struct MemoryTransport(Arc<Mutex<Broker>>);

impl MemoryTransport {
    pub(crate) fn new(room: usize) -> Self {
        Self(Arc::new(Mutex::new(Broker { room, ..Broker::default() })))
    }

    pub(crate) fn broker(&self) -> MutexGuard<'_, Broker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for MemoryTransport {
    fn send(&mut self, record: &Record<'_>, ticket: Ticket) -> Result<(), Refused> {
        let mut broker = self.broker();
        if broker.in_memory.len() >= broker.room {
            return Err(Refused::Full);
        }
        broker.in_memory.push_back((OwnedRecord::from(record), ticket));
        Ok(())
    }

    fn poll(&mut self, _: Duration, reports: &mut Vec<Report>) {
        let mut broker = self.broker();
        if broker.is_down || broker.is_silent {
            return;
        }
        let mut kept = VecDeque::new();
        while let Some((record, ticket)) = broker.in_memory.pop_front() {
            if broker.loses_events && record.events > 0 {
                kept.push_back((record, ticket));
                continue;
            }
            let purged = broker.is_purged.then_some(FailureKind::Purged);
            let failure =
                purged.or(broker.fails.take()).map(|kind| (kind, "as the test wants it".to_owned()));
            let is_given_up = broker.is_purged && matches!(ticket.on_disk, OnDisk::Then { .. });
            let given_up = is_given_up.then(|| record.clone());
            if failure.is_none() {
                broker.topic.push(record);
            }
            reports.push(Report { ticket, failure, given_up });
        }
        broker.in_memory = kept;
    }

    fn trouble(&self) -> Option<Trouble> {
        let words = "the test's broker is down".to_owned();
        self.broker().is_down.then_some(Trouble { words, is_total: true })
    }

    fn fatal(&self) -> Option<String> {
        None
    }

    fn retries(&self) -> u64 {
        0
    }

    fn purge(&mut self) {
        let mut broker = self.broker();
        (broker.is_down, broker.is_silent, broker.is_purged) = (false, false, true);
    }
}

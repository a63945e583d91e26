//! A payload sent: when it is due, in runs, with the time that it took.

use super::error::LinkSendError;
use super::schedule::Schedule;
use super::sent::SentLateness;
use evforge_core::packet::PacketSlab;
use evforge_net::clock::wall_clock_ns;
use evforge_net::lateness::Lateness;
use evforge_net::pace::wait_until;
use evforge_net::socket::{SendError, UdpSender};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Packets of all flows that are made and stamped at once, as many as one call of the kernel takes.
const AT_ONCE: usize = 64;
/// How often a sender that waits looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a sender sends: the packets of its flows, in the order in which they are due.
pub trait LinkPayload {
    /// When the next packet is due, in nanoseconds after the start (0: at once); none if there is none.
    fn due_ns(&self) -> Option<u64>;

    /// Makes the next packet, stamped with `sent_ns` if it has a stamp: behind those in the slab of its flow. False, and
    /// nothing is made, if that has no room.
    fn make(&mut self, sent_ns: u64, slabs: &mut [PacketSlab]) -> bool;

    /// Hands out what provoked faults still hold back when there is no further packet. False if there was no room for all.
    fn finish(&mut self, slabs: &mut [PacketSlab]) -> bool;

    /// The largest packet, in bytes.
    fn largest(&self) -> usize;
}

/// The senders of the flows, and what they are about to send.
pub(super) struct Lanes {
    pub(super) senders: Vec<UdpSender>,
    slabs: Vec<PacketSlab>,
}

impl Lanes {
    /// A sender for each flow of a payload.
    pub(super) fn new(senders: Vec<UdpSender>, payload: &impl LinkPayload) -> Self {
        let bytes = AT_ONCE * payload.largest();
        // Twice as many as are made at once: faults repeat packets.
        let slabs = senders.iter().map(|_| PacketSlab::new(2 * AT_ONCE, 2 * bytes)).collect();
        Self { senders, slabs }
    }

    /// Sends what is in the slabs, and empties them.
    fn send(&mut self) -> Result<(), SendError> {
        for (sender, slab) in
            self.senders.iter_mut().zip(&mut self.slabs).filter(|(_, slab)| !slab.is_empty())
        {
            let batch = slab.batch();
            let mut next = 0;
            while next < batch.len() {
                next = sender.send(&batch, next, Instant::now() + Duration::from_secs(1))?;
            }
            slab.clear();
        }
        Ok(())
    }
}

/// Sends in this thread, until the payload ends, the time is over or one of `stops` is set. What falls due within `burst` leaves
/// together, and the thread sleeps in between; with a burst of 0 each packet leaves when it is due, which takes spinning.
///
/// # Errors
/// If the kernel refuses a packet.
pub(super) fn send_payload(
    payload: &mut impl LinkPayload,
    lanes: &mut Lanes,
    record: &mut SendRecord,
    duration: Option<Duration>,
    burst: Duration,
    stops: &[&AtomicBool],
) -> Result<(), LinkSendError> {
    let start = Instant::now();
    while !stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
        let elapsed = start.elapsed();
        let Some(due) = payload.due_ns() else { break };
        if duration.is_some_and(|most| elapsed >= most) {
            break;
        }
        let now = nanoseconds(elapsed);
        if due > now {
            let end = duration.map_or(elapsed + PATIENCE, |most| most.min(elapsed + PATIENCE));
            if burst.is_zero() {
                wait_until(start + Duration::from_nanos(due).min(end));
            } else {
                let woken = Duration::from_nanos(due).max(elapsed + burst).min(end);
                std::thread::sleep(woken.saturating_sub(elapsed));
            }
            continue;
        }
        record.begin(due);
        let stamp = wall_clock_ns();
        let mut made = 0;
        let mut next = Some(due);
        while made < AT_ONCE
            && let Some(due) = next.filter(|&due| due <= now && record.is_of_this_pulse(due))
            && payload.make(stamp, &mut lanes.slabs)
        {
            record.made(now, due);
            made += 1;
            next = payload.due_ns();
        }
        lanes.send()?;
        record.sent(made as u64, nanoseconds(start.elapsed()));
    }
    loop {
        let is_whole = payload.finish(&mut lanes.slabs);
        lanes.send()?;
        if is_whole {
            return Ok(());
        }
    }
}

/// How sending goes.
pub(super) struct SendRecord {
    /// The rate and the pulses; none if packets are due at other times, or at once.
    schedule: Option<Schedule>,
    /// True if packets have a time at which they are due.
    is_scheduled: bool,
    lateness: Lateness,
    /// When the last packet was due.
    pub(super) scheduled: u64,
    pub(super) elapsed: u64,
    /// The pulse that is being sent, and when it is over so far.
    pulse: u64,
    pub(super) pulses: u64,
    pulse_end: u64,
    /// Time in all pulses before this one.
    in_pulses: u64,
}

impl SendRecord {
    pub(super) fn new(schedule: Option<Schedule>, is_scheduled: bool) -> Self {
        Self {
            schedule,
            is_scheduled,
            lateness: Lateness::default(),
            scheduled: 0,
            elapsed: 0,
            pulse: 0,
            pulses: 0,
            pulse_end: 0,
            in_pulses: 0,
        }
    }

    /// Before the packet due at this time.
    fn begin(&mut self, due: u64) {
        let Some(schedule) = self.schedule.filter(|schedule| schedule.pulses().is_some()) else { return };
        let pulse = schedule.pulse(due);
        if self.pulses == 0 || pulse != self.pulse {
            self.in_pulses += self.time_in_pulse();
            self.pulse = pulse;
            self.pulses += 1;
            self.pulse_end = 0;
        }
    }

    fn is_of_this_pulse(&self, due: u64) -> bool {
        self.schedule.is_none_or(|schedule| schedule.pulse(due) == self.pulse)
    }

    fn time_in_pulse(&self) -> u64 {
        let begins = self.schedule.map_or(0, |schedule| schedule.pulse_begins(self.pulse));
        self.pulse_end.saturating_sub(begins)
    }

    fn made(&mut self, now: u64, due: u64) {
        if self.is_scheduled {
            self.lateness.add(now - due);
            self.scheduled = due;
        }
    }

    fn sent(&mut self, packets: u64, now: u64) {
        if packets > 0 {
            self.elapsed = now;
            self.pulse_end = now;
        }
    }

    /// Time in pulses, all together, in nanoseconds.
    pub(super) fn in_pulses(&self) -> u64 {
        self.in_pulses + self.time_in_pulse()
    }

    /// How late packets were; none without a schedule.
    pub(super) fn lateness(&self) -> Option<SentLateness> {
        (self.lateness.count() > 0).then(|| SentLateness {
            mean_ns: nanoseconds(self.lateness.mean()),
            p99_ns: nanoseconds(self.lateness.below(0.99)),
            largest_ns: nanoseconds(self.lateness.largest()),
        })
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

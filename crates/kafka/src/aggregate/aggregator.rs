//! Messages into frames. Nothing here knows brokers or clocks: whoever calls says what time it is.

use super::counters::AggregateCounters;
use super::left::{Known, LeftFrames};
use super::offsets::{MOST_RUNS, Offsets, Resumed};
use super::pending::{PendingFrame, Rank};
use super::progress::{FramePlace, Progress};
use super::{AggregateRules, AggregatedFrame, PartitionPosition, PartitionStart, RawMessage};
use crate::frames::charge_of;
use evforge_messages::{Message, RefusedCounters, decode};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much later than now a reference time may be: clocks differ, and the time of GPS is some seconds ahead of UTC.
const LATEST_NS: i64 = 60_000_000_000;

#[derive(Debug)]
struct Partition {
    number: i32,
    offsets: Offsets,
    progress: Progress,
}

/// Why a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Passed,
    Expired,
    Early,
    AtEnd,
}

/// What a message adds to a frame.
struct Part<'a> {
    source: &'a str,
    reference_ns: i64,
    vetoes: Option<u32>,
    period: Option<u32>,
    charge: Option<f32>,
    times: evforge_messages::Column<'a, i32>,
    pixels: evforge_messages::Column<'a, i32>,
}

/// Puts frames together; see the [module](super).
#[derive(Debug)]
pub struct Aggregator {
    rules: AggregateRules,
    partitions: Vec<Partition>,
    /// By their first reference time. They are further apart than the tolerance.
    pending: BTreeMap<i64, PendingFrame>,
    bytes: usize,
    frames_begun: u64,
    left: LeftFrames,
    ready: Vec<AggregatedFrame>,
    counters: AggregateCounters,
    refused: RefusedCounters,
    first_refused: Option<String>,
}

impl Aggregator {
    /// Begins at these places of the partitions.
    pub fn new(rules: AggregateRules, partitions: &[PartitionStart]) -> Self {
        let partition = |start: &PartitionStart| Partition {
            number: start.partition,
            offsets: Offsets::new(
                start.offset,
                Resumed::read(start.offset, &start.metadata).unwrap_or_default(),
            ),
            progress: Progress::default(),
        };
        Self {
            rules,
            partitions: partitions.iter().map(partition).collect(),
            pending: BTreeMap::new(),
            bytes: 0,
            frames_begun: 0,
            left: LeftFrames::default(),
            ready: Vec::new(),
            counters: AggregateCounters::default(),
            refused: RefusedCounters::default(),
            first_refused: None,
        }
    }

    /// A frame of this time was sent before the start: what comes for it is late.
    pub fn left_before(&mut self, reference_ns: i64) {
        // How much later its last message was is not known.
        self.left.add(reference_ns, reference_ns.saturating_add(self.rules.tolerance_ns));
    }

    /// Frames up to this time may have been sent before the start, and nobody knows which.
    pub fn forget_until(&mut self, reference_ns: i64) {
        self.left.forget_until(reference_ns);
    }

    /// A partition is read from here on, whatever was read of it before: frames that wait leave.
    pub fn begin_again(&mut self, number: i32, offset: i64) {
        self.close();
        let offsets = Offsets::new(offset, Resumed::default());
        match self.partitions.iter_mut().find(|known| known.number == number) {
            Some(known) => known.offsets = offsets,
            None => self.partitions.push(Partition { number, offsets, progress: Progress::default() }),
        }
    }

    /// Takes a message; `now` on any clock, `unix_ns` since 1970. Frames leave if there is no room for another one.
    pub fn take(&mut self, message: &RawMessage<'_>, now: Duration, unix_ns: i64) {
        self.counters.messages_read += 1;
        let Some(place) = self.partitions.iter().position(|known| known.number == message.partition) else {
            // None that was not named is read.
            self.counters.messages_done_before += 1;
            return;
        };
        let partition = &mut self.partitions[place];
        partition.progress.read(message.time_ms, now);
        if !partition.offsets.read(message.offset) {
            self.counters.messages_done_before += 1;
            return;
        }
        let Some(part) = self.part_of(message.payload, unix_ns) else { return };
        self.partitions[place].progress.reached(part.source, part.reference_ns, now);
        if !self.has_frame(part.reference_ns) {
            let events = part.times.len() as u64;
            match self.left.known(part.reference_ns, self.rules.tolerance_ns) {
                Known::New => self.make_room(now),
                Known::Left => {
                    self.counters.messages_late += 1;
                    self.counters.events_late += events;
                    return;
                }
                Known::TooOld => {
                    self.counters.messages_too_old += 1;
                    self.counters.events_too_old += events;
                    return;
                }
            }
        }
        self.add(&part, (place, message), now);
    }

    /// What a message adds to its frame; none, counted by the reason, if it adds nothing.
    fn part_of<'m>(&mut self, payload: &'m [u8], unix_ns: i64) -> Option<Part<'m>> {
        let counters = &mut self.counters;
        let message = match decode(payload) {
            Ok(message) => message,
            Err(refused) => {
                counters.messages_refused += 1;
                self.refused.count(refused.reason());
                self.first_refused.get_or_insert_with(|| refused.to_string());
                return None;
            }
        };
        let (part, is_refused) = match &message {
            Message::Pu00(pulse) => {
                let charge = charge_of(pulse).unwrap_or_else(|_| {
                    counters.charges_refused += 1;
                    None
                });
                let part = Part {
                    source: pulse.source_name,
                    reference_ns: pulse.reference_time,
                    vetoes: pulse.vetos,
                    period: pulse.period_number,
                    charge,
                    times: (&[]).into(),
                    pixels: (&[]).into(),
                };
                (part, None)
            }
            Message::Ev44(events) => {
                counters.events_read += events.events() as u64;
                let refused = if events.reference_time.len() != 1 {
                    Some(&mut counters.messages_of_several_pulses)
                } else if events.pixel_id.len() != events.events() {
                    Some(&mut counters.messages_without_pixels)
                } else {
                    None
                };
                let part = Part {
                    source: events.source_name,
                    reference_ns: events.reference_time.first().unwrap_or(0),
                    vetoes: None,
                    period: None,
                    charge: None,
                    times: events.time_of_flight,
                    pixels: events.pixel_id,
                };
                (part, refused)
            }
            _ => {
                counters.messages_of_other_schemas += 1;
                return None;
            }
        };
        let refused = match is_refused {
            Some(counter) => Some(counter),
            None if part.reference_ns == 0 => Some(&mut counters.messages_without_time),
            None if part.reference_ns > unix_ns.saturating_add(LATEST_NS) => {
                Some(&mut counters.messages_of_the_future)
            }
            None => None,
        };
        if let Some(counter) = refused {
            *counter += 1;
            counters.events_refused += part.times.len() as u64;
            return None;
        }
        Some(part)
    }

    /// The frames that a message of this time belongs to: two at most, which it shows to be one.
    fn frames_of(&self, reference_ns: i64) -> impl Iterator<Item = i64> + '_ {
        let tolerance = self.rules.tolerance_ns;
        let (since, until) = (reference_ns.saturating_sub(tolerance), reference_ns.saturating_add(tolerance));
        let before = self.pending.range(..=until).rev().take(2);
        before.filter(move |(_, frame)| frame.last_ns >= since).map(|(first, _)| *first)
    }

    fn has_frame(&self, reference_ns: i64) -> bool {
        self.frames_of(reference_ns).next().is_some()
    }

    fn add(&mut self, part: &Part<'_>, (place, message): (usize, &RawMessage<'_>), now: Duration) {
        let same: Vec<i64> = self.frames_of(part.reference_ns).collect();
        let mut frames = same.iter().filter_map(|first| self.pending.remove(first));
        let mut frame = match frames.next() {
            Some(frame) => {
                self.bytes -= frame.bytes();
                frame
            }
            None => {
                self.frames_begun += 1;
                PendingFrame {
                    first_ns: part.reference_ns,
                    last_ns: part.reference_ns,
                    since: now,
                    number: self.frames_begun,
                    ..PendingFrame::default()
                }
            }
        };
        if let Some(other) = frames.next() {
            self.bytes -= other.bytes();
            frame.add_frame(other);
        }
        drop(frames);
        let rank: Rank = (message.time_ms.unwrap_or(0), place, message.offset);
        frame.add_time(part.reference_ns, message.time_ms);
        part.vetoes.into_iter().for_each(|vetoes| frame.add_vetoes(vetoes));
        part.period.into_iter().for_each(|period| frame.set_period(rank, period));
        part.charge.into_iter().for_each(|charge| frame.set_charge(rank, charge));
        frame.events.extend(part.times.iter().zip(part.pixels.iter()));
        frame.offsets.push((place, message.offset));
        self.partitions[place].offsets.wait(message.offset);
        self.counters.messages_of_frames += 1;
        self.counters.events_waiting += part.times.len() as u64;
        self.bytes += frame.bytes();
        self.pending.insert(frame.first_ns, frame);
        while self.bytes > self.rules.most_bytes && self.leave_oldest() {}
    }

    /// Takes note of whether all that is in a partition has been read.
    pub fn set_at_end(&mut self, partition: i32, is_at_end: bool) {
        let known = self.partitions.iter_mut().find(|known| known.number == partition);
        known.into_iter().for_each(|known| known.progress.set_at_end(is_at_end));
    }

    /// Makes room for a further frame.
    fn make_room(&mut self, now: Duration) {
        if self.pending.len() >= self.rules.most_frames {
            self.look(now);
        }
        while self.pending.len() >= self.rules.most_frames.max(1) && self.leave_oldest() {}
    }

    /// Has those frames leave to which nothing comes any more.
    pub fn look(&mut self, now: Duration) {
        let AggregateRules { tolerance_ns, out_of_order_ns, expiry, .. } = self.rules;
        let mut leaving: Vec<(i64, Why)> = Vec::new();
        for (first, frame) in &self.pending {
            let place = FramePlace {
                passed_after_ns: frame.last_ns.saturating_add(tolerance_ns).saturating_add(out_of_order_ns),
                since: frame.since,
                written_ms: frame.written_ms,
            };
            let all = |is: &dyn Fn(&Progress) -> bool| self.partitions.iter().all(|of| is(&of.progress));
            if all(&|progress| progress.has_passed(&place, now)) {
                leaving.push((*first, Why::Passed));
            } else if all(&|progress| progress.has_expired(&place, expiry, now)) {
                leaving.push((*first, Why::Expired));
            }
        }
        leaving.into_iter().for_each(|(first, why)| self.leave(first, why));
        self.shorten();
    }

    /// All frames leave: nothing is read any more.
    pub fn close(&mut self) {
        while let Some((&first, _)) = self.pending.first_key_value() {
            self.leave(first, Why::AtEnd);
        }
    }

    /// The frame leaves that was begun first. False if there is none.
    fn leave_oldest(&mut self) -> bool {
        let oldest = self.pending.iter().min_by_key(|(_, frame)| frame.number).map(|(first, _)| *first);
        oldest.into_iter().for_each(|first| self.leave(first, Why::Early));
        oldest.is_some()
    }

    /// Frames leave that hold up more of a partition than can be committed.
    fn shorten(&mut self) {
        for place in 0..self.partitions.len() {
            while self.partitions[place].offsets.runs() > MOST_RUNS {
                let Some(&first) = self.partitions[place].offsets.waiting.first() else { break };
                let holds = |frame: &PendingFrame| frame.offsets.contains(&(place, first));
                let holder = self.pending.iter().find(|(_, frame)| holds(frame)).map(|(first, _)| *first);
                // That of a frame that is ready is gone with it.
                let Some(holder) = holder else { break };
                self.leave(holder, Why::Early);
            }
        }
    }

    fn leave(&mut self, first: i64, why: Why) {
        let Some(mut frame) = self.pending.remove(&first) else { return };
        self.bytes -= frame.bytes();
        self.left.add(frame.first_ns, frame.last_ns);
        for (place, offset) in frame.offsets.drain(..) {
            self.partitions[place].offsets.done(offset);
        }
        let counters = &mut self.counters;
        *match why {
            Why::Passed => &mut counters.frames_passed,
            Why::Expired => &mut counters.frames_expired,
            Why::Early => &mut counters.frames_early,
            Why::AtEnd => &mut counters.frames_at_end,
        } += 1;
        let (period, charge) =
            (frame.period.map(|(_, period)| period), frame.charge.map(|(_, charge)| charge));
        if period.is_none() || charge.is_none() {
            counters.frames_without_metadata += 1;
            if !self.rules.keeps_without_metadata {
                counters.frames_dropped += 1;
                counters.events_without_metadata += frame.events.len() as u64;
                counters.events_waiting -= frame.events.len() as u64;
                return;
            }
        }
        // Equal events are the same event: their order says nothing.
        frame.events.sort_unstable();
        self.ready.push(AggregatedFrame {
            reference_ns: frame.first_ns,
            vetoes: frame.vetoes,
            period,
            charge,
            events: frame.events,
        });
    }

    /// True if frames have left that were not [taken](Self::take_ready).
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// True if they are so many that they should not wait.
    pub(super) fn has_much_ready(&self) -> bool {
        self.ready.len() >= self.rules.most_frames.div_ceil(4)
            || self.ready_bytes() >= self.rules.most_bytes / 4
    }

    fn ready_bytes(&self) -> usize {
        self.ready.iter().map(|frame| frame.events.len() * size_of::<(i32, i32)>()).sum()
    }

    /// The frames that have left since this was last asked, in the order of their time.
    pub fn take_ready(&mut self) -> Vec<AggregatedFrame> {
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_by_key(|frame| frame.reference_ns);
        ready
    }

    /// How far the partitions are done with, if all frames that were [taken](Self::take_ready) are sent.
    pub fn positions(&self) -> Vec<PartitionPosition> {
        let earliest_ns = self.pending.first_key_value().map(|(first, _)| *first);
        let position = |partition: &Partition| {
            let (offset, metadata) = partition.offsets.committed(earliest_ns);
            PartitionPosition { partition: partition.number, offset, metadata }
        };
        self.partitions.iter().map(position).collect()
    }

    /// Takes note of frames that were sent and acknowledged, with their messages and bytes.
    pub fn sent(&mut self, frames: &[AggregatedFrame], messages: u64, bytes: u64) {
        let events: u64 = frames.iter().map(|frame| frame.events.len() as u64).sum();
        let counters = &mut self.counters;
        counters.frames_sent += frames.len() as u64;
        counters.events_sent += events;
        counters.events_waiting -= events;
        counters.messages_sent += messages;
        counters.bytes_sent += bytes;
    }

    /// What was counted.
    pub fn counters(&self) -> AggregateCounters {
        let c = &self.counters;
        let left = c.frames_passed + c.frames_expired + c.frames_early + c.frames_at_end;
        AggregateCounters {
            frames_begun: self.frames_begun,
            frames_waiting: self.pending.len() as u64
                + (left - c.frames_dropped).saturating_sub(c.frames_sent),
            ..*c
        }
    }

    /// The same, for what is counted elsewhere.
    pub(super) fn counters_mut(&mut self) -> &mut AggregateCounters {
        &mut self.counters
    }

    /// Messages that were refused, by reason.
    pub fn refused(&self) -> &RefusedCounters {
        &self.refused
    }

    /// What was wrong with the first one that was refused.
    pub fn first_refused(&self) -> Option<&str> {
        self.first_refused.as_deref()
    }

    /// The smallest reference time of a frame that waited when the work was interrupted; none if none did.
    pub fn earliest_of(starts: &[PartitionStart]) -> Option<i64> {
        let resumed = starts.iter().filter_map(|start| Resumed::read(start.offset, &start.metadata));
        resumed.filter_map(|resumed| resumed.earliest_ns).min()
    }
}

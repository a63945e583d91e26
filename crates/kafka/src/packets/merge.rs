//! The messages of several partitions in one order.
//!
//! In a partition messages come in the order in which they were written. Among partitions, those of one source follow their
//! numbers, and sources follow their times. A source whose messages are all in one partition, as the output writes them, keeps
//! its order whatever its times and numbers are.

use super::message::{Delivered, ReadPacket, Reading};
use crate::topic::Change;
use evforge_core::packet_source::SourceError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long it is waited for messages before it is looked whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// Messages of a partition that may be left out, one after the other, before others have their turn.
const LEFT_OUT: usize = 1000;

/// What a partition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A message, which was handed over.
    Message,
    /// None so far, and there are some.
    Nothing,
    /// Many messages, none of which is wanted.
    LeftOut,
    /// No further one, at the moment or at all.
    AtEnd,
}

/// The partitions of a topic, each from some message to some other.
pub(super) trait Lanes: Send {
    /// How many there are: more may be added.
    ///
    /// # Errors
    /// If they cannot be read on, in words for a person.
    fn count(&mut self) -> Result<usize, SourceError>;

    /// Hands over the next message of one, if there is one within `wait`.
    ///
    /// # Errors
    /// If it cannot be read on, in words for a person.
    fn next(
        &mut self,
        lane: usize,
        wait: Duration,
        read: &mut dyn FnMut(&Delivered<'_>),
    ) -> Result<Next, SourceError>;

    /// True if nothing can come of it any more, though topics are followed.
    fn is_over(&self, _lane: usize) -> bool {
        false
    }

    /// What has happened to them besides messages.
    fn change(&mut self) -> Option<Change> {
        None
    }

    /// What is known of why nothing comes.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// What comes next of all partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The packet of this partition.
    Packet(usize),
    /// Nothing at the moment.
    Nothing,
    /// Nothing will come any more.
    End,
}

#[derive(Debug, Default)]
struct Lane {
    packet: ReadPacket,
    has_packet: bool,
    /// It was at its end when it was looked at last.
    is_at_end: bool,
}

/// Several partitions.
#[derive(Debug)]
pub(super) struct Merge<P> {
    partitions: P,
    lanes: Vec<Lane>,
    /// Partitions at their end may get further messages.
    follows: bool,
    stop: Arc<AtomicBool>,
    /// How long brokers may be silent.
    silence: Duration,
    heard: Instant,
    /// Of each source the partition whose packet is next.
    candidates: Vec<usize>,
}

impl<P: Lanes> Merge<P> {
    pub(super) fn new(partitions: P, follows: bool, silence: Duration, stop: Arc<AtomicBool>) -> Self {
        Self {
            partitions,
            lanes: Vec::new(),
            follows,
            stop,
            silence,
            heard: Instant::now(),
            candidates: Vec::new(),
        }
    }

    /// The packet that is next, read by `reading`. Without `may_wait` it is `Nothing` where something may come within a moment.
    pub(super) fn next(&mut self, reading: &mut Reading, may_wait: bool) -> Result<Found, SourceError> {
        loop {
            self.lanes.resize_with(self.partitions.count()?, Lane::default);
            reading.changes.extend(std::iter::from_fn(|| self.partitions.change()));
            let wait = if may_wait { PATIENCE } else { Duration::ZERO };
            match self.fill(reading, wait)? {
                Next::Message => return Ok(Found::Packet(self.choose(reading))),
                Next::LeftOut => return Ok(Found::Nothing),
                Next::AtEnd if self.is_over() => return Ok(Found::End),
                Next::AtEnd => {
                    let mut lanes = 0..self.lanes.len();
                    if may_wait && let Some(place) = lanes.find(|place| !self.partitions.is_over(*place)) {
                        self.lanes[place].fill((&mut self.partitions, place), reading, PATIENCE)?;
                    }
                    return Ok(Found::Nothing);
                }
                Next::Nothing if !may_wait || self.is_stopped() => return Ok(Found::Nothing),
                Next::Nothing => self.check_silence()?,
            }
        }
    }

    /// The packet of a partition that [`Merge::next`] has named.
    pub(super) fn packet(&self, partition: usize) -> &ReadPacket {
        &self.lanes[partition].packet
    }

    /// That packet has been taken.
    pub(super) fn taken(&mut self, partition: usize) {
        self.lanes[partition].has_packet = false;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        !self.follows || (0..self.lanes.len()).all(|lane| self.partitions.is_over(lane))
    }

    /// Sees to it that there is a packet of each partition that has some: `Nothing` as long as one is missing.
    fn fill(&mut self, reading: &mut Reading, wait: Duration) -> Result<Next, SourceError> {
        let mut any = Next::AtEnd;
        let lanes = self.lanes.iter_mut().enumerate();
        for (place, lane) in lanes.filter(|(_, lane)| !lane.has_packet) {
            if lane.is_at_end && (!self.follows || self.partitions.is_over(place)) {
                continue;
            }
            let wait = if lane.is_at_end { Duration::ZERO } else { wait };
            let next = lane.fill((&mut self.partitions, place), reading, wait)?;
            if next != Next::Nothing {
                self.heard = Instant::now();
            }
            if next == Next::LeftOut || next == Next::Nothing && !lane.is_at_end {
                return Ok(next);
            }
        }
        if self.lanes.iter().any(|lane| lane.has_packet) {
            any = Next::Message;
        }
        Ok(any)
    }

    /// The partition whose packet is next: of those of one source the one with the lowest number, of several sources the earliest.
    fn choose(&mut self, reading: &Reading) -> usize {
        let Self { lanes, candidates, .. } = self;
        candidates.clear();
        for (place, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.has_packet) {
            // A number that has been passed is of a later run.
            let key = |packet: &ReadPacket| {
                (reading.sources.is_behind(packet.source, packet.id), packet.id, packet.time_ns)
            };
            match candidates.iter_mut().find(|other| lanes[**other].packet.source == lane.packet.source) {
                Some(other) if key(&lane.packet) < key(&lanes[*other].packet) => *other = place,
                Some(_) => {}
                None => candidates.push(place),
            }
        }
        candidates.iter().copied().min_by_key(|&place| lanes[place].packet.time_ns).unwrap_or(0)
    }

    fn check_silence(&self) -> Result<(), SourceError> {
        let silent = self.heard.elapsed();
        if silent < self.silence {
            return Ok(());
        }
        let trouble = self.partitions.trouble();
        let why = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
        Err(format!(
            "the brokers have sent nothing for {} s, though there are further messages{why}",
            silent.as_secs()
        )
        .into())
    }
}

impl Lane {
    fn fill(
        &mut self,
        (partitions, place): (&mut impl Lanes, usize),
        reading: &mut Reading,
        wait: Duration,
    ) -> Result<Next, SourceError> {
        for _ in 0..LEFT_OUT {
            let (packet, mut is_wanted) = (&mut self.packet, false);
            let next =
                partitions.next(place, wait, &mut |message| is_wanted = reading.read(message, packet))?;
            self.is_at_end = match next {
                Next::Message | Next::LeftOut => false,
                Next::AtEnd => true,
                Next::Nothing => self.is_at_end,
            };
            self.has_packet |= is_wanted;
            if is_wanted || next != Next::Message {
                return Ok(next);
            }
        }
        Ok(Next::LeftOut)
    }
}

//! The time line of one source: which hits are in time, which are late, and what a jump means.
//!
//! Everything is judged on the hits of **one** source in the order in which it sent them, so the verdicts do
//! not depend on how the packets of several sources interleave. The largest time that the source has come to is the
//! *front*. A hit is
//!
//! | its time | it is | and therefore |
//! |---|---|---|
//! | above front + forward jump | ahead | put into quarantine |
//! | above front + window, up to that | a step ahead | accepted; the front follows if the next hit confirms it |
//! | from front - window to front + window | on the line | accepted; the front follows |
//! | from front - restart to below that | late | discarded |
//! | below front - restart | behind | put into quarantine |
//!
//! One wild time stamp must not make all later hits late. A **step** within the forward jump is therefore taken only with two hits:
//! the next one of the source confirms it by being at the step less the window, or later; otherwise the step has been a
//! wild stamp, and the front stays where it was. The **first** hit of a source is such a step: until another one confirms
//! it, the source has no front. **Jumps** beyond the forward jump wait until the next packet of the source that
//! has a hit: the time *D* of its first hit decides.
//!
//! * If D is behind, the source's clock has been restarted: from the first quarantined hit that is behind, a
//!   new *epoch* begins, up to D + window; what stands before it belongs to the old line. Hits of different
//!   epochs never meet in an event.
//! * Otherwise the source's time has come to D, and quarantined hits ahead up to D + window were right.
//! * What the decision does not confirm is discarded as *refuted*: stamps further ahead than D, and hits behind
//!   a line that goes on.
//!
//! If D is behind and nothing in quarantine is, D may be the wild one: then what is ahead waits for the packet after that.
//!
//! A source that is silent for long sends its next packet when everybody else has gone on. Therefore the **time of all
//! the others** decides as well ([`SourceClock::release_passed`]): before time is closed past a quarantined hit, that hit
//! is accepted. It is not wild ahead of everybody: time has come there. It moves the front no more than a step does: the
//! next hit of the source must confirm it.
//!
//! A quarantine that is still open at the end of the input is released: nothing follows that it could harm.
//!
//! Some readouts say how far time has come without a hit (the pulse in the header of a packet). Such a *sign of
//! time* is judged as a hit is, on the plane [`TIME_SIGN`], and counted apart: the laws are about hits.

mod whole_packet;

use crate::dealt_hits::DealtHits;
use crate::earliest::NEVER;
use crate::hit::{DataTime, Hit, TargetedHit, Timed};
use std::cmp::Ordering;

/// The plane of what is no hit but a sign of how far time has come.
pub const TIME_SIGN: usize = usize::MAX;

/// Counts of one source clock, to be added up over the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct ClockCounts {
    /// Hits discarded because they are older than the window allows.
    pub late: u64,
    /// Hits discarded because the next packet did not confirm their jump in time.
    pub refuted: u64,
    /// Signs of time discarded because the next packet did not confirm their jump.
    pub refuted_signs: u64,
    /// Confirmed steps ahead by more than the forward jump.
    pub forward_jumps: u64,
    /// Confirmed restarts of the clock.
    pub restarts: u64,
}

impl std::ops::Add for ClockCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            late: self.late + other.late,
            refuted: self.refuted + other.refuted,
            refuted_signs: self.refuted_signs + other.refuted_signs,
            forward_jumps: self.forward_jumps + other.forward_jumps,
            restarts: self.restarts + other.restarts,
        }
    }
}

/// How a hit lies to the front.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Ahead,
    OnLine,
    Late,
    Behind,
}

/// Where accepted hits go.
pub trait AcceptedHits<T = Hit> {
    /// Takes a hit of `plane` in `epoch`.
    fn accept(&mut self, plane: usize, epoch: u32, hit: T);

    /// Takes hits of `plane` in `epoch` that came together.
    #[inline]
    fn accept_all(&mut self, plane: usize, epoch: u32, hits: &[T])
    where
        T: Copy,
    {
        for &hit in hits {
            self.accept(plane, epoch, hit);
        }
    }

    /// Takes the hits of a packet in `epoch`.
    #[inline]
    fn accept_packet(&mut self, epoch: u32, hits: &[TargetedHit])
    where
        T: Timed,
    {
        for hit in hits {
            self.accept(hit.target as usize, epoch, T::of(hit.time, hit.payload));
        }
    }

    /// Takes the hits of a packet in `epoch`, the last of which lies at `latest`. If `dealt` is dealt out, it has the same hits, and
    /// may be exchanged for another.
    #[inline]
    fn accept_decoded(&mut self, epoch: u32, _latest: u64, hits: &[TargetedHit], _dealt: &mut DealtHits)
    where
        T: Timed,
    {
        self.accept_packet(epoch, hits);
    }

    /// Is told of a sign of time in `epoch` that is older than the window allows.
    fn late_sign(&mut self, _epoch: u32, _time: u64) {}
}

/// A source's hits after it has been judged, up to (epoch, front).
// What every packet needs comes first: of hundreds of sources, little more than that stays in the caches.
#[derive(Debug, get_size2::GetSize)]
#[repr(C, align(64))]
pub struct SourceClock<T = Hit> {
    front: u64,
    window: u64,
    /// Hits before this take the slow path: the floor, or any hit until the first one of a packet has decided.
    fast_from: u64,
    /// Nothing below this time of the current epoch is accepted any more: it has been closed.
    floor: u64,
    /// What has been closed over all sources: (epoch, time).
    closed: (u32, u64),
    epoch: u32,
    started: bool,
    /// True until the first hit of the packet after the one that opened the quarantine.
    undecided: bool,
    /// True while the step is the first hit of the source, and the front is not known yet.
    is_first: bool,
    /// True while the step is a jump that the time of all the others has come to: any hit decides, however far ahead.
    is_jump: bool,
    /// First time of the epoch.
    epoch_start: u64,
    /// A step ahead that the next hit has to confirm; all hits take the slow path until then.
    step: Option<u64>,
    quarantine: Vec<(usize, T)>,
    /// The earliest of them: once time is closed past this, the time of all the others decides.
    waits_for: DataTime,
    /// Those of them, from the first on, that the last packet has not decided.
    undecided_before: usize,
    forward_jump: u64,
    restart: u64,
    /// The largest number of hits in a packet.
    packet_hits: usize,
    counts: ClockCounts,
}

impl<T: Timed> SourceClock<T> {
    /// A clock with the given window, forward jump and restart in ticks. `packet_hits` is the largest number of hits in a
    /// packet, which is all that a quarantine can ever hold.
    pub fn new(window: u64, forward_jump: u64, restart: u64, packet_hits: usize) -> Self {
        Self {
            window,
            forward_jump,
            restart,
            started: false,
            epoch: 0,
            epoch_start: 0,
            front: 0,
            closed: (0, 0),
            floor: 0,
            fast_from: u64::MAX,
            undecided: false,
            step: None,
            is_first: false,
            is_jump: false,
            quarantine: Vec::with_capacity(packet_hits),
            undecided_before: 0,
            waits_for: NEVER,
            packet_hits,
            counts: ClockCounts::default(),
        }
    }

    /// Begins a packet. `closed` is what has been closed over all sources: (epoch, time).
    #[inline]
    pub fn begin_packet(&mut self, closed: (u32, u64)) {
        self.closed = closed;
        self.find_floor();
        self.undecided = !self.quarantine.is_empty();
        self.choose_path();
    }

    /// Judges a hit and passes it on if it is accepted.
    ///
    /// Times must be below 2^62, which the settings of every detector make sure of.
    #[inline(always)]
    pub fn judge(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        // Times and settings stay far below 2^63: the sums cannot overflow. One branch for all three, and none
        // for the front, because nearly sorted hits would be hard to predict.
        let on_line = (hit.time() >= self.fast_from)
            & (hit.time() + self.window >= self.front)
            & (hit.time() <= self.front + self.window);
        if on_line {
            self.front = self.front.max(hit.time());
            accepted.accept(plane, self.epoch, hit);
        } else {
            self.judge_slowly(plane, hit, accepted);
        }
    }

    /// End of the input: releases what is in quarantine.
    pub fn close(&mut self, accepted: &mut impl AcceptedHits<T>) {
        let last_packet = self.quarantine.get(self.undecided_before);
        let Some(&(_, first)) = last_packet.or(self.quarantine.first()) else { return };
        let restarted = self.relation(first.time()) == Relation::Behind;
        self.release(restarted, u64::MAX, accepted);
    }

    /// The earliest time in quarantine, [`NEVER`] if there is none: before time is closed past it, call
    /// [`SourceClock::release_passed`].
    #[inline]
    pub fn waits_for(&self) -> DataTime {
        self.waits_for
    }

    /// Accepts what is in quarantine and earlier than `passed`: without this source, all others have come there, and time
    /// is about to be closed up to it. `closed` is what is closed already, and `ended` how far the others had come
    /// in the epoch before the newest: what is later than that in an epoch that is over is refuted.
    #[cold]
    pub fn release_passed(
        &mut self,
        closed: DataTime,
        passed: DataTime,
        ended: DataTime,
        accepted: &mut impl AcceptedHits<T>,
    ) {
        self.closed = closed;
        self.find_floor();
        let (mut kept, mut kept_before, mut jumped) = (0, 0, false);
        for index in 0..self.quarantine.len() {
            let (plane, hit) = self.quarantine[index];
            let place = self.place_of(hit.time());
            if place >= passed {
                self.quarantine[kept] = (plane, hit);
                kept += 1;
                kept_before += usize::from(index < self.undecided_before);
                continue;
            }
            if place.0 > self.epoch {
                self.restart_at(hit.time());
            } else if self.epoch < passed.0 && place > ended {
                self.count_refuted(plane);
                continue;
            } else {
                jumped |= hit.time() > self.front.saturating_add(self.forward_jump);
                self.jump_to(hit.time());
            }
            self.accept(plane, hit, accepted);
        }
        self.quarantine.truncate(kept);
        self.undecided_before = kept_before;
        self.counts.forward_jumps += u64::from(jumped);
        self.find_earliest();
    }

    /// Epoch and largest accepted time, or none before the first hit has been confirmed.
    #[inline]
    pub fn front(&self) -> Option<(u32, u64)> {
        self.has_front().then_some((self.epoch, self.front))
    }

    /// Epoch and time below which this source will have no further hits, or none before the first has been confirmed.
    #[inline]
    pub fn watermark(&self) -> Option<(u32, u64)> {
        self.has_front().then(|| (self.epoch, self.front.saturating_sub(self.window)))
    }

    /// Whether the source has come to a time that is confirmed.
    #[inline]
    pub fn has_front(&self) -> bool {
        self.started && !self.is_first
    }

    /// Where a readout of this time lies for parameters that change with time. A time that is too far from the front to be
    /// believed at once counts as that of the front; without a front, as it is.
    ///
    /// This depends on what the source itself has sent before, and on nothing else.
    #[inline]
    pub fn place_of_readout(&self, time: u64) -> DataTime {
        let (earliest, latest) =
            (self.front.saturating_sub(self.restart), self.front.saturating_add(self.forward_jump));
        let is_believed = !self.has_front() || (earliest <= time && time <= latest);
        (self.epoch, if is_believed { time } else { self.front })
    }

    /// No readout so far lies later than this; none before the first hit has been confirmed.
    pub fn latest_place_of_readouts(&self) -> Option<DataTime> {
        self.front().map(|(epoch, front)| (epoch, front.saturating_add(self.forward_jump)))
    }

    /// First time of the current epoch.
    pub fn epoch_start(&self) -> u64 {
        self.epoch_start
    }

    /// Hits in quarantine; signs of time are not hits.
    pub fn held(&self) -> u64 {
        self.quarantine.iter().filter(|(plane, _)| *plane != TIME_SIGN).count() as u64
    }

    /// True if anything is in quarantine.
    #[inline]
    pub fn is_quarantine_open(&self) -> bool {
        !self.quarantine.is_empty()
    }

    /// The counts so far.
    pub fn counts(&self) -> ClockCounts {
        self.counts
    }

    /// Where a time that is not on the line lies: what is behind would be the beginning of the next epoch.
    fn place_of(&self, time: u64) -> DataTime {
        let is_behind = time < self.front.saturating_sub(self.restart);
        (self.epoch.saturating_add(u32::from(is_behind)), time)
    }

    fn find_earliest(&mut self) {
        let places = self.quarantine.iter().map(|(_, hit)| self.place_of(hit.time()));
        self.waits_for = places.min().unwrap_or(NEVER);
    }

    /// A new epoch begins at `time`.
    fn restart_at(&mut self, time: u64) {
        self.counts.restarts += 1;
        self.epoch = self.epoch.saturating_add(1);
        self.epoch_start = time;
        self.front = time;
        self.step = None;
        self.find_floor();
    }

    /// A jump to `time`, which the others have come to. It confirms what has been accepted before it; the next hit of the
    /// source must confirm the jump itself.
    fn jump_to(&mut self, time: u64) {
        let step = self.step.unwrap_or(0);
        if time.saturating_add(self.window) >= step {
            self.front = self.front.max(step);
        }
        self.step = Some(step.max(time)).filter(|&step| step > self.front);
        self.is_jump = true;
    }

    /// Puts a hit into quarantine.
    fn set_aside(&mut self, plane: usize, hit: T) {
        if self.quarantine.len() >= self.packet_hits && self.undecided_before > 0 {
            // There is room for the hits of one packet.
            for index in 0..self.undecided_before {
                self.count_refuted(self.quarantine[index].0);
            }
            self.quarantine.drain(..self.undecided_before);
            self.undecided_before = 0;
            self.find_earliest();
        }
        self.waits_for = self.waits_for.min(self.place_of(hit.time()));
        self.quarantine.push((plane, hit));
    }

    /// Most hits need a comparison of three numbers and nothing else.
    fn choose_path(&mut self) {
        let is_plain = self.started && !self.undecided && self.step.is_none();
        self.fast_from = if is_plain { self.floor } else { u64::MAX };
    }

    /// Other sources can have come to later epochs, and closed those before.
    fn find_floor(&mut self) {
        let (epoch, time) = self.closed;
        self.floor = match self.epoch.cmp(&epoch) {
            Ordering::Less => u64::MAX,
            Ordering::Equal => time,
            Ordering::Greater => 0,
        };
    }

    #[cold]
    fn count_late(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        if plane == TIME_SIGN {
            accepted.late_sign(self.epoch, hit.time());
        } else {
            self.counts.late += 1;
        }
    }

    #[cold]
    fn count_refuted(&mut self, plane: usize) {
        *if plane == TIME_SIGN { &mut self.counts.refuted_signs } else { &mut self.counts.refuted } += 1;
    }

    fn relation(&self, time: u64) -> Relation {
        if time > self.front.saturating_add(self.forward_jump) {
            Relation::Ahead
        } else if time >= self.front.saturating_sub(self.window) {
            Relation::OnLine
        } else if time >= self.front.saturating_sub(self.restart) {
            Relation::Late
        } else {
            Relation::Behind
        }
    }

    #[cold]
    fn judge_slowly(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        if !self.started {
            self.started = true;
            self.begin_at(plane, hit, accepted);
            return;
        }
        if let Some(step) = self.step
            && self.decides_step(step, hit.time())
        {
            self.step = None;
            if hit.time().saturating_add(self.window) >= step {
                self.front = self.front.max(step);
                self.is_first = false;
            } else if self.is_first {
                return self.begin_at(plane, hit, accepted);
            }
        }
        if std::mem::take(&mut self.undecided) {
            let restarted = self.relation(hit.time()) == Relation::Behind;
            let behind = self.front.saturating_sub(self.restart);
            if restarted && self.quarantine.iter().all(|(_, hit)| hit.time() >= behind) {
                // This one may be wild: the next packet decides on both.
                self.undecided_before = self.quarantine.len();
            } else {
                self.release(restarted, hit.time().saturating_add(self.window), accepted);
            }
        }
        match self.relation(hit.time()) {
            Relation::OnLine if hit.time() > self.front.saturating_add(self.window) => {
                self.step = Some(hit.time());
                self.is_jump = false;
                self.accept(plane, hit, accepted);
            }
            Relation::OnLine => self.take(plane, hit, accepted),
            Relation::Late => self.count_late(plane, hit, accepted),
            Relation::Ahead | Relation::Behind => self.set_aside(plane, hit),
        }
        self.choose_path();
    }

    /// Whether a hit at `time` confirms or refutes a step.
    fn decides_step(&self, step: u64, time: u64) -> bool {
        if self.is_first {
            return true;
        }
        if self.is_jump {
            // As it would decide on what is in quarantine.
            return time >= self.front.saturating_sub(self.restart);
        }
        // What is further ahead than a forward jump may be wild itself, and decides nothing but whether a source has begun.
        time <= step.saturating_add(self.forward_jump)
    }

    /// Accepts the first hit, which may have been the wrong one.
    fn begin_at(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        self.is_first = true;
        self.step = Some(hit.time());
        self.epoch_start = hit.time();
        self.front = hit.time();
        self.choose_path();
        self.accept(plane, hit, accepted);
    }

    /// Accepts a hit that the source has come to.
    fn take(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        self.front = self.front.max(hit.time());
        self.accept(plane, hit, accepted);
    }

    /// Accepts a hit that is in time, unless its time has been closed meanwhile.
    fn accept(&mut self, plane: usize, hit: T, accepted: &mut impl AcceptedHits<T>) {
        if hit.time() < self.floor {
            self.count_late(plane, hit, accepted);
        } else {
            accepted.accept(plane, self.epoch, hit);
        }
    }

    /// Empties the quarantine: what the decision confirms continues the line, up to `latest`; the rest is
    /// refuted.
    fn release(&mut self, restarted: bool, latest: u64, accepted: &mut impl AcceptedHits<T>) {
        let behind = self.front.saturating_sub(self.restart);
        let beginning = self.quarantine.iter().position(|(_, hit)| hit.time() < behind).filter(|_| restarted);
        let mut leapt = false;
        for index in 0..self.quarantine.len() {
            let (plane, hit) = self.quarantine[index];
            if beginning == Some(index) {
                self.restart_at(hit.time());
            }
            let of_a_line = match beginning {
                Some(beginning) => index < beginning || hit.time() <= latest,
                None => !restarted && hit.time() >= behind && hit.time() <= latest,
            };
            if !of_a_line {
                self.count_refuted(plane);
            } else if beginning.is_some_and(|beginning| index > beginning)
                && hit.time() < self.front.saturating_sub(self.window)
            {
                self.count_late(plane, hit, accepted);
            } else {
                leapt |= hit.time() > self.front.saturating_add(self.forward_jump);
                self.take(plane, hit, accepted);
            }
        }
        self.counts.forward_jumps += u64::from(leapt);
        self.quarantine.clear();
        self.undecided_before = 0;
        self.waits_for = NEVER;
        // A step that the source has gone past is decided.
        self.step = self.step.filter(|&step| step > self.front);
    }
}

#[cfg(test)]
mod tests;

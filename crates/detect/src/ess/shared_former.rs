//! Forming shared by several threads: each has some of the modules (panels, cassettes, columns) of the detector.
//!
//! ```text
//! accepted packets ──► wait ──► worker 0: its modules' hits ──► order ──► windows ──► events ─┐
//!                          └──► worker 1: …                                                   ├─► by time ──► pulses
//!                          └──► …                                                             ┘
//! ```
//!
//! Hits of different modules never meet, so that a worker needs nothing of what the others have. Events leave in the order
//! (epoch, time, pixel), as far as all workers have come: the same, whatever their number.

use super::former::HitFormer;
use super::pulse_line::PulseLine;
use super::vmm_stage::PACKET_READOUTS;
use crate::dealt_hits::{DealtHits, Shares};
use crate::event_order::TimedEvent;
use crate::event_sort::EventSort;
use crate::hit::{TargetedHit, Timed as _};
use crate::module_windows::EventsOut;
use crate::source_clock::AcceptedHits;
use crate::watermark::DataTime;
use crate::workers::{OfOneWorker, Workers};
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::{MonitorData, MonitorPlan};
use get_size2::GetSize;
use std::sync::Arc;

/// Hits that make a step worth while.
const STEP: usize = 1 << 15;
/// Hits that wait for a step at most.
const MOST_WAITING: usize = 1 << 17;

/// Packets that wait for a step at most: with fewer hits than a step has, they are small.
const MOST_PACKETS: usize = 512;

/// A former that can have some of the modules only.
pub trait PartFormer: HitFormer {
    /// Whether events of equal time leave in the order of their pixels, and not of the panels that they are from.
    const BY_PIXEL: bool;
    /// What collects monitor data.
    type Watcher: Send + std::fmt::Debug;

    /// Hands out the events of the time that is closed. False if `out` filled up before the end.
    fn drain_to(&mut self, out: &mut impl EventsOut) -> bool;

    /// As [`HitFormer::counters`], with more hits that are held.
    fn counters_holding(&self, more: u64) -> CounterSnapshot;

    /// Hits that are not closed.
    fn pending(&self) -> usize;

    /// Gives it a watcher, or takes it away. What it had is returned.
    fn exchange_watcher(&mut self, watcher: Option<Box<Self::Watcher>>) -> Option<Box<Self::Watcher>>;

    /// What a watcher has collected.
    fn collected(watcher: &Self::Watcher) -> &MonitorData;

    /// For who watches the readouts.
    fn collected_mut(watcher: &mut Self::Watcher) -> &mut MonitorData;
}

/// An event, its epoch and its place among those of equal time.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Formed {
    epoch: u32,
    rank: u32,
    event: TimedEvent,
}

impl Formed {
    /// What events leave in the order of.
    #[inline]
    fn order(&self) -> (u32, u64, u32) {
        (self.epoch, self.event.time, self.rank)
    }
}

/// Hits that came together and wait.
#[derive(Debug, get_size2::GetSize)]
struct Arrived {
    epoch: u32,
    /// The latest of them.
    latest: u64,
    hits: DealtHits,
}

/// What a worker has.
#[derive(Debug, get_size2::GetSize)]
struct Part<F> {
    former: F,
    /// Room for its own of hits that were not dealt out.
    own: Box<[TargetedHit]>,
    /// Its events, in order; those before `gone` have left.
    formed: FormedEvents,
    gone: usize,
}

/// Events on the way from a worker.
#[derive(Debug, get_size2::GetSize)]
struct FormedEvents(Vec<Formed>);

impl EventsOut for FormedEvents {
    fn append(&mut self, epoch: u32, formed: &[TimedEvent]) -> usize {
        self.0.extend(formed.iter().map(|&event| Formed { epoch, rank: event.pixel_id, event }));
        formed.len()
    }

    #[inline]
    fn append_one(&mut self, epoch: u32, rank: u32, event: TimedEvent) -> bool {
        self.0.push(Formed { epoch, rank, event });
        true
    }
}

/// Memory of what is behind an [`Arc`], with the two counts in front of it.
fn shared(shares: &Arc<Shares>) -> usize {
    2 * size_of::<usize>() + shares.get_size()
}

/// Several formers as one.
#[derive(Debug, get_size2::GetSize)]
pub struct SharedFormer<F: PartFormer> {
    parts: Vec<OfOneWorker<Part<F>>>,
    #[get_size(size_fn = shared)]
    shares: Arc<Shares>,
    /// What the workers have not taken yet, and how many hits that are.
    waiting: Vec<Arrived>,
    waiting_hits: usize,
    /// Room for packets: with those that wait, always as many.
    free: Vec<DealtHits>,
    /// Hits that must wait before a step is worth while.
    worthwhile: usize,
    target: DataTime,
    is_due: bool,
    /// Whether events wait that may be complete.
    has_formed: bool,
    /// Events before this are complete.
    complete_before: DataTime,
    /// Complete events of an epoch, in order; those before `gone` have left.
    merged: Vec<TimedEvent>,
    merged_epoch: u32,
    gone: usize,
    sort: EventSort,
    /// Goes from one worker to the other, as long as somebody looks: then they take turns.
    #[get_size(ignore)]
    watcher: Option<Box<F::Watcher>>,
    #[get_size(ignore)]
    workers: Arc<dyn Workers>,
}

impl<F: PartFormer> SharedFormer<F> {
    /// The formers of all workers, each of which can have this many events at once, and who has which target of the wiring.
    pub fn new(
        formers: impl IntoIterator<Item = F>,
        events: usize,
        shares: Arc<Shares>,
        workers: Arc<dyn Workers>,
    ) -> Self {
        let part = |former| {
            let own = vec![TargetedHit::default(); PACKET_READOUTS].into();
            OfOneWorker::new(Part { former, own, formed: FormedEvents(Vec::with_capacity(events)), gone: 0 })
        };
        let parts: Vec<_> = formers.into_iter().map(part).collect();
        let free = || DealtHits::with_room(PACKET_READOUTS, shares.parts());
        Self {
            waiting: Vec::with_capacity(MOST_PACKETS),
            waiting_hits: 0,
            free: (0..MOST_PACKETS).map(|_| free()).collect(),
            shares,
            worthwhile: STEP,
            target: (0, 0),
            is_due: false,
            has_formed: false,
            complete_before: (0, 0),
            merged: Vec::with_capacity(parts.len() * events),
            parts,
            merged_epoch: 0,
            gone: 0,
            sort: EventSort::default(),
            watcher: None,
            workers,
        }
    }

    fn formers(&mut self) -> impl Iterator<Item = &mut F> {
        self.parts.iter_mut().map(|part| &mut part.get_mut().former)
    }

    /// Has all workers take their hits and, if time is to be closed, form their events.
    fn step(&mut self) {
        let Self { parts, shares, waiting, free, target, is_due, watcher, workers, .. } = self;
        let closes = std::mem::take(is_due).then_some(*target);
        let work = |number: usize| {
            if let Some(part) = parts.get(number) {
                part.lock().take(number, waiting, shares, closes);
            }
        };
        if watcher.is_some() {
            for (number, part) in parts.iter().enumerate() {
                part.lock().former.exchange_watcher(watcher.take());
                work(number);
                *watcher = part.lock().former.exchange_watcher(None);
            }
        } else {
            workers.run(parts.len(), &work);
        }
        free.extend(waiting.drain(..).map(|arrived| arrived.hits));
        self.waiting_hits = 0;
        let pending: usize = self.formers().map(|former| former.pending()).sum();
        // What stays is looked at again by the next step: let at least as much come in before.
        self.worthwhile = (pending + STEP).min(MOST_WAITING - STEP);
        self.has_formed |= closes.is_some();
        self.complete_before = self.formers().map(|former| former.future_from()).min().unwrap_or_default();
    }

    /// Has all workers take their hits; what is due stays due.
    #[cold]
    fn take_in(&mut self) {
        let is_due = std::mem::take(&mut self.is_due);
        self.step();
        self.is_due = is_due;
    }

    /// Room for a packet of this many hits, behind what waits.
    fn next_free(&mut self, hits: usize) -> DealtHits {
        if self.waiting_hits + hits > MOST_WAITING || self.free.is_empty() {
            self.take_in();
        }
        self.free.pop().unwrap_or_default()
    }

    /// Takes hits that are not dealt out.
    fn take_loose(&mut self, epoch: u32, loose: &[TargetedHit]) {
        let latest = loose.iter().map(|hit| hit.time).max().unwrap_or(0);
        if let Some(last) = self.waiting.last_mut()
            && last.epoch == epoch
            && last.hits.as_they_came().is_some_and(|hits| hits.len() + loose.len() <= PACKET_READOUTS)
        {
            last.latest = last.latest.max(latest);
            last.hits.append(loose);
            self.waiting_hits += loose.len();
            return;
        }
        let mut hits = self.next_free(loose.len());
        hits.begin();
        hits.append(loose);
        self.waiting_hits += loose.len();
        self.waiting.push(Arrived { epoch, latest, hits });
    }

    /// Hands out the complete events of all workers, in order. False if the batch is full.
    fn hand_out(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool {
        loop {
            let merged = self.merged.get(self.gone..).unwrap_or_default();
            self.gone += pulses.out(events).append(self.merged_epoch, merged);
            if self.gone < self.merged.len() {
                return false;
            }
            if !self.has_formed {
                return true;
            }
            self.merge();
        }
    }

    /// Puts the complete events of all workers together, those of one epoch at a time.
    fn merge(&mut self) {
        self.merged.clear();
        self.gone = 0;
        if F::BY_PIXEL {
            self.merge_by_pixel();
        } else {
            self.merge_by_rank();
        }
        if self.merged.is_empty() {
            for part in self.parts.iter_mut().map(OfOneWorker::get_mut) {
                part.formed.0.drain(..part.gone);
                part.gone = 0;
            }
            self.has_formed = false;
        }
    }

    /// The events of a worker are in order of time and pixel: those of all are sorted together.
    fn merge_by_pixel(&mut self) {
        let Self { parts, merged, merged_epoch, sort, complete_before: limit, .. } = self;
        let heads = parts.iter_mut().filter_map(|part| {
            let part = part.get_mut();
            part.formed.0.get(part.gone).map(|found| found.epoch)
        });
        let Some(first) = heads.min() else { return };
        *merged_epoch = first;
        for part in parts.iter_mut().map(OfOneWorker::get_mut) {
            let formed = part.formed.0.get(part.gone..).unwrap_or_default();
            let complete = formed
                .partition_point(|found| found.epoch == first && (found.epoch, found.event.time) < *limit);
            merged.extend(formed.iter().take(complete).map(|found| found.event));
            part.gone += complete;
        }
        sort.sort(merged);
    }

    /// The events of a worker keep the order that they have: the first of all is the one to leave.
    fn merge_by_rank(&mut self) {
        let limit = self.complete_before;
        while let Some((number, next)) = self.first_to_leave() {
            let Some(part) = self.parts.get_mut(number).map(OfOneWorker::get_mut) else { return };
            let before = part.gone;
            while let Some(found) = part.formed.0.get(part.gone) {
                let &Formed { epoch, event, .. } = found;
                let is_next_epoch = !self.merged.is_empty() && epoch != self.merged_epoch;
                if (epoch, event.time) >= limit || found.order() > next || is_next_epoch {
                    break;
                }
                self.merged_epoch = epoch;
                self.merged.push(event);
                part.gone += 1;
            }
            if part.gone == before {
                // It is not complete, or of a later epoch, and so is what comes later.
                return;
            }
        }
    }

    /// The worker whose next event is the first of all, and what is the first event of the others.
    #[inline]
    fn first_to_leave(&mut self) -> Option<(usize, (u32, u64, u32))> {
        let mut first = None;
        let mut next = (u32::MAX, u64::MAX, u32::MAX);
        for (number, part) in self.parts.iter_mut().map(OfOneWorker::get_mut).enumerate() {
            let Some(key) = part.formed.0.get(part.gone).map(Formed::order) else { continue };
            match first {
                Some((_, earliest)) if key >= earliest => next = next.min(key),
                _ => {
                    next = first.map_or(next, |(_, earliest)| next.min(earliest));
                    first = Some((number, key));
                }
            }
        }
        first.map(|(number, _)| (number, next))
    }
}

impl<F: PartFormer> Part<F> {
    /// Takes its hits and, up to `closes`, forms its events.
    fn take(&mut self, number: usize, waiting: &[Arrived], shares: &Shares, closes: Option<DataTime>) {
        let Self { former, own, formed, .. } = self;
        for Arrived { epoch, hits, .. } in waiting {
            let Some(all) = hits.as_they_came() else {
                former.accept_packet(*epoch, hits.of_part(number));
                continue;
            };
            let theirs = all.iter().filter_map(|&hit| {
                let share = shares.of(hit.target).filter(|share| share.part as usize == number)?;
                Some(TargetedHit { target: share.target, ..hit })
            });
            let count = own.iter_mut().zip(theirs).map(|(place, hit)| *place = hit).count();
            former.accept_packet(*epoch, own.get(..count).unwrap_or_default());
        }
        if let Some(target) = closes {
            former.advance(target);
            former.drain_to(formed);
        }
    }
}

impl<F: PartFormer> AcceptedHits<F::Hit> for SharedFormer<F> {
    fn accept(&mut self, target: usize, epoch: u32, hit: F::Hit) {
        let (time, payload) = (hit.time(), hit.payload());
        self.take_loose(epoch, &[TargetedHit { time, payload, target: target as u32 }]);
    }

    fn accept_packet(&mut self, epoch: u32, hits: &[TargetedHit]) {
        hits.chunks(PACKET_READOUTS).for_each(|hits| self.take_loose(epoch, hits));
    }

    #[inline]
    fn accept_decoded(&mut self, epoch: u32, latest: u64, hits: &[TargetedHit], dealt: &mut DealtHits) {
        if dealt.as_they_came().is_some() {
            return self.accept_packet(epoch, hits);
        }
        if hits.is_empty() {
            return;
        }
        let free = self.next_free(dealt.len());
        self.waiting_hits += dealt.len();
        self.waiting.push(Arrived { epoch, latest, hits: std::mem::replace(dealt, free) });
    }
}

impl<F: PartFormer> HitFormer for SharedFormer<F> {
    type Hit = F::Hit;

    fn find_room(&mut self, needed: usize) -> usize {
        let waiting = self.waiting_hits;
        let room = self.formers().map(|former| former.find_room(needed + waiting)).min().unwrap_or(0);
        if room >= needed + waiting || waiting == 0 {
            return room - room.min(waiting);
        }
        self.take_in();
        self.formers().map(|former| former.find_room(needed)).min().unwrap_or(0)
    }

    fn room(&self) -> usize {
        let room = self.parts.iter().map(|part| part.lock().former.room()).min().unwrap_or(0);
        room.saturating_sub(self.waiting_hits)
    }

    fn is_closing_worthwhile(&self) -> bool {
        self.waiting_hits >= self.worthwhile
    }

    fn advance(&mut self, target: DataTime) {
        self.is_due |= target > self.target;
        self.target = self.target.max(target);
    }

    fn closed_before(&self) -> DataTime {
        self.target
    }

    fn latest_pending(&self) -> Option<DataTime> {
        let parts = self.parts.iter().filter_map(|part| part.lock().former.latest_pending());
        let waiting = self.waiting.iter().map(|arrived| (arrived.epoch, arrived.latest));
        parts.chain(waiting).max()
    }

    fn drain(&mut self, pulses: &mut PulseLine, events: &mut EventBatch) -> bool {
        while self.hand_out(pulses, events) {
            if !self.is_due {
                return true;
            }
            self.step();
        }
        false
    }

    fn future_from(&self) -> DataTime {
        self.complete_before
    }

    fn events_formed(&self) -> u64 {
        self.parts.iter().map(|part| part.lock().former.events_formed()).sum()
    }

    fn held_events(&self) -> u64 {
        let held = |part: &OfOneWorker<Part<F>>| {
            let part = part.lock();
            part.former.held_events() + (part.formed.0.len() - part.gone) as u64
        };
        self.parts.iter().map(held).sum::<u64>() + (self.merged.len() - self.gone) as u64
    }

    fn forced_closings(&self) -> u64 {
        self.parts.iter().map(|part| part.lock().former.forced_closings()).sum()
    }

    fn counters(&self) -> CounterSnapshot {
        let mut waiting = self.waiting_hits as u64;
        let mut of_parts = self.parts.iter().map(|part| {
            let more = std::mem::take(&mut waiting);
            part.lock().former.counters_holding(more)
        });
        let first = of_parts.next().unwrap_or_default();
        of_parts.fold(first, |sum, part| sum.merge(&part))
    }

    fn set_monitoring(&mut self, plan: Option<MonitorPlan>) {
        let Some(former) = self.formers().next() else { return };
        former.set_monitoring(plan);
        self.watcher = former.exchange_watcher(None);
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.watcher.as_deref().map(F::collected)
    }

    fn monitor_mut(&mut self) -> Option<&mut MonitorData> {
        self.watcher.as_deref_mut().map(F::collected_mut)
    }
}

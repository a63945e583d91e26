//! The clock line of one source: which hits are on time, which are late and when its clock has jumped.
//!
//! Rule `source_clocks`; the reference has nothing like it. The line knows the largest accepted time, its
//! front. A hit far from the front is not believed at once: it waits in quarantine until the first hit of the
//! source's next packet says where the source's time really is.

use super::counters::Counters;
use super::hit::Hit;
use super::settings::Ticks;

/// Where a time lies with respect to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Further ahead of the front than the forward jump.
    Ahead,
    /// At most the window behind and at most the forward jump ahead of the front; everything before the first hit.
    OnTheLine,
    /// Further behind than the window, but at most by the restart.
    Late,
    /// Further behind than the restart.
    Behind,
}

/// Hits that wait for the next packet of their source.
#[derive(Clone, Debug)]
struct Quarantine {
    /// The packet that opened it.
    packet: usize,
    /// The hits in their order in that packet.
    hits: Vec<Hit>,
}

/// The clock line of one source.
#[derive(Clone, Debug)]
pub(crate) struct ClockLine {
    /// How far a hit may be behind the front, in ticks.
    window: Ticks,
    /// How far a hit may be ahead of the front without a confirmation, in ticks.
    forward_jump: Ticks,
    /// How far behind the front a confirmed hit means that the clock has restarted, in ticks.
    restart: Ticks,
    /// Number of confirmed jumps backwards.
    epoch: u64,
    /// The largest accepted time of the current line in ticks; none before the first hit.
    front: Option<Ticks>,
    /// Hits that have jumped and are neither confirmed nor refuted; only with a front.
    quarantine: Option<Quarantine>,
    /// The accepted hits with their epochs, in order of acceptance.
    accepted: Vec<Hit>,
}

impl ClockLine {
    /// The line of a source that has not sent a hit yet; lengths in ticks.
    pub(crate) fn new(window: Ticks, forward_jump: Ticks, restart: Ticks) -> Self {
        Self { window, forward_jump, restart, epoch: 0, front: None, quarantine: None, accepted: Vec::new() }
    }

    /// Takes the next hit of the source, in the order of its packets and of the hits in them.
    pub(crate) fn judge(&mut self, hit: &Hit, counters: &mut Counters) {
        if self.quarantine.as_ref().is_some_and(|quarantine| quarantine.packet != hit.packet) {
            self.decide(hit.time(), counters);
        }
        match self.verdict(hit.time()) {
            Verdict::OnTheLine => self.accept(hit.clone()),
            Verdict::Late => counters.late += 1,
            Verdict::Ahead | Verdict::Behind => {
                let opened = || Quarantine { packet: hit.packet, hits: Vec::new() };
                self.quarantine.get_or_insert_with(opened).hits.push(hit.clone());
            }
        }
    }

    /// The accepted hits at the end of the input; an open quarantine is believed, in the direction of its first
    /// hit.
    pub(crate) fn finish(mut self, counters: &mut Counters) -> Vec<Hit> {
        let first = self.quarantine.as_ref().and_then(|quarantine| quarantine.hits.first());
        let restarted = first.is_some_and(|hit| self.verdict(hit.time()) == Verdict::Behind);
        self.release(restarted, None, counters);
        self.accepted
    }

    /// Decides on the quarantine with the first hit time (ticks) of the next packet.
    fn decide(&mut self, time: Ticks, counters: &mut Counters) {
        let restarted = self.verdict(time) == Verdict::Behind;
        self.release(restarted, Some(time + self.window), counters);
    }

    /// Sorts out the quarantine, the source's time having come to `latest` (none: believe any).
    ///
    /// If the clock has restarted, the first hit behind begins a new epoch, and what came before it in the
    /// quarantine belongs to the old one (without a hit behind, all of it was wrong); otherwise the hits behind
    /// were wrong. Hits of the line that goes on are wrong if later than `latest`.
    fn release(&mut self, restarted: bool, latest: Option<Ticks>, counters: &mut Counters) {
        let Some(quarantine) = self.quarantine.take() else {
            return;
        };
        let is_behind: Vec<bool> =
            quarantine.hits.iter().map(|hit| self.verdict(hit.time()) == Verdict::Behind).collect();
        let beginning = is_behind.iter().position(|&behind| behind).filter(|_| restarted);
        for (place, hit) in quarantine.hits.into_iter().enumerate() {
            let time = hit.time();
            if beginning == Some(place) {
                self.epoch += 1;
                self.front = Some(time);
            }
            let too_far = latest.is_some_and(|latest| time > latest);
            let wrong = match beginning {
                Some(beginning) => place >= beginning && too_far,
                None => restarted || is_behind[place] || too_far,
            };
            if wrong {
                counters.refuted += 1;
            } else if self.front.is_some_and(|front| time < front - self.window) {
                counters.late += 1;
            } else {
                self.accept(hit);
            }
        }
    }

    /// Accepts a hit and moves the front to it, if that is forward.
    fn accept(&mut self, mut hit: Hit) {
        let time = hit.time();
        self.front = Some(self.front.map_or(time, |front| front.max(time)));
        hit.epoch = self.epoch;
        self.accepted.push(hit);
    }

    /// Where a time (ticks) lies with respect to the front. The line is tested first, should the restart be
    /// shorter than the window.
    fn verdict(&self, time: Ticks) -> Verdict {
        let Some(front) = self.front else {
            return Verdict::OnTheLine;
        };
        if time > front + self.forward_jump {
            Verdict::Ahead
        } else if time >= front - self.window {
            Verdict::OnTheLine
        } else if time >= front - self.restart {
            Verdict::Late
        } else {
            Verdict::Behind
        }
    }
}

//! Hits that came together, judged at once.
//!
//! A source sends what it has seen within a short time in one packet. If even the earliest of its hits is on the line once the front
//! has come to the latest, each of them is when its turn comes, in whatever order they stand: then two comparisons do for
//! all. Everything else is judged hit by hit.

use super::{AcceptedHits, SourceClock};
use crate::dealt_hits::DealtHits;
use crate::hit::{TargetedHit, Timed};

impl<T: Timed> SourceClock<T> {
    /// Whether hits of which the first lies at `earliest` and the last at `latest` are all accepted, in whatever order
    /// they came: then the front has come to the last of them, and their epoch is [`SourceClock::epoch`]. If not, nothing
    /// has changed, and they have to be judged one by one ([`SourceClock::judge`]). False if hits could be discarded, or if
    /// the source is not on a plain line: has not begun, has a step to confirm, or something in quarantine.
    ///
    /// Where there are no hits, `earliest` is `u64::MAX` and `latest` is 0, which changes nothing.
    #[inline(always)]
    pub fn accepts_whole(&mut self, earliest: u64, latest: u64) -> bool {
        let front = self.front.max(latest);
        // One branch for all three, as for a single hit.
        let on_line = (earliest >= self.fast_from)
            & (earliest.saturating_add(self.window) >= front)
            & (latest <= self.front + self.window);
        if on_line {
            self.front = front;
        }
        on_line
    }

    /// As [`SourceClock::accepts_whole`], of this many `hits`, also where the source has gone on by a step: hits that lie within
    /// the window of each other confirm it, whichever came first. A single one leaves it to the next.
    #[inline(always)]
    pub fn accepts_all(&mut self, hits: usize, earliest: u64, latest: u64) -> bool {
        self.accepts_whole(earliest, latest) || self.accepts_after_a_step(hits, earliest, latest)
    }

    #[inline(never)]
    fn accepts_after_a_step(&mut self, hits: usize, earliest: u64, latest: u64) -> bool {
        let decides = !self.is_jump || self.step.is_none();
        if !self.has_front() || self.undecided || !decides || hits == 0 {
            return false;
        }
        let until = |time: u64, more: u64| time.saturating_add(more);
        // Whichever hit is the first, it confirms a step before it.
        let front = self.front.max(self.step.unwrap_or(0));
        let confirms = self.step.is_none_or(|step| latest <= until(step, self.forward_jump));
        let on_line = (earliest >= self.floor)
            & (until(earliest, self.window) >= front.max(latest))
            & (latest <= until(front, self.forward_jump));
        if !confirms | !on_line {
            return false;
        }
        let is_step = hits == 1 && latest > until(front, self.window);
        self.step = is_step.then_some(latest);
        self.is_jump = false;
        self.front = if is_step { front } else { front.max(latest) };
        self.choose_path();
        true
    }

    /// The epoch of what is accepted.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Judges hits that came together, one after the other.
    #[inline]
    pub fn judge_all(&mut self, plane: usize, hits: &[T], accepted: &mut impl AcceptedHits<T>) {
        let (earliest, latest) = hits
            .iter()
            .fold((u64::MAX, 0), |(first, last), hit| (hit.time().min(first), hit.time().max(last)));
        if self.accepts_all(hits.len(), earliest, latest) {
            accepted.accept_all(plane, self.epoch, hits);
        } else {
            hits.iter().for_each(|&hit| self.judge(plane, hit, accepted));
        }
    }

    /// Judges the hits of a packet for several planes, in the order in which they came. The times are those of the first and of
    /// the last of them; `dealt` goes with them ([`AcceptedHits::accept_decoded`]).
    #[inline]
    pub fn judge_packet(
        &mut self,
        hits: &[TargetedHit],
        (earliest, latest): (u64, u64),
        dealt: &mut DealtHits,
        accepted: &mut impl AcceptedHits<T>,
    ) {
        if self.accepts_all(hits.len(), earliest, latest) {
            accepted.accept_decoded(self.epoch, latest, hits, dealt);
        } else {
            self.judge_one_by_one(hits, accepted);
        }
    }

    #[cold]
    fn judge_one_by_one(&mut self, hits: &[TargetedHit], accepted: &mut impl AcceptedHits<T>) {
        for hit in hits {
            self.judge(hit.target as usize, T::of(hit.time, hit.payload), accepted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::{DataTime, Hit};
    use proptest::prelude::*;

    const WINDOW: u64 = 10;

    #[derive(Default)]
    struct Line(Vec<(u32, u64)>);

    impl AcceptedHits for Line {
        fn accept(&mut self, _plane: usize, epoch: u32, hit: Hit) {
            self.0.push((epoch, hit.time));
        }
    }

    /// A clock and what it has accepted.
    struct Judged {
        clock: SourceClock<Hit>,
        line: Line,
        /// Steps are taken at once, too.
        with_steps: bool,
    }

    impl Judged {
        fn new(with_steps: bool) -> Self {
            Self { with_steps, clock: SourceClock::new(WINDOW, 100, 1000, 8), line: Line::default() }
        }

        fn one_by_one(&mut self, times: &[u64]) {
            for &time in times {
                self.clock.judge(0, Hit { time, strip: 0, adc: 0 }, &mut self.line);
            }
        }

        /// True if the packet was accepted as a whole.
        fn at_once(&mut self, times: &[u64]) -> bool {
            let (earliest, latest) = (times.iter().min(), times.iter().max());
            let before = format!("{:?}", self.clock);
            let (earliest, latest) = (*earliest.unwrap_or(&u64::MAX), *latest.unwrap_or(&0));
            let whole = if self.with_steps {
                self.clock.accepts_all(times.len(), earliest, latest)
            } else {
                self.clock.accepts_whole(earliest, latest)
            };
            if whole {
                let epoch = self.clock.epoch();
                self.line.0.extend(times.iter().map(|&time| (epoch, time)));
            } else {
                assert_eq!(format!("{:?}", self.clock), before, "refused, and changed nevertheless");
                self.one_by_one(times);
            }
            whole
        }
    }

    #[test]
    fn a_packet_in_time_is_accepted_at_once_and_a_step_or_a_late_hit_is_not() {
        let mut judged = Judged::new(false);
        judged.clock.begin_packet((0, 0));
        assert!(!judged.at_once(&[100, 101]), "the first");
        judged.clock.begin_packet((0, 95));
        assert!(judged.at_once(&[]));
        assert!(judged.at_once(&[101, 95, 105, 100]));
        assert!(!judged.at_once(&[94, 106]), "closed");
        assert!(judged.at_once(&[116]) && !judged.at_once(&[105]), "late");
        assert!(!judged.at_once(&[127]) && !judged.at_once(&[127]), "a step, and what confirms it");
        assert!(judged.at_once(&[128]));
        assert_eq!(judged.clock.counts().late, 2);
    }

    #[test]
    fn hits_that_are_close_to_each_other_confirm_a_step_whichever_came_first() {
        let mut judged = Judged::new(true);
        judged.clock.begin_packet((0, 0));
        assert!(!judged.at_once(&[100]) && !judged.at_once(&[100]), "the first, and what confirms it");
        assert!(judged.at_once(&[155, 150]) && judged.clock.front() == Some((0, 155)));
        assert!(judged.at_once(&[200]) && judged.clock.front() == Some((0, 155)), "a step");
        assert!(judged.at_once(&[250]) && judged.clock.front() == Some((0, 200)), "confirmed by another");
        assert!(!judged.at_once(&[201]), "late if it was wild");
        assert!(!judged.at_once(&[215, 226]), "too far from each other");
        assert!(!judged.at_once(&[900, 901]), "a jump");
        judged.clock.begin_packet((0, 0));
        assert!(!judged.at_once(&[902]), "decides on it");
    }

    proptest! {
        #[test]
        fn whole_packets_as_hit_by_hit_in_all_states(
            steps in prop::collection::vec(
                (
                    // How far the source goes on, by each kind of step and back.
                    prop_oneof![4 => 0..12_u64, 1 => 0..60_u64, 1 => 90..130_u64, 1 => 500..3000_u64],
                    prop_oneof![20 => Just(false), 1 => Just(true)],
                    prop::collection::vec(prop_oneof![15 => 0..12_u64, 1 => 0..40_u64, 1 => 80..3000_u64], 0..8),
                    // What is closed, and what time has come to.
                    prop_oneof![6 => Just(None), 1 => (0..2_u32, 0..40_u64).prop_map(Some)],
                    prop_oneof![6 => Just(None), 1 => (0..2_u32, 0..300_u64).prop_map(Some)],
                ),
                1..60,
            ),
            with_steps: bool,
        ) {
            let (mut at_once, mut one_by_one) = (Judged::new(with_steps), Judged::new(false));
            let (mut time, mut closed): (u64, DataTime) = (5000, (0, 0));
            for (forth, restarts, offsets, closes, passes) in steps {
                time = if restarts { 10 } else { time + forth };
                let packet: Vec<u64> = offsets.iter().map(|offset| time + offset).collect();
                if let Some((epoch, back)) = closes {
                    closed = closed.max((epoch.min(at_once.clock.epoch()), time.saturating_sub(back)));
                }
                at_once.clock.begin_packet(closed);
                one_by_one.clock.begin_packet(closed);
                at_once.at_once(&packet);
                one_by_one.one_by_one(&packet);
                if let Some((epoch, ahead)) = passes {
                    let passed = (at_once.clock.epoch() + epoch, time + ahead);
                    for Judged { clock, line, .. } in [&mut at_once, &mut one_by_one] {
                        clock.release_passed(closed, passed, closed, line);
                    }
                }
                prop_assert_eq!(&at_once.line.0, &one_by_one.line.0);
                for Judged { clock, .. } in [&mut at_once, &mut one_by_one] {
                    // Says nothing without a step.
                    clock.is_jump &= clock.step.is_some();
                }
                prop_assert_eq!(format!("{:?}", at_once.clock), format!("{:?}", one_by_one.clock));
            }
        }
    }
}

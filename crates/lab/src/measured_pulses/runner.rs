//! Running a plan.

use super::receiver::{BATCH, check_buffer, method, served, truesize};
use super::{FoundPeak, PulsePlan, PulsePoint, PulseReceiver, PulseRelation, highest_whole_peak};
use crate::measured_link::{LinkPoint, LossFreeSearch, MeasureError, MeasuredPoint, PointRunner};
use std::time::Duration;

/// A sender that cannot make the peaks may take this much longer for its pulses.
const LONGER: u32 = 2;

/// Runs pulses.
pub struct PulseRunner<'a> {
    /// Runs what is sent and received.
    pub points: PointRunner<'a>,
    /// How to search a peak.
    pub search: LossFreeSearch,
}

/// A point with what was found, a round each.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedPulses {
    /// What was asked for.
    pub point: PulsePoint,
    /// What its receiver serves, and what a packet takes of the buffer.
    pub receiver: PulseReceiver,
    /// What was found; nothing if it is not the buffer that limits, or if it is not known what the receiver serves.
    pub rounds: Vec<FoundPeak>,
}

impl SearchedPulses {
    /// What the peak should be; none if it is not known what the receiver serves.
    pub fn relation(&self) -> Option<PulseRelation> {
        PulseRelation::of(&self.point, &self.receiver)
    }

    /// The highest peaks at which all pulses came whole, in packets per second, of the rounds that found one.
    pub fn peaks(&self) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round.found.rate).collect()
    }

    /// Everything that was sent and received in the search.
    pub fn measured(&self) -> impl Iterator<Item = &MeasuredPoint> {
        self.rounds
            .iter()
            .flat_map(|round| round.found.tried.iter().map(|(_, point)| point).chain(round.below.as_ref()))
    }
}

impl PulseRunner<'_> {
    /// Looks at all buffers and receivers, then searches the peaks of all points that the buffer limits, round by round. `told` hears of each: its
    /// number, how many there are, and what was found last.
    ///
    /// # Errors
    /// If something cannot be measured, or the end is asked for.
    pub fn run(
        &self,
        plan: &PulsePlan,
        mut told: impl FnMut(usize, usize, &SearchedPulses),
    ) -> Result<Vec<SearchedPulses>, MeasureError> {
        for &buffer in &plan.buffers {
            check_buffer(&self.points, buffer)?;
        }
        let mut receivers = Vec::new();
        for &size in &plan.sizes {
            let truesize = truesize(&self.points, size)?;
            for &work in &plan.works {
                receivers.push((
                    (size, work),
                    PulseReceiver { served: served(&self.points, size, work)?, truesize },
                ));
            }
        }
        let searched = |point: PulsePoint| {
            let of = receivers.iter().find(|(of, _)| *of == (point.size, point.work));
            of.map(|(_, receiver)| SearchedPulses { point, receiver: *receiver, rounds: Vec::new() })
        };
        let mut all: Vec<SearchedPulses> = plan.points().into_iter().filter_map(searched).collect();
        let is_searched = |one: &SearchedPulses| one.relation().filter(|relation| relation.is_of_buffer);
        let most = plan.rounds * all.iter().filter(|one| is_searched(one).is_some()).count();
        let mut done = 0;
        for _ in 0..plan.rounds {
            for one in &mut all {
                let Some(relation) = is_searched(one) else { continue };
                let point = one.point;
                one.rounds.push(highest_whole_peak(&self.search, relation.at_most, |peak| {
                    self.send(&point, plan.pulses, peak)
                })?);
                done += 1;
                told(done, most, one);
            }
        }
        Ok(all)
    }

    /// Sends pulses with this peak, in packets per second, to a receiver.
    ///
    /// # Errors
    /// As [`PointRunner::run`].
    pub fn send(&self, point: &PulsePoint, pulses: u64, peak: f64) -> Result<MeasuredPoint, MeasureError> {
        let rate = point.mean_rate(peak);
        let period = point.pulses.period();
        let packets = rate as f64 * period.as_secs_f64() * pulses as f64;
        let time = period.saturating_mul(u32::try_from(pulses).unwrap_or(u32::MAX));
        self.points.run(&LinkPoint {
            buffer: point.buffer,
            rate: Some(rate),
            pulses: Some(point.pulses),
            packets: Some((packets.round() as u64).max(1)),
            time: time.saturating_mul(LONGER).max(Duration::from_millis(1)),
            work: point.work,
            batch: Some(BATCH),
            ..LinkPoint::new(method(point.size), point.size)
        })
    }
}

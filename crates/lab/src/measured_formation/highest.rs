//! The highest rate without loss of a load.

use super::{FormationLoad, FormationPoint};
use crate::measured_link::{LossFree, LossFreeCriterion, LossFreeSearch, MeasureError, highest_loss_free};
use std::time::Duration;

/// Packets of the first measurement, which only tells how fast the sender is.
const FIRST_PACKETS: u32 = 200_000;
/// Rates are found to 5 %, in at most this many measurements.
const SEARCH: LossFreeSearch =
    LossFreeSearch { criterion: LossFreeCriterion::Sustained, tolerance: 0.05, confirmations: 1, most: 14 };

/// The highest rate without loss, and what was formed at it.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestRate {
    /// What was found.
    pub found: LossFree,
    /// The loss-free point nearest to the rate that was found; none if there was none.
    pub point: Option<FormationPoint>,
}

/// Searches the highest rate that is sustained for about `time`, a measurement each with `run`: of a load that is over in a moment, queues
/// hold what a run cannot keep up with.
///
/// # Errors
/// Those of `run`.
pub fn highest_rate(
    load: &FormationLoad,
    time: Duration,
    mut run: impl FnMut(&FormationLoad, Option<u64>) -> Result<FormationPoint, MeasureError>,
) -> Result<HighestRate, MeasureError> {
    // How long a load of so many passes takes follows from the rate, and how fast the sender can be is not known before the first time.
    let first = run(&load.lasting(Duration::from_secs(1), f64::from(FIRST_PACKETS)), None)?;
    let fastest = first.packets.sent_per_second;
    let mut sustained: Vec<FormationPoint> = Vec::new();
    let found = highest_loss_free(&SEARCH, |rate| {
        let expected = rate.map_or(fastest, |rate| rate as f64);
        let point = run(&load.lasting(time, expected), rate)?;
        let packets = point.packets.clone();
        if packets.is_sustained() {
            sustained.push(point);
        }
        Ok(packets)
    })?;
    let point = found.rate.and_then(|rate| {
        let distance = |point: &FormationPoint| (point.packets.sent_per_second - rate).abs();
        sustained.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))
    });
    Ok(HighestRate { found, point })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_formation::LoadSource;
    use crate::measured_link::MeasuredPoint;

    /// Packets that wait without being lost.
    const QUEUE: f64 = 50_000.0;

    /// A run that takes 100 000 packets per second, and holds a queue of others; a sender that is four times as fast.
    fn run(load: &FormationLoad, rate: Option<u64>) -> FormationPoint {
        let LoadSource::Repeated { times, .. } = load.source else { unreachable!("a load that is repeated") };
        let sent = (times * load.pass_packets.unwrap_or(1)) as f64;
        let rate = rate.map_or(400_000.0, |rate| (rate as f64).min(400_000.0));
        let seconds = sent / rate;
        let behind = (sent - 100_000.0 * seconds).max(0.0);
        let lost = (behind - QUEUE).max(0.0);
        let packets = MeasuredPoint {
            sent: sent as u64,
            received: (sent - lost) as u64,
            lost: lost as u64,
            sent_per_second: rate,
            // As with a real run: for the end of it, some time is allowed.
            received_per_second: if behind > 20_000.0 { 100_000.0 } else { rate },
            ..MeasuredPoint::default()
        };
        FormationPoint { packets, seconds, ..FormationPoint::default() }
    }

    #[test]
    fn a_rate_lasts_as_long_as_asked_for_and_is_none_that_a_queue_holds() {
        let source = LoadSource::Repeated { pulses: 1, times: 1, neutrons: 1000 };
        let capture = FormationLoad::capture("a.toml".as_ref(), "a.pcapng".as_ref(), Duration::ZERO);
        let load = FormationLoad { source, natural_rate: Some(1000.0), pass_packets: Some(1000), ..capture };
        let mut seconds = Vec::new();
        let highest = highest_rate(&load, Duration::from_secs(2), |load, rate| {
            let point = run(load, rate);
            seconds.push(point.seconds);
            Ok(point)
        });
        let highest = highest.unwrap();
        let rate = highest.found.rate.unwrap();
        assert!((95_000.0..=110_000.0).contains(&rate), "{rate}");
        assert_eq!(highest.point.map(|point| point.packets.sent_per_second), Some(rate));
        assert!(seconds[1..].iter().all(|seconds| (1.99..2.2).contains(seconds)), "{seconds:?}");
    }
}

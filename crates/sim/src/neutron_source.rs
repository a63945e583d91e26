//! When neutrons arrive: pulses of a source, and times of flight within a pulse.

use evforge_core::pulse::PulseTrain;
use rand::{Rng, RngExt};

/// Shape of the time-of-flight spectrum: a thermal hump with a colder one behind it, both beginning after
/// the fastest neutrons' flight. Times are fractions of the pulse period.
const FASTEST: f64 = 0.08;
const THERMAL: f64 = 0.045;
const COLD: f64 = 0.11;
const SHARE_COLD: f64 = 0.35;

/// Draws arrival times of neutrons.
#[derive(Clone, Debug)]
pub struct NeutronSource {
    pulses: PulseTrain,
    neutrons_per_pulse: f64,
}

impl NeutronSource {
    /// A source with `neutrons_per_pulse` neutrons on average.
    pub fn new(pulses: PulseTrain, neutrons_per_pulse: f64) -> Self {
        Self { pulses, neutrons_per_pulse: neutrons_per_pulse.max(0.0) }
    }

    /// Times of flight of the neutrons of a pulse as shares of the period, in order.
    pub fn times_of_flight(mean: f64, random: &mut impl Rng) -> Vec<f64> {
        let mut times: Vec<f64> = (0..poisson(mean, random)).map(|_| time_of_flight(random)).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    }

    /// Arrival times of the neutrons of a pulse in nanoseconds, in order. Empty past the end of time.
    pub fn arrivals(&self, pulse: u64, random: &mut impl Rng) -> Vec<u64> {
        let (Some(start), Some(end)) = (self.pulses.start_ns(pulse), self.pulses.start_ns(pulse + 1)) else {
            return Vec::new();
        };
        let period = (end - start) as f64;
        let flights = Self::times_of_flight(self.neutrons_per_pulse, random);
        flights.into_iter().map(|flight| start + (flight * period) as u64).collect()
    }
}

fn time_of_flight(random: &mut impl Rng) -> f64 {
    loop {
        let scale = if random.random_bool(SHARE_COLD) { COLD } else { THERMAL };
        // The sum of three exponentials rises and falls as a moderator's pulse does.
        let flight: f64 = FASTEST + (0..3).map(|_| scale * exponential(random)).sum::<f64>();
        if flight < 1.0 {
            return flight;
        }
    }
}

/// A value with an exponential distribution of mean 1.
pub(crate) fn exponential(random: &mut impl Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// A count with a Poisson distribution: how many exponential waits fit into `mean`.
pub(crate) fn poisson(mean: f64, random: &mut impl Rng) -> u64 {
    let mut count = 0;
    let mut waited = exponential(random);
    while waited < mean {
        count += 1;
        waited += exponential(random);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::SmallRng};

    #[test]
    fn arrivals_lie_in_their_pulse_and_follow_the_rate() {
        let mut random = SmallRng::seed_from_u64(1);
        let source = NeutronSource::new(PulseTrain::ess(), 500.0);
        let mut all = 0;
        for pulse in 0..50 {
            let arrivals = source.arrivals(pulse, &mut random);
            assert!(arrivals.is_sorted());
            for &time in &arrivals {
                assert_eq!(PulseTrain::ess().locate(time).unwrap().pulse, pulse);
            }
            all += arrivals.len();
        }
        assert!((24_000..26_000).contains(&all), "{all} arrivals, 25 000 expected");
    }
}

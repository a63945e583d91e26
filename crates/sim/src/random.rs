//! Random numbers: a stream of its own for everything that is simulated by itself, so that threads change nothing.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The channels of the electronics: gains, dead channels.
    Channels,
    /// What happens in the pulse of this number.
    Pulse(u64),
    /// Faults.
    Faults,
    /// Where the copy of this number of a recording goes.
    Copy(u64),
    /// The vetoes of the frame of this number.
    Frame(u64),
}

/// The stream of random numbers of a simulation with this seed, for one purpose.
pub fn stream(seed: u64, stream: Stream) -> SmallRng {
    let (kind, number) = match stream {
        Stream::Channels => (1_u64, 0),
        Stream::Pulse(number) => (2, number),
        Stream::Faults => (3, 0),
        Stream::Copy(number) => (4, number),
        Stream::Frame(number) => (5, number),
    };
    // Each of the three goes through a mixing of its own: neighbouring seeds and pulses have nothing in common.
    SmallRng::seed_from_u64(mix(mix(seed).wrapping_add(mix(number ^ kind << 60))))
}

/// Spreads every bit of a number over all bits.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// A value with an exponential distribution of mean 1.
#[inline]
pub fn exponential(random: &mut SmallRng) -> f64 {
    Exp1.sample(random)
}

/// A value with a normal distribution of mean 0 and standard deviation 1.
#[inline]
pub fn normal(random: &mut SmallRng) -> f64 {
    StandardNormal.sample(random)
}

/// A count with a Poisson distribution; 0 for a mean that is not above 0.
pub fn poisson(mean: f64, random: &mut SmallRng) -> u64 {
    Poisson::new(mean).map_or(0, |distribution: Poisson<f64>| distribution.sample(random) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use std::collections::BTreeSet;

    #[test]
    fn streams_are_the_same_again_and_have_nothing_in_common() {
        let first = |seed, which| stream(seed, which).random::<u64>();
        assert_eq!(first(1, Stream::Pulse(7)), first(1, Stream::Pulse(7)));
        let mut seen = BTreeSet::new();
        for seed in 0..100 {
            seen.extend((0..100).map(|pulse| first(seed, Stream::Pulse(pulse))));
            seen.extend([Stream::Channels, Stream::Faults].map(|which| first(seed, which)));
        }
        assert_eq!(seen.len(), 100 * 102);
    }

    #[test]
    fn counts_follow_their_mean() {
        let mut random = stream(1, Stream::Channels);
        let sum: u64 = (0..10_000).map(|_| poisson(2.5, &mut random)).sum();
        assert!((24_500..25_500).contains(&sum), "{sum}");
        assert_eq!(poisson(0.0, &mut random), 0);
        assert_eq!(poisson(f64::NAN, &mut random), 0);
    }
}

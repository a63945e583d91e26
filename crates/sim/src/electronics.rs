//! Charge on channels to hits, as front-end electronics digitise it.
//!
//! ```text
//! charges + noise ─ dead channels ─ gain ─ threshold ─ dead time ─ jitter ─ saturation ─► hits ─ latency ─► in order of sending
//! ```

use crate::random::{exponential, normal, poisson};
use evforge_core::quantity::{Frequency, TimeSpan};
use rand::RngExt;
use rand::rngs::SmallRng;
use schemars::JsonSchema;
use serde::Deserialize;

/// What electronics do to charges. All channels are alike, but for their gains and whether they are dead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Electronics {
    /// Standard deviation of the channels' gains, as a share of the nominal gain.
    pub gain_spread: f64,
    /// Share of the channels that are dead.
    pub dead_channels: f64,
    /// Least amplitude that is digitised.
    pub threshold: u16,
    /// Largest amplitude; what is above saturates.
    pub largest_amplitude: u16,
    /// How long after a hit a channel digitises no other.
    pub dead_time_ps: u64,
    /// Standard deviation of the time stamp.
    pub jitter_ps: u64,
    /// Hits are sent up to so much later than they happened, each by another time: they come out of order by this.
    pub latency_ps: u64,
    /// Noise hits per second, over all channels.
    pub noise_per_second: f64,
}

impl Electronics {
    /// Channels that are alike, all alive, without jitter, delay and noise: a detector says what it has of these.
    pub fn ideal(threshold: u16, largest_amplitude: u16, dead_time_ps: u64) -> Self {
        Self {
            gain_spread: 0.0,
            dead_channels: 0.0,
            threshold,
            largest_amplitude,
            dead_time_ps,
            jitter_ps: 0,
            latency_ps: 0,
            noise_per_second: 0.0,
        }
    }
}

/// Changes to the electronics that a detector has of itself: `[simulation.electronics]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ElectronicsSettings {
    /// Standard deviation of the channels' gains, as a share of the nominal gain.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "that of the detector"))]
    pub gain_spread: Option<f64>,
    /// Share of the channels that are dead.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "that of the detector"))]
    pub dead_channels: Option<f64>,
    /// Least amplitude that is digitised.
    #[schemars(extend("x-default" = "that of the detector"))]
    pub threshold: Option<u16>,
    /// How long after a hit a channel digitises no other.
    #[schemars(extend("x-default" = "that of the detector"))]
    pub dead_time: Option<TimeSpan>,
    /// Standard deviation of the time stamp.
    #[schemars(extend("x-default" = "that of the detector"))]
    pub jitter: Option<TimeSpan>,
    /// Hits are sent up to so much later than they happened.
    #[schemars(extend("x-default" = "that of the detector"))]
    pub latency: Option<TimeSpan>,
    /// Noise hits, over all channels.
    #[schemars(extend("x-default" = "that of the detector"))]
    pub noise: Option<Frequency>,
}

impl ElectronicsSettings {
    /// The electronics of a detector with these changes.
    pub fn apply(&self, base: Electronics) -> Electronics {
        let picoseconds = |time: Option<TimeSpan>, base| time.map_or(base, |time| time.picoseconds);
        Electronics {
            gain_spread: self.gain_spread.unwrap_or(base.gain_spread).clamp(0.0, 1.0),
            dead_channels: self.dead_channels.unwrap_or(base.dead_channels).clamp(0.0, 1.0),
            threshold: self.threshold.unwrap_or(base.threshold),
            largest_amplitude: base.largest_amplitude,
            dead_time_ps: picoseconds(self.dead_time, base.dead_time_ps),
            jitter_ps: picoseconds(self.jitter, base.jitter_ps),
            latency_ps: picoseconds(self.latency, base.latency_ps),
            noise_per_second: self
                .noise
                .map_or(base.noise_per_second, |frequency| frequency.millihertz as f64 / 1000.0),
        }
    }
}

/// A hit as the electronics have digitised it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The channel.
    pub channel: u32,
    /// When, in picoseconds since the start of the pulse.
    pub time_ps: u64,
    /// When it is sent.
    pub sent_ps: u64,
    /// Amplitude in steps of the converter.
    pub amplitude: u16,
}

/// Electronics with their channels.
#[derive(Clone, Debug)]
pub struct Channels {
    electronics: Electronics,
    /// Gain of each channel; 0 for a dead one.
    gains: Vec<f32>,
    noise_amplitude: f64,
}

impl Channels {
    /// This many channels; gains and dead ones are drawn. `noise_amplitude` is the mean amplitude of noise above
    /// threshold.
    pub fn new(electronics: Electronics, count: usize, noise_amplitude: f64, random: &mut SmallRng) -> Self {
        let gain = |_| {
            let gain = (1.0 + electronics.gain_spread * normal(random)).max(0.1) as f32;
            if random.random_bool(electronics.dead_channels) { 0.0 } else { gain }
        };
        Self { electronics, gains: (0..count).map(gain).collect(), noise_amplitude }
    }

    /// The electronics.
    pub fn electronics(&self) -> &Electronics {
        &self.electronics
    }

    /// True for a dead channel.
    pub fn is_dead(&self, channel: u32) -> bool {
        self.gains.get(channel as usize).is_none_or(|gain| *gain == 0.0)
    }

    /// True if a charge is above threshold at nominal gain.
    pub fn is_above_threshold(&self, charge: &Charge) -> bool {
        charge.amplitude >= f32::from(self.electronics.threshold)
    }

    /// True if a charge can make a hit, or could at nominal gain.
    #[inline]
    pub fn can_be_seen(&self, charge: &Charge) -> bool {
        let gain = self.gains.get(charge.channel as usize).map_or(1.0, |gain| gain.max(1.0));
        charge.amplitude * gain >= f32::from(self.electronics.threshold)
    }

    /// Adds the noise of a pulse of this length.
    pub fn add_noise(&self, length_ps: u64, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        if self.gains.is_empty() || length_ps == 0 {
            return;
        }
        let mean = self.electronics.noise_per_second * length_ps as f64 / 1e12;
        for _ in 0..poisson(mean, random) {
            let excess = exponential(random) * self.noise_amplitude;
            charges.push(Charge {
                channel: random.random_range(0..self.gains.len() as u32),
                time_ps: random.random_range(0..length_ps),
                amplitude: f32::from(self.electronics.threshold) + excess as f32,
            });
        }
    }

    /// Digitises charges, which are put into the order of time. Hits come in the order in which they are sent.
    pub fn digitise(&self, charges: &mut [Charge], random: &mut SmallRng) -> Vec<Hit> {
        // By a single number: charges of the same picosecond stay in an order that follows from theirs before.
        charges.sort_unstable_by_key(|charge| charge.time_ps);
        let electronics = &self.electronics;
        let threshold = f32::from(electronics.threshold);
        let largest = f32::from(electronics.largest_amplitude);
        let mut ready = vec![0_u64; self.gains.len()];
        let mut hits = Vec::with_capacity(charges.len());
        for charge in charges.iter() {
            let channel = charge.channel as usize;
            let Some((gain, ready)) = self.gains.get(channel).zip(ready.get_mut(channel)) else { continue };
            let amplitude = charge.amplitude * gain;
            if *gain == 0.0 || amplitude < threshold || charge.time_ps < *ready {
                continue;
            }
            *ready = charge.time_ps + electronics.dead_time_ps;
            let time_ps = match electronics.jitter_ps {
                0 => charge.time_ps,
                jitter => charge.time_ps.saturating_add_signed((normal(random) * jitter as f64) as i64),
            };
            let late = match electronics.latency_ps {
                0 => 0,
                latency => random.random_range(0..=latency),
            };
            let amplitude = amplitude.min(largest) as u16;
            hits.push(Hit { channel: charge.channel, time_ps, sent_ps: time_ps + late, amplitude });
        }
        hits.sort_unstable_by_key(|hit| hit.sent_ps);
        hits
    }
}

/// Charge that a channel collects from one neutron, before the electronics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// The channel.
    pub channel: u32,
    /// Picoseconds since the start of the pulse.
    pub time_ps: u64,
    /// Amplitude in steps of the analogue-to-digital converter, at nominal gain and without an upper limit.
    pub amplitude: f32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    const PLAIN: Electronics = Electronics {
        gain_spread: 0.0,
        dead_channels: 0.0,
        threshold: 10,
        largest_amplitude: 1023,
        dead_time_ps: 1000,
        jitter_ps: 0,
        latency_ps: 0,
        noise_per_second: 0.0,
    };

    fn charge(channel: u32, time_ps: u64, amplitude: f32) -> Charge {
        Charge { channel, time_ps, amplitude }
    }

    #[test]
    fn thresholds_dead_time_and_saturation() {
        let mut random = stream(1, Stream::Channels);
        let channels = Channels::new(PLAIN, 2, 5.0, &mut random);
        let mut charges = [
            charge(1, 4000, 50.0),
            charge(0, 5000, 9.9),
            charge(1, 4999, 70.0),
            charge(1, 5000, 5000.0),
            charge(2, 0, 50.0),
        ];
        let hits = channels.digitise(&mut charges, &mut random);
        let found: Vec<_> = hits.iter().map(|hit| (hit.channel, hit.time_ps, hit.amplitude)).collect();
        assert_eq!(found, [(1, 4000, 50), (1, 5000, 1023)]);
    }

    #[test]
    fn latency_puts_hits_out_of_order_by_at_most_itself() {
        let mut random = stream(1, Stream::Channels);
        let electronics = Electronics { latency_ps: 5000, dead_time_ps: 0, ..PLAIN };
        let channels = Channels::new(electronics, 1, 5.0, &mut random);
        let mut charges: Vec<_> = (0..1000).map(|time| charge(0, time * 100, 20.0)).collect();
        let hits = channels.digitise(&mut charges, &mut random);
        assert_eq!(hits.len(), 1000);
        assert!(!hits.is_sorted_by_key(|hit| hit.time_ps));
        let mut newest = 0;
        for hit in hits {
            assert!(hit.time_ps + 5000 >= newest);
            newest = newest.max(hit.time_ps);
        }
    }

    #[test]
    fn noise_dead_channels_and_gains_follow_their_shares() {
        let mut random = stream(1, Stream::Channels);
        let electronics =
            Electronics { dead_channels: 0.1, gain_spread: 0.05, noise_per_second: 1e6, ..PLAIN };
        let channels = Channels::new(electronics, 10_000, 5.0, &mut random);
        let dead = (0..10_000).filter(|channel| channels.is_dead(*channel)).count();
        assert!((900..1100).contains(&dead), "{dead}");
        let mut charges = Vec::new();
        channels.add_noise(10_000_000_000, &mut random, &mut charges);
        assert!((9_500..10_500).contains(&charges.len()), "{}", charges.len());
        let hits = channels.digitise(&mut charges, &mut random);
        assert!(hits.iter().all(|hit| !channels.is_dead(hit.channel) && hit.amplitude >= 10));
    }
}

//! When the packets of a train are due.

use super::timing::begin_ns;
use evforge_core::quantity::{Frequency, Rate};
use thiserror::Error;

/// Pause after each train in the load test of the European XFEL's 10GE slides, in nanoseconds.
pub const SLIDES_PAUSE_NS: u64 = 700_000_000;

/// When trains begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainBegin {
    /// With the timing system, so many in a second.
    Timing(Frequency),
    /// So many nanoseconds behind the end of the train before: one whole train, then a pause.
    PauseNs(u64),
}

/// When the packets of a train are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendProfile {
    begin: TrainBegin,
    rate: Option<Rate>,
    /// Packets of a train.
    packets: u64,
    /// UDP payload bytes of a packet: the largest, which all but the last of a train have.
    packet_bytes: u64,
}

/// A profile is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A rate of 0.
    #[error("a rate of 0 sends nothing: it must be above 0")]
    NoRate,
    /// A frequency of 0.
    #[error("trains of 0 Hz never come: the frequency must be above 0, as in 10Hz")]
    NoFrequency,
    /// A train followed by a pause, and no time for the train.
    #[error(
        "a pause after each train needs the rate of its packets, as in 9.9Gbit/s: without one the end of a train is not known"
    )]
    PauseWithoutRate,
}

impl SendProfile {
    /// For trains of so many packets of at most so many bytes of UDP payload. Without a rate all packets of a train are due when it
    /// begins.
    ///
    /// # Errors
    /// If rate or frequency are 0, or a pause comes without a rate.
    pub fn new(
        begin: TrainBegin,
        rate: Option<Rate>,
        packets: u32,
        packet_bytes: usize,
    ) -> Result<Self, ProfileError> {
        if matches!(rate, Some(Rate::Packets(0) | Rate::Bits(0))) {
            return Err(ProfileError::NoRate);
        }
        match begin {
            TrainBegin::Timing(Frequency { millihertz: 0 }) => Err(ProfileError::NoFrequency),
            TrainBegin::PauseNs(_) if rate.is_none() => Err(ProfileError::PauseWithoutRate),
            _ => Ok(Self { begin, rate, packets: packets.into(), packet_bytes: packet_bytes as u64 }),
        }
    }

    /// When a train begins, in nanoseconds after the first one. With the timing system a train may begin before the packets of the one
    /// before are all due, if the rate is too low for it.
    pub fn begin_ns(&self, train: u64) -> u64 {
        match self.begin {
            TrainBegin::Timing(frequency) => begin_ns(frequency, train),
            TrainBegin::PauseNs(pause) => {
                let trains = u128::from(train);
                let sending = self.after(trains * u128::from(self.packets));
                to_ns(sending.saturating_add(trains * u128::from(pause)))
            }
        }
    }

    /// When a packet of a train, counted from 0, is due, in nanoseconds after the first train.
    pub fn due_ns(&self, train: u64, packet: u64) -> u64 {
        match self.begin {
            TrainBegin::Timing(_) => self.begin_ns(train).saturating_add(to_ns(self.after(packet.into()))),
            TrainBegin::PauseNs(pause) => {
                let trains = u128::from(train);
                let before = trains * u128::from(self.packets) + u128::from(packet);
                to_ns(self.after(before).saturating_add(trains * u128::from(pause)))
            }
        }
    }

    /// True if the packets of a train take longer than there is until the next one.
    pub fn is_too_slow(&self) -> bool {
        match self.begin {
            TrainBegin::Timing(frequency) => to_ns(self.after(self.packets.into())) > begin_ns(frequency, 1),
            TrainBegin::PauseNs(_) => false,
        }
    }

    /// Time that so many packets take, in nanoseconds.
    fn after(&self, packets: u128) -> u128 {
        match self.rate {
            None => 0,
            Some(Rate::Packets(rate)) => packets.saturating_mul(1_000_000_000).div_ceil(rate.into()),
            Some(Rate::Bits(rate)) => {
                let bits = packets.saturating_mul(8 * u128::from(self.packet_bytes));
                bits.saturating_mul(1_000_000_000).div_ceil(rate.into())
            }
        }
    }
}

fn to_ns(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::timing::TRAIN_FREQUENCY;
    use super::*;

    #[test]
    fn a_million_packets_of_the_slides_take_12_2_seconds() {
        // 9.93 Gbit/s: 8192 bytes of payload at 10 Gbit/s, less headers and gaps of Ethernet.
        let rate = Rate::Bits(9_930_000_000);
        let profile =
            SendProfile::new(TrainBegin::PauseNs(SLIDES_PAUSE_NS), Some(rate), 131_030, 8192).unwrap();
        // Seven whole trains with their pauses, and 82 790 packets of the eighth.
        let seconds = profile.due_ns(7, 82_789) as f64 / 1e9;
        assert!((seconds - 11.5).abs() < 0.01, "{seconds}");
        // The paper counts the pause of the eighth train, too: 12.2 s.
        assert!((seconds + 0.7 - 12.2).abs() < 0.01, "{seconds}");
        // A train each 1.565 s: 16 nodes share the trains of 10 Hz.
        let period = profile.begin_ns(1) as f64 / 1e9;
        assert!((period - 1.565).abs() < 0.001, "{period}");
        assert_eq!(profile.begin_ns(5), profile.due_ns(5, 0));
        assert_eq!(profile.begin_ns(1) - profile.due_ns(0, 131_030), SLIDES_PAUSE_NS);
    }

    #[test]
    fn trains_of_the_timing_system_begin_on_their_times_whatever_the_rate() {
        let timing = TrainBegin::Timing(TRAIN_FREQUENCY);
        let at_once = SendProfile::new(timing, None, 8202, 8192).unwrap();
        assert_eq!((at_once.due_ns(3, 0), at_once.due_ns(3, 8201)), (300_000_000, 300_000_000));
        let evenly = SendProfile::new(timing, Some(Rate::Packets(100_000)), 8202, 8192).unwrap();
        assert_eq!((evenly.due_ns(3, 0), evenly.due_ns(3, 8201)), (300_000_000, 382_010_000));
        assert!(!evenly.is_too_slow() && !at_once.is_too_slow());
        let slow = SendProfile::new(timing, Some(Rate::Packets(82_000)), 8202, 8192).unwrap();
        assert!(slow.is_too_slow());
    }

    #[test]
    fn times_never_go_back_and_never_wrap() {
        let profile =
            SendProfile::new(TrainBegin::PauseNs(3), Some(Rate::Bits(999_999_937)), 17, 776).unwrap();
        let mut last = 0;
        for train in 0..100 {
            for packet in 0..17 {
                let due = profile.due_ns(train, packet);
                assert!(due >= last);
                last = due;
            }
        }
        assert_eq!(profile.due_ns(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn what_is_impossible_is_refused_with_its_reason() {
        let new = |begin, rate| SendProfile::new(begin, rate, 1, 8);
        let pause = TrainBegin::PauseNs(1);
        assert_eq!(new(pause, None), Err(ProfileError::PauseWithoutRate));
        assert_eq!(new(pause, Some(Rate::Bits(0))), Err(ProfileError::NoRate));
        assert_eq!(new(pause, Some(Rate::Packets(0))), Err(ProfileError::NoRate));
        let never = TrainBegin::Timing(Frequency { millihertz: 0 });
        assert_eq!(new(never, None), Err(ProfileError::NoFrequency));
    }
}

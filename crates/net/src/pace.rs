//! How fast packets are sent: when each of them is due.
//!
//! Every packet's time is computed from the start, never from the packet before, so that a schedule does not
//! drift however long it runs and however late single packets are.

use std::time::{Duration, Instant};

use evforge_core::packet::{ArrivalClock, Packet};

/// How fast to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the system takes the packets.
    Unpaced,
    /// This many packets per second, evenly.
    PacketsPerSecond(f64),
    /// This many bits of UDP payload per second.
    BitsPerSecond(f64),
    /// With the distances that the packets' own arrival stamps have, divided by `speed`: 1 is the original
    /// timing, 2 is twice as fast.
    OwnTiming {
        /// How many times faster than recorded.
        speed: f64,
    },
}

/// A pace cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PaceError {
    /// A rate or speed is not a positive, finite number.
    #[error("a {} cannot be sent at: it must be a number above 0.", described(*.pace))]
    NotPositive {
        /// The pace asked for.
        pace: Pace,
    },
    /// Own timing was asked for, and a packet has no arrival stamp.
    #[error(
        "packet {packet} cannot be sent with its own timing: it has no time stamp (.pkts files have none). \
         Give a rate instead."
    )]
    Unstamped {
        /// The packet's number, from 0.
        packet: u64,
    },
}

/// What a pace would be, and how much of it.
fn described(pace: Pace) -> String {
    match pace {
        Pace::Unpaced => "pace of 0".into(),
        Pace::PacketsPerSecond(rate) => format!("rate in packets per second of {rate}"),
        Pace::BitsPerSecond(rate) => format!("rate in bits per second of {rate}"),
        Pace::OwnTiming { speed } => format!("speed of {speed}"),
    }
}

/// Further ahead than this, [`wait_until`] sleeps; closer, it spins: a sleeping thread may wake up some 50 us late.
const SPIN_BEFORE_DUE: Duration = Duration::from_micros(100);

/// Sleeps while the time is far away, then spins: returns within a microsecond of it unless the system holds the thread up.
pub fn wait_until(time: Instant) {
    loop {
        let ahead = time.saturating_duration_since(Instant::now());
        if ahead.is_zero() {
            return;
        }
        if ahead > SPIN_BEFORE_DUE {
            std::thread::sleep(ahead - SPIN_BEFORE_DUE);
        } else {
            std::hint::spin_loop();
        }
    }
}

/// When each packet of a sequence is due.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    packets: u64,
    bytes: u64,
    first_stamp: Option<u64>,
    /// Nothing is due before this: packets keep their order even if their stamps do not.
    latest: u64,
}

impl Schedule {
    /// A schedule from its start.
    ///
    /// # Errors
    /// If the rate or speed is not a positive, finite number.
    pub fn new(pace: Pace) -> Result<Self, PaceError> {
        let value = match pace {
            Pace::Unpaced => 1.0,
            Pace::PacketsPerSecond(value) | Pace::BitsPerSecond(value) | Pace::OwnTiming { speed: value } => {
                value
            }
        };
        if !(value.is_finite() && value > 0.0) {
            return Err(PaceError::NotPositive { pace });
        }
        Ok(Self { pace, packets: 0, bytes: 0, first_stamp: None, latest: 0 })
    }

    /// When `packet` is due if it is the next one, in nanoseconds after the start; none if at once.
    ///
    /// # Errors
    /// If own timing was asked for and the packet has no stamp.
    pub fn due(&self, packet: &Packet<'_>) -> Result<Option<u64>, PaceError> {
        // A rate is a f64 anyway, and 53 bits hold the nanoseconds of 104 days; the product is formed again
        // for each packet, so its rounding does not add up.
        let due = match self.pace {
            Pace::Unpaced => return Ok(None),
            Pace::PacketsPerSecond(rate) => self.packets as f64 * 1e9 / rate,
            Pace::BitsPerSecond(rate) => self.bytes as f64 * 8e9 / rate,
            Pace::OwnTiming { speed } => {
                if packet.origin.arrival_clock == ArrivalClock::None {
                    return Err(PaceError::Unstamped { packet: self.packets });
                }
                let stamp = packet.origin.arrival_ns;
                stamp.saturating_sub(self.first_stamp.unwrap_or(stamp)) as f64 / speed
            }
        };
        // Saturates: what is due after 584 years is due then.
        Ok(Some((due as u64).max(self.latest)))
    }

    /// Takes note that `packet` has had its turn.
    pub fn advance(&mut self, packet: &Packet<'_>) {
        if let Pace::OwnTiming { .. } = self.pace {
            self.first_stamp.get_or_insert(packet.origin.arrival_ns);
            if let Ok(Some(due)) = self.due(packet) {
                self.latest = due;
            }
        }
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use evforge_core::packet::PacketOrigin;

    use super::*;

    const KILOBYTE: [u8; 1000] = [0; 1000];

    fn packet(bytes: usize, arrival_ns: u64) -> Packet<'static> {
        let origin =
            PacketOrigin { arrival_ns, arrival_clock: ArrivalClock::Capture, ..PacketOrigin::default() };
        Packet { bytes: &KILOBYTE[..bytes], original_length: bytes as u32, origin }
    }

    /// The times at which packets are due, in order.
    fn times(pace: Pace, packets: impl IntoIterator<Item = Packet<'static>>) -> Vec<u64> {
        let mut schedule = Schedule::new(pace).unwrap();
        let mut due = Vec::new();
        for packet in packets {
            due.push(schedule.due(&packet).unwrap().unwrap());
            schedule.advance(&packet);
        }
        due
    }

    #[test]
    fn a_rate_does_not_drift() {
        // A third of a megahertz has no exact distance in nanoseconds.
        let due = times(Pace::PacketsPerSecond(1e6 / 3.0), std::iter::repeat_n(packet(1, 0), 1_000_001));
        assert_eq!((due[0], due[1], due[2]), (0, 3000, 6000));
        assert_eq!(due[1_000_000], 3_000_000_000);
        let due = times(Pace::PacketsPerSecond(7.0), std::iter::repeat_n(packet(1, 0), 70_001));
        assert_eq!((due[1], due[70_000]), (142_857_142, 10_000_000_000_000));
    }

    #[test]
    fn a_bit_rate_counts_the_payload_before_each_packet() {
        let due = times(Pace::BitsPerSecond(8e6), [packet(1000, 0), packet(500, 0), packet(1, 0)]);
        assert_eq!(due, [0, 1_000_000, 1_500_000]);
    }

    #[test]
    fn own_timing_keeps_distances_scaled_and_order() {
        let recorded = [700, 1700, 1200, 2700].map(|stamp| packet(1, 1_600_000_000_000_000_000 + stamp));
        assert_eq!(times(Pace::OwnTiming { speed: 1.0 }, recorded), [0, 1000, 1000, 2000]);
        assert_eq!(times(Pace::OwnTiming { speed: 0.5 }, recorded), [0, 2000, 2000, 4000]);
    }

    #[test]
    fn impossible_paces_are_refused() {
        for pace in
            [Pace::PacketsPerSecond(0.0), Pace::BitsPerSecond(f64::NAN), Pace::OwnTiming { speed: -1.0 }]
        {
            assert!(Schedule::new(pace).unwrap_err().to_string().contains("must be a number above 0"));
        }
        let unstamped = Packet { bytes: b"", original_length: 0, origin: PacketOrigin::default() };
        let schedule = Schedule::new(Pace::OwnTiming { speed: 1.0 }).unwrap();
        assert!(schedule.due(&unstamped).unwrap_err().to_string().contains("has no time stamp"));
    }
}

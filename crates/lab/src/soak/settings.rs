//! What a soak is to do.

use evforge_core::quantity::Rate;
use serde::{Deserialize, Serialize};

/// Bytes of a block of a data generator: eight turns of all words.
pub(super) const BLOCK: u64 = 1 << 20;
/// Most segments of all streams together.
pub(super) const MOST: u64 = 1 << 17;
/// Most streams.
const MOST_STREAMS: u16 = 64;
/// Longest burst, in seconds: what the kernel's buffers hold.
const LONGEST_BURST: f64 = 0.1;
/// A year.
const LONGEST: f64 = 366.0 * 86_400.0;

/// What a soak is to do. It is in the checkpoint, so that a run goes on as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoakSettings {
    /// Streams at successive ports.
    pub streams: u16,
    /// Rate of each stream: packets or bits of UDP payload.
    pub rate: String,
    /// Largest payload of a packet, in bytes.
    pub packet_bytes: u64,
    /// What falls due within so long leaves together, in seconds; 0 sends each packet when it is due.
    #[serde(default)]
    pub burst_seconds: f64,
    /// How long to send in all, in seconds.
    pub seconds: f64,
    /// How long a segment is, in seconds.
    pub segment_seconds: f64,
    /// Receive buffer of each stream, in bytes.
    pub buffer: u64,
    /// Faults on purpose, in each stream of the first segment.
    pub faults: Vec<String>,
    /// Over loopback instead of between network namespaces.
    pub is_loopback: bool,
    /// MTU of the link between the namespaces.
    pub mtu: u32,
}

impl SoakSettings {
    /// Makes sure that they are possible.
    ///
    /// # Errors
    /// What is not, and what would be.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MOST_STREAMS).contains(&self.streams) {
            return Err(format!("{} streams: expected 1 to {MOST_STREAMS}", self.streams));
        }
        self.rate()?;
        if !(2..=60_000).contains(&self.packet_bytes) || !self.packet_bytes.is_multiple_of(2) {
            return Err(format!(
                "packets of {} bytes: expected an even number, 2 to 60000",
                self.packet_bytes
            ));
        }
        for (name, seconds) in [("run", self.seconds), ("segment", self.segment_seconds)] {
            if !(0.1..=LONGEST).contains(&seconds) {
                return Err(format!("a {name} of {seconds} s: expected 0.1 s to a year"));
            }
        }
        if !(0.0..=LONGEST_BURST).contains(&self.burst_seconds) {
            return Err(format!("a burst of {} s: expected 0 to {LONGEST_BURST} s", self.burst_seconds));
        }
        if self.segments() * f64::from(self.streams) > MOST as f64 {
            return Err(format!("more than {MOST} segments of all streams together: make segments longer"));
        }
        if self.faults.len() > 100 || self.faults.iter().any(|fault| fault.len() > 200) {
            return Err("more than 100 faults, or one of more than 200 letters".to_owned());
        }
        Ok(())
    }

    /// The rate of each stream.
    ///
    /// # Errors
    /// If it is none.
    pub fn rate(&self) -> Result<Rate, String> {
        let rate: Rate = self.rate.parse().map_err(|error| format!("the rate of a stream: {error}"))?;
        match rate {
            Rate::Packets(0) | Rate::Bits(0) => Err("the rate of a stream: expected more than 0".to_owned()),
            rate => Ok(rate),
        }
    }

    /// How many segments there are, the last one shorter.
    fn segments(&self) -> f64 {
        (self.seconds / self.segment_seconds).ceil()
    }

    /// Blocks of a segment that is to take so long; at least one.
    pub(super) fn blocks(&self, seconds: f64) -> Result<u64, String> {
        let bytes_per_second = match self.rate()? {
            Rate::Packets(rate) => rate as f64 * self.packet_bytes as f64,
            Rate::Bits(rate) => rate as f64 / 8.0,
        };
        Ok(((bytes_per_second * seconds / BLOCK as f64).round() as u64).max(1))
    }
}

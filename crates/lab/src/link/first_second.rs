//! What came in the first second, apart from the rest: receivers lose more of their first packets than of later ones.

use serde_json::{Value, json};
use std::time::Duration;

/// How long the beginning is.
pub const FIRST_SECOND: Duration = Duration::from_secs(1);

/// What came in the first second after the first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstSecond {
    /// UDP datagrams, or reads of a connection.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Packets missing when it was over, as their numbers say; one that came later is in it.
    pub missing: u64,
}

impl FirstSecond {
    /// As JSON: bits per second only if what came, between its first packet and its last, lasted for so long.
    pub(super) fn json(&self, seconds: f64) -> Value {
        let bits = (seconds >= FIRST_SECOND.as_secs_f64())
            .then(|| 8.0 * self.bytes as f64 / FIRST_SECOND.as_secs_f64());
        json!({ "packets": self.packets, "bytes": self.bytes, "missing": self.missing, "bits_per_second": bits })
    }

    /// Adds what came elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.missing += other.missing;
    }
}

/// Keeps what had come when the first second was over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    ends_ns: Option<u64>,
    seen: Option<FirstSecond>,
}

impl Beginning {
    /// Looks at the time of the next packet, before it is counted.
    #[inline]
    pub(super) fn look(&mut self, arrival_ns: u64, so_far: impl FnOnce() -> FirstSecond) {
        match self.ends_ns {
            None => self.ends_ns = Some(arrival_ns.saturating_add(FIRST_SECOND.as_nanos() as u64)),
            Some(end) if self.seen.is_none() && arrival_ns >= end => self.seen = Some(so_far()),
            Some(_) => {}
        }
    }

    /// What had come when it was over; all of it if it never was.
    pub(super) fn seen(&self, so_far: FirstSecond) -> FirstSecond {
        self.seen.unwrap_or(so_far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_a_second_after_the_first_packet_is_not_in_the_first_second() {
        let mut beginning = Beginning::default();
        let mut so_far = FirstSecond::default();
        for arrival in [5, 6, 1_000_000_004, 1_000_000_005, 1_000_000_006] {
            beginning.look(arrival, || so_far);
            so_far.add(&FirstSecond { packets: 1, bytes: 10, missing: 0 });
        }
        assert_eq!(beginning.seen(so_far), FirstSecond { packets: 3, bytes: 30, missing: 0 });
        assert_eq!(Beginning::default().seen(so_far).packets, 5);
    }
}

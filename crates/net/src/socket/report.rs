//! What receivers and senders tell about themselves.

use evforge_core::counter::CounterSet;
use std::time::Duration;

evforge_core::counters! {
    /// What a receiver has handed over.
    pub struct ReceiverCounters: "receive" {
        packets: Information, Packets, "UDP datagrams handed over by the kernel.";
        bytes: Information, Bytes, "Their payload bytes, as far as they were kept.";
        cut: Information, Packets, "Datagrams larger than their place in memory, handed on without their end.";
        coalesced: Information, Packets, "Datagrams that came in one piece with others (UDP_GRO).";
        pieces: Information, Times, "Pieces of several datagrams each (UDP_GRO).";
        batches: Information, Times, "Calls of the kernel that brought datagrams.";
        waits: Information, Times, "Times the thread slept in the kernel for want of packets.";
    }
}

impl ReceiverCounters {
    /// Adds what another receiver has handed over.
    pub fn add(&mut self, other: &Self) {
        self.accumulate(other);
    }
}

/// The receive buffer of a socket, in bytes without the doubling that Linux adds for its bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// What was asked for.
    pub requested: usize,
    /// What the kernel gave, as read back from it.
    pub granted: usize,
}

impl ReceiveBuffer {
    /// True if the kernel gave less than was asked for.
    pub fn is_short(&self) -> bool {
        self.granted < self.requested
    }

    /// What to tell the user of the stream on `port` if the kernel gave less than was asked for: what that
    /// means and the command that fixes it.
    pub fn warning(&self, port: u16) -> Option<String> {
        self.is_short().then(|| {
            format!(
                "The kernel gave UDP port {port} a receive buffer of {:.1} MB, not the {:.1} MB asked for: packets \
                 are lost sooner when this program is held up. Allow more with: sudo sysctl -w \
                 net.core.rmem_max={} (for good: put net.core.rmem_max = {} into /etc/sysctl.d/90-evforge.conf), \
                 then start again.",
                self.granted as f64 / 1e6,
                self.requested as f64 / 1e6,
                self.requested,
                self.requested
            )
        })
    }
}

/// Datagrams that a socket received and dropped because nobody fetched them in time (or their checksum was
/// wrong), since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketDrops {
    /// The kernel's count.
    pub count: u64,
    /// True if one count can stand for several datagrams (UDP_GRO), so that `count` is a lower bound; else it
    /// is exact.
    pub is_lower_bound: bool,
}

impl SocketDrops {
    /// Adds what another socket has dropped.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.is_lower_bound |= other.is_lower_bound;
    }
}

/// How far packets were sent from their schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviation {
    /// The latest packet.
    pub largest: Duration,
    /// What 99 % of the packets did not exceed, to about 3 %.
    pub most: Duration,
    /// The mean over all packets.
    pub mean: Duration,
}

/// What a sender has sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SendReport {
    /// Packets given to the kernel.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// How often the other host said that nobody listens on the port; these packets count as sent.
    pub refused: u64,
    /// Packets that the network interface has taken from AF_XDP and dropped; they count as sent, and never arrive. A
    /// socket does not tell of such.
    pub dropped: u64,
    /// From the start of the schedule to the end of the last call of the kernel.
    pub elapsed: Duration,
    /// How late packets were; none if unpaced or before the first packet. (They are never early.)
    pub deviation: Option<Deviation>,
    /// When the last packet was due, after the start; none if unpaced or before the first packet.
    pub scheduled: Option<Duration>,
}

impl SendReport {
    /// Packets per second achieved; 0 before the first packet.
    pub fn packets_per_second(&self) -> f64 {
        self.per_second(self.packets)
    }

    /// Bits of payload per second achieved; 0 before the first packet.
    pub fn bits_per_second(&self) -> f64 {
        self.per_second(self.bytes) * 8.0
    }

    /// The rate achieved as a share of the rate asked for: the time that the packets were to take over the time that
    /// they took. None if unpaced, or if they were all due at once.
    pub fn share_achieved(&self) -> Option<f64> {
        let scheduled = self.scheduled.filter(|scheduled| !scheduled.is_zero())?;
        Some(scheduled.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9))
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_buffer_comes_with_the_command_that_lengthens_it() {
        let short = ReceiveBuffer { requested: 16_000_000, granted: 212_992 };
        let text = short.warning(9000).unwrap();
        assert!(text.contains("UDP port 9000 a receive buffer of 0.2 MB, not the 16.0 MB"), "{text}");
        assert!(text.contains("sudo sysctl -w net.core.rmem_max=16000000"), "{text}");
        assert_eq!(ReceiveBuffer { granted: 16_000_000, ..short }.warning(9000), None);
    }

    #[test]
    fn rates_follow_from_counts_and_time() {
        let report = SendReport {
            packets: 500,
            bytes: 1000,
            elapsed: Duration::from_millis(500),
            ..Default::default()
        };
        assert_eq!((report.packets_per_second(), report.bits_per_second()), (1000.0, 16_000.0));
        assert_eq!(SendReport::default().packets_per_second(), 0.0);
    }
}

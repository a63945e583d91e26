//! A point, and what it measured.

use super::{CoreShares, LinkMethod};
use crate::link::Pulses;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is sent and received at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPoint {
    /// How.
    pub method: LinkMethod,
    /// MTU that the link between namespaces is given first, in bytes; none leaves it as it is.
    pub mtu: Option<u32>,
    /// Bytes of UDP payload of each packet.
    pub size: usize,
    /// Receive buffer to ask the kernel for, in bytes, and of a connection the same to send from; 0 leaves it to the kernel, which makes
    /// that of a connection as large as it needs.
    pub buffer: u64,
    /// Packets per second, of pulses on average; none: as fast as the system takes them.
    pub rate: Option<u64>,
    /// The packets come in pulses, which needs a rate; none: evenly.
    pub pulses: Option<Pulses>,
    /// How long to send.
    pub time: Duration,
    /// Packets to send at most; none: no limit.
    pub packets: Option<u64>,
    /// UDP payload to send at most, in bytes; none: no limit.
    pub bytes: Option<u64>,
    /// Time that the receiver spends on each packet, as an application would.
    pub work: Duration,
    /// Packets that the receiver fetches at once at most; none: as many as its program thinks right.
    pub batch: Option<u32>,
    /// The same back at the same time.
    pub both_directions: bool,
}

impl LinkPoint {
    /// As fast as possible for a second, with 16 MB of buffer and no work; buffers of a connection grow.
    pub const fn new(method: LinkMethod, size: usize) -> Self {
        Self {
            method,
            mtu: None,
            size,
            buffer: if method.can_lose() { 16_000_000 } else { 0 },
            rate: None,
            pulses: None,
            time: Duration::from_secs(1),
            packets: None,
            bytes: None,
            work: Duration::ZERO,
            batch: None,
            both_directions: false,
        }
    }
}

/// What was measured at a point. Rates are of UDP payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredPoint {
    /// Packets given to the kernel of the sender.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets that never came, as their numbers and the sender's report say.
    pub lost: u64,
    /// Packets that came after a later one.
    pub reordered: u64,
    /// Packets that came again.
    pub duplicated: u64,
    /// Packets sent per second.
    pub sent_per_second: f64,
    /// Packets sent per second while a pulse lasted, on average of the pulses; none if there were no pulses.
    pub peak_per_second: Option<f64>,
    /// Packets received per second, between the first and the last.
    pub received_per_second: f64,
    /// Bits received per second, between the first and the last.
    pub bits_per_second: f64,
    /// What came in the first second; none if it all took no longer.
    pub first_second: Option<FirstSecondPoint>,
    /// The receive buffer that the kernel granted, in bytes as it counts it; none if there is none, or it does not tell.
    pub granted_buffer: Option<u64>,
    /// Lost over sent; none if nothing was sent.
    pub error_ratio: Option<f64>,
    /// With 95 % confidence, the error ratio is below this; none if nothing was sent.
    pub error_ratio_bound: Option<f64>,
    /// Processor time of the receiving thread for each packet, in nanoseconds, spinning included; none if nothing came.
    pub receiver_ns: Option<f64>,
    /// What the sender's core did while packets were sent; none if the kernel does not tell.
    pub sender_core: Option<CoreShares>,
    /// What the receiver's core did meanwhile.
    pub receiver_core: Option<CoreShares>,
    /// Interrupts per second of the host meanwhile.
    pub interrupts_per_second: Option<f64>,
    /// Segments of TCP that the sender's host sent again; none for packets of UDP, or if the kernel does not tell.
    pub retransmitted: Option<u64>,
    /// What was measured of the packets that went back at the same time; none if there were none to be sent.
    pub back: Option<Box<MeasuredPoint>>,
    /// Where packets were lost, as far as counters tell; what no counter explains is `unlocated`.
    pub locations: BTreeMap<String, u64>,
}

/// The first second of a point, and what came later.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstSecondPoint {
    /// Bits per second in it.
    pub bits_per_second: f64,
    /// Packets lost in it.
    pub lost: u64,
    /// Bits per second after it, up to the last packet.
    pub later_bits_per_second: f64,
    /// Packets lost after it.
    pub later_lost: u64,
}

/// A receiver that takes packets this much slower than they are sent does not keep up: the rest waits in its buffer.
const KEEPS_UP: f64 = 0.99;

impl MeasuredPoint {
    /// The same with the rates that packets had in pulses, of those that came as of those sent; none if there were no pulses.
    pub fn in_pulses(self) -> Option<Self> {
        let peak = self.peak_per_second?;
        let received_per_second = peak * self.received as f64 / self.sent.max(1) as f64;
        Some(Self { sent_per_second: peak, received_per_second, ..self })
    }

    /// True if every packet came, and they came as fast as they were sent. Without the second, what is found is how many packets
    /// fit into a buffer, and longer measurements find less.
    pub fn is_sustained(&self) -> bool {
        self.is_whole() && self.received_per_second >= KEEPS_UP * self.sent_per_second
    }

    /// True if there were packets, and every one came.
    pub const fn is_whole(&self) -> bool {
        self.sent > 0 && self.lost == 0 && self.received >= self.sent
    }
}

//! What packet numbers and the sender's report say together.

use evforge_core::ledger::PacketLedger;
use evforge_core::sequence::SequenceCounts;
use evforge_net::socket::SocketDrops;
use serde_json::{Value, json};

/// Packets sent and lost: as the sender's report says (`reported` packets), if there is one, else as the numbers do, which do
/// not know what was sent after the last packet.
pub fn with_report(sequence: SequenceCounts, reported: Option<u64>) -> PacketLedger {
    let (mut sent, mut lost) = (sequence.sent, sequence.lost);
    if let Some(reported) = reported {
        let different = sequence.received - sequence.duplicated;
        sent = sent.max(reported);
        lost = lost.max(reported.saturating_sub(different));
    }
    PacketLedger {
        sent: Some(sent),
        received: sequence.received,
        lost,
        reordered: sequence.reordered,
        duplicated: sequence.duplicated,
        unconfirmed: sequence.unconfirmed,
        restarts: sequence.restarts,
    }
}

/// The packets of a stream or flow as JSON.
pub fn packets_json(packets: &PacketLedger) -> Value {
    json!({
        "sent": packets.sent,
        "received": packets.received,
        "lost": packets.lost,
        "reordered": packets.reordered,
        "duplicated": packets.duplicated,
        "unconfirmed": packets.unconfirmed,
        "restarts": packets.restarts,
    })
}

/// What rarely happens to numbers, in words that go on after the other counts; empty if nothing did.
pub fn rare_counts(packets: &PacketLedger) -> String {
    let mut text = String::new();
    if packets.unconfirmed > 0 {
        text += &format!(", with an unconfirmed number {}", packets.unconfirmed);
    }
    if packets.restarts > 0 {
        text += &format!(", the numbering started over {} times", packets.restarts);
    }
    text
}

/// Packet error ratio, as in *Reliable UDP at 10 Gb/s*: the share of the packets sent that did not arrive. None before the
/// first packet and where the number sent is not known.
pub fn error_ratio(packets: &PacketLedger) -> Option<f64> {
    let sent = packets.sent.filter(|&sent| sent > 0)?;
    Some(packets.lost as f64 / sent as f64)
}

/// Upper bound of the share of packets lost, as the XDP paper (arXiv 2208.07118) states it: if the next packet got lost. With
/// `lost` packets out of N it is `(lost + 1) / N`; none before the first packet.
pub fn next_packet_bound(packets: &PacketLedger) -> Option<f64> {
    let sent = packets.sent.filter(|&sent| sent > 0)?;
    Some(((packets.lost + 1) as f64 / sent as f64).min(1.0))
}

/// Where the packets of a stream were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPlaces {
    /// In the receive buffer of its socket.
    pub socket: u64,
    /// True if the socket counts pieces of several packets (UDP_GRO): it has lost as many packets at least.
    pub socket_is_inferred: bool,
    /// In the rings and the memory of AF_XDP and by the checks of its frames, inferred: they count for all streams together.
    pub rings: u64,
    /// By the sender's host.
    pub sender: u64,
    /// Missing, and no counter moved.
    pub unlocated: u64,
}

impl StreamPlaces {
    /// Places `lost` packets: what the socket counted (with UDP_GRO that is pieces: never more is placed there, and what else
    /// they held is unlocated), then what AF_XDP (`rings`) and the sender's host say they lost of all
    /// packets, but no more than is missing.
    pub fn new(lost: u64, socket: SocketDrops, rings: u64, sender: u64) -> Self {
        let missing = lost.saturating_sub(socket.count);
        let rings = rings.min(missing);
        let missing = missing - rings;
        let sender = sender.min(missing);
        Self {
            socket: socket.count,
            socket_is_inferred: socket.is_lower_bound && socket.count > 0,
            rings,
            sender,
            unlocated: missing - sender,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_placed_once() {
        let place = |lost, count, is_lower_bound, sender| {
            StreamPlaces::new(lost, SocketDrops { count, is_lower_bound }, 0, sender)
        };
        let exact = place(10, 4, false, 3);
        assert_eq!((exact.socket, exact.sender, exact.unlocated, exact.socket_is_inferred), (4, 3, 3, false));
        let pieces = place(10, 1, true, 3);
        assert_eq!(
            (pieces.socket, pieces.sender, pieces.unlocated, pieces.socket_is_inferred),
            (1, 3, 6, true)
        );
        assert_eq!(place(10, 0, true, 30), StreamPlaces { sender: 10, ..StreamPlaces::default() });
        let by_xdp = StreamPlaces::new(10, SocketDrops::default(), 7, 30);
        assert_eq!((by_xdp.socket, by_xdp.rings, by_xdp.sender, by_xdp.unlocated), (0, 7, 3, 0));
        // Without the sender's report, the socket alone knows of losses after the last packet.
        assert_eq!(place(0, 5, false, 0).socket, 5);
    }

    #[test]
    fn a_report_knows_of_losses_after_the_last_packet() {
        let sequence = SequenceCounts { sent: 9, received: 9, lost: 1, duplicated: 1, ..Default::default() };
        let alone = with_report(sequence, None);
        assert_eq!((alone.sent, alone.lost, alone.imbalance()), (Some(9), 1, 0));
        let reported = with_report(sequence, Some(12));
        assert_eq!((reported.sent, reported.lost, reported.imbalance()), (Some(12), 4, 0));
        assert_eq!(error_ratio(&reported), Some(4.0 / 12.0));
        assert_eq!(next_packet_bound(&reported), Some(5.0 / 12.0));
        assert_eq!(
            (error_ratio(&PacketLedger::default()), next_packet_bound(&PacketLedger::default())),
            (None, None)
        );
    }
}

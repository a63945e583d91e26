//! What packet numbers and the sender's report say together.

use evforge_core::ledger::PacketLedger;
use evforge_core::sequence::SequenceCounts;

/// Packets sent and lost: as the sender's report says (`reported` packets), if there is one, else as the numbers do, which do
/// not know what was sent after the last packet. Nor do they know a late packet from a sender that starts over: a report of fewer
/// packets than they say refutes it.
pub fn with_report(sequence: SequenceCounts, reported: Option<u64>) -> PacketLedger {
    let SequenceCounts { mut sent, mut lost, mut restarts, .. } = sequence;
    if let Some(reported) = reported {
        let different = sequence.received - sequence.duplicated;
        if restarts > 0 && (different..sent).contains(&reported) {
            (sent, lost, restarts) = (reported, reported - different, 0);
        }
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
        restarts,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::sequence::SequenceTracker;

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

    /// The first packets come behind later ones: 128 to 191, 0 to 63, then 192 to 255. 64 to 127 are lost.
    #[test]
    fn a_report_refutes_a_restart_that_was_a_late_beginning() {
        let mut tracker = SequenceTracker::new(32);
        for number in (128..192).chain(0..64).chain(192..256) {
            tracker.observe(number);
        }
        let sequence = tracker.counts();
        assert!(sequence.restarts > 0 && sequence.sent > 256, "{sequence:?}");
        let packets = with_report(sequence, Some(256));
        assert_eq!((packets.sent, packets.received, packets.lost), (Some(256), 192, 64));
        assert_eq!((packets.restarts, packets.imbalance()), (0, 0));
        // A sender that does start over reports all that it has sent.
        let restarted = with_report(sequence, Some(sequence.sent));
        assert_eq!((restarted.sent, restarted.restarts), (Some(sequence.sent), sequence.restarts));
    }
}

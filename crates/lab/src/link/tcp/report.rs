//! What came, joined with what was sent: in the form of the reports of UDP packets, as far as it means the same.

use super::{TcpReceived, TcpSent};
use evforge_core::run_state::REPORT_SCHEMA;
use serde_json::{Value, json};

/// What came, and what was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReport {
    /// What came.
    pub received: TcpReceived,
    /// The sender's report; none without.
    pub sent: Option<TcpSent>,
    /// What is wrong with the sender's report, in sentences.
    pub mismatches: Vec<String>,
}

impl TcpReport {
    /// Joins both.
    pub fn new(received: TcpReceived, sent: Option<TcpSent>) -> Self {
        let mut mismatches = Vec::new();
        if let (Some(sent), Some(source)) = (&sent, received.source) {
            if sent.source.port() != source.port() {
                mismatches.push(format!(
                    "the sender's report is of {}, and the connection came from {source}",
                    sent.source
                ));
            } else if received.bytes > sent.bytes {
                mismatches.push(format!(
                    "{} bytes came, and the sender's report has {}: is it of this connection?",
                    received.bytes, sent.bytes
                ));
            }
        }
        Self { received, sent, mismatches }
    }

    /// Bytes that were sent and did not come; none without the sender's report.
    pub fn lost_bytes(&self) -> Option<u64> {
        self.sent.as_ref().map(|sent| sent.bytes.saturating_sub(self.received.bytes))
    }

    /// Bits per second between the first byte and the last; 0 before.
    pub fn bits_per_second(&self) -> f64 {
        let TcpReceived { bytes, seconds, .. } = self.received;
        if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
    }

    /// Processor time of the receiving thread for each kilobyte, in nanoseconds; none before the first.
    pub fn processor_ns_per_kilobyte(&self) -> Option<f64> {
        let kilobytes = self.received.bytes as f64 / 1e3;
        (kilobytes > 0.0).then(|| self.received.processor.used.as_nanos() as f64 / kilobytes)
    }

    /// As JSON. Pieces are called packets, as in the reports of UDP; of a piece that came in part nothing came.
    pub fn json(&self) -> Value {
        let received = &self.received;
        let piece = self.sent.as_ref().map_or(1, |sent| sent.piece_bytes.max(1));
        let pieces = received.bytes / piece;
        let (sent, lost) = match &self.sent {
            Some(sent) => (Some(sent.packets), sent.packets.saturating_sub(pieces)),
            None => (None, 0),
        };
        let bits = self.bits_per_second();
        let of_pieces = |figure: f64| self.sent.is_some().then_some(figure);
        json!({
            "evforge": env!("CARGO_PKG_VERSION"),
            "schema": REPORT_SCHEMA,
            "protocol": "tcp",
            "address": received.address.to_string(),
            "source": received.source.map(|source| source.to_string()),
            "buffer_bytes": received.buffer_bytes,
            "bytes": received.bytes,
            "first_second": received.first_second.json(received.seconds),
            "reads": received.reads,
            "seconds": received.seconds,
            "is_closed": received.is_closed,
            "packets_per_second": of_pieces(bits / 8.0 / piece as f64),
            "bits_per_second": bits,
            "packets": {
                "sent": sent,
                "received": self.sent.is_some().then_some(pieces),
                "lost": lost,
                "reordered": 0,
                "duplicated": 0,
                "unlocated": lost,
            },
            "packet_error_ratio": sent.filter(|sent| *sent > 0).map(|sent| lost as f64 / sent as f64),
            "processor": {
                "ns_per_packet": self.processor_ns_per_kilobyte().and_then(|time| of_pieces(time * piece as f64 / 1e3)),
                "ns_per_kilobyte": self.processor_ns_per_kilobyte(),
                "seconds": received.processor.used.as_secs_f64(),
                "of_seconds": received.processor.of.as_secs_f64(),
            },
            "mismatches": self.mismatches,
            "sent": self.sent.iter().collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TcpReceiver, TcpReceiving, TcpSending, send};
    use super::*;
    use evforge_net::session::SessionLimits;
    use std::net::SocketAddr;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn ends_after(time: Duration) -> SessionLimits {
        SessionLimits { ends_after: Some(time), ..SessionLimits::default() }
    }

    fn sent_and_received() -> (TcpSent, TcpReceived) {
        sent_and_received_after(|_| {})
    }

    /// What is sent after something else has happened at the receiver's address.
    fn sent_and_received_after(before: impl FnOnce(SocketAddr) + Send) -> (TcpSent, TcpReceived) {
        let stop = AtomicBool::new(false);
        let receiver = TcpReceiver::listen(([127, 0, 0, 1], 0).into(), None).unwrap();
        let address = receiver.address();
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                before(address);
                send(&sending(address), &stop).unwrap()
            });
            let settings = TcpReceiving {
                limits: ends_after(evforge_testkit::patience::patience()),
                ..TcpReceiving::default()
            };
            let received = receiver.receive(&settings, &stop, &mut |_| {}).unwrap();
            (sender.join().unwrap(), received)
        })
    }

    fn sending(to: SocketAddr) -> TcpSending {
        TcpSending { to, piece: 1472, buffer: None, core: None, duration: None, bytes: Some(3_000_000) }
    }

    #[test]
    fn every_byte_comes_and_pieces_are_whole() {
        let (sent, received) = sent_and_received();
        assert_eq!(sent.packets, 3_000_000_u64.div_ceil(1472));
        assert_eq!((received.bytes, received.is_closed), (sent.bytes, true));
        let report = TcpReport::new(received, Some(sent.clone()));
        let json = report.json();
        assert_eq!(report.mismatches, Vec::<String>::new());
        assert_eq!(json["packets"]["received"], sent.packets);
        assert_eq!((&json["packets"]["lost"], report.lost_bytes()), (&0.into(), Some(0)));
        assert!(report.bits_per_second() > 0.0);
    }

    #[test]
    fn connections_that_say_nothing_keep_no_sender_out() {
        let mut idle = Vec::new();
        let (sent, received) = sent_and_received_after(|to| {
            idle.extend((0..12).map(|_| std::net::TcpStream::connect(to).unwrap()));
        });
        assert_eq!((received.source, received.bytes), (Some(sent.source), sent.bytes));
    }

    #[test]
    fn pieces_that_never_came_are_lost_and_another_senders_report_is_a_mismatch() {
        let (sent, received) = sent_and_received();
        let longer = TcpSent { packets: sent.packets + 7, bytes: sent.bytes + 7 * 1472, ..sent.clone() };
        let report = TcpReport::new(received.clone(), Some(longer));
        assert_eq!(
            (report.json()["packets"]["lost"].as_u64(), report.lost_bytes()),
            (Some(7), Some(7 * 1472))
        );
        let other = TcpSent { source: ([127, 0, 0, 1], sent.source.port() ^ 1).into(), ..sent.clone() };
        assert!(TcpReport::new(received.clone(), Some(other)).mismatches[0].contains("came from"));
        let shorter = TcpSent { bytes: sent.bytes - 1, ..sent };
        assert!(TcpReport::new(received, Some(shorter)).mismatches[0].contains("is it of this connection"));
    }

    #[test]
    fn who_does_not_listen_and_a_port_that_is_taken_are_said() {
        let receiver = TcpReceiver::listen(([127, 0, 0, 1], 0).into(), None).unwrap();
        let address = receiver.address();
        let taken = TcpReceiver::listen(address, None).unwrap_err().to_string();
        assert!(taken.contains("ss -ltnp"), "{taken}");
        drop(receiver);
        let alone = send(&sending(address), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(alone.contains("evforge receive --tcp"), "{alone}");
    }

    #[test]
    fn a_receiver_ends_when_nobody_comes_and_a_sender_when_nobody_reads() {
        let stop = AtomicBool::new(false);
        let settings =
            TcpReceiving { limits: ends_after(Duration::from_millis(50)), ..TcpReceiving::default() };
        let receiver = TcpReceiver::listen(([127, 0, 0, 1], 0).into(), None).unwrap();
        let received = receiver.receive(&settings, &stop, &mut |_| {}).unwrap();
        assert_eq!((received.source, received.bytes), (None, 0));
        // The kernel takes the connection and fills its buffers; nobody reads.
        let receiver = TcpReceiver::listen(([127, 0, 0, 1], 0).into(), Some(10_000)).unwrap();
        let duration = Some(Duration::from_millis(200));
        let sent = send(&TcpSending { duration, bytes: None, ..sending(receiver.address()) }, &stop).unwrap();
        assert!(sent.bytes > 0);
    }
}

//! Packets of a run as ar51 messages.

use super::headers::HeaderWriter;
use crate::client::Header;
use evforge_messages::{Ar51, Encoder};
use evforge_outputs::packet_tap::{PacketSamples, SampledPackets};

/// A raw packet as it goes into a topic.
#[derive(Clone, Copy, Debug)]
pub struct PacketMessage<'a> {
    /// The ar51 message.
    pub payload: &'a [u8],
    /// The key: the name of the source, so that all of its packets come into one partition, in their order.
    pub key: &'a str,
    /// The number of the message, which counts the packets of the source.
    pub message_id: i64,
    /// Where the packet came from, went to, and when.
    pub headers: &'a [Header],
}

/// Makes messages of the packets that an output has asked for. Nothing is allocated per packet.
pub struct PacketMessages {
    samples: PacketSamples,
    source_name: String,
    next_id: i64,
    encoder: Encoder,
    headers: HeaderWriter,
    /// Packets at hand, and the first one of them that has not been handed on.
    at_hand: Option<(SampledPackets, usize)>,
}

impl PacketMessages {
    /// Messages with this name of their source, numbered from `first_id` on.
    pub fn new(samples: PacketSamples, source_name: impl Into<String>, first_id: i64) -> Self {
        Self {
            samples,
            source_name: source_name.into(),
            next_id: first_id,
            encoder: Encoder::new(),
            headers: HeaderWriter::default(),
            at_hand: None,
        }
    }

    /// Hands on up to `limit` packets, those that have waited longest first. It ends when `offer` says that it has no room; that
    /// packet comes again with the next call. Returns how many were taken. Never waits.
    pub fn hand_on(&mut self, limit: usize, mut offer: impl FnMut(&PacketMessage<'_>) -> bool) -> usize {
        let mut taken = 0;
        while taken < limit {
            let (packets, next) = match self.at_hand.take().or_else(|| Some((self.samples.take()?, 0))) {
                Some(at_hand) => at_hand,
                None => break,
            };
            let Some(packet) = packets.batch().get(next) else { continue };
            let raw =
                Ar51 { source_name: &self.source_name, message_id: self.next_id, raw_data: packet.bytes };
            let message = PacketMessage {
                payload: raw.encode(&mut self.encoder),
                key: &self.source_name,
                message_id: self.next_id,
                headers: self.headers.write(&packet),
            };
            let is_taken = offer(&message);
            self.at_hand = Some((packets, next + usize::from(is_taken)));
            if !is_taken {
                break;
            }
            self.next_id = self.next_id.wrapping_add(1);
            taken += 1;
        }
        taken
    }

    /// The number of the next message.
    pub fn next_id(&self) -> i64 {
        self.next_id
    }

    /// Packets that have been taken from the run and not been handed on.
    pub fn at_hand(&self) -> usize {
        self.at_hand.as_ref().map_or(0, |(packets, next)| packets.batch().len() - next)
    }

    /// True if the input has ended and everything has been handed on.
    pub fn has_ended(&self) -> bool {
        self.at_hand() == 0 && self.samples.has_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
    use evforge_outputs::packet_tap::{PacketTap, SampleRule};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn packets_become_numbered_messages_and_one_that_finds_no_room_comes_again() {
        let tap = PacketTap::default();
        let samples = tap.subscribe(SampleRule::ALL, 1 << 20).unwrap();
        let mut inlets = tap.begin(false).unwrap();
        let mut slab = PacketSlab::new(100, 100_000);
        for number in 0..100_u8 {
            let origin = PacketOrigin {
                source: ([10, 0, 0, number], 9000).into(),
                destination_port: 9001,
                arrival_ns: 1_787_229_296_000_000_000 + u64::from(number),
                arrival_clock: ArrivalClock::Kernel,
            };
            assert!(slab.push(&vec![number; usize::from(number)], usize::from(number), origin));
        }
        inlets.take(&slab.batch(), &AtomicBool::new(false));
        inlets.close();
        let mut messages = PacketMessages::new(samples, "freia", 41);
        assert_eq!(messages.hand_on(10, |_| false), 0);
        assert_eq!((messages.next_id(), messages.at_hand(), messages.has_ended()), (41, 100, false));
        let mut number = 0;
        let mut refusals = 0;
        while !messages.has_ended() {
            let taken = messages.hand_on(7, |message| {
                if number % 5 == 4 && refusals == number / 5 {
                    refusals += 1;
                    return false;
                }
                let raw = Ar51::decode(message.payload).unwrap();
                assert_eq!((raw.source_name, raw.message_id), ("freia", 41 + i64::from(number)));
                assert_eq!((message.key, message.message_id), ("freia", raw.message_id));
                assert_eq!(raw.raw_data, vec![number; usize::from(number)]);
                let text = |place: usize| {
                    String::from_utf8_lossy(message.headers[place].1.as_deref().unwrap()).into_owned()
                };
                assert_eq!((text(0), text(1)), (format!("10.0.0.{number}:9000"), "9001".to_owned()));
                assert_eq!(text(2), format!("{}", 1_787_229_296_000_000_000 + u64::from(number)));
                assert_eq!(message.headers.len(), 3);
                number += 1;
                true
            });
            assert!(taken <= 7);
        }
        assert_eq!((number, refusals, messages.next_id()), (100, 20, 141));
    }
}

//! The messages of topics, as inputs have them.

use crate::packet_stream::pieces;
use evforge_kafka::topic::Record;

/// Headers that a message may have: what others than evforge write, and what says how a frame is.
const HEADERS: [(&str, Option<&[u8]>); 4] = [
    ("frame-state", Some(b"incomplete")),
    ("frame-state", Some(b"\xFF")),
    ("trace", None),
    ("evforge-time", Some(b"1787229296123456789")),
];

/// A message of an input.
#[derive(Clone, Debug)]
pub(crate) struct TopicMessage {
    /// Milliseconds after the message before.
    pub(crate) wait_ms: u8,
    /// Something to be done besides: the two highest bits of the first byte.
    pub(crate) also: u8,
    pub(crate) record: Record,
}

/// The messages in `bytes`, each behind its length (u16, little-endian): a byte with the partition (bits 0 and 1), a header (bits 2 to 4)
/// and what else is done (bits 6 and 7), the milliseconds that it comes later than the one before, and its payload. Bit 5 has the
/// offset go back by as many messages, as after a restart.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = TopicMessage> {
    let mut offsets = [0_i64; 4];
    let mut time_ms = 1_700_000_000_000_i64;
    pieces(bytes).map(move |piece| {
        let (head, payload) = piece.split_at(piece.len().min(2));
        let (kind, wait_ms) = (head.first().copied().unwrap_or(0), head.get(1).copied().unwrap_or(0));
        let offset = &mut offsets[usize::from(kind & 3)];
        if kind & 0x20 != 0 {
            *offset = (*offset - i64::from(wait_ms)).max(0);
        }
        let here = *offset;
        *offset += 1;
        time_ms += i64::from(wait_ms);
        let header = HEADERS.get(usize::from(kind >> 2 & 7));
        let headers = header.map(|(name, value)| ((*name).into(), value.map(<[u8]>::to_vec)));
        let record = Record {
            partition: i32::from(kind & 3),
            offset: here,
            time_ms: (kind & 0x1C != 0x1C).then_some(time_ms),
            key: None,
            headers: headers.into_iter().collect(),
            payload: payload.to_vec(),
        };
        TopicMessage { wait_ms, also: kind >> 6, record }
    })
}

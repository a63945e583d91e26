//! The headers of a message with a raw packet: what ar51 itself has no place for.
//!
//! | header | value | absent |
//! |---|---|---|
//! | `evforge-source` | address and port of the sender: `10.0.0.2:9000`, `[fe80::1]:9000` | the message is not of evforge |
//! | `evforge-port` | the UDP port that it was sent to: `9000` | with `evforge-source` never |
//! | `evforge-time` | arrival in nanoseconds since 1970: `1787229296123456789` | the packet had no stamp |
//! | `evforge-length` | bytes of the payload on the wire: `9000` | the packet is whole |
//!
//! A message with none of them is of another program: its packet has no known sender, and the time of the message.

use crate::client::Header;
use evforge_core::packet::{ArrivalClock, LARGEST_PAYLOAD, Packet, PacketOrigin};
use std::borrow::Cow;
use std::io::Write as _;

/// The names of all of them.
pub const HEADERS: [&str; 4] = [SOURCE, PORT, TIME, LENGTH];

const SOURCE: &str = "evforge-source";
const PORT: &str = "evforge-port";
const TIME: &str = "evforge-time";
const LENGTH: &str = "evforge-length";

/// Writes the headers of one packet after the other into the same memory.
#[derive(Debug, Default)]
pub(super) struct HeaderWriter {
    headers: [Header; HEADERS.len()],
}

impl HeaderWriter {
    /// The headers of a packet.
    pub(super) fn write(&mut self, packet: &Packet<'_>) -> &[Header] {
        let origin = &packet.origin;
        let time = (origin.arrival_clock != ArrivalClock::None).then_some(origin.arrival_ns);
        let length = packet.is_cut().then_some(packet.original_length);
        self.set(0, SOURCE, origin.source);
        self.set(1, PORT, origin.destination_port);
        let mut count = 2;
        if let Some(time) = time {
            self.set(count, TIME, time);
            count += 1;
        }
        if let Some(length) = length {
            self.set(count, LENGTH, length);
            count += 1;
        }
        &self.headers[..count]
    }

    fn set(&mut self, place: usize, name: &'static str, value: impl std::fmt::Display) {
        let (of, text) = &mut self.headers[place];
        *of = Cow::Borrowed(name);
        let text = text.get_or_insert_default();
        text.clear();
        // Writing into memory cannot fail.
        let _ = write!(text, "{value}");
    }
}

/// Where a packet of a message came from, and how long it was on the wire if it is not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) origin: PacketOrigin,
    pub(super) original_length: Option<u32>,
}

/// A header of evforge whose value is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadHeader;

/// Reads the headers of a message, which has the time `message_ms` (milliseconds since 1970) if it has one.
pub(super) fn read<'a>(
    headers: impl Iterator<Item = (&'a str, Option<&'a [u8]>)>,
    message_ms: Option<i64>,
) -> Result<Origin, BadHeader> {
    let (mut source, mut port, mut time, mut length) = (None, None, None, None);
    for (name, value) in headers {
        match name {
            SOURCE => source = Some(parse(value)?),
            PORT => port = Some(parse(value)?),
            TIME => time = Some(parse(value)?),
            LENGTH => length = Some(parse::<u32>(value)?),
            _ => {}
        }
    }
    if length.is_some_and(|length| length as usize > LARGEST_PAYLOAD) {
        return Err(BadHeader);
    }
    let is_ours = source.is_some() || port.is_some() || time.is_some();
    let of_message = message_ms.and_then(|ms| u64::try_from(ms).ok()?.checked_mul(1_000_000));
    let stamp = if is_ours { time } else { of_message };
    let mut origin = PacketOrigin::default();
    if let Some(stamp) = stamp {
        (origin.arrival_ns, origin.arrival_clock) = (stamp, ArrivalClock::Capture);
    }
    origin.source = source.unwrap_or(origin.source);
    origin.destination_port = port.unwrap_or(origin.destination_port);
    Ok(Origin { origin, original_length: length })
}

fn parse<T: std::str::FromStr>(value: Option<&[u8]>) -> Result<T, BadHeader> {
    let text = std::str::from_utf8(value.unwrap_or_default()).map_err(|_| BadHeader)?;
    text.parse().map_err(|_| BadHeader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, SocketAddr};

    fn back(written: &[Header], message_ms: Option<i64>) -> Result<Origin, BadHeader> {
        read(written.iter().map(|(name, value)| (name.as_ref(), value.as_deref())), message_ms)
    }

    proptest! {
        #[test]
        fn every_origin_comes_back(
            address: IpAddr, port: u16, to: u16, stamp in proptest::option::of(any::<u64>()), cut in 0..3_u32,
        ) {
            let mut origin = PacketOrigin {
                source: SocketAddr::new(address, port), destination_port: to, ..PacketOrigin::default()
            };
            if let Some(stamp) = stamp {
                (origin.arrival_ns, origin.arrival_clock) = (stamp, ArrivalClock::Capture);
            }
            let packet = Packet { bytes: b"12", original_length: 2 + cut, origin };
            let mut writer = HeaderWriter::default();
            // The memory of a longer one before does not show.
            let longest = Packet { bytes: b"", original_length: 60_000, origin: PacketOrigin {
                arrival_ns: u64::MAX, arrival_clock: ArrivalClock::Kernel, ..origin } };
            writer.write(&longest);
            let read = back(writer.write(&packet), Some(5));
            prop_assert_eq!(read, Ok(Origin { origin, original_length: (cut > 0).then_some(2 + cut) }));
        }

        #[test]
        fn nothing_that_may_be_in_headers_panics(value in proptest::collection::vec(any::<u8>(), 0..30), name in 0..4_usize) {
            let _ = read([(HEADERS[name], Some(value.as_slice()))].into_iter(), Some(i64::MIN));
        }
    }

    #[test]
    fn a_message_of_another_program_has_its_own_time_and_no_sender() {
        let read = back(&[("trace".into(), Some(b"x".to_vec()))], Some(1_700_000_000_123)).unwrap();
        let expected = PacketOrigin {
            arrival_ns: 1_700_000_000_123_000_000,
            arrival_clock: ArrivalClock::Capture,
            ..PacketOrigin::default()
        };
        assert_eq!(read, Origin { origin: expected, original_length: None });
        for none in [None, Some(-1), Some(i64::MAX)] {
            assert_eq!(back(&[], none), Ok(Origin::default()), "{none:?}");
        }
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for (name, value) in
            [(SOURCE, "here"), (PORT, "65536"), (TIME, "-1"), (LENGTH, "65508"), (TIME, "\u{e9}")]
        {
            assert_eq!(back(&[(name.into(), Some(value.into()))], None), Err(BadHeader), "{name}: {value}");
        }
        assert_eq!(read([(SOURCE, None)].into_iter(), None), Err(BadHeader));
    }
}

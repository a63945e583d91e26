//! The common header of all packets (ESS readout formats, section 1).

use super::{
    COOKIE, EssClock, EssHeader, EssTime, HEADER_0, HEADER_1, HeaderRelaxations, LARGEST_PACKET,
    OUTPUT_QUEUES, UDP_HEADER,
};

/// Bytes up to the end of the cookie: what the first rules look at.
const SMALLEST: usize = 5;

/// What a packet must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderRules {
    /// The type of the detector ([`super::detector_type`]).
    pub detector_type: u8,
    /// The type of the beam monitors that send to the same port, if there are any (AMOR does: section 7).
    pub monitor_type: Option<u8>,
    /// The clock of pulse times.
    pub clock: EssClock,
    /// Largest distance of a pulse from the previous one, in ticks. A previous pulse that is later than the
    /// pulse is too far away. (The reference has the limit in nanoseconds. Rounded down to ticks it decides
    /// the same, unless it is less than a nanosecond below a whole number of ticks.)
    pub max_pulse_distance: u64,
    /// Rules that need not hold.
    pub relaxed: HeaderRelaxations,
}

impl HeaderRules {
    /// The rules for packets of one type, none relaxed.
    pub const fn strict(detector_type: u8, max_pulse_distance: u64) -> Self {
        let (clock, relaxed) = (EssClock::ESS, HeaderRelaxations::NONE);
        Self { detector_type, monitor_type: None, clock, max_pulse_distance, relaxed }
    }
}

/// Which queue sent a packet and as which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// The type of its sender.
    pub detector_type: u8,
    /// The output queue, below [`OUTPUT_QUEUES`] unless the rule is relaxed.
    pub output_queue: u8,
    /// The sequence number, counted per queue and [`super::SEQUENCE_BITS`] wide.
    pub sequence: u32,
    /// Time of its pulse, not checked.
    pub pulse: EssTime,
}

/// Why a packet is rejected as a whole: the first rule of section 1 that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderFault {
    /// No bytes at all (rule 1).
    Empty,
    /// Fewer than 5 or more than 8972 bytes, or fewer than the header of its version has (rules 2 and 6). The
    /// reference counts these and [`HeaderFault::Length`] together, as `errors.size`.
    Size,
    /// The first byte is not 0 (rule 3).
    Padding,
    /// A version other than 0 and 1 (rule 4).
    Version,
    /// The letters ESS are not where they belong (rule 5).
    Cookie,
    /// The length field is not the number of bytes received (rule 8).
    Length,
    /// The packet of another detector (rule 9).
    Type,
    /// An output queue that does not exist (rule 10).
    OutputQueue,
    /// The flags of the time source tell that the times are not to be trusted (rule 13). Holds which of the
    /// four rules are broken and not relaxed.
    TimeSource(HeaderRelaxations),
    /// The pulse or the previous pulse has more ticks than a second has (rule 14).
    TimeFraction,
    /// The pulse is too far from the previous one (rule 15).
    PulseDistance,
}

/// A packet with a sound header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EssPacket<'a> {
    /// Version of the header, 0 or 1.
    pub version: u8,
    /// Which detector the packet is from ([`super::detector_type`]).
    pub detector_type: u8,
    /// The output queue.
    pub output_queue: u8,
    /// Flags of the time source, as sent.
    pub time_source: u8,
    /// When the latest pulse was, as the readout knew it.
    pub pulse: EssTime,
    /// When the pulse before that was.
    pub previous_pulse: EssTime,
    /// Number of the packet in its queue.
    pub sequence: u32,
    /// The records.
    pub payload: &'a [u8],
    /// The relaxed rules that this packet breaks.
    pub relaxed: HeaderRelaxations,
}

impl<'a> EssPacket<'a> {
    /// Queue and number of a packet that passes the rules 1 to 10: the sequence is looked at before the times
    /// (rule 12), so that a packet that is rejected for its times is not a gap as well.
    #[inline]
    pub fn numbering(bytes: &[u8], rules: &HeaderRules) -> Option<Numbering> {
        let packet = EssPacket::addressed(bytes, rules).ok()?;
        let EssPacket { detector_type, output_queue, sequence, pulse, .. } = packet;
        Some(Numbering { detector_type, output_queue, sequence, pulse })
    }

    /// Checks a packet against the rules in their order. Whether its number is the next one of its queue
    /// (rule 12) is for the caller to tell.
    ///
    /// # Errors
    /// The first rule that the packet breaks and that is not relaxed.
    #[inline]
    pub fn parse(bytes: &'a [u8], rules: &HeaderRules) -> Result<Self, HeaderFault> {
        let mut packet = Self::addressed(bytes, rules)?;
        let time_source = broken_time_source(packet.time_source);
        let not_relaxed = time_source.without(rules.relaxed);
        if !not_relaxed.is_empty() {
            return Err(HeaderFault::TimeSource(not_relaxed));
        }
        packet.relaxed = packet.relaxed.union(time_source);
        let (pulse, previous) = (packet.pulse, packet.previous_pulse);
        packet.relax(
            pulse.ticks.max(previous.ticks) > rules.clock.largest_tick,
            HeaderRelaxations::TIME_FRACTION,
            rules,
            HeaderFault::TimeFraction,
        )?;
        let distance = rules.clock.total_ticks(pulse).checked_sub(rules.clock.total_ticks(previous));
        packet.relax(
            distance.is_none_or(|distance| distance > rules.max_pulse_distance),
            HeaderRelaxations::PULSE_DISTANCE,
            rules,
            HeaderFault::PulseDistance,
        )?;
        Ok(packet)
    }

    /// Whether the packet has no records and only tells the time of the pulse (rule 16).
    #[inline]
    pub fn is_heartbeat(&self) -> bool {
        self.payload.is_empty()
    }

    /// The header, as it is encoded.
    pub fn header(&self) -> EssHeader {
        EssHeader {
            version: self.version,
            detector_type: self.detector_type,
            output_queue: self.output_queue,
            time_source: self.time_source,
            pulse: self.pulse,
            previous_pulse: self.previous_pulse,
            sequence: self.sequence,
        }
    }

    /// The rules 1 to 10.
    #[inline]
    fn addressed(bytes: &'a [u8], rules: &HeaderRules) -> Result<Self, HeaderFault> {
        if bytes.is_empty() {
            return Err(HeaderFault::Empty);
        }
        let Some(&[padding, version, ref cookie @ ..]) = bytes.first_chunk::<SMALLEST>() else {
            return Err(HeaderFault::Size);
        };
        if bytes.len() > LARGEST_PACKET {
            return Err(HeaderFault::Size);
        }
        if padding != 0 {
            return Err(HeaderFault::Padding);
        }
        if version > 1 {
            return Err(HeaderFault::Version);
        }
        if *cookie != COOKIE {
            return Err(HeaderFault::Cookie);
        }
        let (header, rest) = bytes.split_first_chunk::<HEADER_0>().ok_or(HeaderFault::Size)?;
        let unused = if version == 0 { 0 } else { HEADER_1 - HEADER_0 };
        let payload = rest.get(unused..).ok_or(HeaderFault::Size)?;
        let mut packet = Self {
            version,
            detector_type: header[5],
            output_queue: header[8],
            time_source: header[9],
            pulse: EssTime { seconds: word_at(header, 10), ticks: word_at(header, 14) },
            previous_pulse: EssTime { seconds: word_at(header, 18), ticks: word_at(header, 22) },
            sequence: word_at(header, 26),
            payload,
            relaxed: HeaderRelaxations::NONE,
        };
        let length = usize::from(u16::from_le_bytes([header[6], header[7]]));
        if length != bytes.len() {
            let counts_udp = length == bytes.len() + UDP_HEADER;
            if !counts_udp || !rules.relaxed.contains(HeaderRelaxations::LENGTH) {
                return Err(HeaderFault::Length);
            }
            packet.relaxed = packet.relaxed.union(HeaderRelaxations::LENGTH);
        }
        packet.relax(
            packet.detector_type != rules.detector_type && Some(packet.detector_type) != rules.monitor_type,
            HeaderRelaxations::TYPE,
            rules,
            HeaderFault::Type,
        )?;
        packet.relax(
            usize::from(packet.output_queue) >= OUTPUT_QUEUES,
            HeaderRelaxations::OUTPUT_QUEUE,
            rules,
            HeaderFault::OutputQueue,
        )?;
        Ok(packet)
    }

    /// Notes a broken rule if it is relaxed.
    #[inline]
    fn relax(
        &mut self,
        broken: bool,
        rule: HeaderRelaxations,
        rules: &HeaderRules,
        fault: HeaderFault,
    ) -> Result<(), HeaderFault> {
        if broken {
            if !rules.relaxed.contains(rule) {
                return Err(fault);
            }
            self.relaxed = self.relaxed.union(rule);
        }
        Ok(())
    }
}

/// The rules that the flags of the time source break (rule 13). What bit 0 means is described in two ways by the
/// reference; only how the bits are combined is followed here.
#[inline]
fn broken_time_source(flags: u8) -> HeaderRelaxations {
    let bit = |number: u8| flags >> number & 1 != 0;
    let mut broken = HeaderRelaxations::NONE;
    for (is_broken, rule) in [
        (!bit(0) && bit(1), HeaderRelaxations::TIMING),
        (!bit(0) && bit(3), HeaderRelaxations::TIME_STATUS),
        (bit(5), HeaderRelaxations::EVEN_FIBRE_SYNC),
        (bit(7), HeaderRelaxations::ODD_FIBRE_SYNC),
    ] {
        if is_broken {
            broken = broken.union(rule);
        }
    }
    broken
}

/// The little-endian word at `offset` of the header.
#[inline(always)]
fn word_at(header: &[u8; HEADER_0], offset: usize) -> u32 {
    u32::from_le_bytes([header[offset], header[offset + 1], header[offset + 2], header[offset + 3]])
}

#[cfg(test)]
mod tests {
    use super::super::TICKS_PER_SECOND;
    use super::*;

    const RULES: HeaderRules = HeaderRules::strict(0x44, 1000);
    const SOUND: EssHeader = EssHeader {
        version: 1,
        detector_type: 0x44,
        output_queue: 11,
        time_source: 1,
        pulse: EssTime { seconds: 8, ticks: 1000 },
        previous_pulse: EssTime { seconds: 8, ticks: 0 },
        sequence: 0xFEDC_BA98,
    };

    fn fault(header: EssHeader, relaxed: HeaderRelaxations) -> Result<HeaderRelaxations, HeaderFault> {
        let mut packet = Vec::new();
        header.write_packet(&[1, 2, 3], &mut packet);
        let parsed = EssPacket::parse(&packet, &HeaderRules { relaxed, ..RULES })?;
        assert_eq!(parsed.payload, [1, 2, 3]);
        assert!(!parsed.is_heartbeat());
        Ok(parsed.relaxed)
    }

    #[test]
    fn each_rule_can_be_relaxed_by_itself_and_is_noted() {
        let over = EssTime { seconds: 7, ticks: TICKS_PER_SECOND };
        let broken = [
            (EssHeader { output_queue: 12, ..SOUND }, HeaderFault::OutputQueue, "output_queue"),
            (
                EssHeader { time_source: 0x02, ..SOUND },
                HeaderFault::TimeSource(HeaderRelaxations::TIMING),
                "timing",
            ),
            (
                EssHeader { time_source: 0x08, ..SOUND },
                HeaderFault::TimeSource(HeaderRelaxations::TIME_STATUS),
                "time_status",
            ),
            (
                EssHeader { time_source: 0x21, ..SOUND },
                HeaderFault::TimeSource(HeaderRelaxations::EVEN_FIBRE_SYNC),
                "even_fibre_sync",
            ),
            (
                EssHeader { time_source: 0x80, ..SOUND },
                HeaderFault::TimeSource(HeaderRelaxations::ODD_FIBRE_SYNC),
                "odd_fibre_sync",
            ),
            (EssHeader { previous_pulse: over, ..SOUND }, HeaderFault::TimeFraction, "time_fraction"),
            (
                EssHeader { pulse: EssTime { seconds: 8, ticks: 1001 }, ..SOUND },
                HeaderFault::PulseDistance,
                "pulse_distance",
            ),
            (
                EssHeader { pulse: EssTime { seconds: 7, ticks: 0 }, ..SOUND },
                HeaderFault::PulseDistance,
                "pulse_distance",
            ),
            (EssHeader { detector_type: 0x48, ..SOUND }, HeaderFault::Type, "type"),
        ];
        assert_eq!(fault(SOUND, HeaderRelaxations::ALL), Ok(HeaderRelaxations::NONE));
        for (header, expected, name) in broken {
            let rule = HeaderRelaxations::named(name).expect("the name of a rule");
            assert_eq!(fault(header, HeaderRelaxations::ALL.without(rule)), Err(expected));
            assert_eq!(fault(header, rule), Ok(rule));
        }
    }

    #[test]
    fn a_packet_with_bad_times_still_has_its_number() {
        let mut packet = Vec::new();
        EssHeader { time_source: 0x22, ..SOUND }.write_packet(&[], &mut packet);
        let both = HeaderRelaxations::TIMING.union(HeaderRelaxations::EVEN_FIBRE_SYNC);
        assert_eq!(EssPacket::parse(&packet, &RULES), Err(HeaderFault::TimeSource(both)));
        let numbering =
            Numbering { detector_type: 0x44, output_queue: 11, sequence: 0xFEDC_BA98, pulse: SOUND.pulse };
        assert_eq!(EssPacket::numbering(&packet, &RULES), Some(numbering));
        packet.push(0);
        assert_eq!(EssPacket::numbering(&packet, &RULES), None);
        assert_eq!(EssPacket::parse(&packet, &RULES), Err(HeaderFault::Length));
    }
}

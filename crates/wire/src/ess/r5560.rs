//! Records of CAEN R5560 digitisers, which read helium-3 tubes (formats of the ESS's other instruments, section 1.1).
//!
//! | bytes | |
//! |---|---|
//! | 0 to 11 | fibre, FEN, length, seconds, ticks: as in all records |
//! | 12 | flags, or the mode of operation: 0 and 4 were seen |
//! | 13 | group: a tube (CSPEC, TBL3HE), a pair (MIRACLES), a triplet (BIFROST), seven straws (LOKI) |
//! | 14, 15 | a number or an amplitude where firmware is debugged, else 0 |
//! | 16 to 23 | charges A, B, C, D; C and D are 0 except at LOKI |
//!
//! Ticks are not compared with those of a second: more of them are a later time.
//!
//! Two rules differ from the reference, which stops at the first record that is not sound. One with an impossible
//! fibre or front end is skipped by its 24 bytes, and those behind it stay. One that states another length ends the packet
//! here too, as the place of the next is not known: the stage of a detector stops there, not the iterator. What is no
//! whole record at the end of a packet is [`R5560Payload::bytes_left`].

use super::{
    LARGEST_FEN, LARGEST_FIBRE, R5560_LENGTH, R5560_RECORD, R5560Fields, RecordPayload, RecordRules,
    RecordWords,
};
use std::ops::Deref;

/// A payload of R5560 records: [`RecordPayload`] has what can be done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct R5560Payload<'a> {
    records: RecordPayload<'a, R5560Readout, R5560_RECORD>,
    bytes_left: usize,
}

impl<'a> R5560Payload<'a> {
    /// The whole records from the front. An empty payload, of a heartbeat, has none.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Self {
        let (records, bytes_left) = RecordPayload::whole_records(payload);
        Self { records, bytes_left }
    }

    /// Bytes behind the last whole record, 0 to 23.
    #[inline]
    pub fn bytes_left(&self) -> usize {
        self.bytes_left
    }
}

impl<'a> Deref for R5560Payload<'a> {
    type Target = RecordPayload<'a, R5560Readout, R5560_RECORD>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.records
    }
}

/// Why a record is of no use: the first check that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum R5560Fault {
    /// A fibre above 23.
    Fibre,
    /// A front end above 23.
    Fen,
    /// A length other than 24 ([`RecordRules::length_in_bits`]): nothing behind it can be read.
    Length,
}

/// One neutron in one tube or group of tubes, as it was sent: any value may be out of its range until
/// [`R5560Readout::fault`] or [`R5560Readout::is_sound`] was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct R5560Readout {
    words: RecordWords,
    /// Bytes 20 to 23: C and D.
    last: u32,
}

impl R5560Readout {
    /// Flags, or the mode of operation: nothing that a detector needs.
    #[inline(always)]
    pub fn flags(self) -> u8 {
        (self.words.middle >> 32) as u8
    }

    /// The tube, or the group of tubes, on its front end.
    #[inline(always)]
    pub fn group(self) -> u8 {
        (self.words.middle >> 40) as u8
    }

    /// A number or an amplitude from firmware that is debugged, else 0.
    #[inline(always)]
    pub fn counter(self) -> u16 {
        (self.words.middle >> 48) as u16
    }

    /// The charges A, B, C and D as they are on the wire. LOKI's are signed: `as i16`.
    #[inline(always)]
    pub fn charges(self) -> [u16; 4] {
        let (first, last) = (self.words.tail, self.last);
        [first as u16, (first >> 16) as u16, last as u16, (last >> 16) as u16]
    }

    /// Whether the length field is in bits.
    #[inline(always)]
    pub fn length_is_in_bits(self) -> bool {
        self.length() == 8 * R5560_LENGTH
    }

    /// The first check that fails, none for a sound record.
    pub fn fault(self, rules: &RecordRules) -> Option<R5560Fault> {
        if self.fibre() > LARGEST_FIBRE {
            Some(R5560Fault::Fibre)
        } else if self.fen() > LARGEST_FEN {
            Some(R5560Fault::Fen)
        } else if !rules.allows_length(self.length(), R5560_LENGTH) {
            Some(R5560Fault::Length)
        } else {
            None
        }
    }

    /// Whether no check fails: the result of [`R5560Readout::fault`], without a branch.
    #[inline(always)]
    pub fn is_sound(self, rules: &RecordRules) -> bool {
        self.words.is_on_a_ring() & rules.allows_length(self.length(), R5560_LENGTH)
    }

    /// All fields.
    pub fn fields(self) -> R5560Fields {
        R5560Fields {
            fibre: self.fibre(),
            fen: self.fen(),
            length: self.length(),
            time: self.time(),
            flags: self.flags(),
            group: self.group(),
            counter: self.counter(),
            charges: self.charges(),
        }
    }
}

impl Deref for R5560Readout {
    type Target = RecordWords;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.words
    }
}

impl From<&[u8; R5560_RECORD]> for R5560Readout {
    #[inline(always)]
    fn from(record: &[u8; R5560_RECORD]) -> Self {
        let [first @ .., a, b, c, d] = *record;
        Self { words: RecordWords::new(&first), last: u32::from_le_bytes([a, b, c, d]) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EssTime, TICKS_PER_SECOND};
    use super::*;

    #[test]
    fn a_record_has_its_fields_where_the_digitiser_puts_them() {
        let bytes =
            [23, 5, 24, 0, 4, 3, 2, 1, 8, 7, 6, 5, 4, 11, 0x34, 0x12, 1, 0, 2, 0x80, 0xFF, 0xFF, 4, 0x10];
        let readout = R5560Readout::from(&bytes);
        assert_eq!((readout.fibre(), readout.ring(), readout.fen(), readout.length()), (23, 11, 5, 24));
        assert_eq!(readout.time(), EssTime { seconds: 0x0102_0304, ticks: 0x0506_0708 });
        assert_eq!((readout.flags(), readout.group(), readout.counter()), (4, 11, 0x1234));
        assert_eq!(readout.charges(), [1, 0x8002, 0xFFFF, 0x1004]);
        assert_eq!(readout.charges().map(|charge| charge as i16)[1..3], [-32_766, -1]);
        assert_eq!(readout.fields().encode(), bytes);
    }

    #[test]
    fn whole_records_are_taken_and_the_bytes_behind_them_counted() {
        let bytes = R5560Fields { group: 3, ..Default::default() }.encode().repeat(3);
        for left in 0..R5560_RECORD {
            let payload = R5560Payload::parse(&bytes[..R5560_RECORD * 2 + left]);
            assert_eq!((payload.len(), payload.is_empty(), payload.bytes_left()), (2, false, left));
            assert_eq!(payload.readouts().map(R5560Readout::group).sum::<u8>(), 6);
            assert_eq!((payload.readout(1).is_some(), payload.readout(2)), (true, None));
        }
        assert!(R5560Payload::parse(&[]).is_empty());
    }

    #[test]
    fn checks_are_in_the_order_of_the_reference_and_time_is_none_of_them() {
        let rules = RecordRules::default();
        let time = EssTime { seconds: 0, ticks: TICKS_PER_SECOND };
        let mut fields = R5560Fields { fibre: 24, fen: 24, length: 20, time, ..Default::default() };
        let fault = |fields: &R5560Fields| R5560Readout::from(&fields.encode()).fault(&rules);
        assert_eq!(fault(&fields), Some(R5560Fault::Fibre));
        fields.fibre = 23;
        assert_eq!(fault(&fields), Some(R5560Fault::Fen));
        fields.fen = 23;
        assert_eq!(fault(&fields), Some(R5560Fault::Length));
        fields.length = 24;
        assert_eq!(fault(&fields), None);
    }

    /// Each byte of a sound record takes all its values: the quick check and the slow one agree.
    #[test]
    fn the_quick_check_agrees_with_the_slow_one_for_every_byte() {
        for rules in [false, true].map(|length_in_bits| RecordRules { length_in_bits, ..Default::default() })
        {
            let mut faults = 0;
            for place in 0..R5560_RECORD {
                for value in 0..=u8::MAX {
                    let mut record = R5560Fields::default().encode();
                    record[place] = value;
                    let readout = R5560Readout::from(&record);
                    assert_eq!(readout.is_sound(&rules), readout.fault(&rules).is_none(), "{record:?}");
                    faults += usize::from(!readout.is_sound(&rules));
                }
            }
            // Fibre and FEN 24 to 255; a low byte of the length other than 24, and with bits 192; a high byte other than 0.
            assert_eq!(faults, 2 * 232 + 255 - usize::from(rules.length_in_bits) + 255);
        }
    }
}

//! Records of beam monitors (ESS readout formats, section 2.4).
//!
//! | bytes 16 to 19 | |
//! |---|---|
//! | [`MonitorKind::Event0D`] | nothing |
//! | [`MonitorKind::Event2D`] | x, y: 16 bits each |
//! | [`MonitorKind::Integrating`] | sum of amplitudes, 24 bits; number of samples, 8 bits |
//!
//! A record with a fault is skipped by its 20 bytes. The reference stays at such a record and counts it again
//! and again in place of those behind it, which is not followed here.

pub use super::monitor_kind::MonitorKind;
use super::{LARGEST_FEN, LARGEST_FIBRE, LENGTH, MonitorFields, RecordPayload, RecordRules, RecordWords};

/// A payload of beam-monitor records.
pub type MonitorPayload<'a> = RecordPayload<'a, MonitorReadout>;

/// Why a record is of no use: the first check that fails. Which ring the monitors are on is configured, and no
/// fault of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MonitorFault {
    /// A fibre above 23.
    Fibre,
    /// A front end above 23.
    Fen,
    /// A length other than 20 ([`RecordRules::length_in_bits`]).
    Length,
    /// More ticks than a second has.
    TimeFraction,
    /// A kind that does not exist.
    Kind,
}

/// One record of a beam monitor, as it was sent: any value may be out of its range until
/// [`MonitorReadout::fault`] or [`MonitorReadout::is_sound`] was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorReadout {
    words: RecordWords,
}

impl MonitorReadout {
    /// What it tells, none if the kind does not exist.
    #[inline(always)]
    pub fn kind(self) -> Option<MonitorKind> {
        MonitorKind::from_byte((self.words.middle >> 32) as u8)
    }

    /// The channel of the front end.
    #[inline(always)]
    pub fn channel(self) -> u8 {
        (self.words.middle >> 40) as u8
    }

    /// Amplitude of a single neutron.
    #[inline(always)]
    pub fn adc(self) -> u16 {
        (self.words.middle >> 48) as u16
    }

    /// First coordinate of [`MonitorKind::Event2D`].
    #[inline(always)]
    pub fn x(self) -> u16 {
        self.words.tail as u16
    }

    /// Second coordinate of [`MonitorKind::Event2D`].
    #[inline(always)]
    pub fn y(self) -> u16 {
        (self.words.tail >> 16) as u16
    }

    /// Sum of the amplitudes of [`MonitorKind::Integrating`], 24 bits.
    #[inline(always)]
    pub fn summed_adc(self) -> u32 {
        self.words.tail & 0x00FF_FFFF
    }

    /// Number of samples in the sum of [`MonitorKind::Integrating`].
    #[inline(always)]
    pub fn samples(self) -> u8 {
        (self.words.tail >> 24) as u8
    }

    /// The first check that fails, none for a sound record.
    pub fn fault(self, rules: &RecordRules) -> Option<MonitorFault> {
        if self.fibre() > LARGEST_FIBRE {
            Some(MonitorFault::Fibre)
        } else if self.fen() > LARGEST_FEN {
            Some(MonitorFault::Fen)
        } else if !rules.allows_length(self.length(), LENGTH) {
            Some(MonitorFault::Length)
        } else if self.time().ticks > rules.clock.largest_tick {
            Some(MonitorFault::TimeFraction)
        } else if self.kind().is_none() {
            Some(MonitorFault::Kind)
        } else {
            None
        }
    }

    /// Whether no check fails: what [`MonitorReadout::fault`] would tell, in fewer operations.
    #[inline(always)]
    pub fn is_sound(self, rules: &RecordRules) -> bool {
        self.words.is_addressed(*rules) & self.kind().is_some()
    }

    /// All fields.
    pub fn fields(self) -> MonitorFields {
        MonitorFields {
            fibre: self.fibre(),
            fen: self.fen(),
            length: self.length(),
            time: self.time(),
            kind: (self.words.middle >> 32) as u8,
            channel: self.channel(),
            adc: self.adc(),
            value: self.words.tail,
        }
    }
}

super::record::is_a_record!(MonitorReadout);

#[cfg(test)]
mod tests {
    use super::super::{EssTime, LARGEST_TICK};
    use super::*;

    #[test]
    fn the_last_bytes_are_a_place_or_a_sum() {
        let place = MonitorFields { value: MonitorFields::place(511, 7), ..Default::default() };
        let readout = MonitorReadout::from(&place.encode());
        assert_eq!((readout.x(), readout.y()), (511, 7));
        let sum = MonitorFields { value: MonitorFields::sum(0x00AB_CDEF, 9), ..Default::default() };
        let readout = MonitorReadout::from(&sum.encode());
        assert_eq!((readout.summed_adc(), readout.samples()), (0x00AB_CDEF, 9));
    }

    #[test]
    fn checks_are_in_the_order_of_the_reference() {
        let rules = RecordRules::default();
        let mut fields = MonitorFields {
            fibre: 24,
            fen: 24,
            length: 160,
            time: EssTime { seconds: 0, ticks: LARGEST_TICK + 1 },
            kind: 4,
            ..Default::default()
        };
        let fault = |fields: &MonitorFields| MonitorReadout::from(&fields.encode()).fault(&rules);
        assert_eq!(fault(&fields), Some(MonitorFault::Fibre));
        fields.fibre = 23;
        assert_eq!(fault(&fields), Some(MonitorFault::Fen));
        fields.fen = 23;
        assert_eq!(fault(&fields), Some(MonitorFault::Length));
        fields.length = 20;
        assert_eq!(fault(&fields), Some(MonitorFault::TimeFraction));
        fields.time.ticks = LARGEST_TICK;
        assert_eq!(fault(&fields), Some(MonitorFault::Kind));
        fields.kind = 3;
        assert_eq!(fault(&fields), None);
    }
}

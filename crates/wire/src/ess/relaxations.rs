//! Which rules of the header may be broken (ESS readout formats, section 1).

use std::fmt;

/// A set of the header's rules that a configuration relaxes, or that a packet needed.
///
/// Recordings of 2021 to 2024 break rules of the current version: some carry the output queue 255, some the time
/// source 0x02.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct HeaderRelaxations(u16);

impl HeaderRelaxations {
    /// No rule.
    pub const NONE: Self = Self(0);
    /// Any output queue from 0 to 255 (rule 10).
    pub const OUTPUT_QUEUE: Self = Self(1);
    /// Bit 1 of the time source without bit 0 (rule 13, `timing`).
    pub const TIMING: Self = Self(1 << 1);
    /// Bit 3 of the time source without bit 0 (rule 13, `time_status`).
    pub const TIME_STATUS: Self = Self(1 << 2);
    /// Synchronisation of the even fibre lost (rule 13).
    pub const EVEN_FIBRE_SYNC: Self = Self(1 << 3);
    /// Synchronisation of the odd fibre lost (rule 13).
    pub const ODD_FIBRE_SYNC: Self = Self(1 << 4);
    /// Pulse times with more ticks than a second has (rule 14).
    pub const TIME_FRACTION: Self = Self(1 << 5);
    /// Pulses that are too far apart (rule 15).
    pub const PULSE_DISTANCE: Self = Self(1 << 6);
    /// The type of another detector (rule 9).
    pub const TYPE: Self = Self(1 << 7);
    /// A length field that also counts the eight bytes of the UDP header (rule 8), as boards send that give the lengths
    /// of records in bits (section 7).
    pub const LENGTH: Self = Self(1 << 8);
    /// Every rule that can be relaxed.
    pub const ALL: Self = Self((1 << 9) - 1);

    /// The rules with their names in configurations.
    const NAMES: [(Self, &'static str); 9] = [
        (Self::OUTPUT_QUEUE, "output_queue"),
        (Self::TIMING, "timing"),
        (Self::TIME_STATUS, "time_status"),
        (Self::EVEN_FIBRE_SYNC, "even_fibre_sync"),
        (Self::ODD_FIBRE_SYNC, "odd_fibre_sync"),
        (Self::TIME_FRACTION, "time_fraction"),
        (Self::PULSE_DISTANCE, "pulse_distance"),
        (Self::TYPE, "type"),
        (Self::LENGTH, "header_length"),
    ];

    /// One bit per rule.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of these bits; bits of no rule are left out.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// Whether it has no rule.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has all rules of the other.
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// The rules of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The rules of this that the other has not.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The rule of this name, none if there is no such rule.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(rule, _)| *rule)
    }

    /// Its rules one by one, each with its name in configurations.
    pub fn iter(self) -> impl Iterator<Item = (Self, &'static str)> {
        Self::NAMES.into_iter().filter(move |(rule, _)| self.contains(*rule))
    }
}

impl fmt::Debug for HeaderRelaxations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(_, name)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_bit_and_a_name_of_its_own() {
        let mut all = HeaderRelaxations::NONE;
        for (rule, name) in HeaderRelaxations::ALL.iter() {
            assert_eq!(rule.bits().count_ones(), 1);
            assert!(!all.contains(rule));
            assert_eq!(HeaderRelaxations::named(name), Some(rule));
            all = all.union(rule);
        }
        assert_eq!(all, HeaderRelaxations::ALL);
        assert_eq!(HeaderRelaxations::named("cookie"), None);
        let two = HeaderRelaxations::TIMING.union(HeaderRelaxations::TYPE);
        assert_eq!(format!("{two:?}"), r#"{"timing", "type"}"#);
        assert_eq!(two.without(HeaderRelaxations::TYPE), HeaderRelaxations::TIMING);
    }
}

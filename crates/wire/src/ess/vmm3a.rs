//! VMM3a records (ESS readout formats, section 2.1).

use super::{LARGEST_FEN, LARGEST_FIBRE, LENGTH, RecordPayload, RecordRules, RecordWords, Vmm3aFields};

/// Largest bunch crossing: 12 bits.
const LARGEST_BC: u16 = 4095;
/// Largest amplitude of a VMM: 10 bits.
const LARGEST_ADC: u16 = 1023;
/// Largest number of a VMM on its front end: eight hybrids of two.
const LARGEST_VMM: u8 = 15;
/// Largest channel of a VMM.
const LARGEST_CHANNEL: u8 = 63;
/// The bit of the amplitude that tells that the channel itself was over its threshold.
const OVER_THRESHOLD: u16 = 0x8000;
/// The bit of the GEO byte that marks a calibration readout.
const CALIBRATION: u8 = 0x80;
/// The bit of the GEO byte that marks a cluster that the firmware has made (section 7).
const CLUSTERED: u8 = 0x40;

/// A payload of VMM3a records.
pub type Vmm3aPayload<'a> = RecordPayload<'a, Vmm3aReadout>;

/// Why a record is of no use: the first check of section 2.1 that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordFault {
    /// A fibre above 23.
    Fibre,
    /// A front end above 23.
    Fen,
    /// A length other than 20 ([`RecordRules::length_in_bits`]).
    Length,
    /// More ticks than a second has.
    TimeFraction,
    /// A bunch crossing above 4095.
    Bc,
    /// An amplitude above 1023 ([`RecordRules::any_adc`]).
    Adc,
    /// A VMM above 15.
    Vmm,
    /// A channel above 63.
    Channel,
}

/// One measurement of one channel of a VMM3a, as it was sent: any value may be out of its range until
/// [`Vmm3aReadout::fault`] or [`Vmm3aReadout::is_sound`] was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vmm3aReadout {
    words: RecordWords,
}

impl Vmm3aReadout {
    /// Bunch crossing, 0..=4095.
    #[inline(always)]
    pub fn bc(self) -> u16 {
        (self.words.middle >> 32) as u16
    }

    /// Whether the channel itself was over its threshold (else it was read as a neighbour).
    #[inline(always)]
    pub fn over_threshold(self) -> bool {
        (self.words.middle >> 48) as u16 & OVER_THRESHOLD != 0
    }

    /// Amplitude without the bit of [`Vmm3aReadout::over_threshold`]: 15 bits on the wire, 0..=1023 if sound.
    #[inline(always)]
    pub fn adc(self) -> u16 {
        (self.words.middle >> 48) as u16 & !OVER_THRESHOLD
    }

    /// The GEO byte.
    #[inline(always)]
    pub fn geo(self) -> u8 {
        self.words.tail as u8
    }

    /// Whether it is a readout for calibration and not of a particle.
    #[inline(always)]
    pub fn is_calibration(self) -> bool {
        self.geo() & CALIBRATION != 0
    }

    /// Whether it stands for a cluster that the firmware has made of several channels: then it is no readout of a channel.
    #[inline(always)]
    pub fn is_clustered(self) -> bool {
        self.geo() & CLUSTERED != 0
    }

    /// Whether it is the plain readout of a channel: neither for calibration nor clustered.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.geo() & (CALIBRATION | CLUSTERED) == 0
    }

    /// Fine time within the bunch crossing, 0..=255.
    #[inline(always)]
    pub fn tdc(self) -> u8 {
        (self.words.tail >> 8) as u8
    }

    /// The VMM on its front end, 0..=15.
    #[inline(always)]
    pub fn vmm(self) -> u8 {
        (self.words.tail >> 16) as u8
    }

    /// The hybrid, a board with two VMMs, 0..=7.
    #[inline(always)]
    pub fn hybrid(self) -> u8 {
        self.vmm() >> 1
    }

    /// Which of the two VMMs of its hybrid, 0 or 1.
    #[inline(always)]
    pub fn asic(self) -> u8 {
        self.vmm() & 1
    }

    /// The channel of the VMM, 0..=63.
    #[inline(always)]
    pub fn channel(self) -> u8 {
        (self.words.tail >> 24) as u8
    }

    /// The first check that fails, none for a sound readout.
    pub fn fault(self, rules: &RecordRules) -> Option<RecordFault> {
        if self.fibre() > LARGEST_FIBRE {
            Some(RecordFault::Fibre)
        } else if self.fen() > LARGEST_FEN {
            Some(RecordFault::Fen)
        } else if !rules.allows_length(self.length(), LENGTH) {
            Some(RecordFault::Length)
        } else if self.time().ticks > rules.clock.largest_tick {
            Some(RecordFault::TimeFraction)
        } else if self.bc() > LARGEST_BC {
            Some(RecordFault::Bc)
        } else if self.adc() > LARGEST_ADC && !rules.any_adc {
            Some(RecordFault::Adc)
        } else if self.vmm() > LARGEST_VMM {
            Some(RecordFault::Vmm)
        } else if self.channel() > LARGEST_CHANNEL {
            Some(RecordFault::Channel)
        } else {
            None
        }
    }

    /// Whether no check fails: what [`Vmm3aReadout::fault`] would tell, in few operations and no branch.
    #[inline(always)]
    pub fn is_sound(self, rules: &RecordRules) -> bool {
        // All ranges but those of the address and the ticks end at a power of two: the bits above are 0.
        const BC: u64 = (!LARGEST_BC as u64) << 32;
        const ADC: u64 = ((!LARGEST_ADC & !OVER_THRESHOLD) as u64) << 48;
        const ADDRESS: u32 = (!LARGEST_VMM as u32) << 16 | (!LARGEST_CHANNEL as u32) << 24;
        let middle = if rules.any_adc { BC } else { BC | ADC };
        let above = self.words.middle & middle | u64::from(self.words.tail & ADDRESS);
        (above == 0) & self.words.is_addressed(*rules)
    }

    /// All fields.
    pub fn fields(self) -> Vmm3aFields {
        Vmm3aFields {
            fibre: self.fibre(),
            fen: self.fen(),
            length: self.length(),
            time: self.time(),
            bc: self.bc(),
            over_threshold: self.over_threshold(),
            adc: self.adc(),
            geo: self.geo(),
            tdc: self.tdc(),
            vmm: self.vmm(),
            channel: self.channel(),
        }
    }
}

super::record::is_a_record!(Vmm3aReadout);

#[cfg(test)]
mod tests {
    use super::super::{EssClock, EssTime, LARGEST_TICK, RECORD};
    use super::*;

    /// Each byte of a sound record takes all its values: the quick check and the slow one agree.
    #[test]
    fn the_quick_check_agrees_with_the_slow_one_for_every_byte() {
        let sound = Vmm3aFields { time: EssTime { seconds: 1, ticks: LARGEST_TICK }, ..Default::default() };
        for rules in [false, true].map(|lax| RecordRules {
            length_in_bits: lax,
            any_adc: lax,
            clock: EssClock { largest_tick: LARGEST_TICK + u32::from(lax), ..EssClock::default() },
        }) {
            assert_eq!(Vmm3aReadout::from(&sound.encode()).fault(&rules), None);
            let mut faults = 0;
            for place in 0..RECORD {
                for value in 0..=u8::MAX {
                    let mut record = sound.encode();
                    record[place] = value;
                    let readout = Vmm3aReadout::from(&record);
                    assert_eq!(readout.is_sound(&rules), readout.fault(&rules).is_none(), "{record:?}");
                    faults += usize::from(!readout.is_sound(&rules));
                }
            }
            assert!(faults > 8 * 100);
        }
    }
}

//! A hit on a strip plane, and hits packed into sortable keys.

/// A readout placed on a plane of strips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// Time in ticks of the detector's time unit.
    pub time: u64,
    /// Strip number, below [`STRIP_LIMIT`].
    pub strip: u16,
    /// Amplitude, below [`ADC_LIMIT`].
    pub adc: u16,
}

const ADC_BITS: u32 = 10;
const STRIP_BITS: u32 = 13;
/// Bits of a key below its time.
const PAYLOAD_BITS: u32 = ADC_BITS + STRIP_BITS;
/// Bits of a key's time.
const TIME_BITS: u32 = 64 - PAYLOAD_BITS;

/// Strips are numbered below this.
pub const STRIP_LIMIT: u16 = 1 << STRIP_BITS;
/// Amplitudes are below this.
pub const ADC_LIMIT: u16 = 1 << ADC_BITS;
/// Times in keys are below this, counted from the base of the keys.
pub const KEY_TIME_LIMIT: u64 = 1 << TIME_BITS;

/// A hit in one word that sorts by time: 41 bits of time since a base, 13 bits of strip, 10 of amplitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeKey(u64);

impl TimeKey {
    /// Packs a hit whose time lies less than [`KEY_TIME_LIMIT`] after `base`.
    #[inline]
    pub fn new(hit: Hit, base: u64) -> Self {
        debug_assert!(hit.time >= base && hit.time - base < KEY_TIME_LIMIT);
        let payload = u64::from(hit.strip) << ADC_BITS | u64::from(hit.adc);
        Self((hit.time - base) << PAYLOAD_BITS | payload)
    }

    /// Ticks since the base.
    #[inline]
    pub fn time(self) -> u64 {
        self.0 >> PAYLOAD_BITS
    }

    /// The same hit counted from base `to` instead of `from`. Its time must not lie before `to`.
    #[inline]
    pub fn moved(self, from: u64, to: u64) -> Self {
        Self(self.0.wrapping_add(from.wrapping_sub(to) << PAYLOAD_BITS))
    }

    /// The strip.
    #[inline]
    pub fn strip(self) -> u16 {
        (self.0 >> ADC_BITS) as u16 & (STRIP_LIMIT - 1)
    }

    /// The amplitude.
    #[inline]
    pub fn adc(self) -> u16 {
        self.0 as u16 & (ADC_LIMIT - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_keep_all_of_a_hit(time in 0..KEY_TIME_LIMIT, base: u32, strip in 0..STRIP_LIMIT,
                                  adc in 0..ADC_LIMIT) {
            let base = u64::from(base);
            let key = TimeKey::new(Hit { time: time + base, strip, adc }, base);
            prop_assert_eq!(key.time(), time);
            prop_assert_eq!((key.strip(), key.adc()), (strip, adc));
            let later = key.moved(base, base + time / 2);
            prop_assert_eq!((later.time(), later.strip(), later.adc()), (time - time / 2, strip, adc));
            prop_assert_eq!(later.moved(base + time / 2, base), key);
        }
    }
}

//! A hit on a strip plane, and hits packed into sortable keys.

/// A point in the data: epoch and time.
pub type DataTime = (u32, u64);

/// A readout placed on a plane of strips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
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

/// Something with a time, small enough to be packed with it into one sortable word.
pub trait Timed: Copy + std::fmt::Debug + get_size2::GetSize {
    /// Its time in ticks.
    fn time(&self) -> u64;

    /// Everything but the time, below [`PAYLOAD_LIMIT`].
    fn payload(&self) -> u32;

    /// The same from its parts.
    fn of(time: u64, payload: u32) -> Self;
}

/// A hit of a packet and where it goes: a plane, a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct TargetedHit {
    /// Time in ticks.
    pub time: u64,
    /// Everything else of the hit ([`Timed::payload`]).
    pub payload: u32,
    /// Where it goes.
    pub target: u32,
}

impl Timed for TargetedHit {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    fn payload(&self) -> u32 {
        self.payload
    }

    #[inline]
    fn of(time: u64, payload: u32) -> Self {
        Self { time, payload, target: 0 }
    }
}

/// Payloads are below this.
pub const PAYLOAD_LIMIT: u32 = 1 << PAYLOAD_BITS;

impl Timed for Hit {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    fn payload(&self) -> u32 {
        u32::from(self.strip) << ADC_BITS | u32::from(self.adc)
    }

    #[inline]
    fn of(time: u64, payload: u32) -> Self {
        let strip = (payload >> ADC_BITS) as u16 & (STRIP_LIMIT - 1);
        Self { time, strip, adc: payload as u16 & (ADC_LIMIT - 1) }
    }
}

/// A time and a payload in one word that sorts by time, and by payload where times are equal: 41 bits of time
/// since a base, 23 bits of payload. The payload of a hit is 13 bits of strip and 10 of amplitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, get_size2::GetSize)]
pub struct TimeKey(u64);

impl TimeKey {
    /// Packs something whose time lies less than [`KEY_TIME_LIMIT`] after `base`.
    #[inline]
    pub fn new<T: Timed>(item: T, base: u64) -> Self {
        debug_assert!(item.time() >= base && item.time() - base < KEY_TIME_LIMIT);
        Self::since_base(item.time() - base, item.payload())
    }

    /// A key of this many ticks, less than [`KEY_TIME_LIMIT`], and this payload.
    #[inline]
    pub fn since_base(ticks: u64, payload: u32) -> Self {
        debug_assert!(payload < PAYLOAD_LIMIT);
        Self(ticks << PAYLOAD_BITS | u64::from(payload))
    }

    /// What was packed with `base`.
    #[inline]
    pub fn unpack<T: Timed>(self, base: u64) -> T {
        T::of(base + self.time(), self.payload())
    }

    /// The payload.
    #[inline]
    pub fn payload(self) -> u32 {
        self.0 as u32 & (PAYLOAD_LIMIT - 1)
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

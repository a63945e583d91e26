//! Amplitudes of single channels: rescaled, and taken only within limits (EFU formats of 2018, section 2.3).

use evforge_core::settings::RefusedValue;
use evforge_wire::mesytec::LARGEST_ADC;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

/// Largest factor: the largest amplitude then just fits 16 bits.
pub const LARGEST_FACTOR: u16 = 16;

/// Different factors that a detector may have; each takes a table of 8 KiB.
pub const MOST_FACTORS: usize = 1024;

const AMPLITUDES: usize = LARGEST_ADC as usize + 1;

/// A factor that amplitudes are multiplied with: 0 to [`LARGEST_FACTOR`].
#[derive(Clone, Copy, Debug, get_size2::GetSize, Deserialize, Serialize)]
#[serde(try_from = "f64")]
pub struct Factor(f64);

impl Factor {
    /// Leaves amplitudes as they are.
    pub const ONE: Self = Self(1.0);

    /// A factor; none if it is not in `0..=LARGEST_FACTOR`.
    pub fn new(factor: f64) -> Option<Self> {
        // Adding zero makes -0 the same as 0.
        (0.0..=f64::from(LARGEST_FACTOR)).contains(&factor).then_some(Self(factor + 0.0))
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The product with an amplitude, rounded to the nearest whole number, halves up.
    fn of(self, amplitude: u16) -> u16 {
        // Not above 16 bits: see the limits of both.
        (f64::from(amplitude) * self.0).round() as u16
    }
}

evforge_core::written_as! {
    Factor: |_generator| json_schema!({ "type": "number", "minimum": 0, "maximum": LARGEST_FACTOR });
}

impl TryFrom<f64> for Factor {
    type Error = RefusedValue;

    fn try_from(factor: f64) -> Result<Self, RefusedValue> {
        Self::new(factor).ok_or_else(|| RefusedValue::new(format!("{factor} is not in 0..={LARGEST_FACTOR}")))
    }
}

impl PartialEq for Factor {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Factor {}

/// What happens to the amplitude of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AmplitudeFilter {
    /// Least rescaled amplitude that is taken.
    pub min: u16,
    /// Largest rescaled amplitude that is taken.
    pub max: u16,
    /// The amplitude is multiplied with it and rounded to the nearest whole number (halves up), before the limits are looked at.
    #[serde(rename = "rescale")]
    pub factor: Factor,
}

impl Default for AmplitudeFilter {
    /// Takes every amplitude as it is.
    fn default() -> Self {
        Self { min: 0, max: u16::MAX, factor: Factor::ONE }
    }
}

impl AmplitudeFilter {
    /// True if a rescaled amplitude is within the limits.
    pub fn admits(&self, rescaled: u16) -> bool {
        (self.min..=self.max).contains(&rescaled)
    }

    /// True if no amplitude is changed or refused.
    pub fn is_transparent(&self) -> bool {
        self.min == 0 && self.max >= LARGEST_ADC && self.factor == Factor::ONE
    }
}

/// Tables of rescaled amplitudes, one for each factor: the hot path multiplies nothing.
#[derive(Debug, Default, get_size2::GetSize)]
pub struct RescaledAmplitudes {
    factors: Vec<Factor>,
    tables: Vec<u16>,
}

impl RescaledAmplitudes {
    /// The number of the table for `factor`, made if it is not there.
    pub fn number(&mut self, factor: Factor) -> u16 {
        let known = self.factors.iter().position(|&other| other == factor);
        let number = known.unwrap_or_else(|| {
            self.factors.push(factor);
            self.tables.extend((0..=LARGEST_ADC).map(|amplitude| factor.of(amplitude)));
            self.factors.len() - 1
        });
        // Settings are checked for MOST_FACTORS before.
        number as u16
    }

    /// The amplitude rescaled with the factor of a table.
    #[inline]
    pub fn rescaled(&self, number: u16, amplitude: u16) -> u16 {
        let place = usize::from(number) * AMPLITUDES + usize::from(amplitude & LARGEST_ADC);
        self.tables.get(place).copied().unwrap_or(amplitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_2_3_products_are_rounded_half_away_from_zero() {
        let mut amplitudes = RescaledAmplitudes::default();
        let [half, more] = [0.5, 1.5].map(|factor| amplitudes.number(Factor::new(factor).unwrap()));
        assert_eq!([0, 1, 2, 3, 4095].map(|adc| amplitudes.rescaled(half, adc)), [0, 1, 1, 2, 2048]);
        assert_eq!([0, 1, 2, 3, 4095].map(|adc| amplitudes.rescaled(more, adc)), [0, 2, 3, 5, 6143]);
        assert_eq!(amplitudes.number(Factor::new(0.5).unwrap()), half, "one table for a factor");
        let largest = amplitudes.number(Factor::new(f64::from(LARGEST_FACTOR)).unwrap());
        assert_eq!(amplitudes.rescaled(largest, 4095), 65_520);
        for amplitude in 0..=LARGEST_ADC {
            let exact = (u32::from(amplitude) * 3).div_ceil(2);
            assert_eq!(u32::from(amplitudes.rescaled(more, amplitude)), exact);
        }
    }

    #[test]
    fn impossible_factors_are_none() {
        assert!([-0.1, 16.1, f64::NAN, f64::INFINITY].iter().all(|&factor| Factor::new(factor).is_none()));
        assert_eq!(Factor::new(-0.0), Factor::new(0.0));
    }
}

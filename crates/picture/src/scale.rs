//! From counts to colours, and the numbers next to the colour bar. The page has the same rules in `web/src/scale.ts`.

use crate::axis::round_step;
use crate::colours::{COLOUR_STEPS, EMPTY_COLOUR, Rgb, colours};

/// A scale of colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    logarithmic: bool,
    bottom: f64,
    top: f64,
    /// No number is below it: there are no such counts.
    lowest_tick: f64,
}

impl Scale {
    /// In equal ratios, up to the largest value, `top`. `smallest` is the smallest value above 0 that can occur: it lies half
    /// as high above the bottom as a double count above it, so that a single count can be told from none.
    pub fn logarithmic(top: f64, smallest: f64) -> Self {
        let top = top.max(2.0 * smallest);
        // More than five decades would leave the interesting ones pale.
        let bottom = (0.5 * smallest).max(top / 1e5);
        Self { logarithmic: true, bottom, top, lowest_tick: bottom.max(smallest) }
    }

    /// In equal differences, from 0 to `top`.
    pub fn linear(top: f64) -> Self {
        Self { logarithmic: false, bottom: 0.0, top: if top > 0.0 { top } else { 1.0 }, lowest_tick: 0.0 }
    }

    /// Counts at the bottom of the colour bar.
    pub fn bottom(&self) -> f64 {
        self.bottom
    }

    /// Counts at its top.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// Where a value above 0 lies on the colour bar: 0 at the bottom, 1 at the top.
    pub fn position(&self, value: f64) -> f64 {
        if self.logarithmic {
            libm::log(value / self.bottom) / libm::log(self.top / self.bottom)
        } else {
            (value - self.bottom) / (self.top - self.bottom)
        }
    }

    /// The colour of a value. 0 has one of its own.
    pub fn colour(&self, value: f64) -> Rgb {
        if value <= 0.0 {
            return EMPTY_COLOUR;
        }
        let last = COLOUR_STEPS - 1;
        // A millionth more: rounding must not take the top its colour. Below 0 and NaN become 0.
        let step = (self.position(value) * last as f64 + 1e-6) as usize;
        colours()[step.min(last)]
    }

    /// Round values for numbers next to the colour bar, at most about `most`.
    pub fn ticks(&self, most: f64) -> Vec<f64> {
        if !self.logarithmic {
            let step = round_step(self.top - self.bottom, most);
            let last = libm::floor(self.top / step * 1.000_001) as u32;
            return (0..=last).map(|number| f64::from(number) * step).collect();
        }
        let factors: &[f64] =
            if libm::log10(self.top / self.bottom) * 3.0 <= most { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = libm::floor(libm::log10(self.bottom)) as i32..=libm::floor(libm::log10(self.top)) as i32;
        let values = powers.flat_map(|power| {
            let decade = libm::pow(10.0, f64::from(power));
            factors.iter().map(move |factor| factor * decade)
        });
        values.filter(|value| (self.lowest_tick * 0.999..=self.top * 1.001).contains(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_counts_can_be_told_from_none_and_the_most_are_brightest() {
        let scale = Scale::logarithmic(1.0, 1.0);
        assert_eq!((scale.bottom(), scale.top(), scale.position(1.0)), (0.5, 2.0, 0.5));
        let scale = Scale::logarithmic(1000.0, 1.0);
        assert_eq!((scale.colour(0.0), scale.colour(1000.0)), (EMPTY_COLOUR, colours()[255]));
        assert!(scale.position(1.0) > 0.09);
        assert_eq!(scale.colour(1e9), colours()[255]);
        assert_eq!(Scale::logarithmic(1e8, 1.0).bottom(), 1e3);
        assert_eq!(Scale::logarithmic(1e8, 1.0).colour(1.0), colours()[0]);
    }

    #[test]
    fn numbers_are_round() {
        assert_eq!(Scale::logarithmic(1000.0, 1.0).ticks(5.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::logarithmic(30.0, 1.0).ticks(9.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(Scale::linear(50.0).ticks(5.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(Scale::linear(0.0).top(), 1.0);
    }
}

//! Axes: what they are called, and which value a column or row has.

use serde::Serialize;

/// What the numbers of an axis count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Columns of pixels.
    Column,
    /// Rows of pixels.
    Row,
    /// Layers of pixels.
    Layer,
    /// Millimetres from the middle of the detector.
    Mm,
    /// Bins of time of flight.
    Bin,
    /// Strips of a Multi-Blade.
    Strip,
    /// Wires of a blade.
    Wire,
    /// Blades, or what else stands in blocks on an arc.
    Blade,
}

/// An axis of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What people read: "x (column)", "y (mm)".
    pub label: String,
    /// What its numbers are.
    pub unit: Unit,
    /// Pixels along it, those of all panels.
    pub pixels: u32,
    /// The value in the middle of pixel 0.
    pub first: f64,
    /// From the middle of a pixel to that of the next.
    pub step: f64,
    /// The same in metres, if it is known: what the shape of a picture follows.
    #[serde(rename = "pitch_m", skip_serializing_if = "Option::is_none")]
    pub pitch: Option<f64>,
}

/// Letters of the axes, and what their pixels are called.
const NAMES: [(&str, Unit, &str); 3] =
    [("x", Unit::Column, "column"), ("y", Unit::Row, "row"), ("z", Unit::Layer, "layer")];

impl Axis {
    /// Axis 0, 1 or 2 (x, y or z) of `pixels` pixels, `panels` times side by side. Numbers are millimetres from the middle
    /// where the pitch is known (in metres) and there is one panel: panels side by side in a picture need not stand so.
    pub fn new(which: usize, pixels: u32, panels: u32, pitch: Option<f64>) -> Self {
        let (letter, unit, word) = NAMES[which.min(2)];
        let pitch = pitch.filter(|pitch| pitch.is_finite() && *pitch > 0.0);
        let all = pixels * panels;
        match pitch {
            Some(metres) if panels == 1 => {
                let step = 1e3 * metres;
                let first = -0.5 * step * f64::from(pixels.saturating_sub(1));
                Self { label: format!("{letter} (mm)"), unit: Unit::Mm, pixels: all, first, step, pitch }
            }
            _ => {
                Self { label: format!("{letter} ({word})"), unit, pixels: all, first: 0.0, step: 1.0, pitch }
            }
        }
    }

    /// An axis of strips, wires or blades, which are numbered.
    pub(crate) fn numbered(label: &str, unit: Unit, pixels: u32) -> Self {
        Self { label: label.into(), unit, pixels, first: 0.0, step: 1.0, pitch: None }
    }

    /// An axis of `bins` bins of time of flight.
    pub fn of_time(bins: u32) -> Self {
        let label = "time of flight (bin)".into();
        Self { label, unit: Unit::Bin, pixels: bins, first: 0.0, step: 1.0, pitch: None }
    }

    /// The pixels `from` to `to - 1` of this axis.
    #[must_use]
    pub fn part(&self, from: u32, to: u32) -> Self {
        let first = self.first + f64::from(from) * self.step;
        Self { pixels: to.saturating_sub(from), first, ..self.clone() }
    }

    /// A value as it stands at the axis: pixels have whole numbers.
    pub(crate) fn number(&self, value: f64) -> String {
        if self.unit == Unit::Mm { plain(value) } else { format!("{value:.0}") }
    }

    /// Round values within the axis with the place of each from its beginning, in pixels; at most about `most`. Pixel
    /// numbers stand in the middle of their pixel.
    pub fn ticks(&self, most: f64) -> Vec<(f64, f64)> {
        let pixels = f64::from(self.pixels);
        let low = self.first - 0.5 * self.step;
        let mut step = round_step(pixels * self.step, most);
        if self.unit != Unit::Mm {
            step = step.max(1.0);
        }
        let mut number = libm::ceil(low / step);
        let mut ticks = Vec::new();
        loop {
            let value = number * step;
            let place = (value - low) / self.step;
            if place > pixels * (1.0 + 1e-9) || ticks.len() > 1000 {
                return ticks;
            }
            // -0 is no number for people.
            ticks.push((value + 0.0, place));
            number += 1.0;
        }
    }
}

/// The step from 1, 2, 5, 10, … that divides `span` into at most `most` parts.
pub(crate) fn round_step(span: f64, most: f64) -> f64 {
    let raw = span / most.max(1.0);
    let decade = libm::pow(10.0, libm::floor(libm::log10(raw)));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= raw * 0.999_999);
    factor.unwrap_or(10.0) * decade
}

/// A short number for a colour bar: whole up to four digits, else three digits that count.
pub(crate) fn bar_number(value: f64) -> String {
    if value < 1e4 && libm::trunc(value) == value {
        return format!("{value:.0}");
    }
    let unit = libm::pow(10.0, libm::floor(libm::log10(value.max(f64::MIN_POSITIVE))) - 2.0);
    short((value / unit).round() * unit)
}

/// A short number for an axis: "0", "0.5", "500", "1.5k", "20M".
pub(crate) fn short(value: f64) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (size, prefix) = steps.into_iter().find(|(size, _)| value.abs() >= *size).unwrap_or((1.0, ""));
    format!("{}{prefix}", plain(value / size))
}

/// A number with as many of four digits behind the point as it needs.
fn plain(value: f64) -> String {
    let digits = format!("{value:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_numbered_in_their_middle() {
        let axis = Axis::new(1, 128, 1, None);
        assert_eq!((axis.label.as_str(), axis.unit), ("y (row)", Unit::Row));
        assert_eq!(axis.ticks(4.0), [(0.0, 0.5), (50.0, 50.5), (100.0, 100.5)]);
        assert_eq!(Axis::new(2, 2, 1, None).ticks(10.0), [(0.0, 0.5), (1.0, 1.5)]);
    }

    #[test]
    fn millimetres_count_from_the_middle_of_one_panel() {
        let axis = Axis::new(0, 100, 1, Some(0.0004));
        assert_eq!((axis.label.as_str(), axis.step), ("x (mm)", 0.4));
        let places: Vec<_> = axis.ticks(5.0).iter().map(|(value, at)| (*value, at.round())).collect();
        assert_eq!(places, [(-20.0, 0.0), (-10.0, 25.0), (0.0, 50.0), (10.0, 75.0), (20.0, 100.0)]);
        let panels = Axis::new(0, 100, 4, Some(0.0004));
        assert_eq!((panels.unit, panels.pixels, panels.pitch), (Unit::Column, 400, Some(0.0004)));
        assert_eq!(Axis::new(0, 100, 1, Some(f64::NAN)).unit, Unit::Column);
    }

    #[test]
    fn numbers_are_short() {
        let found = [0.0, 0.5, 12.0, 1500.0, 2e7, -20.0].map(short);
        assert_eq!(found, ["0", "0.5", "12", "1.5k", "20M", "-20"]);
        assert_eq!(Axis::new(0, 10, 1, Some(0.1)).number(-1500.0), "-1500");
        let found = [1000.0, 9999.0, 12_345.0, 0.25, 1234.5].map(bar_number);
        assert_eq!(found, ["1000", "9999", "12.3k", "0.25", "1.23k"]);
        assert_eq!((round_step(100.0, 5.0), round_step(7.0, 5.0), round_step(0.3, 10.0)), (20.0, 2.0, 0.05));
    }
}

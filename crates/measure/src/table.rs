//! Tables of a result: columns with units, cells with intervals.

use crate::error::MeasureError;
use serde::{Deserialize, Serialize};

/// Rows and columns that a result can have at most; a damaged file asks for no more memory.
pub(crate) const MOST_ROWS: usize = 100_000;
pub(crate) const MOST_COLUMNS: usize = 100;
/// Share of a number that reading it can change.
pub(crate) const ROUNDING: f64 = 1e-14;
/// Share of a normal distribution's mass that 95 % intervals leave out on each side, as the factor of its deviation.
const TWO_SIDED_95: f64 = 1.959_963_984_540_054;
/// Events that are expected at most, with 95 % confidence, where none was seen: -ln 0.05.
const NONE_SEEN_95: f64 = 2.995_732_273_553_991;

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name of its file without ending: small letters, digits and `-`.
    pub name: String,
    /// What it shows, for a person.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in files: small letters, digits and `_`.
    pub name: String,
    /// What it is, for a person.
    pub title: String,
    /// The unit of its numbers; empty for texts and counts.
    pub unit: String,
    /// What its values are to a comparison.
    pub role: Role,
    /// Decimals that are shown; none: four significant digits. Files have all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
}

/// What the values of a column are to a comparison of two results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What the row is about: rows of two results with the same keys are compared.
    Key,
    /// Calculated: any difference is one.
    Exact,
    /// Measured: a difference counts where it is larger than the intervals of both explain.
    Measured,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number without an interval.
    Number(f64),
    /// A measured number with the interval that the true value is in, with 95 % confidence.
    Measured {
        /// The estimate.
        value: f64,
        /// The lower end of the interval, at most `value`.
        low: f64,
        /// The upper end, at least `value`.
        high: f64,
    },
    /// A text.
    Text(String),
    /// Not measured, or of no meaning in this row.
    Missing,
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The mean of repeated measurements, with the interval that Student's distribution gives: of fewer than two values there is none. Of
    /// what was never below 0, as a rate or a share, the interval ends there.
    pub fn measured(values: &[f64]) -> Self {
        let floor = if values.iter().all(|value| *value >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
        Self::mean(values, floor)
    }

    /// The mean with Student's interval, which ends at `floor` at the latest.
    fn mean(values: &[f64], floor: f64) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        match values {
            [] => Self::Missing,
            [only] => Self::Number(*only),
            _ => {
                let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
                let half = student_95(values.len() - 1) * (square / count).sqrt();
                Self::Measured { value: mean, low: (mean - half).max(floor), high: mean + half }
            }
        }
    }

    /// The median of repeated measurements, with the interval that their order gives whatever their distribution: of fewer than six
    /// values there is none of 95 %.
    pub fn median(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        if count == 0 {
            return Self::Missing;
        }
        let value = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
        match values_outside(count) {
            Some(outside) => {
                Self::Measured { value, low: sorted[outside], high: sorted[count - 1 - outside] }
            }
            None => Self::Number(value),
        }
    }

    /// The ratio of pairs of measurements: the geometric mean, with Student's interval of the logarithms. Of fewer than two ratios
    /// there is no interval; a ratio that is not above 0 is none.
    pub fn ratio(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> =
            ratios.iter().filter(|ratio| **ratio > 0.0).map(|ratio| ratio.ln()).collect();
        // Logarithms have no floor: of ratios that all happen to be above 1, the interval may go below.
        match Self::mean(&logarithms, f64::NEG_INFINITY) {
            Self::Number(value) => Self::Number(value.exp()),
            Self::Measured { value, low, high } => {
                Self::Measured { value: value.exp(), low: low.exp(), high: high.exp() }
            }
            other => other,
        }
    }

    /// The share of `part` in `whole` that were counted, with its interval: Wilson's; of none seen 0 up to 3/N, the limit that
    /// a Poisson distribution gives. Missing if `whole` is 0.
    pub fn counted_share(part: u64, whole: u64) -> Self {
        if whole == 0 || part > whole {
            return Self::Missing;
        }
        let (part, count) = (part as f64, whole as f64);
        let share = part / count;
        if part == 0.0 {
            return Self::Measured { value: 0.0, low: 0.0, high: (NONE_SEEN_95 / count).min(1.0) };
        }
        let z = TWO_SIDED_95;
        let middle = (share + z * z / (2.0 * count)) / (1.0 + z * z / count);
        let half = z / (1.0 + z * z / count)
            * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
        Self::Measured {
            value: share,
            low: (middle - half).clamp(0.0, share),
            high: (middle + half).clamp(share, 1.0),
        }
    }

    /// The number, if it is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value) | Self::Measured { value, .. } => Some(*value),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// The ends of the interval, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        match self {
            Self::Measured { low, high, .. } => Some((*low, *high)),
            _ => None,
        }
    }

    /// True if it is 0 with an upper bound: nothing was seen.
    pub fn is_upper_bound(&self) -> bool {
        matches!(self, Self::Measured { value, high, .. } if *value == 0.0 && *high > 0.0)
    }
}

/// Of this many values in their order, how many can be left out at each end so that the median is between the others with 95 %
/// confidence; none if it is not even between all of them. Each value is above the median with a probability of one half.
fn values_outside(count: usize) -> Option<usize> {
    let mut exactly = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut below = exactly;
    let mut outside = None;
    for left_out in 0..count {
        if 2.0 * below > 0.05 {
            break;
        }
        outside = Some(left_out);
        exactly *= (count - left_out) as f64 / (left_out + 1) as f64;
        below += exactly;
    }
    outside
}

/// The factor of Student's distribution for a two-sided interval of 95 %, within 0.1 % (Abramowitz and Stegun, 26.7.5), exact for up to 6 degrees.
fn student_95(degrees: usize) -> f64 {
    const FIRST: [f64; 6] = [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912];
    if let Some(first) = degrees.checked_sub(1).and_then(|place| FIRST.get(place)) {
        return *first;
    }
    let (z, n) = (TWO_SIDED_95, degrees as f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
}

impl Column {
    fn new(name: &str, title: &str, unit: &str, role: Role) -> Self {
        let [name, title, unit] = [name, title, unit].map(str::to_owned);
        Self { name, title, unit, role, decimals: None }
    }

    /// What a row is about.
    pub fn key(name: &str, title: &str, unit: &str) -> Self {
        Self::new(name, title, unit, Role::Key)
    }

    /// Calculated.
    pub fn exact(name: &str, title: &str, unit: &str) -> Self {
        Self::new(name, title, unit, Role::Exact)
    }

    /// Measured.
    pub fn measured(name: &str, title: &str, unit: &str) -> Self {
        Self::new(name, title, unit, Role::Measured)
    }

    /// Shown with this many decimals.
    #[must_use]
    pub fn decimals(self, decimals: u8) -> Self {
        Self { decimals: Some(decimals), ..self }
    }

    /// What it is, with its unit in brackets.
    pub fn heading(&self) -> String {
        match self.unit.as_str() {
            "" => self.title.clone(),
            unit => format!("{} ({unit})", self.title),
        }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, title: &str, columns: Vec<Column>) -> Self {
        Self { name: name.to_owned(), title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// Where a column is.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The cells of a row's key columns.
    pub fn keys<'a>(&'a self, row: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
        self.columns.iter().zip(row).filter(|(column, _)| column.role == Role::Key).map(|(_, cell)| cell)
    }

    /// Makes sure that the table is sound, so that files of it can be read again.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn check(&self) -> Result<(), MeasureError> {
        let wrong = |problem: String| Err(MeasureError::Wrong(format!("table `{}`: {problem}", self.name)));
        if !is_file_name(&self.name) {
            return wrong("a name has 1 to 60 small letters, digits and `-`".to_owned());
        }
        if self.columns.is_empty() || self.columns.len() > MOST_COLUMNS || self.rows.len() > MOST_ROWS {
            return wrong(format!(
                "{} columns and {} rows: 1 to {MOST_COLUMNS} columns and at most {MOST_ROWS} rows",
                self.columns.len(),
                self.rows.len()
            ));
        }
        for (place, column) in self.columns.iter().enumerate() {
            if !is_column_name(&column.name) {
                return wrong(format!(
                    "column `{}`: a name has 1 to 60 small letters, digits and `_`",
                    column.name
                ));
            }
            if self.column(&column.name) != Some(place) {
                return wrong(format!("column `{}` is there twice", column.name));
            }
        }
        for (number, row) in self.rows.iter().enumerate() {
            let line = number + 1;
            if row.len() != self.columns.len() {
                return wrong(format!("row {line} has {} cells, expected {}", row.len(), self.columns.len()));
            }
            if let Some((column, _)) = self.columns.iter().zip(row).find(|(_, cell)| !cell.is_sound()) {
                return wrong(format!(
                    "row {line}, column `{}`: expected a finite number, and an interval that it is in",
                    column.name
                ));
            }
        }
        Ok(())
    }
}

impl Cell {
    fn is_sound(&self) -> bool {
        match self {
            Self::Number(value) => value.is_finite(),
            Self::Measured { value, low, high } => {
                let [below, above] = [value - low, high - value];
                // Reading a number can change its last digit.
                let least = -ROUNDING * value.abs();
                below.is_finite() && above.is_finite() && below >= least && above >= least
            }
            Self::Text(_) | Self::Missing => true,
        }
    }
}

/// The name of a table or plot, which becomes that of a file.
pub(crate) fn is_file_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=60).contains(&name.len()) && name.bytes().all(is_letter)
}

fn is_column_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=60).contains(&name.len()) && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, share: f64) -> bool {
        (found / expected - 1.0).abs() < share
    }

    #[test]
    fn repeated_measurements_have_students_interval() {
        // t of 4 degrees of freedom is 2.776; the deviation of 1 to 5 is 1.5811.
        let Cell::Measured { value, low, high } = Cell::measured(&[1.0, 2.0, 3.0, 4.0, 5.0]) else {
            panic!()
        };
        assert!(close(value, 3.0, 1e-12) && close(high - value, 2.776_445 * 1.581_139 / 5_f64.sqrt(), 1e-5));
        assert!(close(value - low, high - value, 1e-9));
        assert_eq!((Cell::measured(&[]), Cell::measured(&[7.0])), (Cell::Missing, Cell::Number(7.0)));
        // Tables of the distribution: 2.5706 for 5, 2.2281 for 10, 2.0423 for 30.
        for (degrees, expected) in [(5, 2.5706), (10, 2.2281), (30, 2.0423), (100_000, 1.96)] {
            assert!(close(student_95(degrees), expected, 1e-3), "{degrees}: {}", student_95(degrees));
        }
    }

    #[test]
    fn a_median_has_the_interval_of_the_order_and_none_of_fewer_than_six_values() {
        let of =
            |count: usize| Cell::median(&(1..=count).rev().map(|value| value as f64).collect::<Vec<f64>>());
        assert_eq!((of(0), of(1), of(5)), (Cell::Missing, Cell::Number(1.0), Cell::Number(3.0)));
        // Tables of the sign test: all of 6 to 8 values, all but one at each end of 9, all but five of 20 at each end.
        assert_eq!(of(6), Cell::Measured { value: 3.5, low: 1.0, high: 6.0 });
        assert_eq!(of(9), Cell::Measured { value: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(of(20), Cell::Measured { value: 10.5, low: 6.0, high: 15.0 });
    }

    #[test]
    fn a_ratio_is_the_geometric_mean_of_its_pairs() {
        let Cell::Measured { value, low, high } = Cell::ratio(&[0.5, 2.0]) else { panic!() };
        assert!(close(value, 1.0, 1e-12) && close(low * high, 1.0, 1e-9) && low < 0.5 && high > 2.0);
        assert_eq!(Cell::ratio(&[0.0]), Cell::Missing);
        let (low, high) = Cell::ratio(&[1.003, 1.021]).interval().unwrap();
        assert!(low < 0.95 && high > 1.1, "two ratios above 1 say little: {low} to {high}");
    }

    #[test]
    fn of_nothing_seen_there_is_an_upper_bound_of_three_in_n() {
        let none = Cell::counted_share(0, 1_000_000);
        assert!(none.is_upper_bound());
        let (low, high) = none.interval().unwrap();
        assert!(low == 0.0 && close(high, 3e-6, 2e-3), "{high}");
        // Wilson's interval of 10 in 100: 0.0552 to 0.1744.
        let (low, high) = Cell::counted_share(10, 100).interval().unwrap();
        assert!(close(low, 0.0552, 1e-2) && close(high, 0.1744, 1e-2), "{low} {high}");
        assert!(!Cell::counted_share(10, 100).is_upper_bound());
        assert_eq!((Cell::counted_share(0, 0), Cell::counted_share(2, 1)), (Cell::Missing, Cell::Missing));
    }

    #[test]
    fn a_table_that_could_not_be_read_again_is_refused_with_the_place() {
        let columns = || vec![Column::key("size", "Size", "B"), Column::measured("rate", "Rate", "1/s")];
        let with = |rows: Vec<Vec<Cell>>| {
            let table = Table { rows, ..Table::new("rates", "Rates", columns()) };
            table.check().map_err(|error| error.to_string())
        };
        let good = vec![Cell::Number(64.0), Cell::Measured { value: 2.0, low: 1.0, high: 3.0 }];
        assert_eq!(with(vec![good.clone()]), Ok(()));
        for (row, expected) in [
            (vec![Cell::Number(1.0)], "row 2 has 1 cells, expected 2"),
            (vec![Cell::Number(f64::NAN), Cell::Missing], "row 2, column `size`"),
            (vec![Cell::Missing, Cell::Measured { value: 4.0, low: 1.0, high: 3.0 }], "column `rate`"),
        ] {
            let said = with(vec![good.clone(), row]).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
        for name in ["", "../x", "Rates", "a b"] {
            assert!(Table::new(name, "", columns()).check().is_err(), "{name}");
        }
        let twice = Table::new("t", "", vec![Column::key("a", "", ""), Column::key("a", "", "")]);
        assert!(twice.check().unwrap_err().to_string().contains("twice"));
    }
}

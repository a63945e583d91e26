//! What a plot shows, apart from how it is drawn: axes with units, lines with intervals, theory, published points.

use crate::error::MeasureError;
use crate::figure::Figure;
use crate::table::{Cell, ROUNDING, Table, is_file_name};
use serde::{Deserialize, Serialize};

/// Lines that can be told apart in one plot, of each look, by colour and mark.
pub const MOST_MEASURED: usize = 6;
/// Points that a line can have at most.
const MOST_POINTS: usize = 100_000;

/// A plot: one pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// Name of its file without ending: small letters, digits and `-`.
    pub name: String,
    /// What is above it.
    pub title: String,
    /// What is below it: how to read it, in a sentence. May be empty.
    pub caption: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub up: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// What is drawn in their place, if it is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

/// An axis. Where nothing else is said, it is as long as its points ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows.
    pub title: String,
    /// In which unit; empty for counts.
    pub unit: String,
    /// Even or logarithmic.
    pub scale: Scale,
    /// Where it begins at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Where it ends at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Where numbers are written; none: where they are round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<f64>,
}

/// How an axis divides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By factors. Zero has a place of its own below all values.
    Logarithmic,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it is, for the key above the plot.
    pub name: String,
    /// How it looks.
    pub look: Look,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// What a line is, by which it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// Measured or calculated here: marks, a line through them, bars for intervals.
    Measured,
    /// What theory says: a line with dashes.
    Theory,
    /// What somebody else has published: open marks without a line.
    Published,
}

/// A point. On a logarithmic axis, `y` 0 with a `high` is an upper bound: nothing was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The lower end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Point {
    /// Without an interval.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, low: None, high: None }
    }
}

impl Axis {
    /// An even axis from 0 on.
    pub fn linear(title: &str, unit: &str) -> Self {
        let (title, unit) = (title.to_owned(), unit.to_owned());
        Self { title, unit, scale: Scale::Linear, from: Some(0.0), to: None, ticks: Vec::new() }
    }

    /// A logarithmic axis.
    pub fn logarithmic(title: &str, unit: &str) -> Self {
        Self { scale: Scale::Logarithmic, from: None, ..Self::linear(title, unit) }
    }

    /// With numbers at these values.
    #[must_use]
    pub fn with_ticks(self, ticks: &[f64]) -> Self {
        Self { ticks: ticks.to_vec(), ..self }
    }

    /// At least from here to there.
    #[must_use]
    pub fn over(self, from: f64, to: f64) -> Self {
        Self { from: Some(from), to: Some(to), ..self }
    }

    fn is_sound(&self) -> bool {
        let ends = self.from.iter().chain(&self.to).chain(&self.ticks);
        let mut ends =
            ends.filter(|end| !end.is_finite() || self.scale == Scale::Logarithmic && **end <= 0.0);
        ends.next().is_none()
            && self.from.zip(self.to).is_none_or(|(from, to)| from < to)
            && self.ticks.len() <= 100
    }
}

impl Line {
    /// A line through points.
    pub fn new(name: &str, look: Look, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), look, points }
    }

    /// Measured: two columns of a table, with the intervals of the second; of the rows that `chosen` is true for.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn of_columns(
        name: &str,
        table: &Table,
        [across, up]: [&str; 2],
        chosen: impl Fn(&[Cell]) -> bool,
    ) -> Result<Self, MeasureError> {
        let place = |name: &str| {
            let missing = || MeasureError::Wrong(format!("table `{}` has no column `{name}`", table.name));
            table.column(name).ok_or_else(missing)
        };
        let (across, up) = (place(across)?, place(up)?);
        let point = |row: &Vec<Cell>| {
            let cell = row.get(up)?;
            let (low, high) = cell.interval().unzip();
            Some(Point { x: row.get(across)?.value()?, y: cell.value()?, low, high })
        };
        let mut points: Vec<Point> = table.rows.iter().filter(|row| chosen(row)).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Ok(Self::new(name, Look::Measured, points))
    }
}

impl Plot {
    /// A plot without lines.
    pub fn new(name: &str, title: &str, across: Axis, up: Axis) -> Self {
        let [name, title] = [name, title].map(str::to_owned);
        Self { name, title, caption: String::new(), across, up, lines: Vec::new(), figure: None }
    }

    /// With this in the place of lines.
    #[must_use]
    pub fn of(self, figure: Figure) -> Self {
        Self { figure: Some(figure), ..self }
    }

    /// With one more line.
    #[must_use]
    pub fn with(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// With a sentence below it.
    #[must_use]
    pub fn captioned(self, caption: &str) -> Self {
        Self { caption: caption.to_owned(), ..self }
    }

    /// Makes sure that the plot can be drawn.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), MeasureError> {
        let wrong = |problem: String| Err(MeasureError::Wrong(format!("plot `{}`: {problem}", self.name)));
        if !is_file_name(&self.name) {
            return wrong("a name has 1 to 60 small letters, digits and `-`".to_owned());
        }
        for (axis, name) in [(&self.across, "horizontal"), (&self.up, "vertical")] {
            if !axis.is_sound() {
                return wrong(format!("the {name} axis has an end or a tick that it cannot have"));
            }
        }
        if let Some(Err(error)) = self.figure.as_ref().map(Figure::check) {
            return wrong(error.to_string());
        }
        for look in [Look::Measured, Look::Theory, Look::Published] {
            let number = self.lines.iter().filter(|line| line.look == look).count();
            let most = if look == Look::Measured { MOST_MEASURED } else { 1 };
            if number > most {
                return wrong(format!(
                    "{number} lines of the look {look:?}: at most {most} can be told apart"
                ));
            }
        }
        for line in &self.lines {
            let ends = |point: &Point| [Some(point.x), Some(point.y), point.low, point.high];
            let is_sound = |point: &Point| {
                ends(point).into_iter().flatten().all(f64::is_finite)
                    && point.low.is_none_or(|low| low <= point.y + ROUNDING * point.y.abs())
                    && point.high.is_none_or(|high| point.y <= high + ROUNDING * point.y.abs())
                    && (self.across.scale == Scale::Linear || point.x > 0.0)
                    && (self.up.scale == Scale::Linear || point.y >= 0.0)
            };
            if line.points.len() > MOST_POINTS || !line.points.iter().all(is_sound) {
                return wrong(format!("line `{}` has a point that has no place on these axes", line.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn a_line_takes_points_and_intervals_from_a_table() {
        let columns = vec![Column::key("size", "Size", "B"), Column::measured("lost", "Lost", "")];
        let mut table = Table::new("t", "", columns);
        let interval = |value| Cell::Measured { value, low: value / 2.0, high: value * 2.0 };
        table.rows = vec![
            vec![Cell::Number(128.0), interval(0.5)],
            vec![Cell::Number(64.0), Cell::Number(0.25)],
            vec![Cell::Number(32.0), Cell::Missing],
        ];
        let line = Line::of_columns("lost", &table, ["size", "lost"], |_| true).unwrap();
        assert_eq!(line.points[0], Point::at(64.0, 0.25));
        assert_eq!(line.points[1], Point { x: 128.0, y: 0.5, low: Some(0.25), high: Some(1.0) });
        assert_eq!(line.points.len(), 2);
        let said = Line::of_columns("x", &table, ["size", "found"], |_| true).unwrap_err().to_string();
        assert!(said.contains("no column `found`"), "{said}");
    }

    #[test]
    fn a_plot_that_cannot_be_drawn_is_refused() {
        let plot = |up: Axis| Plot::new("p", "P", Axis::linear("Size", "B"), up);
        let line = |points| Line::new("l", Look::Measured, points);
        let good = plot(Axis::logarithmic("Lost", "")).with(line(vec![Point::at(1.0, 0.0)]));
        assert!(good.check().is_ok());
        for bad in [
            plot(Axis::logarithmic("Lost", "")).with(line(vec![Point::at(1.0, -1.0)])),
            plot(Axis::linear("Lost", "")).with(line(vec![Point::at(f64::NAN, 1.0)])),
            plot(Axis::logarithmic("Lost", "").over(0.0, 1.0)),
            plot(Axis::linear("Lost", "").over(2.0, 1.0)),
            (0..=MOST_MEASURED).fold(plot(Axis::linear("Lost", "")), |plot, _| plot.with(line(vec![]))),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}

//! Figures that are no lines: a matrix of shares, and stacked bars.

use crate::error::MeasureError;
use crate::table::Cell;
use serde::{Deserialize, Serialize};

/// Rows and columns of a matrix, and bars, at most: more of them cannot be read.
pub const MOST_PLACES: usize = 64;

/// Parts of a bar that can be told apart by their colours.
pub const MOST_PARTS: usize = 6;

/// What is drawn in the place of lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// A field for each pair, coloured by its share.
    Matrix(Matrix),
    /// A bar for each place, made of parts.
    Stacks(Stacks),
}

/// Shares of pairs: colours are logarithmic, 0 has one of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Names of the rows, from above.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Row by row: shares, 0 to 1, and a second line of text for each.
    pub fields: Vec<Field>,
}

/// A field of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The share; of none seen with its upper bound.
    pub share: Cell,
    /// What is written below it. May be empty.
    pub note: String,
}

/// Bars made of parts, from below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    /// Names of the bars, from left to right.
    pub bars: Vec<String>,
    /// Names of the parts, from below.
    pub parts: Vec<String>,
    /// Bar by bar: a height for each part, in the unit of the vertical axis.
    pub heights: Vec<Vec<f64>>,
}

impl Figure {
    /// Makes sure that it can be drawn.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        let wrong = |problem: &str| Err(MeasureError::Wrong(problem.to_owned()));
        match self {
            Self::Matrix(Matrix { rows, columns, fields }) => {
                let is_share = |field: &Field| {
                    let is_within = |value: f64| (0.0..=1.0).contains(&value);
                    field.share == Cell::Missing
                        || field.share.value().is_some_and(is_within)
                            && field
                                .share
                                .interval()
                                .is_none_or(|(low, high)| is_within(low) && is_within(high))
                };
                if !is_size(rows.len())
                    || !is_size(columns.len())
                    || fields.len() != rows.len() * columns.len()
                {
                    return wrong("a matrix has 1 to 64 rows and columns, and a field for each pair");
                }
                if !fields.iter().all(is_share) {
                    return wrong("a matrix has a field that is no share");
                }
            }
            Self::Stacks(Stacks { bars, parts, heights }) => {
                let is_height = |height: &f64| height.is_finite() && *height >= 0.0;
                if !is_size(bars.len()) || parts.is_empty() || parts.len() > MOST_PARTS {
                    return wrong("stacked bars are 1 to 64, of 1 to 6 parts");
                }
                let is_bar = |bar: &Vec<f64>| bar.len() == parts.len() && bar.iter().all(is_height);
                if heights.len() != bars.len() || !heights.iter().all(is_bar) {
                    return wrong("stacked bars have a height of 0 or more for each part of each bar");
                }
            }
        }
        Ok(())
    }
}

fn is_size(count: usize) -> bool {
    (1..=MOST_PLACES).contains(&count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_cannot_be_drawn_is_refused() {
        let field = |share| Field { share, note: String::new() };
        let matrix = |fields| {
            let names = vec!["a".to_owned(), "b".to_owned()];
            Figure::Matrix(Matrix { rows: names.clone(), columns: names, fields })
        };
        let good = vec![field(Cell::counted_share(0, 10)); 4];
        assert!(matrix(good.clone()).check().is_ok());
        for bad in [
            vec![field(Cell::Number(0.5))],
            vec![field(Cell::Number(1.5)); 4],
            vec![field(Cell::text("x")); 4],
        ] {
            assert!(matrix(bad).check().is_err());
        }
        let stacks = |heights| {
            Figure::Stacks(Stacks {
                bars: vec!["a".to_owned()],
                parts: vec!["p".to_owned(), "q".to_owned()],
                heights,
            })
        };
        assert!(stacks(vec![vec![1.0, 0.0]]).check().is_ok());
        for bad in [vec![], vec![vec![1.0]], vec![vec![1.0, -1.0]], vec![vec![f64::NAN, 1.0]]] {
            assert!(stacks(bad).check().is_err());
        }
        // It is read again as it was written.
        let text = serde_json::to_string(&matrix(good.clone())).expect("JSON");
        assert_eq!(serde_json::from_str::<Figure>(&text).expect("a figure"), matrix(good));
    }
}

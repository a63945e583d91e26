//! Two results of the same measurement: what they depend on first, then their figures, row by row.
//!
//! A difference of measured figures counts where it is larger than both intervals explain: for a < b, where
//! `b - a > sqrt((high of a - a)² + (b - low of b)²)`. That is the limit at which the 95 % interval of the difference, made of those of both
//! figures (MOVER: Zou and Donner, Statistics in Medicine 27, 2008, p. 1693), no longer has 0 in it. Of many rows, one in twenty is
//! beyond it by chance.

mod comparison;
mod text;

pub use comparison::{ComparedCell, ComparedTable, Comparison, Difference, DifferentFact};
pub use text::to_text;

//! Counts in bins, which messages add to or replace.

use evforge_messages::{Array, Scalar};
use serde::{Deserialize, Serialize};

use super::dtype::scalar_at;
use super::module::{NotWritten, restored};

/// Counts in bins of any number of axes.
#[derive(Debug)]
pub(super) struct Histogram {
    shape: Vec<usize>,
    bins: Bins,
    is_changed: bool,
}

/// Whole numbers, or those of monitors that integrate.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Bins {
    Whole(Vec<i64>),
    /// Bits of the numbers: decimals would not give the same ones again.
    Real(Vec<u64>),
}

/// A part of a histogram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) shape: &'a [i64],
    /// Where it begins; empty for the whole.
    pub(super) offset: &'a [i64],
}

impl Histogram {
    pub(super) fn new(shape: Vec<usize>, is_whole: bool) -> Self {
        let count = shape.iter().product();
        // The bits of 0.0 are 0.
        let bins = if is_whole { Bins::Whole(vec![0; count]) } else { Bins::Real(vec![0; count]) };
        Self { shape, bins, is_changed: true }
    }

    /// Adds counts of all bins.
    pub(super) fn add(&mut self, values: Array<'_>, shape: &[i64]) -> Result<(), NotWritten> {
        let is_same = shape.len() == self.shape.len()
            && shape.iter().zip(&self.shape).all(|(found, length)| usize::try_from(*found) == Ok(*length));
        if !is_same || values.len() != self.shape.iter().product::<usize>() {
            return Err(NotWritten::shape(format!(
                "counts of shape {shape:?} where {:?} is expected",
                self.shape
            )));
        }
        match &mut self.bins {
            Bins::Whole(bins) => bins.iter_mut().enumerate().for_each(|(place, bin)| {
                *bin = bin.saturating_add(scalar_at(values, place).map_or(0, whole));
            }),
            Bins::Real(bins) => bins.iter_mut().enumerate().for_each(|(place, bin)| {
                let more = scalar_at(values, place).map_or(0.0, |value| value.to_f64());
                *bin = (f64::from_bits(*bin) + more).to_bits();
            }),
        }
        self.is_changed = true;
        Ok(())
    }

    /// Replaces the counts of a piece.
    pub(super) fn replace(&mut self, values: Array<'_>, piece: &Piece<'_>) -> Result<(), NotWritten> {
        let shape: Option<Vec<usize>> =
            piece.shape.iter().map(|length| usize::try_from(*length).ok()).collect();
        let offset: Option<Vec<usize>> = match piece.offset {
            [] => Some(vec![0; self.shape.len()]),
            offset => offset.iter().map(|first| usize::try_from(*first).ok()).collect(),
        };
        let fits = |shape: &[usize], offset: &[usize]| {
            let inside = shape.iter().zip(offset).zip(&self.shape);
            shape.len() == self.shape.len()
                && offset.len() == self.shape.len()
                && inside.fold(true, |all, ((length, first), whole)| {
                    all && length.saturating_add(*first) <= *whole
                })
                && shape.iter().product::<usize>() == values.len()
                && (!piece.offset.is_empty() || shape == self.shape)
        };
        let (Some(shape), Some(offset)) = (shape, offset) else {
            return Err(NotWritten::shape("a length less than 0"));
        };
        if !fits(&shape, &offset) {
            return Err(NotWritten::shape(format!(
                "a piece of shape {shape:?} at {offset:?} where the histogram has {:?}",
                self.shape
            )));
        }
        for place in 0..values.len() {
            let (mut rest, mut bin, mut stride) = (place, 0, 1);
            for axis in (0..shape.len()).rev() {
                bin += (rest % shape[axis] + offset[axis]) * stride;
                rest /= shape[axis];
                stride *= self.shape[axis];
            }
            let Some(value) = scalar_at(values, place) else { continue };
            match &mut self.bins {
                Bins::Whole(bins) => bins[bin] = whole(value),
                Bins::Real(bins) => bins[bin] = value.to_f64().to_bits(),
            }
        }
        self.is_changed = true;
        Ok(())
    }

    /// The counts and their sum as bytes, if they have changed since the last call.
    pub(super) fn changed(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        Some(match &self.bins {
            Bins::Whole(bins) => {
                let sum = bins.iter().fold(0_i64, |sum, bin| sum.saturating_add(*bin));
                (bins.iter().flat_map(|bin| bin.to_ne_bytes()).collect(), sum.to_ne_bytes().to_vec())
            }
            Bins::Real(bins) => {
                let sum: f64 = bins.iter().map(|bin| f64::from_bits(*bin)).sum();
                (bins.iter().flat_map(|bin| bin.to_ne_bytes()).collect(), sum.to_ne_bytes().to_vec())
            }
        })
    }

    /// Bytes of [`saved`](Self::saved) at most: 20 digits or signs and a comma for each bin.
    pub(super) fn state_room(&self) -> usize {
        21 * self.shape.iter().product::<usize>()
    }

    pub(super) fn saved(&self) -> serde_json::Value {
        serde_json::json!(self.bins)
    }

    pub(super) fn restore(&mut self, state: serde_json::Value) -> Result<(), String> {
        let bins: Bins = restored(state)?;
        let (found, is_same) = match (&bins, &self.bins) {
            (Bins::Whole(found), Bins::Whole(own)) => (found.len(), found.len() == own.len()),
            (Bins::Real(found), Bins::Real(own)) => (found.len(), found.len() == own.len()),
            (Bins::Whole(found), _) => (found.len(), false),
            (Bins::Real(found), _) => (found.len(), false),
        };
        if !is_same {
            return Err(format!("the state of the module is that of another histogram, with {found} bins"));
        }
        (self.bins, self.is_changed) = (bins, true);
        Ok(())
    }
}

/// A count as a whole number: the nearest one.
fn whole(value: Scalar) -> i64 {
    match value {
        Scalar::Int64(value) => value,
        Scalar::UInt64(value) => i64::try_from(value).unwrap_or(i64::MAX),
        other => other.to_f64().round() as i64,
    }
}

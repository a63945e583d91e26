//! Frames of a file, next to its pulses: of files that evforge has written, and of others whose `framelog` has a value for each
//! pulse.

use crate::storage::text::readable;
use std::ops::Range;

use evforge_core::frame::{Frame, FrameState, FrameVeto, MOST_FRAME_VETOES, ProtonCharge};
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, File, Result};

use super::event_arrays::whole_numbers;
use super::frame_log::{BITS, CHARGE, COUNTS, FRAME_LOG, GOOD, NAMES, PERIOD, STATE, VETOES};

/// Values of a chunk at most: it is unpacked as a whole, whatever is wanted of it.
const LARGEST_CHUNK: usize = 1 << 22;

/// The arrays with a value for each frame; those that a file lacks say nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameArrays {
    period: Option<Dataset>,
    charge: Option<Dataset>,
    vetoes: Option<Dataset>,
    good: Option<Dataset>,
    state: Option<Dataset>,
}

impl FrameArrays {
    /// Those of the entry that a group is in; none if there are none.
    pub(super) fn of_entry(file: &File, group: &str) -> Option<Self> {
        let entry = group.trim_start_matches('/').split('/').next()?;
        let row = |name: &str| {
            let found = file.dataset(&format!("/{entry}/{FRAME_LOG}/{name}/value")).ok()?;
            let is_small = found.chunk().is_none_or(|chunk| chunk.iter().product::<usize>() <= LARGEST_CHUNK);
            (found.ndim() == 1 && is_small).then_some(found)
        };
        let arrays = Self {
            period: row(PERIOD),
            charge: row(CHARGE),
            vetoes: row(VETOES),
            good: row(GOOD),
            state: row(STATE),
        };
        let has_some = arrays.all().next().is_some();
        has_some.then_some(arrays)
    }

    fn all(&self) -> impl Iterator<Item = &Dataset> {
        [&self.period, &self.charge, &self.vetoes, &self.good, &self.state].into_iter().flatten()
    }

    /// Learns how many there are by now, in a file that somebody writes.
    pub(super) fn refresh(&self) -> Result<()> {
        self.all().try_for_each(Dataset::refresh)
    }

    /// Frames of which all is there.
    pub(super) fn len(&self) -> usize {
        self.all().map(|array| array.size()).min().unwrap_or(0)
    }

    /// These frames.
    pub(super) fn read(&self, range: Range<usize>) -> Result<Vec<Frame>> {
        let numbers = |array: &Option<Dataset>| {
            array.as_ref().map(|array| whole_numbers(array, range.clone(), 1.0)).transpose()
        };
        let (periods, vetoes) = (numbers(&self.period)?, numbers(&self.vetoes)?);
        let (good, states) = (numbers(&self.good)?, numbers(&self.state)?);
        let charges = match &self.charge {
            Some(array) if !range.is_empty() => Some(array.read_slice_1d::<f64, _>(range.clone())?),
            _ => None,
        };
        let at = |values: &Option<Vec<i64>>, place: usize| values.as_ref()?.get(place).copied();
        let frame = |place: usize| {
            let code = at(&states, place).and_then(|code| usize::try_from(code).ok());
            let charge = charges.as_ref().and_then(|charges| charges.get(place).copied());
            Frame {
                period: at(&periods, place)
                    .and_then(|period| u32::try_from(period).ok())
                    .and_then(|period| period.checked_sub(1)),
                vetoes: at(&vetoes, place).and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0),
                is_vetoed: at(&good, place) == Some(0),
                charge: charge.filter(|uah| uah.is_finite() && *uah >= 0.0).map(|uah| ProtonCharge { uah }),
                state: code.and_then(|code| FrameState::ALL.get(code).copied()).unwrap_or_default(),
            }
        };
        Ok((0..range.len()).map(frame).collect())
    }

    /// The vetoes that have a name.
    pub(super) fn names(&self) -> Vec<FrameVeto> {
        let Some(vetoes) = &self.vetoes else { return Vec::new() };
        let list =
            |name| vetoes.attr(name).and_then(|attribute| attribute.read_raw::<i32>()).unwrap_or_default();
        let names = vetoes.attr(NAMES).and_then(|attribute| attribute.read_raw::<VarLenUnicode>());
        let (bits, counts) = (list(BITS), list(COUNTS));
        let mut counting = counts.into_iter().map(|counts| counts != 0).chain(std::iter::repeat(true));
        names
            .unwrap_or_default()
            .iter()
            .zip(bits)
            .filter_map(|(name, bit)| {
                let counts = counting.next().unwrap_or(true);
                let bit = u8::try_from(bit).ok().filter(|&bit| usize::from(bit) < MOST_FRAME_VETOES)?;
                Some(FrameVeto { bit, name: readable(name.as_bytes()), counts, frames: 0 })
            })
            .take(MOST_FRAME_VETOES)
            .collect()
    }
}

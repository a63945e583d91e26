//! Datasets whose values come with a message: the first one that has them counts, also over a restart.

use crate::file::{Columns, GridId, ValueType};

/// A dataset whose values are not known before the first message.
#[derive(Debug)]
pub(super) struct LateGrid {
    pub(super) grid: GridId,
    pub(super) value_type: ValueType,
    /// How many there are.
    pub(super) values: usize,
    /// True once a message had them, or the configuration.
    is_known: bool,
    /// What the next commit is to bring to the file.
    waiting: Option<Vec<u8>>,
}

impl LateGrid {
    pub(super) fn new(grid: GridId, value_type: ValueType, values: usize, is_known: bool) -> Self {
        Self { grid, value_type, values, is_known, waiting: None }
    }

    /// True if a message is still to say its values.
    pub(super) fn is_open(&self) -> bool {
        !self.is_known
    }

    /// Takes the values, as this machine has them in memory, if they are as many as expected and the first ones.
    pub(super) fn take(&mut self, bytes: Vec<u8>) {
        if !self.is_known && bytes.len() == self.values * self.value_type.size() {
            (self.is_known, self.waiting) = (true, Some(bytes));
        }
    }

    /// Brings them to the file. Before a commit: what is not committed comes again after a restart.
    pub(super) fn flush(&mut self, columns: &mut Columns) {
        if let Some(bytes) = self.waiting.take() {
            columns.set_grid(self.grid, &bytes);
        }
    }
}

/// Which of them are known: what is kept over a restart.
pub(super) fn known(grids: &[LateGrid]) -> Vec<bool> {
    grids.iter().map(|grid| grid.is_known).collect()
}

/// Takes back what [`known`] gave.
pub(super) fn set_known(grids: &mut [LateGrid], known: &[bool]) -> Result<(), String> {
    if known.len() != grids.len() {
        let (found, expected) = (known.len(), grids.len());
        return Err(format!("the state of the module has {found} datasets where {expected} are expected"));
    }
    grids.iter_mut().zip(known).for_each(|(grid, is_known)| grid.is_known = *is_known);
    Ok(())
}

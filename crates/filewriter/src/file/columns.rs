//! All arrays of a file that grow, and the scalars that are set at its end.

use super::value_type::ValueType;
use evforge_messages::{Column, Element};
use evforge_stream::storage::growing::{ArrayPlan, GrowingArray, WorkerLost};
use evforge_stream::storage::resting::RestingDataset;
use evforge_stream::storage::workers::Workers;
use hdf5_metno::{Dataset, Error, File, Group, H5Type, Result};
use zerocopy::IntoBytes as _;

/// Bytes that HDF5 has in memory of a dataset without values: 14 kB where 40 000 of them were made.
const DATASET: u64 = 16 << 10;

/// What a column is.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPlan<'a> {
    /// Its name in its group.
    pub name: &'a str,
    /// The type of its values.
    pub value: ValueType,
    /// The shape of a row; empty for single values.
    pub row: &'a [usize],
    /// Rows in a chunk.
    pub chunk_rows: usize,
    /// Whether it is compressed, if the file is: worth it for events, images and histograms.
    pub is_large: bool,
}

impl<'a> ColumnPlan<'a> {
    /// Single values of a type, not compressed.
    pub fn values(name: &'a str, value: ValueType, chunk_rows: usize) -> Self {
        Self { name, value, row: &[], chunk_rows, is_large: false }
    }

    /// The same, compressed if the file is.
    pub fn large(self) -> Self {
        Self { is_large: true, ..self }
    }

    /// The same with rows of this shape.
    pub fn rows(self, row: &'a [usize]) -> Self {
        Self { row, ..self }
    }
}

/// A column of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnId(usize);

/// A scalar of a file that is set while it grows, or at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarId(usize);

/// A dataset of a file whose shape is fixed and whose values are set as a whole, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridId(usize);

#[derive(Debug)]
struct Grid {
    dataset: Dataset,
    value: ValueType,
}

/// How many rows each column of a file that is opened again is to keep, in the order of their creation.
#[derive(Debug)]
struct Kept {
    rows: Vec<u64>,
}

/// All columns and scalars of a file.
///
/// A new file and one that is opened again take the same way: what makes the datasets of the one opens those of the other, in
/// the same order, cut back to the last commit.
#[derive(Debug)]
pub struct Columns {
    arrays: Vec<GrowingArray>,
    scalars: Vec<RestingDataset>,
    grids: Vec<Grid>,
    workers: Workers,
    deflate: Option<u8>,
    kept: Option<Kept>,
    /// Nothing is made: what is asked for is only added up.
    is_counting: bool,
    bytes: u64,
    /// Columns with rows that wait: of thousands, most have none at a commit.
    busy: Vec<usize>,
    waiting: usize,
}

impl Columns {
    /// Of a new file. `deflate` is the level for what is large.
    pub fn new(workers: Workers, deflate: Option<u8>) -> Self {
        let (arrays, scalars, grids) = (Vec::new(), Vec::new(), Vec::new());
        let (kept, is_counting, bytes) = (None, false, 0);
        let (busy, waiting) = (Vec::new(), 0);
        Self { arrays, scalars, grids, workers, deflate, kept, is_counting, bytes, busy, waiting }
    }

    /// The same of no file: what is asked for is added up, and nothing is made.
    pub fn counting(self) -> Self {
        Self { is_counting: true, ..self }
    }

    /// Of a file that is opened again, with the rows of each column at the last commit.
    pub fn of_existing(workers: Workers, deflate: Option<u8>, rows: Vec<u64>) -> Self {
        Self { kept: Some(Kept { rows }), ..Self::new(workers, deflate) }
    }

    /// True if the datasets are there already, or never will be: attributes are not to be written.
    pub fn is_reopened(&self) -> bool {
        self.kept.is_some() || self.is_counting
    }

    /// True if nothing is made.
    pub fn is_counting(&self) -> bool {
        self.is_counting
    }

    /// Bytes at most of all that was asked for, as soon as each column has a row: in memory, and in the file. A chunk is whole in both
    /// from its first row on.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn count(&mut self, shape: &[usize], value: usize) {
        let values = shape.iter().fold(value as u64, |bytes, length| bytes.saturating_mul(*length as u64));
        self.bytes = self.bytes.saturating_add(DATASET).saturating_add(values);
    }

    /// Makes, or opens, a column.
    ///
    /// # Errors
    /// If HDF5 refuses, or what is there is something else.
    pub fn column(&mut self, group: &Group, plan: &ColumnPlan<'_>) -> Result<ColumnId> {
        self.count(plan.row, plan.value.size().saturating_mul(plan.chunk_rows));
        if self.is_counting {
            return Ok(ColumnId(self.arrays.len()));
        }
        let array = ArrayPlan {
            name: plan.name,
            value: plan.value.descriptor(),
            row: plan.row,
            chunk_rows: plan.chunk_rows,
            deflate: self.deflate.filter(|_| plan.is_large),
        };
        let id = self.arrays.len();
        self.arrays.push(match &self.kept {
            None => GrowingArray::create(group, &array)?,
            Some(kept) => {
                let rows = kept.rows.get(id).copied().ok_or_else(|| {
                    Error::from(format!("the last commit says nothing of {}/{}", group.name(), plan.name))
                })?;
                GrowingArray::open(group, &array, usize::try_from(rows).unwrap_or(usize::MAX))?
            }
        });
        Ok(ColumnId(id))
    }

    /// Makes, or opens, a scalar.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn scalar<T: H5Type>(&mut self, group: &Group, name: &str, value: T) -> Result<ScalarId> {
        self.count(&[], size_of::<T>());
        if self.is_counting {
            return Ok(ScalarId(self.scalars.len()));
        }
        let dataset = if self.is_reopened() {
            group.dataset(name)?
        } else {
            evforge_stream::storage::dataset::scalar(group, name, value)?
        };
        self.scalars.push(RestingDataset::of(dataset));
        Ok(ScalarId(self.scalars.len() - 1))
    }

    /// Makes, or opens, a dataset of a fixed shape, which has its place in the file at once; without axes it has one value. Its
    /// values are 0, or empty, until they are set.
    ///
    /// # Errors
    /// If HDF5 refuses, or what is there is something else.
    pub fn grid(&mut self, group: &Group, name: &str, value: ValueType, shape: &[usize]) -> Result<GridId> {
        self.count(shape, value.size());
        if self.is_counting {
            return Ok(GridId(self.grids.len()));
        }
        let dataset = if self.is_reopened() {
            let dataset = group.dataset(name)?;
            if dataset.shape() != shape || dataset.dtype()?.to_descriptor()? != value.descriptor() {
                return Err(Error::from(format!("{} is not the dataset that it was", dataset.name())));
            }
            dataset
        } else {
            let early = hdf5_metno::dataset::AllocTime::Early;
            let builder = group.new_dataset_builder().alloc_time(Some(early)).empty_as(value.descriptor());
            if shape.is_empty() { builder.create(name)? } else { builder.shape(shape).create(name)? }
        };
        self.grids.push(Grid { dataset, value });
        Ok(GridId(self.grids.len() - 1))
    }

    /// The dataset of a grid, for its attributes.
    pub fn grid_dataset(&self, id: GridId) -> Option<&Dataset> {
        self.grids.get(id.0).map(|grid| &grid.dataset)
    }

    /// Sets all values of a grid, as bytes as this machine has them in memory. An error of HDF5 shows at the end of the file,
    /// when it is flushed. Text is not set this way.
    pub fn set_grid(&mut self, id: GridId, bytes: &[u8]) {
        if let Some(grid) = self.grids.get(id.0) {
            // As for scalars.
            let _ = write_all(grid, bytes);
        }
    }

    /// The dataset of a column, for its attributes, until the columns [rest](Columns::rest).
    pub fn dataset(&self, id: ColumnId) -> Option<&Dataset> {
        self.arrays.get(id.0)?.dataset().ok()
    }

    /// The dataset of a scalar, for its attributes, until the columns [rest](Columns::rest).
    pub fn scalar_dataset(&self, id: ScalarId) -> Option<&Dataset> {
        self.scalars.get(id.0)?.awake().ok()
    }

    /// Closes the datasets of all columns and scalars, once they have been made: each is opened again when it has something to
    /// write. `file` is theirs.
    pub fn rest(&mut self, file: &File) {
        self.arrays.iter_mut().for_each(|array| array.rest(file));
        self.scalars.iter_mut().for_each(|scalar| scalar.rest(file));
    }

    /// Sets a scalar. An error of HDF5 shows at the end of the file, when it is flushed.
    pub fn set<T: H5Type>(&mut self, id: ScalarId, value: T) {
        if let Some(scalar) = self.scalars.get_mut(id.0) {
            // What HDF5 cannot take now it cannot flush either, and that is checked.
            let _ = scalar.open().and_then(|dataset| dataset.write_scalar(&value));
        }
    }

    /// Appends a value.
    pub fn push<T: Element>(&mut self, id: ColumnId, value: T) {
        self.append(id, value.as_bytes());
    }

    /// Appends the values of a column of a message.
    pub fn extend<T: Element>(&mut self, id: ColumnId, values: Column<'_, T>) {
        match (values.as_slice(), values.le_bytes()) {
            (Some(values), _) => self.append(id, values.as_bytes()),
            // At whatever alignment they have arrived.
            (None, Some(bytes)) if cfg!(target_endian = "little") => {
                self.append(id, &bytes[..values.len() * size_of::<T>()]);
            }
            _ => values.iter().for_each(|value| self.push(id, value)),
        }
    }

    /// Appends a value `count` times.
    pub fn repeat<T: Element>(&mut self, id: ColumnId, value: T, count: usize) {
        let value = value.as_bytes();
        self.grow(id, |array| array.pending().extend(value.iter().cycle().take(value.len() * count)));
    }

    /// Appends whole rows as bytes, values as this machine has them in memory.
    pub fn append(&mut self, id: ColumnId, rows: &[u8]) {
        self.grow(id, |array| array.append(rows));
    }

    /// Appends whole rows to a column, which has rows that wait from then on.
    fn grow(&mut self, id: ColumnId, append: impl FnOnce(&mut GrowingArray)) {
        let Some(array) = self.arrays.get_mut(id.0) else { return };
        let before = array.waiting();
        append(array);
        let after = array.waiting();
        if before == 0 && after > 0 {
            self.busy.push(id.0);
        }
        array.seal(&mut self.workers);
        self.waiting += after - before;
    }

    /// Appends text, cut to the room for it and padded with zeros.
    pub fn push_text(&mut self, id: ColumnId, text: &str, room: usize) {
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = text.as_bytes()[..end].to_vec();
        bytes.resize(room, 0);
        self.append(id, &bytes);
    }

    /// Rows of a column, in the file and waiting.
    pub fn rows(&self, id: ColumnId) -> u64 {
        self.arrays.get(id.0).map_or(0, |array| array.len() as u64)
    }

    /// Rows of all columns, in the order of their creation.
    pub fn all_rows(&self) -> Vec<u64> {
        self.arrays.iter().map(|array| array.len() as u64).collect()
    }

    /// Bytes of rows that are not in the file.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Has everything that waits in the form in which it is written.
    ///
    /// # Errors
    /// If a thread that compresses has ended.
    pub fn prepare(&mut self, is_last: bool) -> std::result::Result<(), WorkerLost> {
        // In the order of their creation: what points at rows comes behind them.
        self.busy.sort_unstable();
        for &place in &self.busy {
            if let Some(array) = self.arrays.get_mut(place) {
                array.prepare(&mut self.workers, is_last);
            }
        }
        self.collect()
    }

    /// Waits until all chunks that are full have the form in which they are written.
    ///
    /// # Errors
    /// If a thread that compresses has ended.
    pub fn collect(&mut self) -> std::result::Result<(), WorkerLost> {
        self.busy
            .iter()
            .try_for_each(|place| self.arrays.get_mut(*place).map_or(Ok(()), GrowingArray::collect))
    }

    /// Bytes by which the file grows at most with what is written next.
    pub fn growth(&self) -> u64 {
        self.busy.iter().filter_map(|place| self.arrays.get(*place)).map(GrowingArray::growth).sum()
    }

    /// Writes everything that was prepared; the file is to be flushed then. True if there was something.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn write(&mut self) -> Result<bool> {
        let mut has_written = false;
        for place in self.busy.drain(..) {
            if let Some(array) = self.arrays.get_mut(place) {
                has_written |= array.write()?;
            }
        }
        self.waiting = 0;
        Ok(has_written)
    }

    /// Writes the chunks that are full, once they were collected, and leaves the rest for a commit.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn write_full(&mut self) -> Result<()> {
        self.busy.sort_unstable();
        for &place in &self.busy {
            if let Some(array) = self.arrays.get_mut(place) {
                let before = array.waiting();
                array.write_full()?;
                self.waiting -= before - array.waiting();
            }
        }
        let arrays = &self.arrays;
        self.busy.retain(|place| arrays.get(*place).is_some_and(|array| array.waiting() > 0));
        Ok(())
    }

    /// Brings everything that was prepared to the file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn flush(&mut self) -> Result<()> {
        let has_written = self.write()?;
        // Once for all of them: a flush of each of a thousand logs takes a minute.
        let awake = self.arrays.iter().find_map(|array| array.dataset().ok());
        if let Some(dataset) = awake.filter(|_| has_written) {
            dataset.file()?.flush()?;
        }
        Ok(())
    }
}

fn write_all(grid: &Grid, bytes: &[u8]) -> Result<()> {
    macro_rules! write {
        ($type:ty) => {{
            let values = bytes.chunks_exact(size_of::<$type>());
            let values: Vec<$type> =
                values.filter_map(|value| value.try_into().ok().map(<$type>::from_ne_bytes)).collect();
            grid.dataset.write_raw(&values)
        }};
    }
    match grid.value {
        ValueType::I8 => write!(i8),
        ValueType::U8 => write!(u8),
        ValueType::I16 => write!(i16),
        ValueType::U16 => write!(u16),
        ValueType::I32 => write!(i32),
        ValueType::U32 => write!(u32),
        ValueType::I64 => write!(i64),
        ValueType::U64 => write!(u64),
        ValueType::F32 => write!(f32),
        ValueType::F64 => write!(f64),
        ValueType::Text(_) => Err(Error::from(format!("{} holds text", grid.dataset.name()))),
    }
}

//! An array that grows along its first axis: rows of any type and shape, plain or compressed in threads of their own.
//!
//! # A commit in the middle of a chunk
//! Everything is committed every few seconds, and then the newest chunk is seldom full. While a file is followed, HDF5
//! writes a chunk whose compressed form has grown to a new place and never uses the old one again. So the chunk at the end of an array
//! has one of two forms until it is full:
//!
//! * **packed**, if at least a chunk of rows came since the last commit: the next commit will fill it, and it is packed
//!   anew, once. What is lost is half of a packed chunk for each commit, on average.
//! * **plain**, if fewer came: it gets its place at once, and what comes is written into it there. Values that are in the
//!   file already are overwritten by themselves, so that neither a kill nor a follower at that moment sees anything else. It
//!   stays plain when it is full: to compress it then would only take more room.
//!
//! So an array takes the more room for a value the slower it grows, but never more than without compression, but for one
//! packed chunk for each time at which the rate has fallen.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use hdf5_metno::filters::Filter;
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, Error, File, Group, Result};

use super::chunk_write::write_chunk;
use super::packer::Chunk;
use super::raw_rows::read_rows;
use super::resting::RestingDataset;
use super::workers::Workers;

/// A thread that compresses chunks has ended: what was given to it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLost;

/// What an array is.
#[derive(Clone, Debug)]
pub struct ArrayPlan<'a> {
    /// Its name in its group.
    pub name: &'a str,
    /// The type of its values, of fixed size.
    pub value: TypeDescriptor,
    /// The shape of a row; empty for single values.
    pub row: &'a [usize],
    /// Rows in a chunk, the unit in which HDF5 stores and compresses.
    pub chunk_rows: usize,
    /// The level of deflate, 0 to 9; none to store values as they are.
    pub deflate: Option<u8>,
}

impl ArrayPlan<'_> {
    /// Bytes of a row.
    fn row_bytes(&self) -> usize {
        self.value.size() * self.row.iter().product::<usize>()
    }
}

/// An array in a file, and the rows that wait to be appended to it.
#[derive(Debug)]
pub struct GrowingArray {
    dataset: RestingDataset,
    /// Bytes of a value, and of a row.
    width: usize,
    row: usize,
    /// The shape of a row.
    row_shape: Vec<usize>,
    /// Bytes of a chunk.
    chunk: usize,
    is_packed: bool,
    /// Rows in the file.
    written: usize,
    /// Bytes that were appended since the last seal.
    pending: Vec<u8>,
    /// What the file has of the chunk at its end; nothing if that is full. It goes over into `full` with it.
    tail: Vec<u8>,
    tail_form: TailForm,
    /// Chunks that are full and not in the file yet. The first is the one at its end, if that was not full.
    full: VecDeque<Slot>,
    /// Bytes in the chunks before the one that is being filled.
    sealed: usize,
    /// The chunk that is being filled, as the next flush is to write it.
    partial: Option<Slot>,
}

/// What the chunk at the end of the file is, if it is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TailForm {
    Absent,
    Plain,
    /// So many bytes.
    Packed(usize),
}

#[derive(Debug)]
enum Slot {
    Waiting(Receiver<Chunk>),
    Ready(Chunk),
}

impl Slot {
    fn wait(&mut self) -> std::result::Result<(), WorkerLost> {
        if let Self::Waiting(receiver) = self {
            *self = Self::Ready(receiver.recv().map_err(|_| WorkerLost)?);
        }
        Ok(())
    }

    /// The chunk, once it was waited for.
    fn ready(&self) -> Option<&Chunk> {
        match self {
            Self::Ready(chunk) => Some(chunk),
            Self::Waiting(_) => None,
        }
    }
}

impl GrowingArray {
    /// Creates an empty array.
    ///
    /// # Errors
    /// If HDF5 refuses, or a row would have no bytes.
    pub fn create(group: &Group, plan: &ArrayPlan<'_>) -> Result<Self> {
        if plan.row_bytes() == 0 || plan.chunk_rows == 0 {
            return Err(Error::from(format!("rows of {} would have no bytes", plan.name)));
        }
        let filters: &[Filter] = match plan.deflate {
            Some(level) => &[Filter::Shuffle, Filter::Deflate(level)],
            None => &[],
        };
        let chunk: Vec<usize> = [plan.chunk_rows].iter().chain(plan.row).copied().collect();
        let mut extents: Vec<hdf5_metno::Extent> = vec![hdf5_metno::Extent::resizable(0)];
        extents.extend(plan.row.iter().map(|&length| hdf5_metno::Extent::fixed(length)));
        let dataset = group
            .new_dataset_builder()
            .set_filters(filters)
            // Chunks are written past HDF5, which keeps none.
            .chunk_cache(1, 0, 1.0)
            .empty_as(&plan.value)
            .chunk(chunk)
            .shape(hdf5_metno::Extents::new(extents))
            .create(plan.name)?;
        Ok(Self::around(dataset, plan))
    }

    /// Opens the array of a file that is not followed, and cuts it back to `rows` rows.
    ///
    /// # Errors
    /// If it is another array, has fewer rows, or HDF5 refuses.
    pub fn open(group: &Group, plan: &ArrayPlan<'_>, rows: usize) -> Result<Self> {
        let dataset = group.dataset(plan.name)?;
        let shape = dataset.shape();
        let chunk = dataset.chunk().unwrap_or_default();
        let is_same = shape.get(1..) == Some(plan.row)
            && chunk.first() == Some(&plan.chunk_rows)
            && dataset.dtype()?.to_descriptor()? == plan.value;
        if !is_same {
            return Err(Error::from(format!("{} is not the array that it was", dataset.name())));
        }
        if shape[0] < rows {
            let has = shape[0];
            return Err(Error::from(format!("{} has {has} of {rows} committed rows", dataset.name())));
        }
        if shape[0] > rows {
            let kept: Vec<usize> = [rows].iter().chain(plan.row).copied().collect();
            dataset.resize(kept)?;
        }
        let mut array = Self::around(dataset, plan);
        // As it was made, whatever its plan is by now.
        array.is_packed = !array.dataset.awake()?.filters().is_empty();
        array.written = rows;
        let whole = rows / plan.chunk_rows * plan.chunk_rows;
        array.sealed = whole * array.row;
        if whole < rows {
            array.tail = read_rows(array.dataset.awake()?, whole, rows)?;
            array.tail_form = array.form_at(whole)?;
        }
        Ok(array)
    }

    fn around(dataset: Dataset, plan: &ArrayPlan<'_>) -> Self {
        Self {
            dataset: RestingDataset::of(dataset),
            width: plan.value.size(),
            row: plan.row_bytes(),
            row_shape: plan.row.to_vec(),
            chunk: plan.chunk_rows * plan.row_bytes(),
            is_packed: plan.deflate.is_some(),
            written: 0,
            pending: Vec::new(),
            tail: Vec::new(),
            tail_form: TailForm::Absent,
            full: VecDeque::new(),
            sealed: 0,
            partial: None,
        }
    }

    /// The form of the chunk that begins with this row.
    fn form_at(&self, row: usize) -> Result<TailForm> {
        let dataset = self.dataset.awake()?;
        let chunks = dataset.num_chunks().unwrap_or(0);
        let found = (0..chunks)
            .rev()
            .filter_map(|index| dataset.chunk_info(index))
            .find(|info| info.offset.first() == Some(&(row as u64)));
        Ok(match found {
            Some(info) if self.is_packed && info.filter_mask == 0 => TailForm::Packed(info.size as usize),
            Some(_) => TailForm::Plain,
            None => TailForm::Absent,
        })
    }

    /// The dataset, to give it attributes.
    ///
    /// # Errors
    /// If it rests.
    pub fn dataset(&self) -> Result<&Dataset> {
        self.dataset.awake()
    }

    /// Closes the dataset until rows are written again; `file` is its own.
    pub fn rest(&mut self, file: &File) {
        self.dataset.rest(file);
    }

    /// Appends rows as bytes: whole rows, values as this machine has them in memory.
    pub fn append(&mut self, rows: &[u8]) {
        debug_assert_eq!(rows.len() % self.row, 0);
        self.pending.extend_from_slice(rows);
    }

    /// Where rows are appended: whole rows, values as this machine has them in memory.
    pub fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Number of rows in the file and waiting.
    pub fn len(&self) -> usize {
        (self.sealed + self.tail.len() + self.pending.len()) / self.row
    }

    /// True if there are no rows, neither in the file nor waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows in the file.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Bytes of what waits, compressed or not.
    pub fn waiting(&self) -> usize {
        self.sealed + self.tail.len() + self.pending.len() - self.written * self.row
    }

    /// Hands chunks that are full to the threads.
    pub fn seal(&mut self, workers: &mut Workers) {
        let mut from = 0;
        while self.tail.len() + self.pending.len() - from >= self.chunk {
            let to = from + self.chunk - self.tail.len();
            let bytes = joined(&self.tail, &self.pending[from..to], self.chunk);
            let stays_plain = !self.is_packed || (self.full.is_empty() && self.tail_form == TailForm::Plain);
            self.full.push_back(if stays_plain {
                Slot::Ready(Chunk::plain(bytes))
            } else {
                Slot::Waiting(workers.submit(bytes, self.width))
            });
            self.tail.clear();
            self.sealed += self.chunk;
            from = to;
        }
        self.pending.drain(..from);
    }

    /// Prepares the chunk that is being filled for the next flush, after [`GrowingArray::seal`]. In the last one nothing will
    /// follow.
    pub fn prepare(&mut self, workers: &mut Workers, is_last: bool) {
        self.partial = None;
        if self.pending.is_empty() {
            return;
        }
        let mut bytes = joined(&self.tail, &self.pending, self.chunk);
        bytes.resize(self.chunk, 0);
        let form = if self.full.is_empty() { self.tail_form } else { TailForm::Absent };
        let is_slow = (self.len() - self.written) * self.row < self.chunk;
        let stays_plain = !self.is_packed || form == TailForm::Plain || (is_slow && !is_last);
        self.partial = Some(if stays_plain {
            Slot::Ready(Chunk::plain(bytes))
        } else {
            Slot::Waiting(workers.submit(bytes, self.width))
        });
    }

    /// Waits until everything that was handed to the threads is there.
    ///
    /// # Errors
    /// If a thread has ended.
    pub fn collect(&mut self) -> std::result::Result<(), WorkerLost> {
        self.full.iter_mut().chain(&mut self.partial).try_for_each(Slot::wait)
    }

    /// Bytes by which the file grows at most with the next flush, or the next [`GrowingArray::write_full`], after
    /// [`GrowingArray::collect`].
    pub fn growth(&self) -> u64 {
        let mut bytes = 0;
        let mut chunks = 0;
        for (index, slot) in self.full.iter().chain(&self.partial).enumerate() {
            let length = slot.ready().map_or(self.chunk, |chunk| chunk.bytes.len());
            let stays = index == 0 && self.tail_form == TailForm::Plain;
            // One more where the length must differ.
            bytes += if stays { 0 } else { length as u64 + 1 };
            chunks += u64::from(!stays);
        }
        let end = (self.len() * self.row).div_ceil(self.chunk) as u64;
        if chunks == 0 { 0 } else { bytes + index_growth(end, chunks) }
    }

    /// Appends what was prepared and brings it to the file. True if there was something.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn flush(&mut self) -> Result<bool> {
        let has_written = self.write()?;
        if has_written {
            self.dataset.awake()?.flush()?;
        }
        Ok(has_written)
    }

    /// The same, but for the index of the dataset, which HDF5 keeps until the file is flushed: with thousands of arrays a flush
    /// of each takes much longer than one of the file, since each looks through everything that HDF5 keeps.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn write(&mut self) -> Result<bool> {
        let end = self.len();
        if end == self.written {
            return Ok(false);
        }
        let mut slots: Vec<Slot> = self.full.drain(..).collect();
        let partial = self.partial.take();
        let has_partial = partial.is_some();
        slots.extend(partial);
        let last = self.write_slots(end, slots)?;
        // What it was has gone over into a chunk that is full, if there is one.
        self.tail.append(&mut self.pending);
        self.tail_form = if has_partial { last } else { TailForm::Absent };
        Ok(true)
    }

    /// Writes the chunks that are full, after [`GrowingArray::collect`], and leaves what comes behind them for the next flush. True if
    /// there was something.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn write_full(&mut self) -> Result<bool> {
        self.partial = None;
        if self.full.is_empty() {
            return Ok(false);
        }
        let slots = self.full.drain(..).collect();
        self.write_slots(self.sealed / self.row, slots)?;
        self.tail_form = TailForm::Absent;
        Ok(true)
    }

    /// Gives the dataset `end` rows and writes the chunks in which the new ones are. Returns the form of the last one.
    fn write_slots(&mut self, end: usize, slots: Vec<Slot>) -> Result<TailForm> {
        let dataset = self.dataset.open()?;
        if self.row_shape.is_empty() {
            dataset.resize(end)?;
        } else {
            let shape: Vec<usize> = [end].iter().chain(&self.row_shape).copied().collect();
            dataset.resize(shape)?;
        }
        let rows_of_chunk = self.chunk / self.row;
        let mut first = self.written / rows_of_chunk * rows_of_chunk;
        let mut replaced = self.tail_form;
        let mut form = TailForm::Absent;
        for slot in slots {
            let Slot::Ready(mut chunk) = slot else {
                return Err(Error::from("a chunk was not waited for"));
            };
            if !chunk.is_plain && replaced == TailForm::Packed(chunk.bytes.len()) {
                // In the same place it would be torn by a kill. Readers stop at the end of the stream.
                chunk.bytes.push(0);
            }
            write_chunk(dataset, first, &chunk, self.is_packed)?;
            form = if chunk.is_plain { TailForm::Plain } else { TailForm::Packed(chunk.bytes.len()) };
            first += rows_of_chunk;
            replaced = TailForm::Absent;
        }
        self.written = end;
        Ok(form)
    }
}

/// Bytes that lie in two places, with room for a whole chunk.
fn joined(tail: &[u8], pending: &[u8], chunk: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chunk);
    bytes.extend_from_slice(tail);
    bytes.extend_from_slice(pending);
    bytes
}

/// Bytes at most by which the index of a dataset of `chunks` chunks has grown when `new` of them are.
///
/// The index is an extensible array (HDF5 File Format Specification, version 3.0, section VII.D): entries of at most 20
/// bytes in blocks, of which there are about as many as each has entries. So the blocks are up to some multiple of the
/// root of the number of chunks long, and one more of each kind may be begun.
pub fn index_growth(chunks: u64, new: u64) -> u64 {
    2048 + 24 * new + 24 * 16 * (chunks.isqrt() + 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_metno::types::IntSize;

    #[test]
    fn an_array_that_is_opened_again_is_stored_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("arrays.nxs")).unwrap();
        let value = TypeDescriptor::Unsigned(IntSize::U8);
        let mut workers = Workers::start(0, 2).unwrap();
        for (name, made, asked) in [("plain", None, Some(2)), ("packed", Some(2), None)] {
            let plan = |deflate| ArrayPlan { name, value: value.clone(), row: &[], chunk_rows: 64, deflate };
            drop(GrowingArray::create(&file, &plan(made)).unwrap());
            let mut array = GrowingArray::open(&file, &plan(asked), 0).unwrap();
            let values: Vec<u64> = (0..100).collect();
            array.append(&values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
            array.seal(&mut workers);
            array.prepare(&mut workers, true);
            array.collect().unwrap();
            array.flush().unwrap();
            assert_eq!(array.dataset().unwrap().read_raw::<u64>().unwrap(), values, "{name}");
        }
    }
}

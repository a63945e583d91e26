//! An array with a value for each event: plain, or compressed in threads of its own.
//!
//! # A commit in the middle of a chunk
//! Everything is committed every few seconds, and then the newest chunk is seldom full. While a file is followed, HDF5
//! writes a chunk whose compressed form has grown to a new place and never uses the old one again. So the chunk at the end of an array
//! has one of two forms until it is full:
//!
//! * **packed**, if at least a chunk of events came since the last commit: the next commit will fill it, and it is packed
//!   anew, once. What is lost is half of a packed chunk for each commit, on average.
//! * **plain**, if fewer came: it gets its place at once, and what comes is written into it there. Values that are in the
//!   file already are overwritten by themselves, so that neither a kill nor a follower at that moment sees anything else. It
//!   stays plain when it is full: to compress it then would only take more room.
//!
//! So an array takes the more room for a value the slower it grows, but never more than without compression, but for one
//! packed chunk for each time at which the rate has fallen.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use hdf5_metno::{Dataset, Group, H5Type, Result};

use super::chunk_write::write_chunk;
use super::column::{Column, cache_of, index_growth};
use super::options::Compression;
use super::packer::Chunk;
use super::workers::Workers;

/// A value for each event.
pub(crate) trait EventValue: H5Type + Copy {
    /// Appends the bytes of values, as they are in the file.
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>);
}

impl EventValue for i32 {
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
    }
}

impl EventValue for u8 {
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(values);
    }
}

/// A thread that compresses chunks has ended: what was given to it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerLost;

/// A growing array, and the values that wait to be appended to it.
#[derive(Debug)]
pub(crate) struct EventColumn<T> {
    column: Column<T>,
    /// If it is compressed here, and not by HDF5.
    packing: Option<Packing<T>>,
}

#[derive(Debug)]
struct Packing<T> {
    /// The values in the file of the chunk at its end; none if that is full. They go over into `full` with it.
    tail: Vec<T>,
    tail_form: TailForm,
    /// Chunks that are full and not in the file yet. The first is the one at its end, if that was not full.
    full: VecDeque<Slot>,
    /// Values in the chunks before the one that is being filled.
    sealed: usize,
    /// The chunk that is being filled, as the next flush is to write it.
    partial: Option<Slot>,
    /// Values at the last flush.
    flushed: usize,
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

impl<T: EventValue> EventColumn<T> {
    /// Creates an empty dataset called `name` that grows in chunks of `chunk` values.
    pub(crate) fn create(group: &Group, name: &str, chunk: usize, compression: Compression) -> Result<Self> {
        let is_packed = matches!(compression, Compression::Deflate(_));
        // Chunks that are written past HDF5 are not kept by it.
        let cache = if is_packed { 0 } else { cache_of::<T>(chunk) };
        let column = Column::create_with_cache(group, name, chunk, compression, cache)?;
        let packing = is_packed.then(|| Packing {
            tail: Vec::new(),
            tail_form: TailForm::Absent,
            full: VecDeque::new(),
            sealed: 0,
            partial: None,
            flushed: 0,
        });
        Ok(Self { column, packing })
    }

    /// The dataset, to give it attributes.
    pub(crate) fn dataset(&self) -> &Dataset {
        self.column.dataset()
    }

    /// Values that were appended since the last flush or seal.
    pub(crate) fn pending(&mut self) -> &mut Vec<T> {
        &mut self.column.pending
    }

    /// Number of values in the file and waiting.
    pub(crate) fn len(&self) -> usize {
        match &self.packing {
            Some(packing) => packing.sealed + packing.tail.len() + self.column.pending.len(),
            None => self.column.len(),
        }
    }

    /// Hands chunks that are full to the threads.
    pub(crate) fn seal(&mut self, workers: &mut Workers) {
        let Some(packing) = &mut self.packing else { return };
        let (chunk, pending) = (self.column.chunk, &mut self.column.pending);
        let mut from = 0;
        while packing.tail.len() + pending.len() - from >= chunk {
            let to = from + chunk - packing.tail.len();
            let bytes = bytes_of(&packing.tail, &pending[from..to], chunk);
            let stays_plain = packing.full.is_empty() && packing.tail_form == TailForm::Plain;
            packing.full.push_back(if stays_plain {
                Slot::Ready(Chunk::plain(bytes))
            } else {
                Slot::Waiting(workers.submit(bytes, size_of::<T>()))
            });
            packing.tail.clear();
            packing.sealed += chunk;
            from = to;
        }
        pending.drain(..from);
    }

    /// Prepares the chunk that is being filled for the next flush, after [`EventColumn::seal`]. In the last one nothing will
    /// follow.
    pub(crate) fn prepare(&mut self, workers: &mut Workers, is_last: bool) {
        let len = self.len();
        let Some(packing) = &mut self.packing else { return };
        let (chunk, pending) = (self.column.chunk, &self.column.pending);
        packing.partial = None;
        if pending.is_empty() {
            return;
        }
        let mut bytes = bytes_of(&packing.tail, pending, chunk);
        bytes.resize(chunk * size_of::<T>(), 0);
        let form = if packing.full.is_empty() { packing.tail_form } else { TailForm::Absent };
        let is_slow = len - packing.flushed < chunk;
        packing.partial = Some(if form == TailForm::Plain || (is_slow && !is_last) {
            Slot::Ready(Chunk::plain(bytes))
        } else {
            Slot::Waiting(workers.submit(bytes, size_of::<T>()))
        });
    }

    /// Waits until everything that was handed to the threads is there.
    ///
    /// # Errors
    /// If a thread has ended.
    pub(crate) fn collect(&mut self) -> std::result::Result<(), WorkerLost> {
        let Some(packing) = &mut self.packing else { return Ok(()) };
        packing.full.iter_mut().chain(&mut packing.partial).try_for_each(Slot::wait)
    }

    /// Bytes by which the file grows at most with the next flush, after [`EventColumn::collect`].
    pub(crate) fn growth(&self) -> u64 {
        let Some(packing) = &self.packing else { return self.column.growth(0) };
        let mut bytes = 0;
        let mut chunks = 0;
        for (index, slot) in packing.full.iter().chain(&packing.partial).enumerate() {
            let length = slot.ready().map_or(self.column.chunk * size_of::<T>(), |chunk| chunk.bytes.len());
            let stays = index == 0 && packing.tail_form == TailForm::Plain;
            // One more where the length must differ.
            bytes += if stays { 0 } else { length as u64 + 1 };
            chunks += u64::from(!stays);
        }
        let end = self.len().div_ceil(self.column.chunk) as u64;
        if chunks == 0 { 0 } else { bytes + index_growth(end, chunks) }
    }

    /// Appends what was prepared and brings it to the file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let end = self.len();
        let Some(packing) = &mut self.packing else { return self.column.flush().map(|_| ()) };
        let column = &mut self.column;
        if end == column.written {
            return Ok(());
        }
        column.dataset.resize(end)?;
        let mut first = column.written / column.chunk * column.chunk;
        let mut replaced = packing.tail_form;
        let mut form = TailForm::Absent;
        let mut slots: Vec<Slot> = packing.full.drain(..).collect();
        let has_partial = packing.partial.is_some();
        slots.extend(packing.partial.take());
        let last = slots.len();
        for (number, slot) in (1..).zip(slots) {
            let Slot::Ready(mut chunk) = slot else {
                return Err(hdf5_metno::Error::from("a chunk was not waited for"));
            };
            if !chunk.is_plain && replaced == TailForm::Packed(chunk.bytes.len()) {
                // In the same place it would be torn by a kill. Readers stop at the end of the stream.
                chunk.bytes.push(0);
            }
            write_chunk(&column.dataset, first, &chunk)?;
            if number == last && has_partial {
                form = if chunk.is_plain { TailForm::Plain } else { TailForm::Packed(chunk.bytes.len()) };
            }
            first += column.chunk;
            replaced = TailForm::Absent;
        }
        column.dataset.flush()?;
        // What it was has gone over into a chunk that is full, if there is one.
        packing.tail.append(&mut column.pending);
        packing.tail_form = form;
        (column.written, packing.flushed) = (end, end);
        Ok(())
    }
}

/// The bytes of values that lie in two places, with room for a whole chunk.
fn bytes_of<T: EventValue>(tail: &[T], pending: &[T], chunk: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chunk * size_of::<T>());
    T::append_bytes(tail, &mut bytes);
    T::append_bytes(pending, &mut bytes);
    bytes
}

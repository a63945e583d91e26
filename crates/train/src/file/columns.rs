//! The arrays of an open file but the images themselves.

use evforge_stream::storage::growing::{ArrayPlan, GrowingArray, WorkerLost, index_growth};
use evforge_stream::storage::workers::Workers;
use evforge_wire::train::ImageDescriptor;
use hdf5_metno::{File, Result};

use super::table::{Column, OfImage, OfTrain, Row, SPECIFIC, of_images, of_index, of_trains, path_for};

/// Bytes of a chunk at most, unless a row is larger: it is written anew with each commit until it is full.
const CHUNK: usize = 16 << 10;
/// Rows of a chunk at most.
const MOST_ROWS: usize = 2048;

/// An array, and what it takes.
#[derive(Debug)]
struct Filled<Fill> {
    array: GrowingArray,
    fill: Fill,
    /// Bytes of a row, and of a chunk.
    row: u64,
    chunk: u64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Columns {
    of_trains: Vec<Filled<OfTrain>>,
    of_images: Vec<Filled<OfImage>>,
    of_index: Vec<Filled<OfTrain>>,
}

impl Columns {
    /// Creates them, empty; the groups are there. The detector's own blocks have so many bytes.
    pub(super) fn create(file: &File, source: &str, specific_bytes: usize) -> Result<Self> {
        let specific = [specific_bytes];
        Ok(Self {
            of_trains: create_all(file, source, of_trains(), &specific)?,
            of_images: create_all(file, source, of_images(), &specific)?,
            of_index: create_all(file, source, of_index(), &specific)?,
        })
    }

    /// Appends a train; its images are appended by [`Columns::append_image`].
    pub(super) fn append(&mut self, row: &Row<'_>) {
        for column in self.of_trains.iter_mut().chain(&mut self.of_index) {
            (column.fill)(row, column.array.pending());
        }
    }

    /// Appends an image of a train.
    pub(super) fn append_image(&mut self, row: &Row<'_>, image: &ImageDescriptor) {
        for column in &mut self.of_images {
            (column.fill)(row, image, column.array.pending());
        }
    }

    /// Bytes by which the file grows at most if one more train and so many images of it are appended and all is written.
    pub(super) fn growth(&self, images: u64) -> u64 {
        let trains = self.of_trains.iter().chain(&self.of_index).map(|column| column.growth(1));
        trains.chain(self.of_images.iter().map(|column| column.growth(images))).sum()
    }

    /// Brings what waits to the file, but the index of trains. There is room for it.
    pub(super) fn write_data(&mut self, workers: &mut Workers) -> Result<()> {
        self.of_images.iter_mut().try_for_each(|column| column.write(workers))?;
        self.of_trains.iter_mut().try_for_each(|column| column.write(workers))
    }

    /// Brings the index of trains to the file.
    pub(super) fn write_index(&mut self, workers: &mut Workers) -> Result<()> {
        self.of_index.iter_mut().try_for_each(|column| column.write(workers))
    }
}

impl<Fill> Filled<Fill> {
    fn growth(&self, rows: u64) -> u64 {
        let bytes = self.array.waiting() as u64 + rows * self.row;
        let chunks = bytes / self.chunk + 2;
        let end = (self.array.len() as u64 + rows) * self.row / self.chunk + 1;
        chunks * self.chunk + index_growth(end, chunks)
    }

    fn write(&mut self, workers: &mut Workers) -> Result<()> {
        self.array.seal(workers);
        self.array.prepare(workers, false);
        // Values are stored as they are: no thread has a part in it.
        self.array.collect().map_err(|WorkerLost| hdf5_metno::Error::from("a chunk is missing"))?;
        self.array.write().map(|_| ())
    }
}

fn create_all<Fill>(
    file: &File,
    source: &str,
    columns: Vec<Column<Fill>>,
    specific: &[usize],
) -> Result<Vec<Filled<Fill>>> {
    let create = |column: Column<Fill>| {
        let path = path_for(column.path, source);
        let (group, name) = path.rsplit_once('/').unwrap_or(("/", &path));
        let row = if column.path == SPECIFIC { specific } else { column.row };
        let row_bytes = column.value.size() * row.iter().product::<usize>();
        let chunk_rows = (CHUNK / row_bytes.max(1)).clamp(1, MOST_ROWS);
        let plan = ArrayPlan { name, value: column.value, row, chunk_rows, deflate: None };
        let array = GrowingArray::create(&file.group(group)?, &plan)?;
        let (row, chunk) = (row_bytes as u64, (row_bytes * chunk_rows) as u64);
        Ok(Filled { array, fill: column.fill, row, chunk })
    };
    columns.into_iter().map(create).collect()
}

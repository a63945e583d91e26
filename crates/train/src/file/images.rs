//! The images of an open file: a chunk for each, written past HDF5's filters and memory.

use std::borrow::Cow;

use evforge_stream::storage::chunk_write::{write_chunk, write_values};
use evforge_stream::storage::growing::index_growth;
use evforge_stream::storage::workers::Workers;
use evforge_wire::train::TrainDetector;
use hdf5_metno::dataset::FillTime;
use hdf5_metno::filters::Filter;
use hdf5_metno::{Dataset, Error, Extent, Extents, Group, Result};

/// The images of a file.
#[derive(Debug)]
pub(super) struct Images {
    dataset: Dataset,
    detector: TrainDetector,
    written: usize,
    is_packed: bool,
}

impl Images {
    /// Creates the dataset `data`, empty.
    pub(super) fn create(group: &Group, detector: TrainDetector, deflate: Option<u8>) -> Result<Self> {
        let filters: &[Filter] = match deflate {
            Some(level) => &[Filter::Shuffle, Filter::Deflate(level)],
            None => &[],
        };
        let shape = detector.shape();
        let extents = [Extent::resizable(0)].into_iter().chain(shape.map(Extent::fixed));
        let dataset = group
            .new_dataset_builder()
            .set_filters(filters)
            .chunk_cache(1, 0, 1.0)
            .fill_time(FillTime::Never)
            .empty::<u16>()
            .chunk([1].into_iter().chain(shape).collect::<Vec<_>>())
            .shape(Extents::new(extents.collect::<Vec<_>>()))
            .create("data")?;
        Ok(Self { dataset, detector, written: 0, is_packed: deflate.is_some() })
    }

    /// Images in the file.
    pub(super) fn written(&self) -> u64 {
        self.written as u64
    }

    /// Bytes by which the file grows at most with so many more images: none is larger packed than plain.
    pub(super) fn growth(&self, images: u64) -> u64 {
        images * self.detector.image_bytes() as u64 + index_growth(self.written() + images, images)
    }

    /// Appends images, each of the detector's size, little-endian.
    pub(super) fn append(&mut self, images: &[&[u8]], workers: &mut Workers) -> Result<()> {
        if images.is_empty() {
            return Ok(());
        }
        let first = self.written;
        let [values, rows, columns] = self.detector.shape();
        self.dataset.resize([first + images.len(), values, rows, columns])?;
        if self.is_packed {
            let packed: Vec<_> =
                images.iter().map(|image| workers.submit(native(image).into_owned(), 2)).collect();
            for (at, chunk) in packed.into_iter().enumerate() {
                let chunk = chunk.recv().map_err(|_| Error::from("a thread that compresses has ended"))?;
                write_chunk(&self.dataset, first + at, &chunk, true)?;
            }
        } else {
            for (at, image) in images.iter().enumerate() {
                write_values(&self.dataset, first + at, &native(image))?;
            }
        }
        self.written += images.len();
        Ok(())
    }
}

/// Little-endian values as this machine has them in memory, which is what the type of the dataset says.
fn native(image: &[u8]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(image)
    } else {
        Cow::Owned(image.chunks_exact(2).flat_map(|value| [value[1], value[0]]).collect())
    }
}

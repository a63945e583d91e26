//! What was added up of images, as an HDF5 file.

use crate::processing::IntegratedImages;
use evforge_wire::train::TrainDetector;
use hdf5_metno::{File, Group, H5Type};
use std::collections::BTreeMap;
use std::path::Path;

/// Writes what was added up of each module into a new file:
///
/// | dataset of `module00` | type, shape | content |
/// |---|---|---|
/// | `sum` | f64, that of an image | sum of each value over the images |
/// | `count` | u64, that of an image | images in which it is a number |
/// | `largest` | f32, that of an image | the largest; minus infinity where it is never a number |
/// | `pulse/images`, `pulse/sum` | u64, f64, \[pulses\] | of each pulse its images, and the sum of all their values |
/// | attribute `images` | u64 | images |
///
/// # Errors
/// What HDF5 says.
pub fn write_sums(
    path: &Path,
    detector: TrainDetector,
    sums: &BTreeMap<u8, IntegratedImages>,
) -> hdf5_metno::Result<()> {
    let file = File::create_excl(path)?;
    for (module, sums) in sums {
        let group = file.create_group(&format!("module{module:02}"))?;
        group.new_attr::<u64>().create("images")?.write_scalar(&sums.images())?;
        write(&group, "sum", sums.sums(), &detector.shape())?;
        write(&group, "count", sums.counts(), &detector.shape())?;
        write(&group, "largest", sums.largest(), &detector.shape())?;
        let pulses = group.create_group("pulse")?;
        let images: Vec<u64> = sums.pulses().iter().map(|pulse| pulse.images).collect();
        let sum: Vec<f64> = sums.pulses().iter().map(|pulse| pulse.sum).collect();
        write(&pulses, "images", &images, &[images.len()])?;
        write(&pulses, "sum", &sum, &[sum.len()])?;
    }
    file.close()
}

fn write<T: H5Type>(group: &Group, name: &str, values: &[T], shape: &[usize]) -> hdf5_metno::Result<()> {
    group.new_dataset::<T>().shape(shape).create(name)?.write_raw(values)
}

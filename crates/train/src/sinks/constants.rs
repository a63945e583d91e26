//! Pedestals and gains of modules, from HDF5 files.

use crate::processing::Calibration;
use evforge_wire::train::TrainDetector;
use hdf5_metno::{Dataset, File, Group};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Storage cells of which a file may have constants: more than any of the detectors has (DSSC: 800).
pub const LARGEST_CELLS: usize = 1024;

/// Constants that are not to be had from a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot read pedestals and gains from {}: {problem}", path.display())]
pub struct ConstantsError {
    /// The file.
    pub path: PathBuf,
    /// What was found, and what was expected.
    pub problem: String,
}

/// Reads the constants of every module that the files have, of a group for each: `module00`.
///
/// | file | dataset of `module00` | shape |
/// |---|---|---|
/// | pedestals | `pedestal`: floats | that of an image, or of as many images as there are storage cells |
/// | pedestals | or else `sum` and `count`, as [`write_sums`](super::write_sums) writes them: their ratio | that of an image |
/// | gains | `gain`: floats | as `pedestal` |
///
/// Both may be the same file. Without pedestals they are 0, without gains 1. A pixel is masked by a constant that is not a number: one
/// that has no counts has no pedestal.
///
/// # Errors
/// The file that cannot be read, and what is wrong in it: no module, modules that only one of two files has, another size than that of
/// images of the detector, more than [`LARGEST_CELLS`] storage cells.
pub fn read_constants(
    pedestals: Option<&Path>,
    gains: Option<&Path>,
    detector: TrainDetector,
) -> Result<BTreeMap<u8, Calibration>, ConstantsError> {
    let values = detector.shape().iter().product();
    let pedestals = pedestals.map(|path| Ok((path, read_modules(path, values, pedestal)?))).transpose()?;
    let gains = gains.map(|path| Ok((path, read_modules(path, values, gain)?))).transpose()?;
    let (path, pedestals, gains) = match (pedestals, gains) {
        (None, None) => return Ok(BTreeMap::new()),
        (Some((path, pedestals)), None) => {
            let gains = same_everywhere(&pedestals, 1.0, values);
            (path, pedestals, gains)
        }
        (None, Some((path, gains))) => (path, same_everywhere(&gains, 0.0, values), gains),
        (Some((first, pedestals)), Some((path, gains))) => {
            if !pedestals.keys().eq(gains.keys()) {
                let problem = format!(
                    "it has gains of modules {:?}, expected the modules of {}: {:?}",
                    gains.keys().collect::<Vec<_>>(),
                    first.display(),
                    pedestals.keys().collect::<Vec<_>>()
                );
                return Err(ConstantsError { path: path.to_owned(), problem });
            }
            (path, pedestals, gains)
        }
    };
    let constants = pedestals.into_iter().zip(gains).map(|((module, pedestals), (_, gains))| {
        let (pedestals, gains) = of_as_many_cells(pedestals, gains, values);
        let made = Calibration::new(values, pedestals, gains);
        let failed =
            |error| ConstantsError { path: path.to_owned(), problem: format!("module {module}: {error}") };
        Ok((module, made.map_err(failed)?))
    });
    constants.collect()
}

/// One constant for every value of these modules.
fn same_everywhere(of: &BTreeMap<u8, Vec<f32>>, constant: f32, values: usize) -> BTreeMap<u8, Vec<f32>> {
    of.keys().map(|module| (*module, vec![constant; values])).collect()
}

/// Where one of the two is the same for all storage cells, and the other is not, it is repeated for each.
fn of_as_many_cells(pedestals: Vec<f32>, gains: Vec<f32>, values: usize) -> (Vec<f32>, Vec<f32>) {
    let (cells, other) = (pedestals.len() / values, gains.len() / values);
    match (cells, other) {
        (1, 2..) => (pedestals.repeat(other), gains),
        (2.., 1) => (pedestals, gains.repeat(cells)),
        _ => (pedestals, gains),
    }
}

/// What `read` finds in the groups `module00` to `module99` of a file.
fn read_modules(
    path: &Path,
    values: usize,
    read: impl Fn(&Group, usize) -> Result<Vec<f32>, String>,
) -> Result<BTreeMap<u8, Vec<f32>>, ConstantsError> {
    let failed = |problem: String| ConstantsError { path: path.to_owned(), problem };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut modules = BTreeMap::new();
    for module in 0..100_u8 {
        let name = format!("module{module:02}");
        if file.link_exists(&name) {
            let group = file.group(&name).map_err(|error| failed(format!("{name}: {error}")))?;
            let found = read(&group, values).map_err(|problem| failed(format!("{name}: {problem}")))?;
            modules.insert(module, found);
        }
    }
    if modules.is_empty() {
        return Err(failed("it has no group module00 to module99".to_owned()));
    }
    Ok(modules)
}

/// Pedestals, or what was added up of dark images.
fn pedestal(group: &Group, values: usize) -> Result<Vec<f32>, String> {
    if group.link_exists("pedestal") {
        return floats(&dataset(group, "pedestal")?, values, LARGEST_CELLS);
    }
    if !group.link_exists("sum") {
        return Err("no dataset `pedestal`, and no `sum` and `count` of dark images".to_owned());
    }
    let sums: Vec<f64> = numbers(&dataset(group, "sum")?, values, 1)?;
    let counts: Vec<f64> = numbers(&dataset(group, "count")?, values, 1)?;
    if counts.len() != sums.len() {
        return Err(format!("{} values of `count`, expected {}", counts.len(), sums.len()));
    }
    // Nothing counted is no number, which masks the pixel.
    Ok(sums.iter().zip(counts).map(|(sum, count)| (sum / count) as f32).collect())
}

fn gain(group: &Group, values: usize) -> Result<Vec<f32>, String> {
    floats(&dataset(group, "gain")?, values, LARGEST_CELLS)
}

fn dataset(group: &Group, name: &str) -> Result<Dataset, String> {
    group.dataset(name).map_err(|error| format!("dataset `{name}`: {error}"))
}

fn floats(dataset: &Dataset, values: usize, cells: usize) -> Result<Vec<f32>, String> {
    numbers(dataset, values, cells)
}

/// All numbers of a dataset, of which the size is looked at before it is read.
fn numbers<T: hdf5_metno::H5Type>(dataset: &Dataset, values: usize, cells: usize) -> Result<Vec<T>, String> {
    let name = dataset.name();
    let (name, size) = (name.rsplit('/').next().unwrap_or_default(), dataset.size());
    if size == 0 || !size.is_multiple_of(values) || size / values > cells {
        return Err(format!(
            "{size} values of `{name}` in the shape {:?}, expected the {values} of an image{}",
            dataset.shape(),
            if cells > 1 {
                format!(", or those for each of up to {cells} storage cells")
            } else {
                String::new()
            }
        ));
    }
    dataset.read_raw().map_err(|error| format!("dataset `{name}`: {error}"))
}

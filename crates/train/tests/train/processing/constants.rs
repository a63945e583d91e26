//! Pedestals and gains from files.

use evforge_train::sinks::{ConstantsError, LARGEST_CELLS, read_constants};
use evforge_wire::train::TrainDetector;
use hdf5_metno::{File, H5Type};
use std::path::{Path, PathBuf};

/// Values of an image.
const VALUES: usize = 65_536;

/// A file with these datasets of 64-bit floats, of which each has one value `size` times.
fn file(folder: &Path, name: &str, datasets: &[(&str, f64, usize)]) -> PathBuf {
    let path = folder.join(name);
    let file = File::create(&path).expect("a file");
    for &(name, value, size) in datasets {
        write(&file, name, &vec![value; size]);
    }
    path
}

fn write<T: H5Type>(file: &File, name: &str, values: &[T]) {
    let (group, name) = name.split_once('/').expect("a group");
    let group = file.group(group).or_else(|_| file.create_group(group)).expect("a group");
    group
        .new_dataset::<T>()
        .shape(values.len())
        .create(name)
        .expect("a dataset")
        .write_raw(values)
        .expect("values");
}

fn read(pedestals: Option<&Path>, gains: Option<&Path>) -> Result<Vec<(u8, usize)>, ConstantsError> {
    let constants = read_constants(pedestals, gains, TrainDetector::Lpd)?;
    Ok(constants.into_iter().map(|(module, calibration)| (module, calibration.cells())).collect())
}

#[test]
fn modules_have_the_constants_that_their_files_have() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name, datasets: &[_]| file(folder.path(), name, datasets);
    let dark = file(
        "dark.h5",
        &[
            ("module03/sum", 500.0, VALUES),
            ("module03/count", 5.0, VALUES),
            ("module04/pedestal", 7.0, VALUES),
        ],
    );
    let of_cells = file(
        "cells.h5",
        &[
            ("module03/gain", 1.5, 3 * VALUES),
            ("module04/gain", 1.5, VALUES),
            ("module04/pedestal", 2.0, VALUES),
            ("module03/pedestal", 2.0, VALUES),
        ],
    );
    assert_eq!(read(None, None).expect("nothing"), []);
    assert_eq!(read(Some(&dark), None).expect("pedestals"), [(3, 1), (4, 1)]);
    assert_eq!(read(None, Some(&of_cells)).expect("gains"), [(3, 3), (4, 1)]);
    assert_eq!(read(Some(&dark), Some(&of_cells)).expect("both"), [(3, 3), (4, 1)]);
    assert_eq!(read(Some(&of_cells), Some(&of_cells)).expect("one file"), [(3, 3), (4, 1)]);
    let equal = |modules: [f32; 2], gains: [f32; 2], path: Option<&Path>, of_gains: Option<&Path>| {
        let found = read_constants(path, of_gains, TrainDetector::Lpd).expect("constants");
        for ((module, pedestal), gain) in [3, 4].into_iter().zip(modules).zip(gains) {
            let size = found[&module].cells() * VALUES;
            let expected =
                evforge_train::processing::Calibration::new(VALUES, vec![pedestal; size], vec![gain; size]);
            assert_eq!(found[&module], expected.expect("constants"), "module {module}");
        }
    };
    equal([100.0, 7.0], [1.0, 1.0], Some(&dark), None);
    equal([100.0, 7.0], [1.5, 1.5], Some(&dark), Some(&of_cells));
    equal([0.0, 0.0], [1.5, 1.5], None, Some(&of_cells));
}

#[test]
fn files_that_have_no_constants_are_refused_with_what_was_expected() {
    let _alone = crate::alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name, datasets: &[_]| file(folder.path(), name, datasets);
    let gains = file("gains.h5", &[("module00/gain", 1.0, VALUES)]);
    let no_group = file("none.h5", &[("other/gain", 1.0, 4)]);
    let small = file("small.h5", &[("module00/pedestal", 1.0, VALUES - 1)]);
    let many = file("many.h5", &[("module00/gain", 1.0, (LARGEST_CELLS + 1) * VALUES)]);
    let dark = file("dark.h5", &[("module00/sum", 1.0, VALUES), ("module00/count", 1.0, 5)]);
    let other = file("other.h5", &[("module01/pedestal", 1.0, VALUES)]);
    let empty = file("empty.h5", &[("module00/other", 1.0, 1)]);
    std::fs::write(folder.path().join("text.h5"), "no HDF5").expect("it is written");
    let text = folder.path().join("text.h5");
    let absent = folder.path().join("absent.h5");
    for (pedestals, of_gains, expected) in [
        (Some(&no_group), None, "it has no group module00 to module99"),
        (
            Some(&small),
            None,
            "module00: 65535 values of `pedestal` in the shape [65535], expected the 65536 of an image",
        ),
        (None, Some(&many), "or those for each of up to 1024 storage cells"),
        (Some(&dark), None, "5 values of `count`"),
        (Some(&empty), None, "no dataset `pedestal`, and no `sum` and `count` of dark images"),
        (None, Some(&empty), "dataset `gain`"),
        (Some(&other), Some(&gains), "it has gains of modules [0], expected the modules of"),
        (Some(&text), None, "text.h5"),
        (Some(&absent), None, "absent.h5"),
    ] {
        let said =
            read(pedestals.map(PathBuf::as_path), of_gains.map(PathBuf::as_path)).unwrap_err().to_string();
        assert!(
            said.contains(expected) && said.starts_with("cannot read pedestals and gains from "),
            "{said}"
        );
    }
}

//! Two HDF5 files, dataset by dataset.

use evforge_stream::storage::raw_rows::read_rows;
use evforge_stream::storage::text::read_text;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, File, Group, Location};

/// All datasets of a file by their paths.
pub(crate) fn datasets(file: &File) -> Vec<(String, Dataset)> {
    let mut all = Vec::new();
    walk(file, &mut all);
    all.sort_by(|left, right| left.0.cmp(&right.0));
    all
}

fn walk(group: &Group, all: &mut Vec<(String, Dataset)>) {
    let path = group.name();
    for dataset in group.datasets().unwrap() {
        let own = dataset.name();
        let name = own.rsplit('/').next().unwrap().to_owned();
        all.push((format!("{}/{name}", path.trim_end_matches('/')), dataset));
    }
    for child in group.groups().unwrap() {
        walk(&child, all);
    }
}

/// What is in a dataset, whatever its type.
fn bytes(dataset: &Dataset) -> Vec<u8> {
    if !dataset.is_scalar() {
        return read_rows(dataset, 0, dataset.shape()[0]).unwrap();
    }
    if let Ok(text) = read_text(dataset) {
        return text.into_bytes();
    }
    match dataset.dtype().unwrap().size() {
        8 if dataset.read_scalar::<f64>().is_ok() && dataset.dtype().unwrap().is::<f64>() => {
            dataset.read_scalar::<f64>().unwrap().to_le_bytes().to_vec()
        }
        _ => dataset.read_scalar::<i64>().unwrap().to_le_bytes().to_vec(),
    }
}

/// Text attributes of an object.
fn attributes(of: &Location) -> Vec<(String, String)> {
    let mut names = of.attr_names().unwrap();
    names.sort();
    let text = |name: &String| {
        let attribute = of.attr(name).unwrap();
        let value = match attribute.read_scalar::<VarLenUnicode>() {
            Ok(text) => text.to_string(),
            Err(_) => attribute
                .read_raw::<f64>()
                .map_or_else(|_| "a list".to_owned(), |values| format!("{values:?}")),
        };
        (name.clone(), value)
    };
    names.iter().map(text).collect()
}

/// Why two datasets are not the same, if they are not.
pub(crate) fn difference(expected: &Dataset, found: &Dataset) -> Option<String> {
    let descriptor = |dataset: &Dataset| dataset.dtype().unwrap().to_descriptor().unwrap();
    let (left, right) = (descriptor(expected), descriptor(found));
    let is_text = read_text(expected).is_ok() && read_text(found).is_ok();
    if left != right && !is_text {
        return Some(format!("the type is {right:?} instead of {left:?}"));
    }
    if expected.shape() != found.shape() {
        return Some(format!("the shape is {:?} instead of {:?}", found.shape(), expected.shape()));
    }
    if bytes(expected) != bytes(found) {
        return Some("the values differ".to_owned());
    }
    let (left, right) = (attributes(expected), attributes(found));
    (left != right).then(|| format!("the attributes are {right:?} instead of {left:?}"))
}

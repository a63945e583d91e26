//! NeXus structure JSON: what is read, what is refused, what is in the file.
#![allow(clippy::unwrap_used)]

mod file;
mod parsed;
mod properties;
mod python;
mod refused;

use evforge_filewriter::structure::{Group, Node, Structure, parse};
use hdf5_metno::File;
use hdf5_metno::file::LibraryVersion;

/// A structure whose group `entry` has these children.
fn entry(children: &str) -> String {
    format!(r#"{{"children": [{{"type": "group", "name": "entry", "children": [{children}]}}]}}"#)
}

fn parsed(json: &str) -> Structure {
    parse(json).unwrap_or_else(|error| panic!("{error}\n{json}"))
}

/// The first group of a structure.
fn first(structure: &Structure) -> &Group {
    let Some(Node::Group(group)) = structure.root.children.first() else { panic!("{structure:?}") };
    group
}

/// A file as jobs make it.
fn new_file(path: &std::path::Path) -> File {
    let options = File::with_options();
    let mut options = options;
    options
        .with_fapl(|access| access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110))
        .create(path)
        .unwrap()
}

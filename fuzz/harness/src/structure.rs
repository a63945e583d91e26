//! NeXus structure JSON.

use std::collections::HashSet;

use evforge_filewriter::structure::{
    Array, DEEPEST, Group, Node, StructureError, Values, bytes_at_most, parse,
};

/// Reads `bytes` as a structure. What is not UTF-8 is replaced.
///
/// # Panics
/// If an error says nothing, would steer a terminal or points outside the text; if what was read is deeper than it may be, has
/// two children of one name, or arrays with other than the values that their shapes say.
pub fn structure(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match parse(&text) {
        Ok(structure) => {
            check(&structure.root, 0);
            assert!(bytes_at_most(&structure) > 0);
            assert!(
                !structure.notes.iter().any(|note| note.chars().any(char::is_control)),
                "{:?}",
                structure.notes
            );
            assert_eq!(parse(&text), Ok(structure), "the same text read again");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.chars().any(char::is_control), "{said:?}");
            match error {
                StructureError::Json { what, line, .. } => {
                    assert!(!what.is_empty());
                    assert!((1..=text.matches('\n').count() + 1).contains(&line), "line {line}: {said}");
                }
                StructureError::Refused { path, found, expected } => {
                    assert!(path.starts_with('/') && !found.is_empty() && !expected.is_empty(), "{said}");
                }
            }
        }
    }
}

fn check(group: &Group, depth: usize) {
    assert!(depth <= DEEPEST + 1, "{depth} groups in each other");
    let attributes: HashSet<_> = group.attributes.iter().map(|attribute| &attribute.name).collect();
    assert_eq!(attributes.len(), group.attributes.len());
    group.attributes.iter().for_each(|attribute| check_array(&attribute.values));
    let mut names = HashSet::new();
    let mut take = |name: &str| assert!(names.insert(name.to_owned()), "{name} twice");
    for child in &group.children {
        match child {
            Node::Group(inner) => {
                take(&inner.name);
                check(inner, depth + 1);
            }
            Node::Dataset(dataset) => {
                take(&dataset.name);
                check_array(&dataset.values);
                dataset.attributes.iter().for_each(|attribute| check_array(&attribute.values));
            }
            Node::Link(link) => take(&link.name),
            Node::RunTimes(times) => times.iter().for_each(|time| take(time.name())),
            Node::Stream(module) => assert!(!module.topic.is_empty() && !module.sources.is_empty()),
        }
    }
}

fn check_array(array: &Array) {
    let length = match &array.values {
        Values::I8(values) => values.len(),
        Values::U8(values) => values.len(),
        Values::I16(values) => values.len(),
        Values::U16(values) => values.len(),
        Values::I32(values) => values.len(),
        Values::U32(values) => values.len(),
        Values::I64(values) => values.len(),
        Values::U64(values) => values.len(),
        Values::F32(values) => values.len(),
        Values::F64(values) => values.len(),
        Values::Text(values) => values.len(),
    };
    assert_eq!(array.shape.iter().product::<usize>(), length, "{:?}", array.shape);
}

//! How many bytes a structure takes in a file.

use super::content::{Array, Attribute, Group, Node, Structure, Values};
use super::times::ROOM;
use super::write::room;

/// What a file has before anything is in it, and what HDF5 reserves in blocks.
const FILE: u64 = 64 << 10;

/// Header of a group, without what it has.
const GROUP: u64 = 384;

/// Header of a dataset, without its attributes.
const DATASET: u64 = 512;

/// A name in a group or an attribute, without the name: in a list, or in a heap and a tree that are half full.
const ENTRY: u64 = 160;

/// A text of variable length, without the text.
const TEXT: u64 = 48;

/// From this number of entries on they are in a heap and a tree.
const MANY: usize = 8;

/// The heap and the tree of an object with many entries, empty.
const HEAP: u64 = 4 << 10;

/// Values in a chunk of a compressed dataset at most, and what HDF5 keeps of each chunk.
const CHUNK: (u64, u64) = (256 << 10, 64);

/// Bytes at most that [`create`](super::create()) and [`create_links`](super::create_links) need in an empty file, to be made sure of before. What modules
/// make is not counted.
pub fn bytes_at_most(structure: &Structure) -> u64 {
    FILE.saturating_add(group(&structure.root))
}

/// The groups of a structure are as deep as it may be at most: each level is a call.
fn group(group: &Group) -> u64 {
    let mut bytes = GROUP + attributes(&group.attributes);
    if group.children.len() > MANY {
        bytes += HEAP;
    }
    let mut has_module = false;
    for child in &group.children {
        bytes = bytes.saturating_add(match child {
            Node::Group(child) => entry(&child.name).saturating_add(self::group(child)),
            Node::Dataset(dataset) => (DATASET + entry(&dataset.name) + attributes(&dataset.attributes))
                .saturating_add(values(&dataset.values)),
            Node::Link(link) => entry(&link.name),
            Node::RunTimes(times) => times.len() as u64 * (DATASET + ENTRY + 2 * ROOM as u64),
            Node::Stream(module) if !has_module => {
                has_module = true;
                let sources: u64 = module.sources.iter().map(|source| text(source)).sum();
                4 * ENTRY + text(&module.topic) + sources + 2 * TEXT
            }
            Node::Stream(_) => 0,
        });
    }
    bytes
}

fn entry(name: &str) -> u64 {
    ENTRY + 3 * name.len() as u64
}

fn text(text: &str) -> u64 {
    // A heap of texts is as large as its longest, and seldom full.
    TEXT + 2 * text.len() as u64
}

fn attributes(attributes: &[Attribute]) -> u64 {
    let heap = if attributes.len() > MANY { HEAP } else { 0 };
    let one = |attribute: &Attribute| {
        let values = match &attribute.values.values {
            Values::Text(texts) => texts.iter().map(|text| self::text(text)).sum(),
            // In a heap of attributes.
            numbers => 2 * bytes(numbers),
        };
        entry(&attribute.name) + 8 * attribute.values.shape.len() as u64 + values
    };
    heap + attributes.iter().map(one).sum::<u64>()
}

/// The values of a dataset.
fn values(array: &Array) -> u64 {
    let plain = bytes(&array.values) + 16 * array.shape.len() as u64;
    // The chunks at the ends of axes are written whole.
    let width = (plain / (array.shape.iter().product::<usize>() as u64).max(1)).max(1);
    let chunks = array.shape.iter().map(|&length| length as u64).product::<u64>() / CHUNK.0 + 1;
    plain.saturating_mul(2).min(plain + (chunks + 1) * CHUNK.1 + CHUNK.0 * width)
}

fn bytes(values: &Values) -> u64 {
    (match values {
        Values::Text(texts) => texts.len() * room(texts),
        numbers => numbers.bytes(),
    }) as u64
}

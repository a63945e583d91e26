//! Arrays and attributes into the file.

use evforge_stream::storage::bulk::{Maker, Open};
use hdf5_metno::Result;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use zerocopy::IntoBytes as _;

use super::content::{Array, Attribute, StreamModule, Values};

/// Makes a dataset with its attributes.
pub(super) fn dataset(
    maker: &mut Maker,
    parent: &Open,
    name: &str,
    array: &Array,
    attributes: &[Attribute],
) -> Result<()> {
    let made = match plain(&array.values) {
        Some((value, bytes)) => maker.dataset(parent, name, &value, &array.shape, bytes)?,
        None => {
            let (value, bytes) = padded(&array.values);
            maker.dataset(parent, name, &value, &array.shape, &bytes)?
        }
    };
    attributes.iter().try_for_each(|attribute| self::attribute(maker, &made, attribute))
}

/// Gives an object an attribute.
pub(super) fn attribute(maker: &mut Maker, of: &Open, attribute: &Attribute) -> Result<()> {
    let Array { shape, values } = &attribute.values;
    match plain(values) {
        Some((value, bytes)) => maker.attribute(of, &attribute.name, &value, shape, bytes),
        None => {
            let Values::Text(texts) = values else { return Ok(()) };
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            maker.text_attribute(of, &attribute.name, shape, &texts)
        }
    }
}

/// Says of a group which module writes into it, but for what the structure says itself.
pub(super) fn module_attributes(
    maker: &mut Maker,
    group: &Open,
    module: &StreamModule,
    given: &[Attribute],
) -> Result<()> {
    let is_given = |name: &str| given.iter().any(|attribute| attribute.name == name);
    let texts =
        [("NX_class", module.nexus_class()), ("topic", &module.topic), ("writer_module", module.kind.name())];
    for (name, text) in texts.into_iter().filter(|(name, _)| !is_given(name)) {
        maker.text_attribute(group, name, &[], &[text])?;
    }
    if is_given("source") {
        return Ok(());
    }
    match module.sources.as_slice() {
        [source] => maker.text_attribute(group, "source", &[], &[source]),
        sources => {
            let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
            maker.text_attribute(group, "source", &[sources.len()], &sources)
        }
    }
}

/// The type and the bytes of numbers; none of text.
fn plain(values: &Values) -> Option<(TypeDescriptor, &[u8])> {
    use TypeDescriptor::{Float, Integer, Unsigned};
    Some(match values {
        Values::I8(values) => (Integer(IntSize::U1), values.as_bytes()),
        Values::U8(values) => (Unsigned(IntSize::U1), values.as_bytes()),
        Values::I16(values) => (Integer(IntSize::U2), values.as_bytes()),
        Values::U16(values) => (Unsigned(IntSize::U2), values.as_bytes()),
        Values::I32(values) => (Integer(IntSize::U4), values.as_bytes()),
        Values::U32(values) => (Unsigned(IntSize::U4), values.as_bytes()),
        Values::I64(values) => (Integer(IntSize::U8), values.as_bytes()),
        Values::U64(values) => (Unsigned(IntSize::U8), values.as_bytes()),
        Values::F32(values) => (Float(FloatSize::U4), values.as_bytes()),
        Values::F64(values) => (Float(FloatSize::U8), values.as_bytes()),
        Values::Text(_) => return None,
    })
}

/// The room of a text in a dataset: that of the longest.
pub(super) fn room(texts: &[String]) -> usize {
    texts.iter().map(String::len).max().unwrap_or(0).max(1)
}

/// The type and the bytes of texts, padded with zeros.
fn padded(values: &Values) -> (TypeDescriptor, Vec<u8>) {
    let texts: &[String] = if let Values::Text(texts) = values { texts } else { &[] };
    let room = room(texts);
    let mut bytes = Vec::with_capacity(texts.len() * room);
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + room - text.len(), 0);
    }
    (TypeDescriptor::FixedUnicode(room), bytes)
}

//! NeXus structure JSON as it comes in a message or a file.

use super::attributes::attribute;
use super::content::Structure;
use super::error::StructureError;
use super::group::Reader;
use super::path::Path;
use super::tree::{self, Element, Item, Object};

/// Keys of the root that become attributes of the file.
const VERSIONS: [&str; 2] = ["template_version", "dynamic_version"];

/// Reads a structure.
///
/// # Errors
/// If it is no JSON, or something in it is not what the file writer knows: with its path, what was found and what is expected.
///
/// # Examples
/// ```
/// use evforge_filewriter::structure::{Node, parse};
///
/// let structure = parse(r#"{"children": [
///     {"type": "group", "name": "entry", "attributes": {"NX_class": "NXentry"}, "children": [
///         {"module": "dataset", "config": {"name": "title", "dtype": "string", "values": "Ripening"}}
///     ]}
/// ]}"#)?;
/// assert!(matches!(&structure.root.children[..], [Node::Group(entry)] if entry.name == "entry"));
///
/// let error = parse(r#"{"children": [{"module": "ev45", "config": {}}]}"#).unwrap_err().to_string();
/// assert!(error.starts_with("/[0]/module: found \"ev45\", expected one of the modules ev44, "), "{error}");
/// # Ok::<(), evforge_filewriter::structure::StructureError>(())
/// ```
pub fn parse(json: &str) -> Result<Structure, StructureError> {
    let json = json.strip_prefix('\u{feff}').unwrap_or(json);
    let root = tree::read(json).map_err(|error| no_json(&error))?;
    let mut reader = Reader::default();
    let mut object = object(root)?;
    let mut versions = Vec::new();
    if let Some(at) = object.0.iter().position(|(_, item)| matches!(item, Item::Wrapped(_))) {
        // An old message has the structure as one of its keys.
        let (_, wrapped) = object.0.swap_remove(at);
        note_root(&object, &[], &mut reader);
        let Item::Wrapped(inner) = wrapped else { return Err(Path::ROOT.refuse("no structure", "one")) };
        object = self::object(inner)?;
    }
    note_root(&object, &["children", "attributes", "template_version", "dynamic_version"], &mut reader);
    for key in VERSIONS {
        let Some(value) = object.text(key) else { continue };
        versions.push(attribute(key, value, None, true, &Path::ROOT.name(key), &mut reader.notes)?);
    }
    let mut root = reader.group(object, "", &Path::ROOT)?;
    versions.retain(|version| root.attributes.iter().all(|attribute| attribute.name != version.name));
    root.attributes.extend(versions);
    Ok(Structure { root, dialects: reader.dialects, notes: reader.notes.finish() })
}

fn object(element: Element<'_>) -> Result<Object<'_>, StructureError> {
    match element {
        Element::Object(object) => match object.repeated() {
            Some(key) => {
                Err(Path::ROOT.refuse(format!("the key {} twice", super::path::quoted(key)), "each key once"))
            }
            None => Ok(object),
        },
        Element::Other(found) => Err(Path::ROOT.refuse(found, "an object with children")),
    }
}

fn note_root(object: &Object<'_>, known: &[&str], reader: &mut Reader) {
    for (key, _) in &object.0 {
        if !known.contains(&key.as_ref()) {
            reader.notes.add(&Path::ROOT.name(key), "this key of the root is not used");
        }
    }
}

fn no_json(error: &serde_json::Error) -> StructureError {
    let sentence = error.to_string();
    // The place is said in our own words.
    let what = sentence.rsplit_once(" at line ").map_or(sentence.as_str(), |(what, _)| what);
    StructureError::Json { what: what.to_owned(), line: error.line(), column: error.column() }
}

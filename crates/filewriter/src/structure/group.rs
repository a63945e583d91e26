//! Groups, and what each node in them is.

use super::attributes::text;
use super::content::{Dialects, Group, Node};
use super::dtype::did_you_mean;
use super::error::StructureError;
use super::kind::ModuleKind;
use super::logs::{self, Stream};
use super::name::{self, Taken};
use super::node::{dataset, link, note_keys, old_dataset, old_link, own_attributes, run_times};
use super::notes::Notes;
use super::path::{Path, quoted, shown_json};
use super::stream;
use super::tree::{DEEPEST, Element, Item, Object};

/// What is found out on the way.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) notes: Notes,
    pub(super) dialects: Dialects,
}

impl Reader {
    /// The group of an object whose own keys have been looked at.
    ///
    /// # Errors
    /// If anything in it is refused.
    pub(super) fn group(
        &mut self,
        mut object: Object<'_>,
        name: &str,
        path: &Path<'_>,
    ) -> Result<Group, StructureError> {
        let attributes = own_attributes(&object, path, &mut self.notes)?;
        let mut group = Group { name: name.to_owned(), attributes, children: Vec::new() };
        let mut taken = Taken::default();
        let mut streams = Vec::new();
        for child in children(&mut object, path)?.into_iter().enumerate() {
            self.child(child, path, &mut group, &mut taken, &mut streams)?;
        }
        logs::settle(&streams, path, &mut group, &mut taken, &mut self.notes)?;
        Ok(group)
    }

    fn child(
        &mut self,
        (index, element): (usize, Element<'_>),
        above: &Path<'_>,
        group: &mut Group,
        taken: &mut Taken,
        streams: &mut Vec<Stream>,
    ) -> Result<(), StructureError> {
        let place = above.index(index);
        let object = match element {
            Element::Object(object) => object,
            Element::Other(found) => return Err(place.refuse(found, "an object: a group or a module")),
        };
        // Something with a name is best known by it.
        let name =
            object.text("name").and_then(|name| super::tree::text(name.get()).ok()).unwrap_or_default();
        let path = if name.is_empty() { place } else { above.name(&name) };
        if let Some(key) = object.repeated() {
            return Err(path.refuse(format!("the key {} twice", quoted(key)), "each key once"));
        }
        let notes = &mut self.notes;
        let node = match NodeKind::of(&object, &path)? {
            NodeKind::Group => {
                note_keys(&without_children(&object), &["type", "name", "attributes"], &path, notes);
                let name = text(super::node::needed(&object, "name", &path)?, &path.name("name"))?;
                name::check(&name, &path.name("name"))?;
                taken.take(&name, &path)?;
                Node::Group(self.group(object, &name, &path)?)
            }
            NodeKind::Dataset => named(Node::Dataset(dataset(&object, &path, notes)?), taken, &path)?,
            NodeKind::OldDataset => named(Node::Dataset(old_dataset(&object, &path, notes)?), taken, &path)?,
            NodeKind::Link => named(Node::Link(link(&object, &path, notes)?), taken, &path)?,
            NodeKind::OldLink => named(Node::Link(old_link(&object, &path, notes)?), taken, &path)?,
            NodeKind::RunTimes => {
                let times = run_times(&object, &path, notes)?;
                times.iter().try_for_each(|time| taken.take(time.name(), &path))?;
                Node::RunTimes(times)
            }
            NodeKind::Module(kind) => {
                self.dialects.module = true;
                let module = stream::module(kind, &object, &path, notes)?;
                streams.push(Stream { at: group.children.len(), index, is_old: false });
                Node::Stream(module)
            }
            NodeKind::OldStream => {
                self.dialects.stream = true;
                let module = stream::old_stream(&object, &path, notes)?;
                streams.push(Stream { at: group.children.len(), index, is_old: true });
                Node::Stream(module)
            }
        };
        group.children.push(node);
        Ok(())
    }
}

/// What a node is.
enum NodeKind {
    Group,
    Dataset,
    OldDataset,
    Link,
    OldLink,
    RunTimes,
    Module(ModuleKind),
    OldStream,
}

impl NodeKind {
    fn of(object: &Object<'_>, path: &Path<'_>) -> Result<Self, StructureError> {
        let expected = "a node with one of the keys module and type";
        match (object.text("module"), object.text("type")) {
            (Some(_), Some(_)) => Err(path.refuse("both module and type", "one of them")),
            (None, None) => Err(path.refuse("neither module nor type", expected)),
            (Some(module), None) => {
                let path = path.name("module");
                match text(module, &path)?.as_ref() {
                    "dataset" => Ok(Self::Dataset),
                    "link" => Ok(Self::Link),
                    "mdat" => Ok(Self::RunTimes),
                    name => stream::kind(name, &path).map(Self::Module),
                }
            }
            (None, Some(kind)) => {
                let path = path.name("type");
                match text(kind, &path)?.as_ref() {
                    "group" => Ok(Self::Group),
                    "dataset" => Ok(Self::OldDataset),
                    "link" => Ok(Self::OldLink),
                    "stream" => Ok(Self::OldStream),
                    name => {
                        let known = ["group", "dataset", "link", "stream"];
                        let hint = did_you_mean(name, known.into_iter());
                        Err(path.refuse(quoted(name), format!("one of {}{hint}", known.join(", "))))
                    }
                }
            }
        }
    }
}

fn named(node: Node, taken: &mut Taken, path: &Path<'_>) -> Result<Node, StructureError> {
    match &node {
        Node::Dataset(dataset) => taken.take(&dataset.name, path)?,
        Node::Link(link) => taken.take(&link.name, path)?,
        _ => {}
    }
    Ok(node)
}

/// The keys of a group but its children.
fn without_children<'j>(object: &Object<'j>) -> Object<'j> {
    let texts = object.0.iter().filter_map(|(key, item)| match item {
        Item::Text(text) => Some((key.clone(), Item::Text(text))),
        _ => None,
    });
    Object(texts.collect())
}

/// Takes the children of an object.
fn children<'j>(object: &mut Object<'j>, path: &Path<'_>) -> Result<Vec<Element<'j>>, StructureError> {
    let Some(at) = object.0.iter().position(|(key, _)| key == "children") else { return Ok(Vec::new()) };
    let path = path.name("children");
    match object.0.swap_remove(at).1 {
        Item::Children(children) => Ok(children),
        Item::NoChildren(found) => Err(path.refuse(found, "a list of nodes")),
        Item::TooDeep => {
            Err(path.refuse("more groups in each other", format!("at most {DEEPEST} groups in each other")))
        }
        Item::Text(json) => Err(path.refuse(shown_json(json.get()), "a list of nodes")),
        Item::Wrapped(_) => Err(path.refuse("a structure", "a list of nodes")),
    }
}

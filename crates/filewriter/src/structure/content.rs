//! The content of a file, as it is known before the first message.

use serde_json::{Map, Value};

use super::kind::ModuleKind;

/// The content of a file, as far as it is known before the first message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// The root: its name is empty.
    pub root: Group,
    /// Which spellings of modules were seen.
    pub dialects: Dialects,
    /// What was found and is not used, for people: a path and a sentence each.
    pub notes: Vec<String>,
}

impl Structure {
    /// Shows all modules in their order, each with the path of its group.
    ///
    /// # Errors
    /// The first that `show` gives.
    pub fn each_module<E>(
        &self,
        show: &mut impl FnMut(&str, &StreamModule) -> Result<(), E>,
    ) -> Result<(), E> {
        self.root.each_module(&mut String::new(), show)
    }
}

/// Which spellings of modules a structure has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialects {
    /// `{"module": …, "config": {…}}`, as the file writer of the ESS reads it.
    pub module: bool,
    /// `{"type": "stream", "stream": {…}}`, as ISIS sends it.
    pub stream: bool,
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Its name in the group above.
    pub name: String,
    /// Its attributes, `NX_class` among them.
    pub attributes: Vec<Attribute>,
    /// What is in it, in the order of the structure.
    pub children: Vec<Node>,
}

impl Group {
    /// One path for all of them: some words make very many long ones.
    fn each_module<E>(
        &self,
        path: &mut String,
        show: &mut impl FnMut(&str, &StreamModule) -> Result<(), E>,
    ) -> Result<(), E> {
        for child in &self.children {
            match child {
                Node::Group(child) => {
                    let length = step_down(path, &child.name);
                    child.each_module(path, show)?;
                    path.truncate(length);
                }
                Node::Stream(module) => show(if path.is_empty() { "/" } else { path.as_str() }, module)?,
                Node::Dataset(_) | Node::Link(_) | Node::RunTimes(_) => {}
            }
        }
        Ok(())
    }
}

/// Goes down in a path, and gives its length before.
pub(super) fn step_down(path: &mut String, name: &str) -> usize {
    let length = path.len();
    path.push('/');
    path.push_str(name);
    length
}

/// What is in a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A group.
    Group(Group),
    /// Values that are known.
    Dataset(Dataset),
    /// Another name for something in the file.
    Link(Link),
    /// Values that come as messages, into the group that it is in.
    Stream(StreamModule),
    /// Times of the run as text, which the program writes: items of the module `mdat`.
    RunTimes(Vec<RunTime>),
}

impl Node {
    /// Its name; that of the longest of its datasets, if the program or a module makes them.
    pub fn name(&self) -> &str {
        match self {
            Self::Group(group) => &group.name,
            Self::Dataset(dataset) => &dataset.name,
            Self::Link(link) => &link.name,
            Self::Stream(_) => "connection_status_time",
            Self::RunTimes(_) => "start_time",
        }
    }
}

/// A time of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTime {
    /// The beginning: dataset `start_time`.
    Start,
    /// The end: dataset `end_time`.
    End,
}

impl RunTime {
    /// The name of its dataset.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start_time",
            Self::End => "end_time",
        }
    }
}

/// A dataset with values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub values: Array,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}

/// An attribute of a group or dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub values: Array,
}

/// A hard link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it is another name of: a path from the root, or one from its group, with leading `../`.
    pub source: String,
}

/// Values with a shape; no shape is a single value.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// The values in C order, as many as the shape says.
    pub values: Values,
}

/// Values of one type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Values {
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
}

impl Values {
    /// Bytes of the values; of texts, without what a place for them takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::I16(values) => values.len() * 2,
            Self::U16(values) => values.len() * 2,
            Self::I32(values) => values.len() * 4,
            Self::U32(values) => values.len() * 4,
            Self::I64(values) => values.len() * 8,
            Self::U64(values) => values.len() * 8,
            Self::F32(values) => values.len() * 4,
            Self::F64(values) => values.len() * 8,
            Self::Text(texts) => texts.iter().map(String::len).sum(),
        }
    }
}

/// A module: whose messages go to the group that it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamModule {
    /// What it writes.
    pub kind: ModuleKind,
    /// The topic.
    pub topic: String,
    /// Names of the sources. The file writer of the ESS has one; several are our own extension.
    pub sources: Vec<String>,
    /// All other keys of its configuration, which the module reads.
    pub settings: Map<String, Value>,
}

impl StreamModule {
    /// The NeXus class of the group that it writes into, if the structure does not say another one.
    pub fn nexus_class(&self) -> &'static str {
        let adds_up = self.settings.get("accumulate") == Some(&Value::Bool(true));
        // Differences that are added up are the histogram of a monitor.
        if self.kind == ModuleKind::Da00 && adds_up { "NXmonitor" } else { self.kind.nexus_class() }
    }
}

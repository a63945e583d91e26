//! Groups, datasets and attributes of a structure in a file.

use evforge_stream::storage::bulk::{Maker, Open};
use hdf5_metno::{File, Group as FileGroup};

use super::content::{Group, Node, StreamModule, Structure, step_down};
use super::error::CreateError;
use super::times::{RunTimes, TimeText};
use super::tree::DEEPEST;
use super::write;

/// A module, and the group that it writes into.
#[derive(Clone, Debug)]
pub struct Place {
    /// The path of the group.
    pub path: String,
    /// The group.
    pub group: FileGroup,
    /// The module.
    pub module: StreamModule,
}

/// What is there to be written into.
#[derive(Debug, Default)]
pub struct Created {
    /// Modules in the order of the structure.
    pub places: Vec<Place>,
    /// Times of the run, to be set again when they are known.
    pub times: Vec<TimeText>,
}

/// Makes what is known of a file: all groups, datasets and attributes, but no links, and nothing that modules make.
///
/// The file is empty, or a copy of a template: groups that are there are used, attributes that are there are replaced. Before
/// others may follow the file.
///
/// # Errors
/// If the file has a dataset of the structure already, something else of the name of one of its groups, or HDF5 refuses.
pub fn create(file: &File, structure: &Structure, times: &RunTimes) -> Result<Created, CreateError> {
    let maker = Maker::new().map_err(CreateError::at("/"))?;
    let root = maker.root(file).map_err(CreateError::at("/"))?;
    let mut work = Work { file, maker, times, created: Created::default() };
    work.fill(&structure.root, &root, false, &mut String::new(), 0)?;
    Ok(work.created)
}

/// Finds the places of the modules, and the times, in a file that was made of the same structure before. Nothing is written.
///
/// # Errors
/// If a group or a time is not there, or HDF5 refuses.
pub fn reopen(file: &File, structure: &Structure) -> Result<Created, CreateError> {
    let mut created = Created::default();
    find(file, &structure.root, &mut String::new(), 0, &mut created)?;
    Ok(created)
}

struct Work<'f> {
    file: &'f File,
    maker: Maker,
    times: &'f RunTimes,
    created: Created,
}

impl Work<'_> {
    /// Fills a group, which is at `path` (that of the root is empty). Nothing is looked for in a new one.
    fn fill(
        &mut self,
        group: &Group,
        open: &Open,
        is_new: bool,
        path: &mut String,
        depth: usize,
    ) -> Result<(), CreateError> {
        check_depth(depth, path)?;
        for attribute in &group.attributes {
            write::attribute(&mut self.maker, open, attribute).map_err(CreateError::at(path))?;
        }
        if let Some(module) = modules(group).next() {
            write::module_attributes(&mut self.maker, open, module, &group.attributes)
                .map_err(CreateError::at(path))?;
        }
        let handle = handle(self.file, group, path)?;
        for child in &group.children {
            match child {
                Node::Group(child) => {
                    let length = step_down(path, &child.name);
                    let is_there = !is_new && self.has(open, &child.name, path)?;
                    let inner = if is_there {
                        self.maker
                            .open_group(open, &child.name)
                            .map_err(|_| exists(path, "what is no group"))?
                    } else {
                        let length = child.children.iter().map(|child| child.name().len()).max().unwrap_or(0);
                        self.maker
                            .group(open, &child.name, child.children.len(), length)
                            .map_err(CreateError::at(path))?
                    };
                    self.fill(child, &inner, !is_there, path, depth + 1)?;
                    path.truncate(length);
                }
                Node::Dataset(dataset) => {
                    let length = step_down(path, &dataset.name);
                    self.check_absent(open, is_new, &dataset.name, path)?;
                    write::dataset(
                        &mut self.maker,
                        open,
                        &dataset.name,
                        &dataset.values,
                        &dataset.attributes,
                    )
                    .map_err(CreateError::at(path))?;
                    path.truncate(length);
                }
                Node::RunTimes(times) => {
                    let Some(handle) = &handle else { continue };
                    for &which in times {
                        let length = step_down(path, which.name());
                        self.check_absent(open, is_new, which.name(), path)?;
                        self.created.times.push(TimeText::create(handle, path, which, self.times)?);
                        path.truncate(length);
                    }
                }
                Node::Stream(module) => self.created.places.extend(place(path, handle.as_ref(), module)),
                // Links are made when there is something to lead to.
                Node::Link(_) => {}
            }
        }
        Ok(())
    }

    fn has(&self, parent: &Open, name: &str, path: &str) -> Result<bool, CreateError> {
        self.maker.has(parent, name).map_err(CreateError::at(path))
    }

    fn check_absent(&self, parent: &Open, is_new: bool, name: &str, path: &str) -> Result<(), CreateError> {
        if !is_new && self.has(parent, name, path)? { Err(exists(path, "something")) } else { Ok(()) }
    }
}

fn find(
    file: &File,
    group: &Group,
    path: &mut String,
    depth: usize,
    found: &mut Created,
) -> Result<(), CreateError> {
    check_depth(depth, path)?;
    let handle = handle(file, group, path)?;
    for child in &group.children {
        match child {
            Node::Group(child) => {
                let length = step_down(path, &child.name);
                find(file, child, path, depth + 1, found)?;
                path.truncate(length);
            }
            Node::Stream(module) => found.places.extend(place(path, handle.as_ref(), module)),
            Node::RunTimes(times) => {
                let Some(handle) = &handle else { continue };
                for &which in times {
                    let length = step_down(path, which.name());
                    found.times.push(TimeText::open(handle, path, which)?);
                    path.truncate(length);
                }
            }
            Node::Dataset(_) | Node::Link(_) => {}
        }
    }
    Ok(())
}

/// The group in the file, if something is to be written into it.
fn handle(file: &File, group: &Group, path: &str) -> Result<Option<FileGroup>, CreateError> {
    let is_needed = group.children.iter().any(|child| matches!(child, Node::Stream(_) | Node::RunTimes(_)));
    if !is_needed {
        return Ok(None);
    }
    file.group(if path.is_empty() { "/" } else { path }).map(Some).map_err(CreateError::at(path))
}

fn place(path: &str, handle: Option<&FileGroup>, module: &StreamModule) -> Option<Place> {
    let path = if path.is_empty() { "/".into() } else { path.to_owned() };
    Some(Place { path, group: handle?.clone(), module: module.clone() })
}

fn modules(group: &Group) -> impl Iterator<Item = &StreamModule> {
    group.children.iter().filter_map(|child| match child {
        Node::Stream(module) => Some(module),
        _ => None,
    })
}

pub(super) fn check_depth(depth: usize, path: &str) -> Result<(), CreateError> {
    // A group that was made for a log is one deeper than the structure says.
    if depth > DEEPEST + 1 {
        Err(CreateError::TooDeep { path: path.to_owned(), most: DEEPEST })
    } else {
        Ok(())
    }
}

fn exists(path: &str, found: &'static str) -> CreateError {
    CreateError::Exists { path: path.to_owned(), found }
}

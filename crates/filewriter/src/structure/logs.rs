//! The modules of a group: what comes with them, and logs that need groups of their own.

use super::content::{Group, Node, StreamModule, Values};
use super::error::StructureError;
use super::kind::ModuleKind;
use super::name::{self, Taken};
use super::notes::Notes;
use super::path::{Path, quoted};
use serde_json::{Map, Value};

/// Groups of ISIS in which each log is to have a group of its own, also if there is only one.
const OF_LOGS: [&str; 2] = ["selog", "runlog"];

/// A module in a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Its place among the children that the group has.
    pub(super) at: usize,
    /// Its place in the list of the structure.
    pub(super) index: usize,
    /// In the spelling of ISIS.
    pub(super) is_old: bool,
}

/// Gives the modules of a group their places: those that come with f144, and groups of their own for the logs of ISIS.
pub(super) fn settle(
    streams: &[Stream],
    path: &Path<'_>,
    group: &mut Group,
    taken: &mut Taken,
    notes: &mut Notes,
) -> Result<(), StructureError> {
    if streams.is_empty() {
        return Ok(());
    }
    let module = |group: &Group, at: usize| match group.children.get(at) {
        Some(Node::Stream(module)) => Some(module.clone()),
        _ => None,
    };
    let is_log = |stream: &&Stream| {
        stream.is_old && module(group, stream.at).is_some_and(|module| module.kind.nexus_class() == "NXlog")
    };
    let logs: Vec<usize> = streams.iter().filter(is_log).map(|stream| stream.at).collect();
    let kinds: Vec<ModuleKind> = logs.iter().filter_map(|&at| Some(module(group, at)?.kind)).collect();
    let is_split = !logs.is_empty()
        && (OF_LOGS.contains(&group.name.as_str())
            || kinds.iter().enumerate().any(|(at, kind)| kinds[..at].contains(kind)));
    if is_split {
        split(&logs, path, group, taken, notes)?;
    }
    let mut own: Vec<ModuleKind> = Vec::new();
    for stream in streams {
        let Some(module) = module(group, stream.at) else { continue };
        if own.contains(&module.kind) {
            let path = path.index(stream.index);
            return Err(
                path.refuse(format!("a second {} in its group", module.kind), "one module of each kind")
            );
        }
        own.push(module.kind);
    }
    note_class(path, group, notes);
    add_companions(group);
    Ok(())
}

/// Says it if a group is of another class than its first module makes it.
fn note_class(path: &Path<'_>, group: &Group, notes: &mut Notes) {
    let module = group.children.iter().find_map(|child| match child {
        Node::Stream(module) => Some(module.kind),
        _ => None,
    });
    let given = group.attributes.iter().find(|attribute| attribute.name == "NX_class");
    if let (Some(kind), Some(given)) = (module, given) {
        let usual = kind.nexus_class();
        if !matches!(&given.values.values, Values::Text(texts) if texts.iter().all(|text| text == usual)) {
            notes.add(path, &format!("NX_class is kept as it is given; {kind} would make it {usual}"));
        }
    }
}

/// Moves logs to groups of their own, which have the names of their blocks.
fn split(
    logs: &[usize],
    path: &Path<'_>,
    group: &mut Group,
    taken: &mut Taken,
    notes: &mut Notes,
) -> Result<(), StructureError> {
    let mut moved: Vec<Group> = Vec::new();
    let mut sources: Vec<(String, usize)> = Vec::new();
    let mut kept = Vec::new();
    for (at, node) in std::mem::take(&mut group.children).into_iter().enumerate() {
        let module = match node {
            Node::Stream(module) if logs.contains(&at) => module,
            other => {
                kept.push(other);
                continue;
            }
        };
        let source = module.sources.first().cloned().unwrap_or_default();
        let known = sources.iter().find(|(known, _)| *known == source).map(|(_, at)| *at);
        let at = match known {
            Some(at) => at,
            None => {
                let name = block(&source, |name| taken.has(name));
                name::check(&name, path)?;
                taken.take(&name, path)?;
                sources.push((source, moved.len()));
                moved.push(Group { name, ..Group::default() });
                moved.len() - 1
            }
        };
        let children = &mut moved[at].children;
        let kind = module.kind;
        if children.iter().any(|child| matches!(child, Node::Stream(other) if other.kind == kind)) {
            let found = format!("two modules {kind} of the source {}", quoted(&sources[at].0));
            return Err(path.refuse(found, "one module of each kind for a source"));
        }
        children.push(Node::Stream(module));
    }
    notes
        .add(path, "each log has a group of its own here, with the name of its source behind the last colon");
    moved.iter_mut().for_each(add_companions);
    kept.extend(moved.into_iter().map(Node::Group));
    group.children = kept;
    Ok(())
}

/// The name of the block of a source: what is behind its last colon, or all of it if that is taken.
fn block(source: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let clean = |name: &str| name.replace('/', "_");
    match source.rsplit_once(':') {
        Some((_, block)) if !block.is_empty() && !is_taken(&clean(block)) => clean(block),
        _ => clean(source),
    }
}

/// Adds the alarms and the connections that come with logs, behind the first of them.
fn add_companions(group: &mut Group) {
    let modules: Vec<&StreamModule> = group.children.iter().filter_map(stream).collect();
    let found = companions(&modules);
    let brings = |child: &Node| {
        stream(child).is_some_and(|module| matches!(module.kind, ModuleKind::F144 | ModuleKind::Tdct))
    };
    let Some(at) = group.children.iter().position(brings) else { return };
    group.children.splice(at + 1..at + 1, found.into_iter().map(Node::Stream));
}

fn stream(child: &Node) -> Option<&StreamModule> {
    match child {
        Node::Stream(module) => Some(module),
        _ => None,
    }
}

/// The modules that the ones of a group bring with them, to be opened in the same group after them, in this order: of the source
/// of f144 and tdct its alarms and the state of its connection, as the file writer of the ESS does. `enable_alarm_info` and
/// `enable_epics_con_info` switch them off, and a module of the same kind in the group replaces them.
///
/// They are streams of their own: an alarm has the same time as its value, and is no repeat of it.
pub fn companions(group: &[&StreamModule]) -> Vec<StreamModule> {
    let mut found: Vec<StreamModule> = Vec::new();
    for module in group.iter().filter(|module| matches!(module.kind, ModuleKind::F144 | ModuleKind::Tdct)) {
        for (kind, key) in
            [(ModuleKind::Al00, "enable_alarm_info"), (ModuleKind::Ep01, "enable_epics_con_info")]
        {
            let is_wanted = module.settings.get(key).and_then(Value::as_bool).unwrap_or(true);
            let is_there = group.iter().any(|other| other.kind == kind || is_alarm(kind, other.kind))
                || found.iter().any(|other| other.kind == kind);
            if is_wanted && !is_there {
                let (topic, sources) = (module.topic.clone(), module.sources.clone());
                found.push(StreamModule { kind, topic, sources, settings: Map::new() });
            }
        }
    }
    found
}

/// f142 writes alarms under the same names.
fn is_alarm(kind: ModuleKind, other: ModuleKind) -> bool {
    kind == ModuleKind::Al00 && other == ModuleKind::F142
}

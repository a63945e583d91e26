//! Modules that come with others: alarms and connections of the source of a log.

use serde_json::{Map, Value};

use super::content::StreamModule;
use super::kind::ModuleKind;

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

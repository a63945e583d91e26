//! From a module of a structure to what writes its messages.

use evforge_messages::Schema;
use hdf5_metno::Group;

use super::alarm::Alarms;
use super::events::ReferenceEvents;
use super::log::Log;
use super::module::{Module, ModuleError};
use super::own_events::OwnEvents;
use super::places::describe;
use super::settings::{Settings, wrong};
use crate::file::Columns;
use crate::structure::{ModuleKind, StreamModule};

/// A module with its datasets.
#[derive(Debug)]
pub struct Opened {
    /// What writes its messages.
    pub module: Box<dyn Module>,
    /// Keys of its configuration that it does not use, for people. The file writer of the ESS ignores them.
    pub notes: Vec<String>,
}

/// The layouts of events: that of the file writer of the ESS, and that of `evforge run --nexus`.
const LAYOUTS: [&str; 2] = ["reference", "evforge"];
const EV44: [&[Schema]; 2] = [&[Schema::Ev44], &[Schema::Ev44, Schema::Da00]];
const EV42: [&[Schema]; 2] = [&[Schema::Ev42], &[Schema::Ev42, Schema::Da00]];

/// A module with its datasets, which are made, or, after a restart, opened: `columns` knows which.
///
/// # Errors
/// If its settings are wrong (with the key, what was found, what is expected), or HDF5 refuses.
pub fn open(module: &StreamModule, group: &Group, columns: &mut Columns) -> Result<Opened, ModuleError> {
    let settings = Settings::new(module);
    let (class, opened): (&str, Box<dyn Module>) = match module.kind {
        ModuleKind::Ev44 => ("NXevent_data", events(EV44, &settings, group, columns)?),
        ModuleKind::Ev42 => ("NXevent_data", events(EV42, &settings, group, columns)?),
        ModuleKind::F144 => ("NXlog", Box::new(Log::open(&[Schema::F144], &settings, group, columns)?)),
        ModuleKind::F142 => ("NXlog", Box::new(Log::open(&[Schema::F142], &settings, group, columns)?)),
        ModuleKind::Al00 => ("NXlog", Box::new(Alarms::open(group, columns)?)),
        other => return Err(ModuleError::Settings(format!("module {other} is not written yet"))),
    };
    describe(group, class, module, columns)?;
    Ok(Opened { module: opened, notes: settings.notes() })
}

fn events(
    schemas: [&'static [Schema]; 2],
    settings: &Settings<'_>,
    group: &Group,
    columns: &mut Columns,
) -> Result<Box<dyn Module>, ModuleError> {
    if settings.choice("layout", &LAYOUTS)? == 1 {
        return Ok(Box::new(OwnEvents::open(schemas, settings, group, columns)?));
    }
    for key in ["pixels", "vetoes"] {
        if let Some((key, value)) = settings.value(&[key]) {
            return Err(wrong(key, value, "nothing: it belongs to \"layout\": \"evforge\""));
        }
    }
    Ok(Box::new(ReferenceEvents::open(schemas[0], settings, group, columns)?))
}

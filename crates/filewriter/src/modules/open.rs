//! From a module of a structure to what writes its messages.

use evforge_messages::Schema;
use hdf5_metno::Group;

use super::alarm::Alarms;
use super::chopper::ChopperTimes;
use super::connection::Connections;
use super::data_array::DataArrays;
use super::events::ReferenceEvents;
use super::frames::Frames;
use super::ledger::Ledger;
use super::log::Log;
use super::module::{Module, ModuleError};
use super::monitor::Monitor;
use super::own_events::OwnEvents;
use super::packets::Packets;
use super::places::describe;
use super::pulses::Pulses;
use super::samples::Samples;
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
    let s = &settings;
    let mut notes = Vec::new();
    let opened: Box<dyn Module> = match module.kind {
        ModuleKind::Ev44 => events(EV44, s, group, columns)?,
        ModuleKind::Ev42 => events(EV42, s, group, columns)?,
        ModuleKind::F144 => Box::new(Log::open(&[Schema::F144], s, group, columns)?),
        ModuleKind::F142 => Box::new(Log::open(&[Schema::F142], s, group, columns)?),
        ModuleKind::Al00 => Box::new(Alarms::open(group, columns)?),
        ModuleKind::Ep01 => Box::new(Connections::open(group, columns)?),
        ModuleKind::Se00 => Box::new(Samples::open(&[Schema::Se00], s, group, columns)?),
        ModuleKind::Senv => Box::new(Samples::open(&[Schema::Senv], s, group, columns)?),
        ModuleKind::Tdct => Box::new(ChopperTimes::open(s, group, columns)?),
        ModuleKind::Ad00 => Box::new(Frames::open(s, group, columns)?),
        ModuleKind::Da00 if s.flag("accumulate", false)? => {
            Box::new(Monitor::open(&[Schema::Da00], s, group, columns)?)
        }
        ModuleKind::Da00 => Box::new(DataArrays::open(s, group, columns, &mut notes)?),
        ModuleKind::Hs01 => Box::new(Monitor::open(&[Schema::Hs01], s, group, columns)?),
        ModuleKind::Ar51 => Box::new(Packets::open(s, group, columns)?),
        ModuleKind::Pu00 => Box::new(Pulses::open(s, group, columns)?),
        ModuleKind::Ledger => Box::new(Ledger::open(s, group, columns)?),
    };
    describe(group, module, columns)?;
    notes.extend(settings.notes());
    Ok(Opened { module: opened, notes })
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

//! Damaged HDF5 files, read by everything that reads or mends such files. HDF5 can crash on them, so this is not done in the process of
//! a fuzzer: a child process reads, and whoever has damaged the file watches it (`child`, [`Watched`]).

mod campaign;
mod child;
mod damage;
mod originals;
mod watched;

pub use campaign::{Sums, campaign, main};
pub use child::{LARGEST_MEMORY, LONGEST_CPU, serve_child};
pub use damage::damaged;
pub use originals::{Original, originals};
pub use watched::{Outcome, Watched};

use evforge_core::batch_filler::BatchFiller;
use evforge_core::event::EventBatch;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_dump::packets::PacketFormats;
use evforge_filewriter::file::{Base, FilePlan, Reopened, Storage, WriterFile};
use evforge_filewriter::structure::{RunTimes, parse};
use evforge_stream::nexus::{EventFollower, EventReader, ReadPulse, needs_recovery, recover};
use std::path::Path;

/// Something that reads or mends HDF5 files of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `evforge view FILE`.
    View,
    /// `evforge score`, and whatever compares files of events.
    Events,
    /// `evforge write --recover`, and a run that finds the file of one that was killed. It changes the file.
    Recover,
    /// `evforge run --input` with a dump of readouts.
    Dump,
    /// A file writer that takes up a file again. It changes the file.
    Writer,
    /// `evforge train repair`. It changes the file.
    Trains,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::View, Self::Events, Self::Recover, Self::Dump, Self::Writer, Self::Trains];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Events => "events",
            Self::Recover => "recover",
            Self::Dump => "dump",
            Self::Writer => "writer",
            Self::Trains => "trains",
        }
    }

    /// Reads a file to its end.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(self, path: &Path) -> Result<(), String> {
        match self {
            Self::View => view(path).map_err(|error| error.to_string()),
            Self::Events => events(path).map_err(|error| error.to_string()),
            Self::Recover => {
                let recovered =
                    needs_recovery(path).and_then(|needed| needed.then(|| recover(path)).transpose());
                recovered.map(drop).map_err(|error| error.to_string())
            }
            Self::Dump => dump(path),
            Self::Writer => writer(path),
            Self::Trains => evforge_train::file::repair(path).map(drop).map_err(|error| error.to_string()),
        }
    }
}

/// Events that are read of a file at most: a damaged length may say any number.
const MOST_EVENTS: u64 = 1 << 22;

fn view(path: &Path) -> Result<(), evforge_stream::nexus::NexusError> {
    let mut follower = EventFollower::open(path)?;
    let _ = follower.some_ids();
    let mut hand_on = |_: &EventBatch| {};
    let mut batch = EventBatch::new(4096);
    let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
    for _ in 0..MOST_EVENTS >> 17 {
        if !follower.read(1 << 17, &mut filler) {
            break;
        }
    }
    filler.finish();
    let _ = (follower.logs(), follower.faults(), follower.counters());
    follower.look()?;
    Ok(())
}

fn events(path: &Path) -> Result<(), evforge_stream::nexus::NexusError> {
    let mut reader = EventReader::open(path)?;
    let (_, _) = (reader.sources().count(), reader.frame_vetoes());
    let mut pulse = ReadPulse::default();
    let mut read = 0;
    while read < MOST_EVENTS && reader.read(&mut pulse)? {
        read += 1;
    }
    Ok(())
}

fn dump(path: &Path) -> Result<(), String> {
    let mut source =
        evforge_dump::packets::open(path, &PacketFormats::default()).map_err(|error| error.to_string())?;
    let mut slab = PacketSlab::new(64, 1 << 20);
    for _ in 0..1 << 14 {
        slab.clear();
        if source.fill(&mut slab).map_err(|error| error.to_string())? == Fill::End {
            break;
        }
    }
    Ok(())
}

fn writer(path: &Path) -> Result<(), String> {
    let reopened = WriterFile::reopen(&plan(path)).map_err(|error| error.to_string())?;
    drop::<Reopened>(reopened);
    Ok(())
}

/// The file of a writer with all modules of the file writer of the ESS.
fn plan(path: &Path) -> FilePlan {
    FilePlan {
        path: path.to_owned(),
        base: Base::Nothing,
        structure: parse(&in_groups(crate::writer_modules::STRUCTURES[0])).expect("a structure"),
        times: RunTimes { start_ms: 0, stop_ms: None },
        storage: Storage { threads: 0, waits_for_disk: false, ..Storage::default() },
    }
}

/// A structure with each of its modules in a group of its own.
fn in_groups(structure: &str) -> String {
    let structure: serde_json::Value = serde_json::from_str(structure).expect("JSON");
    let modules = structure["children"].as_array().cloned().unwrap_or_default();
    let group = |(number, module): (usize, serde_json::Value)| serde_json::json!({"type": "group", "name": format!("g{number}"), "children": [module]});
    let groups: Vec<_> = modules.into_iter().enumerate().map(group).collect();
    serde_json::json!({ "children": groups }).to_string()
}

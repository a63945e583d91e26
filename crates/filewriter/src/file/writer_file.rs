//! A file that is being written, and how it is made.
//!
//! Commits are in `commit`, the end is in `finishing`, and what a writer that was killed has left is taken up again in `reopening`.

use super::completeness::Completeness;
use super::journal::Journal;
use super::plan::{Base, FilePlan, Storage};
use super::{Columns, FileError, Names, ending, is_there};
use crate::modules::{self, Module, Opened};
use crate::structure::{self, Place, StreamModule, Structure, TimeText};
use evforge_stream::nexus::{DiskSpace, Lock, identity, write_static_part};
use evforge_stream::storage::dataset::class;
use evforge_stream::storage::diversion::divert;
use evforge_stream::storage::made_in_memory::{MadeInMemory, NotMade};
use evforge_stream::storage::making::Making;
use evforge_stream::storage::syncer::Syncer;
use evforge_stream::storage::text::create_text;
use evforge_stream::storage::workers::Workers;
use hdf5_metno::{Dataset, File, Group};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Our own group, in the first NXentry of the file.
pub const OWN_GROUP: &str = "evforge_writer";
/// The states of a file, in `state` of [`OWN_GROUP`].
pub(super) const WRITING: &str = "writing";
pub(super) const CLOSING: &str = "closing";
/// Room for the state.
const STATE_ROOM: usize = 256;
/// Bytes that HDF5 takes at once for what is not data, in a file that is made or opened. With its 2048, very many small objects
/// are as many small writes.
const BLOCK: u64 = 64 << 10;
/// What is reserved beyond what the bounds say: a block that has just been begun counts.
pub(super) const BEYOND: u64 = BLOCK + (256 << 10);
/// Room of a record for each column.
const RECORD_OF_COLUMN: usize = 24;

/// A module of a file, open.
#[derive(Debug)]
pub struct OpenModule {
    /// Its group.
    pub path: String,
    /// What it was made of.
    pub spec: StreamModule,
    /// What writes.
    pub module: Box<dyn Module>,
    /// Keys of its configuration that it does not use, for people.
    pub notes: Vec<String>,
}

/// A file that is being written. The fields are dropped in this order: HDF5 wants its datasets closed before the file.
#[derive(Debug)]
pub struct WriterFile {
    /// Its columns.
    pub columns: Columns,
    /// Its modules, in the order of the structure.
    pub modules: Vec<OpenModule>,
    /// What it says of its own completeness.
    pub completeness: Completeness,
    pub(super) times: Vec<TimeText>,
    pub(super) state: Dataset,
    pub(super) journal: Journal,
    pub(super) own: String,
    pub(super) file: File,
    pub(super) handle: fs::File,
    pub(super) names: Names,
    pub(super) space: Arc<dyn DiskSpace>,
    pub(super) syncer: Option<Syncer>,
    pub(super) reserved: u64,
    pub(super) identity: (u64, u64),
    /// The record of the commit that waits for the disk.
    pub(super) under_way: Option<String>,
    _lock: Lock,
}

impl WriterFile {
    /// Makes the file with everything that it will ever contain, ready to be followed. A record has room for `job_room` bytes of
    /// what the job keeps. `begin` is called once the name is held and free, before there is anything of the file.
    ///
    /// # Errors
    /// If there is such a file already, another process writes it, there is no room, or the structure cannot be made.
    pub fn create(
        plan: &FilePlan,
        job_room: usize,
        begin: impl FnOnce() -> Result<(), FileError>,
    ) -> Result<Self, FileError> {
        let names = Names::of(&plan.path);
        let path = names.writing();
        let lock = Lock::take(&plan.path)?;
        for name in [names.complete(), &path] {
            if is_there(name) {
                return Err(FileError::Exists(name.to_owned()));
            }
        }
        begin()?;
        Self::make(plan, job_room, names, lock)
    }

    /// Makes the file under another name, which it has until it can be followed.
    fn make(plan: &FilePlan, job_room: usize, names: Names, lock: Lock) -> Result<Self, FileError> {
        let path = names.writing();
        let making = Making::begin(names.complete()).map_err(|cause| match cause.kind() {
            ErrorKind::ResourceBusy => FileError::InUse(path.clone()),
            _ => FileError::io("make", &path, cause),
        })?;
        let storage = &plan.storage;
        let room = bytes_at_most(plan, job_room);
        let folder = evforge_stream::storage::space::folder_of(&path);
        storage
            .space
            .has_room(folder, room)
            .map_err(|shortage| FileError::NoSpace { path: path.clone(), shortage })?;
        // In memory none of the many writes that begin a file can fail.
        let made =
            MadeInMemory::create(making.path(), |access| access.meta_block_size(BLOCK)).map_err(|error| {
                match error {
                    NotMade::Hdf5(error) => FileError::hdf5("make", &path, &error),
                    NotMade::System(cause) => FileError::io("make", &path, cause),
                }
            })?;
        storage
            .space
            .reserve(made.disk(), 0..room)
            .map_err(|shortage| FileError::NoSpace { path: path.clone(), shortage })?;
        let parts = Self::fill(plan, job_room, &names, made.file())?;
        let (file, handle) = made.move_to_disk().map_err(|cause| FileError::io("begin", &path, cause))?;
        let made = Self::of(parts, file.clone(), handle, names, lock, storage, room).and_then(|made| {
            // A file that has its name is one that can be taken up again, whatever happens.
            let kept = if made.syncer.is_some() { made.handle.sync_all() } else { Ok(()) };
            kept.and_then(|()| making.name_it(&path))
                .map_err(|cause| FileError::io("begin", &path, cause))?;
            Ok(made)
        });
        if made.is_err() {
            let _ = divert(&file);
        }
        made
    }

    /// Makes everything that the file consists of, so that it can be followed.
    fn fill(plan: &FilePlan, job_room: usize, names: &Names, file: &File) -> Result<Parts, FileError> {
        let path = names.writing();
        let hdf5 = |error: hdf5_metno::Error| FileError::hdf5("make the structure of", &path, &error);
        match &plan.base {
            Base::Nothing => {}
            Base::Template(template) => copy_template(template, file)?,
            Base::Detector(options) => write_static_part(file, options).map_err(hdf5)?,
        }
        ending::root_attributes(file, names.complete()).map_err(hdf5)?;
        let created = structure::create(file, &plan.structure, &plan.times)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let mut columns = Columns::new(workers(&plan.storage, &path)?, plan.storage.deflate);
        let modules = open_modules(created.places, &mut columns)?;
        structure::create_links(file, &plan.structure)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let own_path = own_path(file).map_err(hdf5)?;
        let mut made = || -> hdf5_metno::Result<_> {
            let own = class(&file.group(parent_of(&own_path))?, OWN_GROUP, "NXcollection")?;
            let state = create_text(&own, "state", WRITING, STATE_ROOM)?;
            let completeness = Completeness::open(&own, &mut columns)?;
            let states: usize = modules.iter().map(|open| open.module.state_room()).sum();
            let record = job_room + RECORD_OF_COLUMN * columns.all_rows().len() + states;
            let journal = Journal::create(&own, record)?;
            // HDF5 opens every dataset again that is open when a file can be followed from now on.
            columns.rest(file);
            file.flush()?;
            file.start_swmr()?;
            Ok((state, completeness, journal))
        };
        let (state, completeness, journal) = made().map_err(hdf5)?;
        Ok(Parts { columns, modules, completeness, times: created.times, state, journal, own: own_path })
    }

    pub(super) fn of(
        parts: Parts,
        file: File,
        handle: fs::File,
        names: Names,
        lock: Lock,
        storage: &Storage,
        reserved: u64,
    ) -> Result<Self, FileError> {
        let path = names.writing();
        let about = handle.metadata().map_err(|cause| FileError::io("look at", &path, cause))?;
        let folder = evforge_stream::storage::space::folder_of(&path).to_owned();
        let syncer = if storage.waits_for_disk {
            let start = handle
                .try_clone()
                .and_then(|handle| Syncer::start(handle, folder, Arc::clone(&storage.space)));
            Some(start.map_err(|cause| {
                FileError::io("start the thread that waits for the disk for", &path, cause)
            })?)
        } else {
            None
        };
        let Parts { columns, modules, completeness, times, state, journal, own } = parts;
        Ok(Self {
            columns,
            modules,
            completeness,
            times,
            state,
            journal,
            own,
            file,
            handle,
            names,
            space: Arc::clone(&storage.space),
            syncer,
            reserved,
            identity: identity(&about),
            under_way: None,
            _lock: lock,
        })
    }

    /// The file as it is called at this moment.
    pub fn path(&self) -> PathBuf {
        self.names.writing()
    }

    /// True if a commit waits for the disk.
    pub fn is_committing(&self) -> bool {
        self.under_way.is_some()
    }
}

/// What a file consists of, besides itself.
pub(super) struct Parts {
    pub(super) columns: Columns,
    pub(super) modules: Vec<OpenModule>,
    pub(super) completeness: Completeness,
    pub(super) times: Vec<TimeText>,
    pub(super) state: Dataset,
    pub(super) journal: Journal,
    pub(super) own: String,
}

pub(super) fn open_modules(places: Vec<Place>, columns: &mut Columns) -> Result<Vec<OpenModule>, FileError> {
    let mut all = Vec::with_capacity(places.len());
    for Place { path, group, module: spec } in places {
        let opened = open_module(&path, &spec, &group, columns)?;
        all.push(OpenModule { path, spec, module: opened.module, notes: opened.notes });
    }
    Ok(all)
}

/// Makes, opens or counts what a module has in a group.
pub(super) fn open_module(
    path: &str,
    spec: &StreamModule,
    group: &Group,
    columns: &mut Columns,
) -> Result<Opened, FileError> {
    modules::open(spec, group, columns)
        .map_err(|error| FileError::Content(format!("{path}: module {}: {error}", spec.kind)))
}

pub(super) fn workers(storage: &Storage, path: &Path) -> Result<Workers, FileError> {
    let threads = if storage.deflate.is_some() { storage.threads } else { 0 };
    Workers::start(threads, storage.deflate.unwrap_or(0))
        .map_err(|cause| FileError::io("start the threads that compress for", path, cause))
}

pub(super) fn open_handle(path: &Path) -> Result<fs::File, FileError> {
    fs::OpenOptions::new().write(true).open(path).map_err(|cause| FileError::io("open", path, cause))
}

/// The path of our own group: in the first NXentry, or in the root where there is none.
pub(super) fn own_path(file: &File) -> hdf5_metno::Result<String> {
    let is_entry = |group: &Group| {
        let class =
            group.attr("NX_class").and_then(|class| class.read_scalar::<hdf5_metno::types::VarLenUnicode>());
        class.is_ok_and(|class| class.as_str() == "NXentry")
    };
    let entry = file.groups()?.into_iter().find(is_entry);
    Ok(entry.map_or_else(|| format!("/{OWN_GROUP}"), |entry| format!("{}/{OWN_GROUP}", entry.name())))
}

fn parent_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// Bytes at most of a file in which no message is yet, without what modules make.
pub(super) fn bytes_at_most(plan: &FilePlan, job_room: usize) -> u64 {
    let base = match &plan.base {
        Base::Nothing => 0,
        Base::Template(template) => fs::metadata(template).map_or(0, |about| 2 * about.len()),
        Base::Detector(options) => evforge_stream::nexus::static_bytes_at_most(options),
    };
    base + bytes_said(&plan.structure, job_room)
}

/// The same of what whoever begins the file has said.
pub(super) fn bytes_said(structure: &Structure, job_room: usize) -> u64 {
    structure::bytes_at_most(structure).saturating_add(4 * job_room as u64 + BEYOND)
}

/// Copies everything that is in a template.
fn copy_template(template: &Path, file: &File) -> Result<(), FileError> {
    let source =
        File::open(template).map_err(|error| FileError::hdf5("open the template", template, &error))?;
    evforge_stream::storage::copy::copy_content(&source, file)
        .map_err(|error| FileError::hdf5("copy the template", template, &error))
}

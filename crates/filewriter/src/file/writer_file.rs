//! A file that is being written: made or taken up again, committed, ended.

use super::completeness::Completeness;
use super::journal::Journal;
use super::plan::{Base, FilePlan, Storage};
use super::reopening::clear_marks;
use super::{Columns, FileError, Names, ending, is_there};
use crate::modules::{self, Module};
use crate::structure::{self, Place, StreamModule, TimeText};
use evforge_stream::nexus::{DiskSpace, Lock, identity, write_static_part};
use evforge_stream::storage::dataset::class;
use evforge_stream::storage::diversion::divert;
use evforge_stream::storage::growing::WorkerLost;
use evforge_stream::storage::making::Making;
use evforge_stream::storage::syncer::Syncer;
use evforge_stream::storage::text::{create_text, read_text, write_text};
use evforge_stream::storage::workers::Workers;
use hdf5_metno::file::LibraryVersion;
use hdf5_metno::{Dataset, File, Group, OpenMode};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Our own group, in the first NXentry of the file.
pub const OWN_GROUP: &str = "evforge_writer";
/// The states of a file, in `state` of [`OWN_GROUP`].
pub(super) const WRITING: &str = "writing";
pub(super) const CLOSING: &str = "closing";
/// Room for the state.
const STATE_ROOM: usize = 256;
/// Bytes that HDF5 takes at once for what is not data, in a file that is made or opened. With its 2048, very many small objects
/// are as many small writes.
const BLOCK: u64 = 1 << 20;
/// What is reserved beyond what the bounds say: a block that has just been begun counts.
const BEYOND: u64 = BLOCK + (256 << 10);
/// Room of a record for each column, and for each module.
const RECORD_OF_COLUMN: usize = 24;
const RECORD_OF_MODULE: usize = 256;

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

/// What a commit says.
#[derive(Debug, Deserialize)]
struct Record {
    /// Rows of each column.
    rows: Vec<u64>,
    /// What each module keeps.
    modules: Vec<serde_json::Value>,
    /// What the job keeps.
    job: serde_json::Value,
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
    syncer: Option<Syncer>,
    reserved: u64,
    identity: (u64, u64),
    /// The record of the commit that waits for the disk.
    under_way: Option<String>,
    _lock: Lock,
}

/// A file that was taken up again.
#[derive(Debug)]
pub enum Reopened {
    /// It goes on from its last commit, with what the job kept.
    GoesOn(Box<WriterFile>, serde_json::Value),
    /// It was complete, and only lacked its name: it has it now.
    WasComplete,
    /// There was nothing in it yet, or it is torn: it is out of the way, and a new one can be made.
    BeginAgain {
        /// The file that was set aside, and why, if there was anything in it.
        aside: Option<(PathBuf, String)>,
    },
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
        let file = File::with_options()
            .with_fapl(|access| {
                access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110).meta_block_size(BLOCK)
            })
            .create_excl(making.path())
            .map_err(|error| FileError::hdf5("make", &path, &error))?;
        let handle = open_handle(making.path())?;
        storage
            .space
            .reserve(&handle, 0..room)
            .map_err(|shortage| FileError::NoSpace { path: path.clone(), shortage })?;
        let made = Self::fill(plan, job_room, names, lock, file.clone(), handle, room).and_then(|made| {
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

    fn fill(
        plan: &FilePlan,
        job_room: usize,
        names: Names,
        lock: Lock,
        file: File,
        handle: fs::File,
        reserved: u64,
    ) -> Result<Self, FileError> {
        let path = names.writing();
        let hdf5 = |error: hdf5_metno::Error| FileError::hdf5("make the structure of", &path, &error);
        match &plan.base {
            Base::Nothing => {}
            Base::Template(template) => copy_template(template, &file)?,
            Base::Detector(options) => write_static_part(&file, options).map_err(hdf5)?,
        }
        ending::root_attributes(&file, names.complete()).map_err(hdf5)?;
        let created = structure::create(&file, &plan.structure, &plan.times)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let mut columns = Columns::new(workers(&plan.storage, &path)?, plan.storage.deflate);
        let modules = open_modules(created.places, &mut columns)?;
        structure::create_links(&file, &plan.structure)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let own_path = own_path(&file).map_err(hdf5)?;
        let mut made = || -> hdf5_metno::Result<_> {
            let own = class(&file.group(parent_of(&own_path))?, OWN_GROUP, "NXcollection")?;
            let state = create_text(&own, "state", WRITING, STATE_ROOM)?;
            let completeness = Completeness::open(&own, &mut columns)?;
            let record =
                job_room + RECORD_OF_COLUMN * columns.all_rows().len() + RECORD_OF_MODULE * modules.len();
            let journal = Journal::create(&own, record)?;
            // HDF5 opens every dataset again that is open when a file can be followed from now on.
            columns.rest(&file);
            file.flush()?;
            file.start_swmr()?;
            Ok((state, completeness, journal))
        };
        let (state, completeness, journal) = made().map_err(hdf5)?;
        let parts =
            Parts { columns, modules, completeness, times: created.times, state, journal, own: own_path };
        Self::of(parts, file, handle, names, lock, &plan.storage, reserved)
    }

    /// Takes up a file again that a writer has left: cut back to its last commit.
    ///
    /// # Errors
    /// If another process writes it, there is no room, or it cannot be put aside where it is torn.
    pub fn reopen(plan: &FilePlan) -> Result<Reopened, FileError> {
        let names = Names::of(&plan.path);
        let path = names.writing();
        let lock = Lock::take(&plan.path)?;
        if !is_there(&path) {
            if is_there(names.complete()) {
                ending::settle(&names)?;
                return Ok(Reopened::WasComplete);
            }
            return Ok(Reopened::BeginAgain { aside: None });
        }
        match Self::reopen_held(plan, &names, lock) {
            Ok(reopened) => Ok(reopened),
            Err(error @ (FileError::NoSpace { .. } | FileError::InUse(_))) => Err(error),
            Err(error) => {
                let aside = names.aside("damaged")?;
                fs::rename(&path, &aside).map_err(|cause| FileError::io("set aside", &path, cause))?;
                Ok(Reopened::BeginAgain { aside: Some((aside, error.to_string())) })
            }
        }
    }

    fn reopen_held(plan: &FilePlan, names: &Names, lock: Lock) -> Result<Reopened, FileError> {
        let path = names.writing();
        let begin_again = || -> Result<Reopened, FileError> {
            fs::remove_file(&path).map_err(|cause| FileError::io("remove", &path, cause))?;
            Ok(Reopened::BeginAgain { aside: None })
        };
        if ending::is_settled(&path)? {
            ending::settle(names)?;
            return Ok(Reopened::WasComplete);
        }
        if clear_marks(&path).is_err() && !has_structure(&path) {
            return begin_again();
        }
        let handle = open_handle(&path)?;
        let length = handle.metadata().map_err(|cause| FileError::io("look at", &path, cause))?.len();
        // Chunks at which columns are cut are written at a new place.
        let end = length + bytes_at_most(plan, 0);
        plan.storage
            .space
            .reserve(&handle, 0..end)
            .map_err(|shortage| FileError::NoSpace { path: path.clone(), shortage })?;
        let hdf5 = |error: hdf5_metno::Error| FileError::hdf5("take up", &path, &error);
        let file = File::with_options()
            .with_fapl(|access| {
                access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110).metadata_read_attempts(1)
            })
            .open_as(&path, OpenMode::ReadWrite)
            .map_err(hdf5)?;
        let own_path = own_path(&file).map_err(hdf5)?;
        let Ok(own) = file.group(&own_path) else {
            drop(file);
            return begin_again();
        };
        if !Journal::is_in(&own) {
            drop((own, file));
            ending::settle(names)?;
            return Ok(Reopened::WasComplete);
        }
        let (journal, text) = Journal::open(&own).map_err(hdf5)?;
        let Some(text) = text else {
            drop((journal, own, file));
            return begin_again();
        };
        let record: Record = serde_json::from_str(&text).map_err(|error| FileError::Damaged {
            path: path.clone(),
            why: format!("its last commit: {error}"),
        })?;
        let created = structure::reopen(&file, &plan.structure)
            .map_err(|error| FileError::Content(error.to_string()))?;
        let mut columns =
            Columns::of_existing(workers(&plan.storage, &path)?, plan.storage.deflate, record.rows);
        let mut modules = open_modules(created.places, &mut columns)?;
        for (open, state) in modules.iter_mut().zip(record.modules) {
            open.module.restore(state).map_err(|why| FileError::Damaged {
                path: path.clone(),
                why: format!("{}: {why}", open.path),
            })?;
        }
        let completeness = Completeness::open(&own, &mut columns).map_err(hdf5)?;
        let state = own.dataset("state").map_err(hdf5)?;
        write_text(&state, WRITING).map_err(hdf5)?;
        columns.rest(&file);
        file.flush().map_err(hdf5)?;
        file.start_swmr().map_err(hdf5)?;
        let parts =
            Parts { columns, modules, completeness, times: created.times, state, journal, own: own_path };
        let opened = Self::of(parts, file, handle, names.clone(), lock, &plan.storage, end)?;
        Ok(Reopened::GoesOn(Box::new(opened), record.job))
    }

    fn of(
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

    /// Brings all rows that wait to the file and asks the disk to keep them. `job` is what the job keeps: it becomes the record of
    /// the commit. After the last commit nothing follows.
    ///
    /// # Errors
    /// [`FileError::NoSpace`] if there is no room: nothing has changed, it can be tried again. All others end the file as it is.
    pub fn begin_commit(&mut self, job: &impl Serialize, is_last: bool) -> Result<(), FileError> {
        let path = self.path_if_there()?;
        while !self.end_commit(Duration::from_secs(1))? {}
        for open in &mut self.modules {
            open.module.before_commit(&mut self.columns);
        }
        self.columns.prepare(is_last).map_err(worker_lost)?;
        self.reserve(&path)?;
        let record = self.record(job)?;
        // Once: each flush looks through all datasets that are open.
        let flushed = self.columns.write().and_then(|_| self.file.flush());
        flushed.map_err(|error| FileError::hdf5("write", &path, &error))?;
        self.under_way = Some(record);
        self.ask();
        Ok(())
    }

    /// What a commit says, as JSON: a [`Record`].
    fn record(&self, job: &impl Serialize) -> Result<String, FileError> {
        let mut text = Vec::new();
        let failed = |error: &dyn Display| FileError::Content(format!("the record of a commit: {error}"));
        let mut part = |before: &str, part: &dyn Fn(&mut Vec<u8>) -> serde_json::Result<()>| {
            text.extend_from_slice(before.as_bytes());
            part(&mut text).map_err(|error| failed(&error))
        };
        part(r#"{"rows":"#, &|text| serde_json::to_writer(text, &self.columns.all_rows()))?;
        part(r#","modules":["#, &|text| {
            for (number, open) in self.modules.iter().enumerate() {
                if number > 0 {
                    text.push(b',');
                }
                open.module.save(text);
            }
            Ok(())
        })?;
        part(r#"],"job":"#, &|text| serde_json::to_writer(text, job))?;
        text.push(b'}');
        String::from_utf8(text).map_err(|error| failed(&error))
    }

    /// Writes the chunks that are full, which is no commit: after a kill they are cut away. It gives back most of the memory of what
    /// waits, and costs nothing for columns without a full chunk.
    ///
    /// # Errors
    /// As for [`WriterFile::begin_commit`].
    pub fn write_full_chunks(&mut self) -> Result<(), FileError> {
        let path = self.path_if_there()?;
        self.columns.collect().map_err(worker_lost)?;
        self.reserve(&path)?;
        self.columns.write_full().map_err(|error| FileError::hdf5("write", &path, &error))
    }

    /// The file as it is called at this moment, unless somebody has taken it away.
    fn path_if_there(&self) -> Result<PathBuf, FileError> {
        let path = self.path();
        let is_there = fs::symlink_metadata(&path).is_ok_and(|about| identity(&about) == self.identity);
        if is_there { Ok(path) } else { Err(FileError::Gone(path)) }
    }

    /// Ends the commit that is under way, if the disk confirms it in time. Whether none is under way any more.
    ///
    /// # Errors
    /// If the disk or HDF5 refuses.
    pub fn end_commit(&mut self, wait: Duration) -> Result<bool, FileError> {
        let Some(text) = &self.under_way else { return Ok(true) };
        let path = self.names.writing();
        if let Some(syncer) = &mut self.syncer {
            match syncer.wait(wait) {
                None => return Ok(false),
                Some(Err(cause)) => return Err(FileError::io("keep on the disk", &path, cause)),
                Some(Ok(())) => {}
            }
        }
        // Which flushes its own dataset: everything else was flushed when the commit began.
        self.journal.write(text).map_err(|error| FileError::hdf5("write the commit of", &path, &error))?;
        self.under_way = None;
        self.ask();
        Ok(true)
    }

    /// Lets go of the file after an error, as the disk has it.
    pub fn let_go(self) {
        let _ = divert(&self.file);
    }

    fn ask(&mut self) {
        if let Some(syncer) = &mut self.syncer {
            syncer.ask();
        }
    }

    /// Makes sure of room for everything that waits.
    fn reserve(&mut self, path: &Path) -> Result<(), FileError> {
        let length = self.handle.metadata().map_err(|cause| FileError::io("look at", path, cause))?.len();
        // What HDF5 has given out, and not written yet, counts.
        let end = length.max(self.file.size()) + self.columns.growth() + BEYOND;
        let from = self.reserved.min(length);
        match self.space.reserve(&self.handle, from..end) {
            Ok(()) => {
                self.reserved = end;
                Ok(())
            }
            Err(shortage) => {
                self.reserved = from;
                Err(FileError::NoSpace { path: path.to_owned(), shortage })
            }
        }
    }
}

fn worker_lost(_: WorkerLost) -> FileError {
    FileError::Content("a thread that compresses has ended".to_owned())
}

/// What a file consists of, besides itself.
struct Parts {
    columns: Columns,
    modules: Vec<OpenModule>,
    completeness: Completeness,
    times: Vec<TimeText>,
    state: Dataset,
    journal: Journal,
    own: String,
}

fn open_modules(places: Vec<Place>, columns: &mut Columns) -> Result<Vec<OpenModule>, FileError> {
    let mut all = Vec::with_capacity(places.len());
    for Place { path, group, module: spec } in places {
        let opened = modules::open(&spec, &group, columns)
            .map_err(|error| FileError::Content(format!("{path}: module {}: {error}", spec.kind)))?;
        all.push(OpenModule { path, spec, module: opened.module, notes: opened.notes });
    }
    Ok(all)
}

fn workers(storage: &Storage, path: &Path) -> Result<Workers, FileError> {
    let threads = if storage.deflate.is_some() { storage.threads } else { 0 };
    Workers::start(threads, storage.deflate.unwrap_or(0))
        .map_err(|cause| FileError::io("start the threads that compress for", path, cause))
}

fn open_handle(path: &Path) -> Result<fs::File, FileError> {
    fs::OpenOptions::new().write(true).open(path).map_err(|cause| FileError::io("open", path, cause))
}

/// The path of our own group: in the first NXentry, or in the root where there is none.
fn own_path(file: &File) -> hdf5_metno::Result<String> {
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

/// True if the file has what its writer says first: without it nothing was ever in it.
fn has_structure(path: &Path) -> bool {
    let look = || -> hdf5_metno::Result<String> {
        let file = File::open(path)?;
        let own = file.group(&own_path(&file)?)?;
        read_text(&own.dataset("state")?)
    };
    look().is_ok()
}

/// Bytes at most of a file in which no message is yet.
fn bytes_at_most(plan: &FilePlan, job_room: usize) -> u64 {
    let base = match &plan.base {
        Base::Nothing => 0,
        Base::Template(template) => fs::metadata(template).map_or(0, |about| 2 * about.len()),
        Base::Detector(options) => evforge_stream::nexus::static_bytes_at_most(options),
    };
    base + structure::bytes_at_most(&plan.structure) + 4 * job_room as u64 + BEYOND
}

/// Copies everything that is in a template.
fn copy_template(template: &Path, file: &File) -> Result<(), FileError> {
    let source =
        File::open(template).map_err(|error| FileError::hdf5("open the template", template, &error))?;
    evforge_stream::storage::copy::copy_content(&source, file)
        .map_err(|error| FileError::hdf5("copy the template", template, &error))
}

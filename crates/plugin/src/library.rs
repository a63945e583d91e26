//! A shared library, loaded and checked.

use crate::declared::declared_counters;
use crate::library_file::check_file;
use crate::text::text;
use evforge_core::counter::CounterInfo;
use evforge_plugin_interface::layout::{
    Counter, Counters, Create, Describe, Destroy, DetectorInterface, ENTRY_POINT, EntryPoint,
    INTERFACE_VERSION, Ingest, Release, Sources,
};
use libloading::Library;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Counters that a library may declare.
const MOST_COUNTERS: usize = 1024;

/// Why a library is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{library}: {problem}")]
pub struct LoadError {
    /// The library.
    pub library: PathBuf,
    /// What was found, and what is expected.
    pub problem: String,
}

/// The functions of a library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    pub(crate) create: Create,
    pub(crate) describe: Describe,
    pub(crate) ingest: Ingest,
    pub(crate) publish_closed: Option<Release>,
    pub(crate) close: Option<Release>,
    pub(crate) counters: Counters,
    pub(crate) sources: Option<Sources>,
    pub(crate) destroy: Destroy,
}

/// A library that has been loaded, and whose table is what this evforge expects.
#[derive(Debug)]
pub struct PluginLibrary {
    path: PathBuf,
    name: String,
    counters: &'static [CounterInfo],
    functions: Functions,
    /// Never dropped: functions and texts of the library are used until the process ends. A library that started
    /// threads or left handlers behind could not be unloaded safely anyway. None for a table of this program itself: in tests.
    _library: Option<Library>,
}

/// All libraries that were loaded, by their canonical path. They live as long as the process, and their declarations
/// with them: what that takes is bounded by the libraries that a process names.
static LOADED: Mutex<BTreeMap<PathBuf, &'static PluginLibrary>> = Mutex::new(BTreeMap::new());

/// Why no library may be loaded by this process, if that was said.
static REFUSED: OnceLock<&'static str> = OnceLock::new();

/// Has every library refused from now on, for this reason: a process that has privileges which its user lacks must not run
/// what the user chose.
pub fn refuse_libraries(reason: &'static str) {
    // Once is enough.
    let _ = REFUSED.set(reason);
}

impl PluginLibrary {
    /// Loads a library, or finds it again if this process has loaded it already. It runs what the library runs when
    /// it is loaded; the file is checked before that.
    ///
    /// # Errors
    /// If there is no such file, others than root and the user of this process can write it, it is no library for this machine, it does not export the function
    /// `evforge_detector`, speaks another version of the interface, or declares something invalid.
    pub fn load(path: &Path) -> Result<&'static Self, LoadError> {
        let refuse = |problem: String| LoadError { library: path.to_owned(), problem };
        if let Some(reason) = REFUSED.get() {
            return Err(refuse((*reason).to_owned()));
        }
        let canonical = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.get(&canonical) {
            return Ok(library);
        }
        let library = Self::open(&canonical).map_err(refuse)?;
        let library: &'static Self = Box::leak(Box::new(library));
        loaded.insert(canonical, library);
        Ok(library)
    }

    fn open(path: &Path) -> Result<Self, String> {
        check_file(path)?;
        let library = dynamic_library(path)?;
        // SAFETY: the header gives this function this type; a library that exports something else under the
        // name does not keep to the interface, which nobody else can find out.
        let entry_point = unsafe { library.get::<EntryPoint>(ENTRY_POINT) };
        let entry_point = *entry_point.map_err(|error| format!("its entry point is not found: {error}"))?;
        // SAFETY: the library exports it, and stays loaded as long as what is made of it is there.
        unsafe { Self::of_entry_point(path, entry_point, Some(library)) }
    }

    /// What a library exports, checked.
    ///
    /// # Safety
    /// The function must keep to the header, and be there as long as the process.
    pub(crate) unsafe fn of_entry_point(
        path: &Path,
        entry_point: EntryPoint,
        library: Option<Library>,
    ) -> Result<Self, String> {
        // SAFETY: the function is called as the header says, and the library stays loaded.
        let table = unsafe { entry_point(INTERFACE_VERSION) };
        // SAFETY: null, or a table that lasts as long as the library.
        let table = unsafe { read_table(table) }?;
        // SAFETY: the table is of this version, whose name is a text that ends with 0, or null.
        let name = unsafe { text(table.name) }.ok_or("its table has no name, or one that is not UTF-8")?;
        let functions = functions(&table)?;
        if table.counter_infos.is_null() || !(1..=MOST_COUNTERS).contains(&table.counter_count) {
            return Err(format!(
                "it declares {} counters, expected 1 to {MOST_COUNTERS}: at least what it does with packets \
                 must be counted",
                table.counter_count
            ));
        }
        // SAFETY: the table is of this version, in which this many declarations follow one another there.
        let counters: &[Counter] =
            unsafe { std::slice::from_raw_parts(table.counter_infos, table.counter_count) };
        let counters = declared_counters(counters)?;
        Ok(Self { path: path.to_owned(), name, counters, functions, _library: library })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the library calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The counters that it declares.
    pub fn counters(&self) -> &'static [CounterInfo] {
        self.counters
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }
}

fn dynamic_library(path: &Path) -> Result<Library, String> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // Everything that the library needs is looked up now, so that what is missing is known before data flow.
    // SAFETY: loading runs the library's own initialisation; whoever names a library trusts it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    library.map(Into::into).map_err(|error| format!("it cannot be loaded: {error}"))
}

/// The table, if it is of our version.
///
/// # Safety
/// `table` is null or points to a table that begins with its version and its size, and that is as large as it says.
unsafe fn read_table(table: *const DetectorInterface) -> Result<DetectorInterface, String> {
    if table.is_null() {
        return Err(format!(
            "it does not work with version {INTERFACE_VERSION} of the interface, which is that of this evforge"
        ));
    }
    // Only these two members are the same in all versions: the others are read when they are known to be there.
    // SAFETY: the table begins with them.
    let (version, size) = unsafe { ((*table).version, (*table).struct_size) };
    if version != INTERFACE_VERSION {
        return Err(format!(
            "it speaks version {version} of the interface, this evforge speaks version {INTERFACE_VERSION}: build it \
             against the include/evforge/detector.h of this evforge"
        ));
    }
    let expected = size_of::<DetectorInterface>();
    if (size as usize) < expected {
        return Err(format!("its table has {size} bytes, expected at least {expected} (member struct_size)"));
    }
    // SAFETY: it is of this version and not smaller than what is read.
    Ok(unsafe { *table })
}

fn functions(table: &DetectorInterface) -> Result<Functions, String> {
    let missing = |name: &str| format!("its table lacks the function {name}");
    Ok(Functions {
        create: table.create.ok_or_else(|| missing("create"))?,
        describe: table.describe.ok_or_else(|| missing("describe"))?,
        ingest: table.ingest.ok_or_else(|| missing("ingest"))?,
        publish_closed: table.publish_closed,
        close: table.close,
        counters: table.counters.ok_or_else(|| missing("counters"))?,
        sources: table.sources,
        destroy: table.destroy.ok_or_else(|| missing("destroy"))?,
    })
}

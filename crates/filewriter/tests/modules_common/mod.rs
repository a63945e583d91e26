//! What the tests of modules share: a file with one group, modules in it, and the bytes of its datasets.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use evforge_filewriter::file::Columns;
use evforge_filewriter::modules::{Module, ModuleError, NotWritten, Opened, open};
use evforge_filewriter::structure::StreamModule;
use evforge_messages::decode;
use evforge_stream::storage::workers::Workers;
use hdf5_metno::{Dataset, File, Group, H5Type};
use serde_json::{Value, json};

/// A module of a structure: `settings` are the other keys of its configuration.
pub(crate) fn stream(kind: &str, settings: Value) -> StreamModule {
    StreamModule {
        kind: kind.parse().expect("a module"),
        topic: "topic".into(),
        sources: vec!["source".into()],
        settings: settings.as_object().cloned().unwrap_or_default(),
    }
}

/// A file with one module in its group `/entry/group`.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) columns: Columns,
    pub(crate) module: Box<dyn Module>,
    pub(crate) notes: Vec<String>,
    stream: StreamModule,
    _folder: tempfile::TempDir,
}

impl Written {
    pub(crate) fn begin(kind: &str, settings: Value) -> Self {
        Self::try_begin(kind, settings).expect("a module")
    }

    pub(crate) fn try_begin(kind: &str, settings: Value) -> Result<Self, ModuleError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.nxs");
        let file = new_file(&path);
        let group = file.create_group("entry").and_then(|entry| entry.create_group("group"))?;
        let mut columns = Columns::new(Workers::start(0, 2).expect("threads"), Some(2));
        let stream = stream(kind, settings);
        let Opened { module, notes } = open(&stream, &group, &mut columns)?;
        Ok(Self { path, file, columns, module, notes, stream, _folder: folder })
    }

    /// Decodes a message and has it written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), NotWritten> {
        self.module.write(&decode(bytes).expect("a sound message"), &mut self.columns)
    }

    pub(crate) fn commit(&mut self) {
        self.module.before_commit(&mut self.columns);
        self.columns.prepare(false).expect("threads");
        self.columns.flush().expect("HDF5");
    }

    /// Commits, lets the file go and opens it again, as after a restart. What is `lost` comes in between and is not committed.
    pub(crate) fn restart(&mut self, lost: &[Vec<u8>]) {
        self.commit();
        let rows = self.columns.all_rows();
        let mut state = Vec::new();
        self.module.save(&mut state);
        let state = String::from_utf8(state).expect("JSON");
        for bytes in lost {
            let _ = self.write(bytes);
        }
        // As after a kill that a flush without commit came before.
        self.columns.prepare(false).expect("threads");
        self.columns.flush().expect("HDF5");
        self.reopen();
        self.columns = Columns::of_existing(Workers::start(0, 2).expect("threads"), Some(2), rows);
        let opened = open(&self.stream, &self.group(), &mut self.columns).expect("the module again");
        self.module = opened.module;
        let state = serde_json::from_str(&state).expect("JSON");
        self.module.restore(state).expect("its own state");
    }

    pub(crate) fn close(&mut self) {
        self.module.close(&mut self.columns);
        self.columns.prepare(true).expect("threads");
        self.columns.flush().expect("HDF5");
        self.reopen();
    }

    /// Lets the file go and opens it again. Whoever has written chunks past HDF5 cannot read them by the same dataset: the
    /// library (1.10) keeps the filter mask that the newest chunk had before.
    fn reopen(&mut self) {
        self.columns = Columns::new(Workers::start(0, 2).expect("threads"), None);
        self.file.flush().expect("HDF5");
        let other = new_file(&self.path.with_extension("other"));
        drop(std::mem::replace(&mut self.file, other));
        self.file = File::open_rw(&self.path).expect("the file");
    }

    pub(crate) fn group(&self) -> Group {
        self.file.group("entry/group").expect("the group")
    }

    pub(crate) fn dataset(&self, name: &str) -> Dataset {
        self.group().dataset(name).expect("the dataset")
    }

    pub(crate) fn values<T: H5Type>(&self, name: &str) -> Vec<T> {
        self.dataset(name).read_raw().expect("its values")
    }

    pub(crate) fn scalar<T: H5Type>(&self, name: &str) -> T {
        self.dataset(name).read_scalar().expect("its value")
    }

    /// The text of an attribute of a dataset, or of the group where the name is empty.
    pub(crate) fn attribute(&self, dataset: &str, name: &str) -> Option<String> {
        let text = |attribute: hdf5_metno::Attribute| {
            attribute.read_scalar::<hdf5_metno::types::VarLenUnicode>().expect("a text").to_string()
        };
        if dataset.is_empty() {
            self.group().attr(name).ok().map(text)
        } else {
            self.dataset(dataset).attr(name).ok().map(text)
        }
    }
}

fn new_file(path: &Path) -> File {
    File::with_options().with_fapl(|plist| plist.libver_latest()).create(path).expect("a file")
}

/// The sentence with which a configuration is refused.
pub(crate) fn refused(kind: &str, settings: Value) -> String {
    Written::try_begin(kind, settings.clone())
        .map_or_else(|error| error.to_string(), |_| panic!("{kind} takes {settings}"))
}

/// No settings.
pub(crate) fn plain() -> Value {
    json!({})
}

//! What a file is made of.

use crate::structure::{RunTimes, Structure};
use evforge_stream::nexus::{DiskSpace, FileSystemSpace, NexusOptions};
use evforge_stream::storage::workers::Workers;
use std::path::PathBuf;
use std::sync::Arc;

/// What is in a file before anything of the structure is made.
#[derive(Clone, Debug, Default)]
pub enum Base {
    /// Nothing.
    #[default]
    Nothing,
    /// The content of an HDF5 file: the static part that an instrument's template has.
    Template(PathBuf),
    /// The static part that `evforge run --nexus` makes for a detector.
    Detector(Box<NexusOptions>),
}

/// How a file is written.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Level of deflate for what is large; none to store values as they are.
    pub deflate: Option<u8>,
    /// Threads that compress.
    pub threads: usize,
    /// Whether a commit waits until the disk has it.
    pub waits_for_disk: bool,
    /// Room on the disk.
    pub space: Arc<dyn DiskSpace>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            deflate: Some(2),
            threads: Workers::default_count(),
            waits_for_disk: true,
            space: Arc::new(FileSystemSpace),
        }
    }
}

/// A file to be written.
#[derive(Clone, Debug)]
pub struct FilePlan {
    /// The file, once it is complete.
    pub path: PathBuf,
    /// What is in it first.
    pub base: Base,
    /// What is made then.
    pub structure: Structure,
    /// The times of the run, as far as they are known: what `mdat` writes.
    pub times: RunTimes,
    /// How it is written.
    pub storage: Storage,
}

//! What files of trains are to be like.

use std::path::PathBuf;
use std::time::Duration;

use evforge_wire::train::TrainDetector;

use super::error::FileError;
use super::name::{LARGEST_MODULE, LARGEST_RUN, default_source};

/// The bit of an image's status that says that it is not whole. This project's own choice: what the bits mean is not public.
pub const NOT_WHOLE: u16 = 0x8000;

/// What becomes of images of which parts are missing. Readers have no rule for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncompleteImages {
    /// They are left out: the train has fewer images in `INDEX/…/image/count` than `header/pulseCount` says.
    #[default]
    LeaveOut,
    /// They are written as they are, with [`NOT_WHOLE`] set in `image/status`.
    Mark,
}

/// What files of trains are to be like.
#[derive(Clone, Debug)]
pub struct TrainFileOptions {
    /// The folder in which the folder of the run is made.
    pub folder: PathBuf,
    /// The detector: it says the shape of an image.
    pub detector: TrainDetector,
    /// Number of the run, up to 9999. A run whose folder has files of this detector is refused.
    pub run: u32,
    /// Number of the proposal.
    pub proposal: u32,
    /// Detector and instrument that sources are named after: `FXE_DET_LPD1M-1`; no `/` and no `:`.
    pub source: String,
    /// The sample, for people.
    pub sample: String,
    /// Modules are those below this number, at most 100.
    pub modules: u8,
    /// Trains of a module after which its next sequence begins; at least 1.
    pub trains_per_file: u64,
    /// Bytes of images after which the next sequence begins; at least 1. A file may be larger by one train.
    pub bytes_per_file: u64,
    /// The level of deflate for images, 0 to 9; none to store them as they are. Nothing is lost by either.
    pub deflate: Option<u8>,
    /// Threads that compress, if images are compressed.
    pub threads: usize,
    /// What becomes of images that are not whole.
    pub incomplete_images: IncompleteImages,
    /// How long a train may wait until a kill cannot take it any more. With 0 each train is committed at once.
    pub flush_interval: Duration,
}

impl TrainFileOptions {
    /// Bytes of images in a file, unless configured otherwise.
    pub const BYTES_PER_FILE: u64 = 8 << 30;
    /// Trains in a file, unless configured otherwise.
    pub const TRAINS_PER_FILE: u64 = 512;
    /// How long trains may wait, unless configured otherwise.
    pub const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

    /// For all 16 modules of a detector, without compression.
    pub fn new(folder: impl Into<PathBuf>, detector: TrainDetector, run: u32) -> Self {
        Self {
            folder: folder.into(),
            detector,
            run,
            proposal: 0,
            source: default_source(detector).to_owned(),
            sample: String::new(),
            modules: 16,
            trains_per_file: Self::TRAINS_PER_FILE,
            bytes_per_file: Self::BYTES_PER_FILE,
            deflate: None,
            threads: 1,
            incomplete_images: IncompleteImages::default(),
            flush_interval: Self::FLUSH_INTERVAL,
        }
    }

    /// Whether files can be like that.
    ///
    /// # Errors
    /// Which option cannot be, and what it can be.
    pub(super) fn check(&self) -> Result<(), FileError> {
        let wrong = |what: String| Err(FileError::Option(what));
        if self.run > LARGEST_RUN {
            return wrong(format!("run = {} has more than four digits: choose 0 to {LARGEST_RUN}", self.run));
        }
        if self.modules == 0 || self.modules > LARGEST_MODULE + 1 {
            return wrong(format!("modules = {}: choose 1 to {}", self.modules, LARGEST_MODULE + 1));
        }
        let is_plain = |c: char| c.is_ascii_graphic() && c != '/' && c != ':';
        if self.source.is_empty() || self.source.len() > 64 || !self.source.chars().all(is_plain) {
            return wrong(format!(
                "source = {:?}: choose 1 to 64 ASCII characters without blanks, `/` and `:`, such as {}",
                self.source,
                default_source(self.detector)
            ));
        }
        if self.sample.contains('\0') {
            return wrong("sample contains a zero byte, which HDF5 cannot store".to_owned());
        }
        if self.trains_per_file == 0 || self.bytes_per_file == 0 {
            return wrong("trains_per_file and bytes_per_file must be at least 1".to_owned());
        }
        match self.deflate {
            Some(level) if level > 9 => wrong(format!("deflate = {level}: choose 0 to 9, or none")),
            _ => Ok(()),
        }
    }
}

//! The files of a run: one for each module and sequence.

use std::fs;
use std::path::{Path, PathBuf};

use evforge_stream::storage::workers::Workers;
use evforge_wire::train::Train;

use super::counters::TrainFileCounters;
use super::error::FileError;
use super::name::{LARGEST_SEQUENCE, file_name, run_folder, source_name};
use super::open_file::OpenFile;
use super::options::{IncompleteImages, TrainFileOptions};

/// Bytes of a detector's own block at most.
const LARGEST_SPECIFIC: usize = 64 << 10;

/// A train of one module, as it came.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedTrain<'a> {
    /// Number of the module, from 0.
    pub module: u8,
    /// The train.
    pub train: Train<'a>,
    /// Images of which parts are missing, in any order; those that the train does not have are ignored.
    pub not_whole: &'a [usize],
    /// Images that are not wanted, in any order: they are in no file, whether they are whole or not.
    pub rejected: &'a [usize],
    /// Time of arrival, in nanoseconds since 1970.
    pub arrival_ns: u64,
}

/// Why a train is in no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRejection {
    /// It is of a module beyond the last that the options allow.
    NoModule(u8),
    /// Its images have so many bytes, and not those of the detector.
    OtherImages(usize),
    /// Its number is 0, which is padding in files.
    WithoutNumber,
    /// Its number is not above that of the train before of the same module, which is this one.
    NotAscending(u64),
    /// The detector's own block has so many bytes: none, more than 65536, or not those of the first train of the module.
    OtherBlock(usize),
}

/// What became of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filed {
    /// It was taken, with so many images.
    Taken(u64),
    /// It is in no file.
    Rejected(FileRejection),
}

/// Writes the trains of a run; see [`file`](super) for the layout and its guarantees.
///
/// Dropped without [`TrainFiles::finish`], it closes its files as far as it can.
#[derive(Debug)]
pub struct TrainFiles {
    options: TrainFileOptions,
    folder: PathBuf,
    workers: Workers,
    modules: Vec<Module>,
    counters: TrainFileCounters,
    /// What is to become of each image of the train at hand.
    fates: Vec<ImageFate>,
    /// Those of its images that are written, and whether they are whole.
    kept: Vec<(usize, bool)>,
}

/// What is to become of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageFate {
    Whole,
    NotWhole,
    Rejected,
}

/// The files of a module.
#[derive(Debug, Default)]
struct Module {
    open: Option<OpenFile>,
    /// The number of the next sequence.
    sequence: u32,
    /// The number of the last train, and the bytes of the detector's own block in the first.
    last: Option<u64>,
    specific_bytes: Option<usize>,
}

impl TrainFiles {
    /// Begins a run: makes its folder. A file is made with the first train of its module.
    ///
    /// # Errors
    /// If an option makes no sense, the run has files of this detector already, or its folder cannot be made.
    pub fn create(options: TrainFileOptions) -> Result<Self, FileError> {
        options.check()?;
        let folder = options.folder.join(run_folder(options.run));
        fs::create_dir_all(&folder).map_err(|cause| FileError::io("make", &folder, cause))?;
        let ours = format!("RAW-R{:04}-{}", options.run, options.detector.name());
        for entry in fs::read_dir(&folder).map_err(|cause| FileError::io("read", &folder, cause))? {
            let entry = entry.map_err(|cause| FileError::io("read", &folder, cause))?;
            if entry.file_name().to_string_lossy().starts_with(&ours) {
                return Err(FileError::Exists { path: entry.path() });
            }
        }
        let (threads, level) = options.deflate.map_or((0, 0), |level| (options.threads, level));
        let workers = Workers::start(threads, level)
            .map_err(|cause| FileError::io("start the threads that compress for", &folder, cause))?;
        let modules = std::iter::repeat_with(Module::default).take(options.modules.into()).collect();
        let counters = TrainFileCounters::default();
        Ok(Self { options, folder, workers, modules, counters, fates: Vec::new(), kept: Vec::new() })
    }

    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was filed, and what was not.
    pub fn counters(&self) -> TrainFileCounters {
        let waiting = self.modules.iter().filter_map(|module| Some(module.open.as_ref()?.waiting())).sum();
        TrainFileCounters { trains_waiting: waiting, ..self.counters }
    }

    /// Takes a train. Its images go to the file at once; that it is there is committed as the options say.
    ///
    /// # Errors
    /// If there is no room ([`FileError::NoSpace`]: nothing has changed, it can be offered again), a file cannot be begun,
    /// or not be written: then it is given up, and the next train of the module begins the next one.
    pub fn write(&mut self, arrived: &ArrivedTrain<'_>) -> Result<Filed, FileError> {
        self.counters.trains_offered += 1;
        if let Some(reason) = self.rejection(arrived) {
            *match reason {
                FileRejection::NoModule(_) => &mut self.counters.trains_of_no_module,
                FileRejection::OtherImages(_) => &mut self.counters.trains_of_other_images,
                FileRejection::WithoutNumber => &mut self.counters.trains_without_number,
                FileRejection::NotAscending(_) => &mut self.counters.trains_not_ascending,
                FileRejection::OtherBlock(_) => &mut self.counters.trains_of_other_blocks,
            } += 1;
            return Ok(Filed::Rejected(reason));
        }
        let taken = self.take(arrived);
        if taken.is_err() {
            self.counters.trains_refused += 1;
        }
        let images = taken?;
        if self.module(arrived.module).is_some_and(|open| open.is_due(self.options.flush_interval)) {
            self.commit(arrived.module)?;
        }
        Ok(Filed::Taken(images))
    }

    /// Commits what has waited for the flush interval: to be called now and then where no trains come.
    ///
    /// # Errors
    /// If a file cannot be written; it is given up, and the others are not reached.
    pub fn poll(&mut self) -> Result<(), FileError> {
        for module in 0..self.options.modules {
            if self.module(module).is_some_and(|open| open.is_due(self.options.flush_interval)) {
                self.commit(module)?;
            }
        }
        Ok(())
    }

    /// Closes all files: they have their final names then, and the disk has them.
    ///
    /// # Errors
    /// The first thing that went wrong. All other files are closed nevertheless.
    pub fn finish(&mut self) -> Result<(), FileError> {
        let mut result = Ok(());
        for module in 0..self.options.modules {
            result = result.and(self.close(module));
        }
        result
    }

    fn module(&self, module: u8) -> Option<&OpenFile> {
        self.modules.get(usize::from(module))?.open.as_ref()
    }

    fn rejection(&self, arrived: &ArrivedTrain<'_>) -> Option<FileRejection> {
        let Some(module) = self.modules.get(usize::from(arrived.module)) else {
            return Some(FileRejection::NoModule(arrived.module));
        };
        let (header, layout) = (arrived.train.header(), arrived.train.layout());
        let specific = arrived.train.specific().len();
        if layout.image_bytes() != self.options.detector.image_bytes() {
            return Some(FileRejection::OtherImages(layout.image_bytes()));
        }
        if header.train == 0 {
            return Some(FileRejection::WithoutNumber);
        }
        if let Some(last) = module.last.filter(|&last| header.train <= last) {
            return Some(FileRejection::NotAscending(last));
        }
        let is_possible = module
            .specific_bytes
            .map_or((1..=LARGEST_SPECIFIC).contains(&specific), |bytes| bytes == specific);
        (!is_possible).then_some(FileRejection::OtherBlock(specific))
    }

    fn take(&mut self, arrived: &ArrivedTrain<'_>) -> Result<u64, FileError> {
        let train = &arrived.train;
        self.fates.clear();
        self.fates.resize(train.layout().images(), ImageFate::Whole);
        // Rejected last: an image that is both is not wanted.
        for (images, fate) in
            [(arrived.not_whole, ImageFate::NotWhole), (arrived.rejected, ImageFate::Rejected)]
        {
            for &image in images {
                if let Some(of_image) = self.fates.get_mut(image) {
                    *of_image = fate;
                }
            }
        }
        let count = |wanted: ImageFate| self.fates.iter().filter(|fate| **fate == wanted).count() as u64;
        let (not_whole, rejected) = (count(ImageFate::NotWhole), count(ImageFate::Rejected));
        let policy = self.options.incomplete_images;
        self.kept.clear();
        self.kept.extend(self.fates.iter().enumerate().filter_map(|(image, fate)| match fate {
            ImageFate::Whole => Some((image, true)),
            ImageFate::NotWhole => (policy == IncompleteImages::Mark).then_some((image, false)),
            ImageFate::Rejected => None,
        }));
        let kept = self.kept.len() as u64;

        let image_bytes = self.options.detector.image_bytes() as u64;
        let is_full = |open: &OpenFile| {
            open.trains() >= self.options.trains_per_file
                || open.images().saturating_mul(image_bytes) >= self.options.bytes_per_file
        };
        if self.module(arrived.module).is_some_and(is_full) {
            self.close(arrived.module)?;
        }
        let Some(module) = self.modules.get_mut(usize::from(arrived.module)) else { return Ok(0) };
        let open = match &mut module.open {
            Some(open) => open,
            none => {
                let open = begin(&self.options, &self.folder, arrived.module, module.sequence, train)?;
                module.sequence += 1;
                none.insert(open)
            }
        };
        open.reserve(kept)?;
        if let Err(error) = open.take(train, arrived.arrival_ns, &self.kept, &mut self.workers) {
            self.give_up(arrived.module);
            return Err(error);
        }
        module.last = Some(train.header().train);
        module.specific_bytes.get_or_insert(train.specific().len());
        self.counters.images_taken += kept;
        self.counters.images_rejected += rejected;
        match policy {
            IncompleteImages::LeaveOut => self.counters.images_left_out += not_whole,
            IncompleteImages::Mark => self.counters.images_marked += not_whole,
        }
        Ok(kept)
    }

    fn commit(&mut self, module: u8) -> Result<(), FileError> {
        let Some(open) = self.modules.get_mut(usize::from(module)).and_then(|module| module.open.as_mut())
        else {
            return Ok(());
        };
        match open.commit(&mut self.workers) {
            Ok(0) => Ok(()),
            Ok(trains) => {
                self.counters.commits += 1;
                self.counters.trains_committed += trains;
                Ok(())
            }
            Err(error) => {
                self.give_up(module);
                Err(error)
            }
        }
    }

    fn close(&mut self, module: u8) -> Result<(), FileError> {
        self.commit(module)?;
        let Some(open) = self.modules.get_mut(usize::from(module)).and_then(|module| module.open.take())
        else {
            return Ok(());
        };
        let closed = open.close();
        match closed {
            Ok(()) => self.counters.files_finished += 1,
            Err(_) => self.counters.files_given_up += 1,
        }
        closed
    }

    fn give_up(&mut self, module: u8) {
        if let Some(open) = self.modules.get_mut(usize::from(module)).and_then(|module| module.open.take()) {
            self.counters.trains_lost += open.waiting();
            self.counters.files_given_up += 1;
            open.let_go();
        }
    }
}

impl Drop for TrainFiles {
    fn drop(&mut self) {
        // Whoever wants to know calls it.
        let _ = self.finish();
    }
}

fn begin(
    options: &TrainFileOptions,
    folder: &Path,
    module: u8,
    sequence: u32,
    train: &Train<'_>,
) -> Result<OpenFile, FileError> {
    if sequence > LARGEST_SEQUENCE {
        return Err(FileError::Option(format!(
            "module {module} has {sequence} files, and no name for more: begin another run, or choose larger trains_per_file \
             and bytes_per_file"
        )));
    }
    let path = folder.join(file_name(options.detector, options.run, module, sequence));
    let source = source_name(&options.source, module);
    OpenFile::create(&path, options, (&source, sequence), train.specific().len())
}

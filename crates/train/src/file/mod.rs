//! Files that EXtra-data opens: HDF5 as the European XFEL writes it, one file for each module and sequence of a run.
//!
//! Source: the reader and the mock writer of the EXtra-data package (version 1.25); no specification is public.
//!
//! ```text
//!  r0001/                              one folder for each run
//!    RAW-R0001-LPD00-S00000.h5         module 0, sequence 0: closed, whole
//!    RAW-R0001-LPD00-S00001.h5.writing module 0, sequence 1: being written
//!
//!  METADATA/                           version 1.2, sources, dates, run
//!  INDEX/trainId, timestamp, flag, origin                       [trains]
//!  INDEX/<source>/{detector,header,image,trailer}/first, count  [trains]
//!  INSTRUMENT/<source>/image/data                               [images, 1 or 2, rows, columns]
//!  INSTRUMENT/<source>/image/trainId, pulseId, cellId, length, status  [images, 1]
//!  INSTRUMENT/<source>/header/…, trailer/…, detector/…          [trains]
//!  evforge/committed                   trains and images of the last commit
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what writes a run | [`TrainFiles`], [`ArrivedTrain`], [`TrainFileOptions`] |
//! | what was written, and what was not | [`TrainFileCounters`], [`FileRejection`], [`FileError`] |
//! | names of folders, files and sources | [`run_folder`], [`file_name`], [`source_name`] |
//! | a file that a killed writer has left | [`repair()`], [`repair_run`] |
//!
//! # What survives what
//! * **A kill of the writer.** All trains up to the last commit (every second, unless configured otherwise). A file ends with
//!   `.writing` until it is closed: readers of a run, which take up `*.h5`, see finished files only. An unfinished one can be followed
//!   with `h5py.File(path, "r", swmr=True)` while it grows; after a kill [`repair()`] makes it an ordinary file.
//! * **A full disk.** Room for a train, and for what has to follow it, is reserved before HDF5 sees any of it. Without room the
//!   train is refused with [`FileError::NoSpace`], nothing has changed, and it can be offered again. Where a write fails nevertheless the
//!   file is let go as it is, and a repair brings it back to its last commit.
//! * **The loss of power.** The disk is asked to keep a file before it gets its final name. In an unfinished file images of the last
//!   seconds may be zero.
//!
//! # Images that are not whole
//! Readers have no rule for trains that came incompletely. [`IncompleteImages`] says what becomes of their images: they are left out (the
//! train then has fewer than its header says, maybe none), or written with [`NOT_WHOLE`] in their status. Their train is
//! there in either case, with flag 1.

mod columns;
mod counters;
mod error;
mod files;
mod images;
mod metadata;
mod name;
mod open_file;
mod options;
mod repair;
mod table;

pub use counters::TrainFileCounters;
pub use error::FileError;
pub use files::{ArrivedTrain, FileRejection, Filed, TrainFiles};
pub use name::{LARGEST_MODULE, LARGEST_RUN, UNFINISHED, default_source, file_name, run_folder, source_name};
pub use options::{IncompleteImages, NOT_WHOLE, TrainFileOptions};
pub use repair::{Repaired, repair, repair_run};

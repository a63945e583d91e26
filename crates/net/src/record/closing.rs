//! The file that is written, and its end.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::recording_file::RecordingFile;
use super::report::RecordedFile;

/// Packets and their payload bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Content {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// A file that is being written.
pub(super) struct OpenFile {
    pub(super) file: Box<dyn RecordingFile>,
    pub(super) opened: Instant,
    /// With what is written; what is pending comes on top.
    pub(super) about: RecordedFile,
    /// Packets of this file, those pending included.
    pub(super) packets: u64,
    pub(super) last_ns: u64,
}

/// A file that has been closed, as well as that went.
pub(super) struct Closed {
    /// None if nothing of it is left.
    pub(super) about: Option<RecordedFile>,
    pub(super) failure: Option<String>,
    /// What was in it if nothing is left.
    pub(super) lost: Content,
}

impl Closed {
    /// No file.
    pub(super) fn nothing() -> Self {
        Self { about: None, failure: None, lost: Content::default() }
    }

    /// Brings a file to the disk and gives it its name.
    pub(super) fn of(mut open: OpenFile) -> Self {
        match open.file.finish() {
            Ok(()) => Self { about: Some(RecordedFile { complete: true, ..open.about }), ..Self::nothing() },
            Err(error) => {
                let failure = explain(&open.about.path, "cannot be brought to the disk", &error);
                Self::cut(open, failure)
            }
        }
    }

    /// Keeps what has been written of a file under a name that says that it is not complete, and adds to the failure if
    /// that fails too.
    pub(super) fn cut(OpenFile { mut file, mut about, .. }: OpenFile, mut failure: String) -> Self {
        if about.file_bytes == 0 {
            return Self { failure: Some(failure), ..Self::nothing() };
        }
        match file.finish_cut(about.file_bytes) {
            Ok(path) => {
                about.path = path;
                Self { about: Some(about), failure: Some(failure), lost: Content::default() }
            }
            Err(error) => {
                failure.push_str(&format!(" What had been written of it is lost: {error}."));
                let lost = Content { packets: about.packets, bytes: about.payload_bytes };
                Self { about: None, failure: Some(failure), lost }
            }
        }
    }
}

/// True if something could not be written for want of space, which others may free.
pub(super) fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What went wrong with a file, and what helps.
pub(super) fn explain(path: &Path, what: &str, error: &io::Error) -> String {
    let advice = match is_no_space(error) {
        true => " The disk is full: free some space, or record to another one.",
        false => "",
    };
    format!("{} {what}: {error}.{advice}", path.display())
}

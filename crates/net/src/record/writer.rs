//! Packets into the files of a recording.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use evforge_core::packet::{Packet, PacketBatch};

use super::report::RecordedFile;
use super::rotation::Rotation;
use crate::capture::{append_packet, beginning};

/// Bytes that are given to the system at once: large enough that the calls do not matter, small enough to stay in the
/// processor's cache.
const WRITE_AT_ONCE: usize = 1 << 20;
/// Packets wait no longer than this for others to be written with.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// Where the files of a recording come from: a disk, or a test that wants to see what a slow or full one does.
pub trait RecordingFiles: Send {
    /// Makes the next file.
    ///
    /// # Errors
    /// If that is impossible; the error names the file.
    fn begin(&mut self) -> io::Result<Box<dyn RecordingFile>>;
}

/// A file of a recording that is being written.
pub trait RecordingFile: Write + Send {
    /// The name that it will have.
    fn path(&self) -> &Path;

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails.
    fn finish(&mut self) -> io::Result<()>;

    /// Writing has failed: keeps the first `length` bytes, which end with a whole packet, under a name that says that
    /// the file is not complete, and tells that name.
    ///
    /// # Errors
    /// If that fails as well.
    fn finish_cut(&mut self, length: u64) -> io::Result<PathBuf>;
}

/// Writes packets into pcapng files, one after the other. Every write to a file ends with a whole block, so that a file
/// is readable whatever happens to this process.
pub struct RecordingWriter {
    files: Box<dyn RecordingFiles>,
    rotation: Rotation,
    beginning: Vec<u8>,
    /// Blocks that have not been written yet.
    buffer: Vec<u8>,
    /// What is in `buffer`.
    pending: Content,
    written: Content,
    not_written: u64,
    flushed: Instant,
    current: Option<OpenFile>,
    /// The file before the current one, while another thread brings it to the disk: that takes long.
    closing: Option<JoinHandle<(Option<RecordedFile>, Option<String>)>>,
    done: Vec<RecordedFile>,
    failure: Option<String>,
}

/// Packets and their payload bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Content {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

struct OpenFile {
    file: Box<dyn RecordingFile>,
    opened: Instant,
    /// With what is written; what is pending comes on top.
    about: RecordedFile,
    /// Packets of this file, those pending included.
    packets: u64,
    last_ns: u64,
}

impl RecordingWriter {
    /// Begins the first file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(files: impl RecordingFiles + 'static, rotation: Rotation) -> io::Result<Self> {
        let beginning = beginning().map_err(io::Error::other)?;
        let mut writer = Self {
            files: Box::new(files),
            rotation,
            beginning,
            // Filled up to one packet beyond what is written at once.
            buffer: Vec::with_capacity(WRITE_AT_ONCE + (128 << 10)),
            pending: Content::default(),
            written: Content::default(),
            not_written: 0,
            flushed: Instant::now(),
            current: None,
            closing: None,
            done: Vec::new(),
            failure: None,
        };
        writer.open()?;
        Ok(writer)
    }

    /// Takes packets that were sent to `destination`. Once writing has failed they are only counted.
    pub fn write(&mut self, batch: &PacketBatch<'_>, destination: IpAddr) {
        for packet in batch.iter() {
            if self.failure.is_some() {
                self.not_written += 1;
            } else if let Err(failure) = self.append(&packet, destination) {
                self.not_written += 1;
                self.fail(failure);
            } else if self.buffer.len() >= WRITE_AT_ONCE {
                self.flush_or_fail();
            }
        }
        if self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flush_or_fail();
        }
    }

    /// To be called when no packets have come for a while: writes what is waiting, and closes a file whose time is over.
    pub fn idle(&mut self) {
        self.flush_or_fail();
        let open = self.current.as_ref().filter(|file| file.packets > 0).map(|file| file.opened.elapsed());
        if open.is_some_and(|open| self.rotation.is_due_while_idle(open))
            && let Err(failure) = self.close()
        {
            self.fail(failure);
        }
    }

    /// Why writing has failed, if it has.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Writes what is left and closes the last file.
    pub(super) fn finish(mut self) -> Finished {
        self.flush_or_fail();
        if self.failure.is_none()
            && let Err(failure) = self.close()
        {
            self.fail(failure);
        }
        if let Err(failure) = self.await_closing() {
            self.failure.get_or_insert(failure);
        }
        Finished {
            written: self.written,
            not_written: self.not_written,
            files: self.done,
            failure: self.failure,
        }
    }

    /// Puts a packet into the buffer, in the file where it belongs. After an error it is in none.
    fn append(&mut self, packet: &Packet<'_>, destination: IpAddr) -> Result<(), String> {
        let stamp = packet.origin.arrival_ns;
        if self.current.is_none() {
            self.open().map_err(|error| error.to_string())?;
        }
        let start = self.buffer.len();
        append_packet(&mut self.buffer, packet, destination)
            .map_err(|reason| format!("a packet cannot be written: {reason}"))?;
        let is_due = self.current.as_ref().is_some_and(|file| {
            let bytes = file.about.file_bytes + self.buffer.len() as u64;
            file.packets > 0 && self.rotation.is_due(bytes, file.about.first_ns, stamp)
        });
        if is_due {
            // The packet's block waits aside while the blocks before it go into their file.
            let block = self.buffer.split_off(start);
            self.close()?;
            self.open().map_err(|error| error.to_string())?;
            self.buffer.extend_from_slice(&block);
        }
        self.pending.packets += 1;
        self.pending.bytes += packet.bytes.len() as u64;
        if let Some(file) = &mut self.current {
            if file.packets == 0 {
                file.about.first_ns = stamp;
            }
            file.packets += 1;
            file.last_ns = stamp;
        }
        Ok(())
    }

    fn open(&mut self) -> io::Result<()> {
        let file = self.files.begin()?;
        let about = RecordedFile { path: file.path().to_owned(), ..RecordedFile::default() };
        self.buffer.extend_from_slice(&self.beginning);
        self.current = Some(OpenFile { file, opened: Instant::now(), about, packets: 0, last_ns: 0 });
        Ok(())
    }

    fn flush_or_fail(&mut self) {
        if self.failure.is_none()
            && let Err(failure) = self.flush()
        {
            self.fail(failure);
        }
    }

    /// Gives what is waiting to the system.
    fn flush(&mut self) -> Result<(), String> {
        self.flushed = Instant::now();
        let Some(file) = &mut self.current else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        file.file
            .write_all(&self.buffer)
            .map_err(|error| explain(&file.about.path, "cannot be written", &error))?;
        file.about.file_bytes += self.buffer.len() as u64;
        file.about.packets = file.packets;
        file.about.payload_bytes += self.pending.bytes;
        file.about.last_ns = file.last_ns;
        self.written.packets += self.pending.packets;
        self.written.bytes += self.pending.bytes;
        self.pending = Content::default();
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is waiting and has the current file brought to the disk, and named, by another thread.
    fn close(&mut self) -> Result<(), String> {
        self.flush()?;
        self.await_closing()?;
        let Some(OpenFile { mut file, mut about, .. }) = self.current.take() else { return Ok(()) };
        let close = move || match file.finish() {
            Ok(()) => {
                about.complete = true;
                (Some(about), None)
            }
            Err(error) => {
                let failure = explain(&about.path, "cannot be brought to the disk", &error);
                keep_whole(file, about, failure)
            }
        };
        let thread = std::thread::Builder::new().name("close".into()).spawn(close);
        self.closing = Some(thread.map_err(|error| format!("there is no thread to close a file: {error}"))?);
        Ok(())
    }

    fn await_closing(&mut self) -> Result<(), String> {
        let Some(thread) = self.closing.take() else { return Ok(()) };
        match thread.join() {
            Ok((about, failure)) => {
                self.done.extend(about);
                failure.map_or(Ok(()), Err)
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Keeps what is whole, and counts what was not written.
    fn fail(&mut self, failure: String) {
        self.not_written += self.pending.packets;
        self.pending = Content::default();
        self.buffer.clear();
        let (about, failure) = match self.current.take() {
            Some(OpenFile { file, about, .. }) => keep_whole(file, about, failure),
            None => (None, Some(failure)),
        };
        self.done.extend(about);
        self.failure = failure;
    }
}

/// Keeps what has been written of a file under a name that says that it is not complete, and adds to the failure if
/// that fails too.
fn keep_whole(
    mut file: Box<dyn RecordingFile>,
    mut about: RecordedFile,
    mut failure: String,
) -> (Option<RecordedFile>, Option<String>) {
    if about.file_bytes == 0 {
        return (None, Some(failure));
    }
    let kept = match file.finish_cut(about.file_bytes) {
        Ok(path) => {
            about.path = path;
            Some(about)
        }
        Err(error) => {
            failure.push_str(&format!(" What had been written of it is lost: {error}."));
            None
        }
    };
    (kept, Some(failure))
}

/// What a writer has done.
pub(super) struct Finished {
    pub(super) written: Content,
    pub(super) not_written: u64,
    pub(super) files: Vec<RecordedFile>,
    pub(super) failure: Option<String>,
}

fn explain(path: &Path, what: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            " The disk is full: free some space, or record to another one."
        }
        _ => "",
    };
    format!("{} {what}: {error}.{advice}", path.display())
}

//! Packets into the files of a recording.

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use evforge_core::packet::{Packet, PacketBatch};

use super::closing::{Closed, Content, OpenFile, explain, is_no_space};
use super::recording_file::RecordingFiles;
use super::report::RecordedFile;
use super::rotation::Rotation;
use crate::capture::{append_packet, beginning};

/// Bytes that are given to the system at once: large enough that the calls do not matter, small enough to stay in the
/// processor's cache.
const WRITE_AT_ONCE: usize = 1 << 20;
/// Bytes that the writer has in its hands at most: what it writes at once, and a block more.
pub(super) const MOST_BUFFERED: usize = WRITE_AT_ONCE + (128 << 10);
/// Packets wait no longer than this for others to be written with.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);
/// How often a file that could not be opened is tried again, and how often it is looked whether the file that is written
/// is still there.
const CARE_INTERVAL: Duration = Duration::from_secs(1);

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
    cared: Instant,
    current: Option<OpenFile>,
    /// Why no file could be opened, and when that was tried last.
    refused: Option<(Instant, String)>,
    /// Why what is in `buffer` could not be written for now: there is no space.
    no_space: Option<String>,
    /// The file before the current one, while another thread brings it to the disk: that takes long.
    closing: Option<JoinHandle<Closed>>,
    done: Vec<RecordedFile>,
    failure: Option<String>,
    interruption: Option<String>,
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
            buffer: Vec::with_capacity(MOST_BUFFERED),
            pending: Content::default(),
            written: Content::default(),
            not_written: 0,
            flushed: Instant::now(),
            cared: Instant::now(),
            current: None,
            refused: None,
            no_space: None,
            closing: None,
            done: Vec::new(),
            failure: None,
            interruption: None,
        };
        writer.open()?;
        Ok(writer)
    }

    /// Takes the packets of a batch, from the one numbered `from` on, which were sent to `destination`. It tells the number
    /// of the first one that it has not taken: there is one only while the disk is full
    /// ([`is_waiting`](Self::is_waiting)), and it is to be given again. Once writing has failed, and while no file can be
    /// opened, packets are only counted.
    pub fn write(&mut self, batch: &PacketBatch<'_>, from: usize, destination: IpAddr) -> usize {
        let mut next = from;
        while !self.is_waiting()
            && let Some(packet) = batch.get(next)
        {
            next += 1;
            if self.failure.is_some() {
                self.not_written += 1;
                continue;
            }
            match self.append(&packet, destination) {
                Ok(Appended::Taken) if self.buffer.len() >= WRITE_AT_ONCE => self.flush_or_fail(),
                Ok(Appended::Taken) => {}
                Ok(Appended::NoFile) => self.not_written += 1,
                Ok(Appended::Waits) => next -= 1,
                Err(failure) => {
                    self.not_written += 1;
                    self.fail(failure);
                }
            }
        }
        if !self.is_waiting() && self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flush_or_fail();
        }
        self.look_after();
        next
    }

    /// To be called when no packets have come for a while: writes what is waiting, and closes a file whose time is over.
    pub fn idle(&mut self) {
        self.flush_or_fail();
        let open = self.current.as_ref().filter(|file| file.packets > 0).map(|file| file.opened.elapsed());
        if !self.is_waiting()
            && open.is_some_and(|open| self.rotation.is_due_while_idle(open))
            && let Err(failure) = self.close()
        {
            self.fail(failure);
        }
        self.look_after();
    }

    /// True while the disk is full: what has been taken waits in memory, and no further packets are taken until
    /// [`idle`](Self::idle), which is to be called a few times a second, finds space.
    pub fn is_waiting(&self) -> bool {
        self.no_space.is_some()
    }

    /// Waits no longer: what still does not fit, after a last attempt, is counted as not written, and writing has failed.
    pub fn give_up(&mut self) {
        self.flush_or_fail();
        if let Some(failure) = self.no_space.take() {
            self.fail(failure);
        }
    }

    /// Why writing has failed, if it has.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What is wrong at this moment, or was: why writing has failed, what it waits for, why no file can be opened, or else
    /// what interrupted it first.
    pub fn problem(&self) -> Option<&str> {
        let refused = self.refused.as_ref().map(|(_, why)| why.as_str());
        self.failure().or(self.no_space.as_deref()).or(refused).or(self.interruption.as_deref())
    }

    /// Packets that have been written up to now.
    pub fn written(&self) -> u64 {
        self.written.packets
    }

    /// Packets that have not been written up to now and never will be.
    pub fn not_written(&self) -> u64 {
        self.not_written
    }

    /// Writes what is left and closes the last file.
    pub(super) fn finish(mut self) -> Finished {
        self.give_up();
        if self.failure.is_none()
            && let Err(failure) = self.close()
        {
            self.fail(failure);
        }
        self.await_closing();
        Finished {
            written: self.written,
            not_written: self.not_written,
            files: self.done,
            failure: self.failure,
            interruption: self.interruption,
        }
    }

    /// Puts a packet into the buffer, in the file where it belongs. After an error it is not there.
    fn append(&mut self, packet: &Packet<'_>, destination: IpAddr) -> Result<Appended, String> {
        let stamp = packet.origin.arrival_ns;
        if self.current.is_none() && !self.open_next()? {
            return Ok(Appended::NoFile);
        }
        let start = self.buffer.len();
        self.append_block(packet, destination)?;
        let is_due = self.current.as_ref().is_some_and(|file| {
            let bytes = file.about.file_bytes + self.buffer.len() as u64;
            file.packets > 0 && self.rotation.is_due(bytes, file.about.first_ns, stamp)
        });
        if is_due {
            // It belongs into the next file; the blocks before it go into theirs.
            self.buffer.truncate(start);
            self.close()?;
            if self.is_waiting() {
                return Ok(Appended::Waits);
            }
            if !self.open_next()? {
                return Ok(Appended::NoFile);
            }
            self.append_block(packet, destination)?;
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
        Ok(Appended::Taken)
    }

    fn append_block(&mut self, packet: &Packet<'_>, destination: IpAddr) -> Result<(), String> {
        append_packet(&mut self.buffer, packet, destination)
            .map_err(|reason| format!("a packet cannot be written: {reason}"))
    }

    /// Opens the next file; false if that is not possible now, but may be later. It is not tried more than once a second.
    fn open_next(&mut self) -> Result<bool, String> {
        if self.refused.as_ref().is_some_and(|(tried, _)| tried.elapsed() < CARE_INTERVAL) {
            return Ok(false);
        }
        let mut opened = self.open();
        if opened.as_ref().is_err_and(may_pass) && self.closing.is_some() {
            // The file before has a descriptor, which is free once it is closed.
            self.await_closing();
            opened = self.open();
        }
        match opened {
            Ok(()) => {
                self.refused = None;
                Ok(true)
            }
            Err(error) if may_pass(&error) => {
                let why = format!("no further file could be opened for a time: {error}.");
                self.interruption.get_or_insert_with(|| why.clone());
                self.refused = Some((Instant::now(), why));
                Ok(false)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn open(&mut self) -> io::Result<()> {
        let file = self.files.begin()?;
        let about = RecordedFile { path: file.path().to_owned(), ..RecordedFile::default() };
        self.buffer.extend_from_slice(&self.beginning);
        self.current = Some(OpenFile { file, opened: Instant::now(), about, packets: 0, last_ns: 0 });
        Ok(())
    }

    /// Looks about once a second whether the file that is written is still there. If it is not, its packets count as not
    /// written, and those to come go into another file.
    fn look_after(&mut self) {
        if self.cared.elapsed() < CARE_INTERVAL {
            return;
        }
        self.cared = Instant::now();
        self.files.look_after();
        if let Some(OpenFile { file, .. }) = &self.current
            && let Err(error) = file.check()
        {
            let lost = self.current.take().map(|file| file.about).unwrap_or_default();
            self.interruption.get_or_insert_with(|| format!("{error}: its packets are lost."));
            self.forget(Content { packets: lost.packets, bytes: lost.payload_bytes });
            self.not_written += self.pending.packets;
            self.pending = Content::default();
            self.buffer.clear();
            self.no_space = None;
        }
    }

    /// Packets that were written are not there any more.
    fn forget(&mut self, lost: Content) {
        self.written.packets -= lost.packets;
        self.written.bytes -= lost.bytes;
        self.not_written += lost.packets;
    }

    fn flush_or_fail(&mut self) {
        if self.failure.is_none()
            && let Err(failure) = self.flush()
        {
            self.fail(failure);
        }
    }

    /// Gives what is waiting to the system. Where there is no space for it, it goes on waiting, and the file ends with the
    /// last packet before it.
    fn flush(&mut self) -> Result<(), String> {
        self.flushed = Instant::now();
        let Some(file) = &mut self.current else { return Ok(()) };
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Err(error) = file.file.write_all(&self.buffer) {
            let mut told = explain(&file.about.path, "cannot be written", &error);
            if !is_no_space(&error) {
                return Err(told);
            }
            if let Err(error) = file.file.cut_back(file.about.file_bytes) {
                told.push_str(&format!(" It cannot be cut back to whole packets: {error}."));
                return Err(told);
            }
            self.no_space = Some(told);
            return Ok(());
        }
        self.no_space = None;
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

    /// Writes what is waiting and has the current file brought to the disk, and named, by another thread. If there is no
    /// space for what is waiting, the file stays the current one.
    fn close(&mut self) -> Result<(), String> {
        self.flush()?;
        if self.is_waiting() {
            return Ok(());
        }
        self.await_closing();
        let Some(file) = self.current.take() else { return Ok(()) };
        let (give, take) = sync_channel(1);
        let work = move || take.recv().map_or_else(|_| Closed::nothing(), Closed::of);
        // The file follows when there is a thread for it: it would go down with one that cannot be had.
        match std::thread::Builder::new().name("close".into()).spawn(work) {
            Ok(thread) => {
                // The thread waits for it.
                let _ = give.send(file);
                self.closing = Some(thread);
            }
            Err(_) => self.take_closed(Closed::of(file)),
        }
        Ok(())
    }

    /// Waits for the file before the current one. What went wrong with it is no reason not to go on.
    fn await_closing(&mut self) {
        match self.closing.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(closed)) => self.take_closed(closed),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    fn take_closed(&mut self, closed: Closed) {
        self.done.extend(closed.about);
        self.forget(closed.lost);
        if let Some(failure) = closed.failure {
            self.interruption.get_or_insert(failure);
        }
    }

    /// Keeps what is whole, and counts what was not written.
    fn fail(&mut self, failure: String) {
        self.no_space = None;
        self.not_written += self.pending.packets;
        self.pending = Content::default();
        self.buffer.clear();
        let Closed { about, failure, lost } = match self.current.take() {
            Some(file) => Closed::cut(file, failure),
            None => Closed { failure: Some(failure), ..Closed::nothing() },
        };
        self.done.extend(about);
        self.forget(lost);
        self.failure = failure;
    }
}

/// What happened to a packet.
enum Appended {
    Taken,
    /// There is no file for it, and none can be opened now.
    NoFile,
    /// There is no space for those before it.
    Waits,
}

/// What a writer has done.
pub(super) struct Finished {
    pub(super) written: Content,
    pub(super) not_written: u64,
    pub(super) files: Vec<RecordedFile>,
    pub(super) failure: Option<String>,
    pub(super) interruption: Option<String>,
}

/// True if a file that could not be opened may well be in a second.
fn may_pass(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, OutOfMemory, QuotaExceeded, StorageFull, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | StorageFull | QuotaExceeded | OutOfMemory)
}

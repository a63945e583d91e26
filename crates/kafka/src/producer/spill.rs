//! Messages on disk that have no room in memory: first in, first out, in files of some megabytes.
//!
//! A file is deleted when all its messages are acknowledged. So what a killed run leaves is what was not, or was but not
//! yet known to be: the next run with the same folder sends it, leaving out what the topic has already.
//!
//! What is in the files is described in [`spill_file`](super::spill_file).

use super::spill_file::{MAGIC, count, encode, open_segment, read};
use crate::sending::record::{OwnedRecord, Record};
use rustix::fs::{FlockOperation, flock};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

/// Bytes after which a new file is begun.
const SEGMENT_BYTES: u64 = 16_000_000;

/// Why a message did not go to the disk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpillError {
    /// The spill has the size that it may have.
    #[error("the spill in {} is full: it has the {limit} bytes that it may have (spill_size)", folder.display())]
    Full { folder: PathBuf, limit: u64 },
    /// The disk refuses.
    #[error("the spill in {} cannot be used: {source}", folder.display())]
    Disk { folder: PathBuf, source: io::Error },
}

#[derive(Debug)]
struct Segment {
    number: u64,
    bytes: u64,
    /// Messages handed on that are not reported yet.
    handed_on: u64,
    /// Messages in it that have not been read.
    unread: u64,
    is_left_over: bool,
}

/// A message that was on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spilled {
    pub(crate) record: OwnedRecord,
    pub(crate) segment: u64,
    /// An earlier run has left it.
    pub(crate) is_left_over: bool,
}

/// Messages on disk; see the [module](self).
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    limit: u64,
    segments: VecDeque<Segment>,
    /// The number of the next file, and whether messages that were sent from memory belong into one before it.
    next: u64,
    is_next_for_memory: bool,
    /// The file that is written to, with its number.
    writes: Option<(u64, File)>,
    reads: Option<(u64, BufReader<File>)>,
    head: Option<Spilled>,
    bytes: u64,
    unread: u64,
    /// Messages handed on that were given up: their files stay.
    given_up: u64,
    buffer: Vec<u8>,
    /// Keeps others away from the folder.
    _lock: File,
}

impl Spill {
    /// Opens the folder, which is made if it does not exist, with what an earlier run has left: what could not be read of
    /// that is said.
    ///
    /// # Errors
    /// If another program uses it, or it cannot be used.
    pub(crate) fn open(folder: &Path, limit: u64) -> Result<(Self, Vec<String>), SpillError> {
        let disk = |source| SpillError::Disk { folder: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(disk)?;
        let lock = File::create(folder.join("lock")).map_err(disk)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            let text =
                format!("another program uses this folder ({error}): give each output a folder of its own");
            disk(io::Error::new(io::ErrorKind::ResourceBusy, text))
        })?;
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(disk)? {
            let name = entry.map_err(disk)?.file_name();
            let number =
                |name: &str| name.strip_prefix("spill-")?.strip_suffix(".messages")?.parse::<u64>().ok();
            numbers.extend(name.to_str().and_then(number));
        }
        numbers.sort_unstable();
        let mut spill = Self {
            folder: folder.to_owned(),
            limit,
            segments: VecDeque::new(),
            next: numbers.last().map_or(0, |last| last + 1),
            is_next_for_memory: false,
            writes: None,
            reads: None,
            head: None,
            bytes: 0,
            unread: 0,
            given_up: 0,
            buffer: Vec::new(),
            _lock: lock,
        };
        let mut notes = Vec::new();
        for number in numbers {
            let (messages, bytes, problem) = count(&spill.path(number)).map_err(disk)?;
            notes.extend(problem.map(|problem| {
                format!(
                    "{}: {problem}; the {messages} messages before that are sent",
                    spill.path(number).display()
                )
            }));
            spill.bytes += bytes;
            spill.unread += messages;
            spill.segments.push_back(Segment {
                number,
                bytes,
                handed_on: 0,
                unread: messages,
                is_left_over: true,
            });
        }
        Ok((spill, notes))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("spill-{number:010}.messages"))
    }

    fn disk(&self, source: io::Error) -> SpillError {
        SpillError::Disk { folder: self.folder.clone(), source }
    }

    /// True if nothing waits here to be handed on.
    pub(crate) fn is_empty(&self) -> bool {
        self.unread == 0 && self.head.is_none()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Messages that wait here, those that were handed on and given up included.
    pub(crate) fn waiting(&self) -> u64 {
        self.unread + u64::from(self.head.is_some()) + self.given_up
    }

    /// Messages that are kept: those that wait, and those handed on that were not reported.
    pub(crate) fn kept(&self) -> u64 {
        let handed_on: u64 = self.segments.iter().map(|segment| segment.handed_on).sum();
        self.waiting() - self.given_up + handed_on
    }

    /// Puts a message behind all others.
    ///
    /// # Errors
    /// If there is no room, or the disk refuses: nothing of it is kept then.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Result<(), SpillError> {
        let is_open = |segment: &&Segment| {
            segment.bytes < SEGMENT_BYTES
                && self.writes.as_ref().is_some_and(|(open, _)| *open == segment.number)
        };
        match self.segments.back().filter(is_open).map(|segment| segment.number) {
            Some(number) => self.write(number, record),
            None => self.write(self.next + u64::from(self.is_next_for_memory), record),
        }
    }

    /// A message is sent from memory: the file in which it belongs if it is given up, behind all that came before it, and before all that
    /// come later.
    pub(crate) fn file_of_memory(&mut self) -> u64 {
        (self.writes, self.is_next_for_memory) = (None, true);
        self.next
    }

    /// Puts a message into a file, behind those that are in it.
    ///
    /// # Errors
    /// As [`Spill::append`].
    pub(crate) fn write(&mut self, number: u64, record: &Record<'_>) -> Result<(), SpillError> {
        self.buffer.clear();
        encode(record, &mut self.buffer);
        let length = self.buffer.len() as u64;
        if self.bytes + length + MAGIC.len() as u64 > self.limit {
            return Err(SpillError::Full { folder: self.folder.clone(), limit: self.limit });
        }
        let place = self.segments.partition_point(|segment| segment.number < number);
        if self.segments.get(place).is_none_or(|segment| segment.number != number) {
            let file = self.begin(number).map_err(|source| self.disk(source))?;
            self.writes = Some((number, file));
            let bytes = MAGIC.len() as u64;
            self.segments
                .insert(place, Segment { number, bytes, handed_on: 0, unread: 0, is_left_over: false });
            self.bytes += bytes;
            if number >= self.next + u64::from(self.is_next_for_memory) {
                (self.next, self.is_next_for_memory) = (number + 1, false);
            }
        }
        if self.writes.as_ref().is_none_or(|(open, _)| *open != number) {
            let file = self.open_again(number).map_err(|source| self.disk(source))?;
            self.writes = Some((number, file));
        }
        let (Some((_, file)), Some(segment)) = (&mut self.writes, self.segments.get_mut(place)) else {
            return Ok(());
        };
        if let Err(source) = file.write_all(&self.buffer) {
            // What was written of it is cut off, so that the next message can follow. If even that fails, a new file is begun.
            let end = segment.bytes;
            let cut = file.set_len(end).and_then(|()| io::Seek::seek(file, io::SeekFrom::Start(end)));
            if cut.is_err() {
                self.writes = None;
            }
            return Err(self.disk(source));
        }
        segment.bytes += length;
        segment.unread += 1;
        self.bytes += length;
        self.unread += 1;
        Ok(())
    }

    /// Opens a file behind its last whole message: part of one may follow, if the disk has refused its end, and to cut it.
    fn open_again(&self, number: u64) -> io::Result<File> {
        let file = File::options().append(true).open(self.path(number))?;
        let end = self.segments.iter().find(|segment| segment.number == number).map(|segment| segment.bytes);
        file.set_len(end.unwrap_or_default())?;
        Ok(file)
    }

    /// Makes a file without messages.
    fn begin(&self, number: u64) -> io::Result<File> {
        let path = self.path(number);
        let mut file = File::create_new(&path)?;
        file.write_all(MAGIC).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        Ok(file)
    }

    /// The first message that waits. It stays until [`Spill::hand_on`].
    ///
    /// # Errors
    /// If the disk refuses.
    pub(crate) fn first(&mut self) -> Result<Option<&Spilled>, SpillError> {
        while self.head.is_none() {
            let Some(segment) = self.segments.iter().find(|segment| segment.unread > 0) else {
                return Ok(None);
            };
            let (number, is_left_over) = (segment.number, segment.is_left_over);
            if self.reads.as_ref().is_none_or(|(reading, _)| *reading != number) {
                let file = open_segment(&self.path(number)).map_err(|source| self.disk(source))?;
                self.reads = Some((number, file));
            }
            let Some((_, file)) = &mut self.reads else { return Ok(None) };
            let read = read(file);
            let record = match read {
                Ok(Some(record)) => record,
                Ok(None) => {
                    let source = io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "a message that was written is not there",
                    );
                    return Err(self.disk(source));
                }
                Err(source) => return Err(self.disk(source)),
            };
            if let Some(segment) = self.segments.iter_mut().find(|segment| segment.number == number) {
                segment.unread -= 1;
                self.unread -= 1;
            }
            self.head = Some(Spilled { record, segment: number, is_left_over });
        }
        Ok(self.head.as_ref())
    }

    /// The first message has been handed on, and will be reported; or it is not needed (`false`).
    pub(crate) fn hand_on(&mut self, will_be_reported: bool) {
        if let Some(spilled) = self.head.take() {
            if let Some(segment) = self.segments.iter_mut().find(|segment| segment.number == spilled.segment)
            {
                segment.handed_on += u64::from(will_be_reported);
            }
            self.clean();
        }
    }

    /// A message that was handed on is given up: its file stays for the next run.
    pub(crate) fn give_up(&mut self) {
        self.given_up += 1;
    }

    /// A message of this file has been reported.
    pub(crate) fn reported(&mut self, segment: u64) {
        if let Some(segment) = self.segments.iter_mut().find(|known| known.number == segment) {
            segment.handed_on = segment.handed_on.saturating_sub(1);
        }
        self.clean();
    }

    /// Deletes the files that are not needed any more.
    fn clean(&mut self) {
        let head = self.head.as_ref().map(|head| head.segment);
        while let Some(segment) = self.segments.front()
            && segment.unread == 0
            && segment.handed_on == 0
            && head != Some(segment.number)
        {
            let (number, bytes) = (segment.number, segment.bytes);
            self.segments.pop_front();
            self.bytes -= bytes;
            if self.writes.as_ref().is_some_and(|(open, _)| *open == number) {
                self.writes = None;
            }
            if self.reads.as_ref().is_some_and(|(reading, _)| *reading == number) {
                self.reads = None;
            }
            // Nothing is lost if it stays: the next run finds its messages in the topic.
            let _ = std::fs::remove_file(self.path(number));
        }
    }

    /// What earlier runs have left, one message after the other; it stays where it is.
    ///
    /// # Errors
    /// If the disk refuses.
    pub(crate) fn visit_left_over(&self, mut visit: impl FnMut(&OwnedRecord)) -> Result<(), SpillError> {
        for segment in self.segments.iter().filter(|segment| segment.is_left_over) {
            let mut file = open_segment(&self.path(segment.number)).map_err(|source| self.disk(source))?;
            for _ in 0..segment.unread {
                match read(&mut file).map_err(|source| self.disk(source))? {
                    Some(record) => visit(&record),
                    None => break,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

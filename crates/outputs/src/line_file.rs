//! A text file that is written line by line, and of which every whole line is kept when writing fails. After a failure for
//! want of space it can be gone on with: no line is written twice, and none in part.

use evforge_net::staged_file::StagedName;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are given to the system.
pub(crate) const WRITE_BEHIND: usize = 1 << 20;

/// Lines on their way into a file, which gets its name when it is complete.
#[derive(Debug)]
pub struct LineFile {
    name: StagedName,
    file: File,
    /// Whole lines that have not been written yet.
    waiting: Vec<u8>,
    /// Bytes in the file. They end with a whole line.
    written: u64,
    /// Lines in the file.
    lines: u64,
}

/// What is left of a file that was not finished.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name, which says that it is partial.
    pub path: PathBuf,
    /// Whole lines in it.
    pub lines: u64,
}

impl LineFile {
    /// Begins a file. An existing plain file of that name is replaced in the end.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn create(target: &Path) -> io::Result<Self> {
        let (name, file) = StagedName::replacing(target)?;
        let waiting = Vec::with_capacity(WRITE_BEHIND + 256);
        Ok(Self { name, file, waiting, written: 0, lines: 0 })
    }

    /// Appends a line, with its end, which `write` puts behind the bytes that are there; and gives what waits to the system
    /// if it is enough.
    ///
    /// # Errors
    /// If lines cannot be written, or the file is not there any more. The line waits nevertheless.
    pub fn line(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.waiting)?;
        if self.is_full() { self.flush() } else { Ok(()) }
    }

    /// Where whole lines, with their ends, can be put: nothing is given to the system before [`LineFile::flush`].
    pub fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// True if enough waits to be given to the system.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= WRITE_BEHIND
    }

    /// Lines that are in the file.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Bytes that are in the file.
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Gives what waits to the system, if the file is still there.
    ///
    /// # Errors
    /// If it is not, or not everything can be written: the rest, in whole lines, still waits, and this may be called again.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.check()?;
        self.write_out()
    }

    /// Makes sure that the file is still there under its temporary name.
    ///
    /// # Errors
    /// If it is not, in words.
    pub fn check(&self) -> io::Result<()> {
        self.name.check()
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.file.sync_all()?;
        self.name.finish()
    }

    /// Keeps what can be written of the lines, cut to whole ones, under a name that says that the file is not complete.
    ///
    /// # Errors
    /// If nothing is left: the file is gone, or was removed.
    pub fn keep_partial(&mut self) -> io::Result<Kept> {
        // Whether everything fits is seen below.
        let _ = self.write_out();
        self.file.set_len(self.written)?;
        // What the disk has not taken by now it will not take: the rest is kept all the same.
        let _ = self.file.sync_all();
        Ok(Kept { path: self.name.keep_partial()?, lines: self.lines })
    }

    /// Gives what waits to the system. After an error, what has become part of the file as whole lines is counted, and
    /// the rest is still waiting.
    fn write_out(&mut self) -> io::Result<()> {
        let result = self.file.write_all(&self.waiting);
        let taken = match &result {
            Ok(()) => self.waiting.len(),
            Err(_) => self.whole_lines_taken(),
        };
        self.lines += self.waiting[..taken].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.waiting.drain(..taken);
        self.written += taken as u64;
        result
    }

    /// Bytes of the whole lines that a write that failed has brought into the file.
    fn whole_lines_taken(&mut self) -> usize {
        let length = self.file.metadata().map_or(0, |about| about.len());
        let taken = usize::try_from(length.saturating_sub(self.written)).unwrap_or(0).min(self.waiting.len());
        let whole = self.waiting[..taken].iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        // The part of a line behind them comes again with the next attempt.
        let end = self.written + whole as u64;
        if self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end))).is_err() {
            return 0;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(file: &mut LineFile, numbers: std::ops::Range<u32>) -> io::Result<()> {
        for number in numbers {
            file.line(|line| writeln!(line, "{number}"))?;
        }
        Ok(())
    }

    fn numbers(path: &Path) -> Vec<u32> {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "not cut to whole lines");
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn all_lines_are_in_a_finished_file_and_in_a_kept_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        for count in [0, 3, 400_000] {
            let mut file = LineFile::create(&path).unwrap();
            put(&mut file, 0..count).unwrap();
            file.finish().unwrap();
            assert_eq!(numbers(&path), (0..count).collect::<Vec<_>>());
            std::fs::remove_file(&path).unwrap();
            let mut file = LineFile::create(&path).unwrap();
            put(&mut file, 0..count).unwrap();
            let kept = file.keep_partial().unwrap();
            assert_eq!((numbers(&kept.path).len() as u64, kept.lines), (u64::from(count), u64::from(count)));
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_file_that_was_removed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let mut file = LineFile::create(&path).unwrap();
        assert!(file.check().is_ok());
        std::fs::remove_file(file.name.temporary()).unwrap();
        assert!(file.check().is_err() && file.finish().is_err() && file.keep_partial().is_err());
        assert!(!path.exists());
    }
}

//! A text file that is written line by line, and of which every whole line is kept when writing fails. After a failure for
//! want of space it can be continued: no line is written twice, and none in part.

use evforge_net::staged_file::{StagedName, is_standard_output, standard_output};
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are given to the system.
pub(crate) const WRITE_BEHIND: usize = 1 << 20;

/// What a file of lines is written into: a disk, or a test that wants to see what a slow or full one does.
pub trait LineTarget: Write + Send + Debug {
    /// Bytes that are in it.
    ///
    /// # Errors
    /// If that cannot be known.
    fn length(&self) -> io::Result<u64>;

    /// Cuts it to `length` bytes; what is written next comes behind them.
    ///
    /// # Errors
    /// If that fails.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Makes sure that it is still there: nobody has removed or replaced it.
    ///
    /// # Errors
    /// If it is not, in words.
    fn check(&self) -> io::Result<()>;

    /// Brings everything to the disk.
    ///
    /// # Errors
    /// If that fails. What was written may be lost then.
    fn sync(&mut self) -> io::Result<()>;

    /// Gives it its name: it is complete.
    ///
    /// # Errors
    /// If that fails; it is then not there under its name.
    fn finish(&mut self) -> io::Result<()>;

    /// Keeps it under a name that says that it is not complete, and tells that name.
    ///
    /// # Errors
    /// If it is not there any more.
    fn keep_partial(&mut self) -> io::Result<PathBuf>;
}

/// A file on the disk, under a temporary name until it is complete.
#[derive(Debug)]
struct DiskTarget {
    name: StagedName,
    file: File,
}

impl Write for DiskTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LineTarget for DiskTarget {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(drop)
    }

    fn check(&self) -> io::Result<()> {
        self.name.check()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.name.finish()
    }

    fn keep_partial(&mut self) -> io::Result<PathBuf> {
        self.name.keep_partial()
    }
}

/// Standard output, in which nothing can be taken back.
#[derive(Debug)]
struct OutputTarget {
    file: File,
    written: u64,
}

impl Write for OutputTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.file.write(bytes).map_err(|error| match error.kind() {
            // Nobody knows when there is room again behind a redirection: the run ends, and does not wait for it.
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => io::Error::other(error.to_string()),
            _ => error,
        })?;
        self.written += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LineTarget for OutputTarget {
    fn length(&self) -> io::Result<u64> {
        Ok(self.written)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        match length == self.written {
            true => Ok(()),
            false => {
                Err(io::Error::other("standard output has got a part of a line, which cannot be taken back"))
            }
        }
    }

    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn keep_partial(&mut self) -> io::Result<PathBuf> {
        Ok(PathBuf::from("standard output"))
    }
}

/// Lines on their way into a file, which gets its name when it is complete.
#[derive(Debug)]
pub struct LineFile {
    target: Box<dyn LineTarget>,
    /// Whole lines that have not been written yet.
    waiting: Vec<u8>,
    /// Bytes in the file. They end with a whole line.
    written: u64,
    /// Lines in the file.
    lines: u64,
    /// Part of a line may be behind them.
    has_part: bool,
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
    /// Begins a file. An existing plain file of that name is replaced in the end. `-` is standard output.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn create(target: &Path) -> io::Result<Self> {
        if is_standard_output(target) {
            return Ok(Self::into_target(Box::new(OutputTarget { file: standard_output()?, written: 0 })));
        }
        let (name, file) = StagedName::replacing(target)?;
        Ok(Self::into_target(Box::new(DiskTarget { name, file })))
    }

    /// Lines into something else, which is empty.
    pub fn into_target(target: Box<dyn LineTarget>) -> Self {
        let waiting = Vec::with_capacity(WRITE_BEHIND + 256);
        Self { target, waiting, written: 0, lines: 0, has_part: false }
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
        self.target.check()
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the file is then not there under its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_out()?;
        // Where that fails, nobody knows what is there: an error of another kind, so that it is not tried again.
        self.target.sync().map_err(|error| io::Error::other(error.to_string()))?;
        self.target.finish()
    }

    /// Keeps what can be written of the lines, cut to whole ones, under a name that says that the file is not complete.
    ///
    /// # Errors
    /// If nothing is left: the file is gone, or was removed.
    pub fn keep_partial(&mut self) -> io::Result<Kept> {
        // Whether everything fits is seen below.
        let _ = self.write_out();
        self.target.cut(self.written)?;
        // What the disk has not taken by now it will not take: the rest is kept all the same.
        let _ = self.target.sync();
        Ok(Kept { path: self.target.keep_partial()?, lines: self.lines })
    }

    /// Gives what waits to the system. After an error, what has become part of the file as whole lines is counted, and
    /// the rest is still waiting.
    fn write_out(&mut self) -> io::Result<()> {
        if self.has_part {
            self.target.cut(self.written)?;
            self.has_part = false;
        }
        let result = self.target.write_all(&self.waiting);
        let taken = match &result {
            Ok(()) => self.waiting.len(),
            Err(_) => self.whole_lines_taken(),
        };
        self.lines += self.waiting[..taken].iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.waiting.drain(..taken);
        self.written += taken as u64;
        // The part of a line behind them comes again with the next attempt.
        self.has_part = result.is_err();
        result
    }

    /// Bytes of the whole lines that a write that failed has brought into the file.
    fn whole_lines_taken(&self) -> usize {
        let length = self.target.length().unwrap_or(self.written);
        let taken = usize::try_from(length.saturating_sub(self.written)).unwrap_or(0).min(self.waiting.len());
        self.waiting[..taken].iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)
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
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert!(file.check().is_err() && file.finish().is_err() && file.keep_partial().is_err());
        assert!(!path.exists());
    }

    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    /// A disk with so much room, which takes part of what does not fit.
    #[derive(Clone, Debug, Default)]
    struct SmallDisk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (content, room) = &mut *self.0.lock().expect("no panic");
            let taken = bytes.len().min(room.saturating_sub(content.len()));
            if taken == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            content.extend(&bytes[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl LineTarget for SmallDisk {
        fn length(&self) -> io::Result<u64> {
            Ok(self.0.lock().expect("no panic").0.len() as u64)
        }
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.0.lock().expect("no panic").0.truncate(length as usize);
            Ok(())
        }
        fn check(&self) -> io::Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn finish(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn keep_partial(&mut self) -> io::Result<PathBuf> {
            Ok("partial".into())
        }
    }

    #[test]
    fn what_is_kept_on_a_full_disk_ends_with_a_whole_line() {
        let disk = SmallDisk::default();
        disk.0.lock().expect("no panic").1 = 10;
        let mut file = LineFile::into_target(Box::new(disk.clone()));
        file.waiting().extend(b"first\nsecond\n");
        assert!(file.flush().is_err());
        assert_eq!(file.keep_partial().unwrap().lines, 1);
        assert_eq!(disk.0.lock().expect("no panic").0, b"first\n");
    }

    proptest! {
        /// Whenever there is how much room: what is in the file are the first lines, whole, and counted; and all of them
        /// once there is room for all.
        #[test]
        fn lines_are_whole_and_come_once_however_full_the_disk_is(
            steps in proptest::collection::vec((0..40_usize, 0..600_usize), 1..20),
        ) {
            let disk = SmallDisk::default();
            let mut file = LineFile::into_target(Box::new(disk.clone()));
            let mut expected = String::new();
            for (index, (lines, room)) in steps.into_iter().enumerate() {
                disk.0.lock().expect("no panic").1 = room;
                for line in 0..lines {
                    let text = format!("{index} {line}\n");
                    expected += &text;
                    file.waiting().extend(text.bytes());
                }
                let flushed = file.flush();
                prop_assert!(flushed.is_ok() || flushed.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
                let content = disk.0.lock().expect("no panic").0.clone();
                let whole = &content[..file.bytes() as usize];
                prop_assert!(expected.as_bytes().starts_with(whole));
                prop_assert_eq!(file.lines() as usize, whole.iter().filter(|&&byte| byte == b'\n').count());
                prop_assert!(whole.is_empty() || whole.ends_with(b"\n"));
            }
            disk.0.lock().expect("no panic").1 = usize::MAX;
            file.finish().expect("there is room");
            prop_assert_eq!(String::from_utf8(disk.0.lock().expect("no panic").0.clone()).expect("text"), expected);
        }
    }
}

//! Files that are read whole: configurations, tables, reports, tokens. Whatever a path leads to, reading it ends, and takes bounded
//! memory.
//!
//! A path that somebody names can lead to anything: a device that never ends (`/dev/zero`), a capture of 100 GB in the place of a
//! configuration, a folder, a pipe into which nobody writes. Each kind of file has a largest size, and what is larger is refused: at
//! once where the system tells its size, else as soon as more than that has come. A pipe (`<(…)` of a shell, `/dev/stdin`) is read to
//! its end, and given up when nothing comes for [`PATIENCE`].
//!
//! Packets, events and data of HDF5 are not read by this: they are read in pieces.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Most bytes of what people write by hand, or a program for itself: configurations, settings, journals, descriptions of jobs.
pub const SETTINGS: u64 = 16 << 20;
/// Most bytes of what is made by programs for programs: results, reports, saved measurements, pictures.
pub const RESULTS: u64 = 64 << 20;
/// How long to wait for somebody who writes into a pipe.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often to look whether something has come.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes that are read at a time where the size is not known.
const PIECE: usize = 64 << 10;

/// The bytes of a file, of which there may be `most`.
///
/// # Errors
/// As opening and reading a file; [`ErrorKind::FileTooLarge`] with both sizes if there are more, [`ErrorKind::IsADirectory`] for a
/// folder, [`ErrorKind::TimedOut`] if nobody writes into a pipe. None of them names the file.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    bytes_of(open(path)?, most)
}

/// Opens a file for [`bytes_of`]: at once, also a pipe that nobody has opened to write.
///
/// # Errors
/// Those of the system.
pub fn open(path: &Path) -> Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// As [`bytes`], of a file that is open: for who looks at it before. Where it was not opened by [`open`], a pipe may be waited for
/// without end.
///
/// # Errors
/// As [`bytes`].
pub fn bytes_of(file: File, most: u64) -> Result<Vec<u8>> {
    of_file(file, most, PATIENCE)
}

/// The text of a file, of which there may be `most` bytes.
///
/// # Errors
/// As [`bytes`]; [`ErrorKind::InvalidData`] if it is no text (UTF-8), with the place.
pub fn text(path: &Path, most: u64) -> Result<String> {
    as_text(bytes(path, most)?)
}

/// Bytes as text.
///
/// # Errors
/// If they are none, with the place.
pub fn as_text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Error::new(
            ErrorKind::InvalidData,
            format!("it is no text: byte {place} and those behind it are no UTF-8"),
        )
    })
}

fn of_file(mut file: File, most: u64, patience: Duration) -> Result<Vec<u8>> {
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a folder, and not a file"));
    }
    if about.len() > most {
        return Err(too_large(&format!("{} bytes", about.len()), most));
    }
    // What has a size has nothing to wait for. Files of the kernel (/proc) have none, and end all the same.
    let may_wait = !about.is_file();
    let mut found = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0).min(PIECE));
    let mut piece = vec![0; PIECE];
    let mut since = Instant::now();
    loop {
        match file.read(&mut piece) {
            // A pipe that nobody has opened yet looks like one that has ended.
            Ok(0) if may_wait && found.is_empty() && is_pipe(&about) && since.elapsed() < patience => {
                std::thread::sleep(LOOK);
            }
            Ok(0) if found.is_empty() && is_pipe(&about) => return Err(silent(patience)),
            Ok(0) => return Ok(found),
            Ok(length) => {
                if (found.len() + length) as u64 > most {
                    return Err(too_large("more", most));
                }
                found.extend_from_slice(piece.get(..length).unwrap_or_default());
                since = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if since.elapsed() >= patience {
                    return Err(silent(patience));
                }
                std::thread::sleep(LOOK);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_pipe(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    about.file_type().is_fifo()
}

fn too_large(found: &str, most: u64) -> Error {
    let text =
        format!("it has {found}, and at most {most} bytes are read of such a file: is it the right one?");
    Error::new(ErrorKind::FileTooLarge, text)
}

fn silent(patience: Duration) -> Error {
    let text = format!("nobody has written into this pipe for {} s", patience.as_secs_f64());
    Error::new(ErrorKind::TimedOut, text)
}

/// What to look at when a file cannot be made.
pub const WRITE_HINT: &str = "does the folder exist, and may you write there?";

/// Why `what` cannot be written to a file, for people: the same words for every output.
pub fn not_writable(what: &str, path: &Path, error: &Error) -> String {
    format!("{what} cannot be written to {}: {error} ({WRITE_HINT})", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    const SHORT: Duration = Duration::from_millis(20);

    fn pipe(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a = 1\n").unwrap();
        assert_eq!(text(&path, 6).unwrap(), "a = 1\n");
        let error = text(&path, 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("has 6 bytes, and at most 5 bytes"), "{error}");
        fs::write(&path, b"ab\xffc").unwrap();
        let error = text(&path, 100).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidData && error.to_string().contains("byte 2"), "{error}");
        assert_eq!(bytes(&path, 100).unwrap(), b"ab\xffc");
        // One that is larger than any memory is refused by its size.
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(1 << 40).unwrap();
        let error = bytes(&large, SETTINGS).unwrap_err().to_string();
        assert!(error.contains("has 1099511627776 bytes, and at most 16777216 bytes"), "{error}");
    }

    #[test]
    fn what_is_no_file_is_refused_or_ends() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(text(folder.path(), 5).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(text(&folder.path().join("none"), 5).unwrap_err().kind(), ErrorKind::NotFound);
        let error = bytes(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert!(error.kind() == ErrorKind::FileTooLarge && error.to_string().contains("has more"), "{error}");
        assert_eq!(text(Path::new("/dev/null"), 5).unwrap(), "");
        // A file of the kernel, whose size is 0.
        assert!(!text(Path::new("/proc/self/status"), 1 << 20).unwrap().is_empty());
        assert_eq!(bytes(Path::new("/proc/self/status"), 5).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_given_up_if_nobody_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        // Nobody has opened it.
        assert_eq!(of_file(open(&path).unwrap(), 9, SHORT).unwrap_err().kind(), ErrorKind::TimedOut);
        // Somebody has, and says nothing.
        let reader = open(&path).unwrap();
        let mute = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(of_file(reader, 9, SHORT).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(mute);
        // Somebody writes bit by bit.
        let writing = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut writer = OpenOptions::new().write(true).open(path).unwrap();
                for piece in ["a = 1\n", "b = 2\n"] {
                    writer.write_all(piece.as_bytes()).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                }
            })
        };
        assert_eq!(text(&path, 100).unwrap(), "a = 1\nb = 2\n");
        writing.join().unwrap();
        // Somebody never stops.
        let flooding = {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut writer = OpenOptions::new().write(true).open(path).unwrap();
                while writer.write_all(&[0; 4096]).is_ok() {}
            })
        };
        assert_eq!(bytes(&path, 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
        flooding.join().unwrap();
    }
}

//! The file in which a run leaves its token for `evforge ctl` of the same user on the same host.

use evforge_control::Token;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A token in a file that nobody but its owner can read; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    token: Token,
}

/// The folders in which the file may be, the better one first: that of the session, and one below the folder for what is temporary.
fn folders() -> Vec<PathBuf> {
    let session =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let own = std::env::temp_dir().join(format!("evforge-{}", rustix::process::getuid().as_raw()));
    session.map(|folder| folder.join("evforge")).into_iter().chain([own]).collect()
}

/// The places where the token of the page at this port may be.
pub(crate) fn places(port: u16) -> Vec<PathBuf> {
    folders().into_iter().map(|folder| folder.join(format!("{port}.token"))).collect()
}

/// Whether a folder is one that nobody but this user can have put anything into.
pub(crate) fn is_own(folder: &Path) -> bool {
    // Not of what a link leads to.
    std::fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o077 == 0
    })
}

impl TokenFile {
    /// Leaves `token` for the page at this port.
    ///
    /// # Errors
    /// If it can be left nowhere.
    pub(crate) fn leave(token: &Token, port: u16) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for path in places(port) {
            match write(&path, token) {
                Ok(()) => return Ok(Self { path, token: token.clone() }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn write(path: &Path, token: &Token) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_own(folder) {
        return Err(io::Error::other(format!("{} is not a folder of this user alone", folder.display())));
    }
    let staged = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
    file.write_all(format!("{}\n", token.reveal()).as_bytes())?;
    // What a run that was killed has left is replaced.
    std::fs::rename(&staged, path)
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // Not that of a run which has the port now.
        if Token::read(&self.path).is_ok_and(|found| found == self.token) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_left_for_its_user_and_taken_away() {
        let (one, other) = (Token::random().expect("chance"), Token::random().expect("chance"));
        // A port that nobody listens at.
        let file = TokenFile::leave(&one, 1).expect("a place");
        let mode = std::fs::metadata(&file.path).expect("it is there").mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert_eq!(Token::read(&file.path).expect("it can be read"), one);
        let later = TokenFile::leave(&other, 1).expect("a place");
        drop(file);
        assert_eq!(Token::read(&later.path).expect("it is still there"), other);
        let path = later.path.clone();
        drop(later);
        assert!(!path.exists());
    }
}

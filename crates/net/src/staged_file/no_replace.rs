//! Renaming that never replaces anything.

use std::fs;
use std::io;
use std::path::Path;

/// Renames `from` to `to`, which must not exist.
///
/// # Errors
/// Of kind `AlreadyExists` if there is something called `to`; else if the file cannot be renamed. It then has its old name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rename_at_once(from, to) {
        Err(error) if is_unsupported(&error) => rename_in_steps(from, to),
        result => result,
    }
}

/// True if the file system, or the kernel, does not know how to do that.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// In one step: either both names change or none.
fn rename_at_once(from: &Path, to: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    let [from, to] = [from, to].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (from, to) = (from?, to?);
    // SAFETY: both are strings that end in 0 and live until the call returns.
    let status = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// With a second name for the file (NFS), or, where a file has only one, with an empty file that reserves the new name.
fn rename_in_steps(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // The file has its name; that it has the old one, too, is no reason to fail.
        Ok(()) => fs::remove_file(from).or(Ok(())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => {
            fs::File::create_new(to)?;
            fs::rename(from, to).inspect_err(|_| {
                // Only what was made here.
                let _ = fs::remove_file(to);
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_way_replaces_anything() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (number, rename) in [rename_new, rename_at_once, rename_in_steps].into_iter().enumerate() {
            let (from, to) = (path(&format!("from-{number}")), path(&format!("to-{number}")));
            fs::write(&from, "ours").unwrap();
            fs::write(&to, "theirs").unwrap();
            assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(
                (fs::read(&from).unwrap(), fs::read(&to).unwrap()),
                (b"ours".into(), b"theirs".into())
            );
            // A link that leads nowhere is something, too.
            let link = path(&format!("link-{number}"));
            std::os::unix::fs::symlink("nowhere", &link).unwrap();
            assert_eq!(rename(&from, &link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            fs::remove_file(&to).unwrap();
            rename(&from, &to).unwrap();
            assert_eq!((fs::read(&to).unwrap(), from.exists()), (b"ours".into(), false));
        }
    }
}

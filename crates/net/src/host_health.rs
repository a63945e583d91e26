//! Disks and clock of this host, looked at while a run goes on.

use crate::synchronisation::Synchronisation;
use evforge_core::alarm::{DiskSpace, HostHealth};
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time between looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at the host, in a thread of its own: a server of files that does not answer holds up nobody else. Clones share it; it
/// ends with the last of them. The default looks at nothing.
#[derive(Clone, Debug, Default)]
pub struct HostHealthReader {
    latest: Arc<Mutex<HostHealth>>,
    /// The thread ends when nobody has this side any more.
    _running: Option<Sender<()>>,
}

impl HostHealthReader {
    /// Looks at the clock, and at the file systems of these folders.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(folders: &[PathBuf]) -> io::Result<Self> {
        // A folder may be named as it is seen from the working directory.
        let whole = |folder: &PathBuf| std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        let folders: Vec<PathBuf> = folders.iter().map(whole).collect();
        let (running, ended) = channel::<()>();
        let latest = Arc::<Mutex<HostHealth>>::default();
        let shared = Arc::clone(&latest);
        let work = move || loop {
            let health = look(&folders);
            *shared.lock().unwrap_or_else(PoisonError::into_inner) = health;
            if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        };
        std::thread::Builder::new().name("host health".into()).spawn(work)?;
        Ok(Self { latest, _running: Some(running) })
    }

    /// What was seen last. Costs nothing.
    pub fn latest(&self) -> HostHealth {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn look(folders: &[PathBuf]) -> HostHealth {
    let mut known = HashSet::new();
    let mut is_new = |folder: &Path| std::fs::metadata(folder).is_ok_and(|found| known.insert(found.dev()));
    let disks =
        folders.iter().filter(|folder| is_new(folder)).filter_map(|folder| disk_space(folder)).collect();
    HostHealth { disks, clock_synchronised: Synchronisation::read().ok().map(|clock| clock.is_synchronised) }
}

/// The file system of a folder; none if it cannot be asked. It may be one that does not answer for long.
pub fn disk_space(folder: &Path) -> Option<DiskSpace> {
    let found = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    let folder = folder.display().to_string();
    Some(DiskSpace { folder, free: bytes(found.f_bavail), size: bytes(found.f_blocks) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_told_once_and_a_folder_that_is_gone_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let health = look(&[folder.path().to_owned(), inner, folder.path().join("gone")]);
        let [disk] = health.disks.as_slice() else { panic!("{health:?}") };
        assert_eq!(disk.folder, folder.path().display().to_string());
        assert!(disk.size >= disk.free && disk.size > 0, "{disk:?}");
        assert_eq!(HostHealthReader::default().latest(), HostHealth::default());
    }
}

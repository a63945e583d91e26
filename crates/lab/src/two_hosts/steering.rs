//! Which core does the kernel's work on the packets that come in between two namespaces (RPS).

use super::TwoHostsError;
use super::link::RECEIVER;
use evforge_host::Host;
use evforge_host::cores::{from_mask, to_mask};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Hands packets to the kernel's work on this core, whichever the sender is on. The interface, and with it the setting, vanishes with
/// the namespaces.
pub(super) fn steer(host: &dyn Host, core: usize) -> Result<(), TwoHostsError> {
    let queues = Path::new("/sys/class/net").join(RECEIVER).join("queues");
    let failed = |path: &Path, source| TwoHostsError::Steering { path: path.to_owned(), core, source };
    let names = host.list(&queues).map_err(|error| failed(&queues, error))?;
    let files: Vec<PathBuf> = names
        .iter()
        .filter(|name| name.starts_with("rx-"))
        .map(|name| queues.join(name).join("rps_cpus"))
        .collect();
    if files.is_empty() {
        return Err(failed(&queues, io::ErrorKind::NotFound.into()));
    }
    let wanted = BTreeSet::from([core]);
    for path in files {
        host.write(&path, &to_mask(&wanted)).map_err(|error| failed(&path, error))?;
        let found = host.read(&path).map_err(|error| failed(&path, error))?;
        if from_mask(&found) != wanted {
            let problem = format!("is {found} after it was set to {}", to_mask(&wanted));
            return Err(failed(&path, io::Error::other(problem)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::LocalHost;

    #[test]
    fn every_queue_is_steered_and_a_link_without_any_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let host = LocalHost::below(root.path());
        let queues = root.path().join("sys/class/net").join(RECEIVER).join("queues");
        let error = steer(&host, 1).unwrap_err().to_string();
        assert!(error.contains("queues") && error.contains("--interrupt sender"), "{error}");
        for name in ["rx-0", "rx-1", "tx-0"] {
            std::fs::create_dir_all(queues.join(name)).unwrap();
            std::fs::write(queues.join(name).join("rps_cpus"), "0\n").unwrap();
        }
        steer(&host, 33).unwrap();
        let read = |name: &str| std::fs::read_to_string(queues.join(name).join("rps_cpus")).unwrap();
        assert_eq!(
            (read("rx-0").as_str(), read("rx-1").as_str()),
            ("00000002,00000000", "00000002,00000000")
        );
        assert_eq!(read("tx-0"), "0\n");
    }
}

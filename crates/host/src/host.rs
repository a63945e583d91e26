//! A host as far as its settings go: files of the kernel, and commands of the system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is asked of a host. Paths are absolute: `/proc/sys/net/core/rmem_max`.
pub trait Host {
    /// The text of a file, without white space at its ends.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// If there is none.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// The name of what a link leads to, without its folders: the driver of a device, for example.
    ///
    /// # Errors
    /// If there is no such link.
    fn link(&self, path: &Path) -> io::Result<String>;

    /// Writes a setting.
    ///
    /// # Errors
    /// If it cannot be written, or the kernel refuses the value.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;

    /// What a command prints. It is given without a shell.
    ///
    /// # Errors
    /// `NotFound` if there is no such command; else, if it fails, with what it said.
    fn run(&self, command: &[&str]) -> io::Result<String>;
}

/// The host that this program runs on, in its network namespace.
#[derive(Clone, Debug)]
pub struct LocalHost {
    root: PathBuf,
}

impl LocalHost {
    /// This host.
    pub fn new() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// A host whose files are in a folder: what tests make up, or a copy of another host's.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl Default for LocalHost {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for LocalHost {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(self.path(path)).map(|text| text.trim().to_owned())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(folder))? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<String> {
        let target = fs::read_link(self.path(path))?;
        let name = target.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        fs::write(self.path(path), text)
    }

    fn run(&self, command: &[&str]) -> io::Result<String> {
        let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
        // Administrators' commands are not in everybody's PATH.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let output = Command::new(found(program, &path)?)
            .args(arguments)
            .env("LC_ALL", "C")
            .env("PATH", path)
            .stdin(std::process::Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // `systemctl is-active` tells by its output, and fails with it.
        Err(io::Error::other(if complaint.is_empty() { said.trim().to_owned() } else { complaint }))
    }
}

/// The file of a program, as a shell would find it.
fn found(program: &str, path: &str) -> io::Result<PathBuf> {
    let candidates = path
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(program));
    candidates.into_iter().find(|file| file.is_file()).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("the command {program} is not installed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_of_this_host_answer() {
        let host = LocalHost::new();
        assert!(!host.read(Path::new("/proc/sys/kernel/osrelease")).unwrap().is_empty());
        assert!(host.list(Path::new("/proc/sys/net")).unwrap().contains(&"core".to_owned()));
        assert_eq!(host.run(&["echo", "a b"]).unwrap().trim(), "a b");
        let missing = host.run(&["no-such-command-of-anybody"]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(host.run(&["false"]).is_err());
    }
}

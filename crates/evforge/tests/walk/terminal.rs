//! Shells in a folder that looks like a fresh clone with a build.

use super::exceptions::Exception;
use super::workspace;
use evforge_testkit::patience::wait_for;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a visitor's commands may change is copied, the rest is linked.
const COPIED: [&str; 2] = ["configs", "data"];
const LINKED: [&str; 6] = ["docs", "examples", "include", "scripts", "tests", "LICENSE"];

/// The clone, with the shell in the first terminal and what runs in the second one.
pub(crate) struct Terminal {
    clone: tempfile::TempDir,
    /// `export` lines so far.
    exports: String,
    live: Option<Running>,
}

/// Commands that run, with the file that all their output goes to.
struct Running {
    child: Child,
    output: PathBuf,
}

impl Running {
    fn printed(&self) -> String {
        let mut bytes = Vec::new();
        File::open(&self.output).and_then(|mut file| file.read_to_end(&mut bytes)).expect("the output");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for the end: whether it was a good one, and what was printed.
    fn end(mut self) -> (bool, String) {
        let status = wait_for("the end of a block", || self.child.try_wait().expect("the shell"));
        (status.success(), self.printed())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // With all it has started. Ended already in the good case.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

fn link(from: &Path, to: &Path) {
    std::os::unix::fs::symlink(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder of the repository") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}

impl Terminal {
    pub(crate) fn in_a_clone() -> Self {
        let clone = tempfile::tempdir().expect("a folder");
        let root = clone.path();
        COPIED.iter().for_each(|name| copy(&workspace().join(name), &root.join(name)));
        LINKED.iter().for_each(|name| link(&workspace().join(name), &root.join(name)));
        std::fs::create_dir_all(root.join("target/release")).expect("a folder");
        link(Path::new(env!("CARGO_BIN_EXE_evforge")), &root.join("target/release/evforge"));
        let python = std::env::var_os("EVFORGE_PYTHON")
            .map_or_else(|| workspace().join(".venv/bin/python"), PathBuf::from);
        if let Some(folder) = python.parent().and_then(Path::parent).filter(|folder| folder.exists()) {
            link(folder, &root.join(".venv"));
        }
        Self { clone, exports: String::new(), live: None }
    }

    /// What an excepted command needs and this machine does not have.
    pub(crate) fn lacks(&self, exception: &Exception) -> Option<String> {
        let mut probe = Command::new(self.clone.path().join(".venv/bin/python"));
        probe.args(["-c", "import h5py, matplotlib, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
        let is_lacking = exception.needs_python && !probe.status().is_ok_and(|status| status.success());
        is_lacking.then(|| ".venv/bin/python cannot import h5py, matplotlib and scippnexus".to_owned())
    }

    fn spawn(&mut self, commands: &str) -> Running {
        let output =
            tempfile::NamedTempFile::new_in(self.clone.path()).expect("a file").keep().expect("a file");
        let (file, path) = output;
        let release = self.clone.path().join("target/release");
        let path_before = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &format!("{}{commands}", self.exports)])
            .current_dir(&self.clone)
            .env("PATH", format!("{}:{path_before}", release.display()))
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the file"))
            .stderr(file)
            .process_group(0)
            .spawn()
            .expect("bash starts");
        let exports = commands.lines().filter(|line| line.starts_with("export "));
        let exports: String = exports.map(|line| format!("{line}\n")).collect();
        self.exports.push_str(&exports);
        Running { child, output: path }
    }

    /// Types commands, and waits: whether they have succeeded, and what they have printed.
    pub(crate) fn run(&mut self, commands: &str) -> (bool, String) {
        self.spawn(commands).end()
    }

    /// Types commands in the second terminal, and waits until they receive packets.
    pub(crate) fn start(&mut self, commands: &str) -> Result<(), String> {
        assert!(self.live.is_none(), "the second terminal is in use: its output is missing in the document");
        let mut running = self.spawn(commands);
        let is_receiving = wait_for("packets can be sent", || {
            let has_ended = running.child.try_wait().expect("the shell").is_some();
            let is_receiving = running.printed().contains("receiving at ");
            (is_receiving || has_ended).then_some(is_receiving)
        });
        if !is_receiving {
            return Err(running.printed());
        }
        self.live = Some(running);
        Ok(())
    }

    /// Waits for the end of the second terminal, which must be a good one.
    pub(crate) fn end(&mut self) -> String {
        let (success, printed) = self.live.take().expect("nothing runs in a second terminal").end();
        assert!(success, "{printed}");
        printed
    }
}

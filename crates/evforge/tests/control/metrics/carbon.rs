//! A carbon of Debian (graphite-carbon) with a folder of its own, and what is in its files.

use crate::common::free_ports;
use evforge_testkit::patience::{wait_for, wait_until};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Reads all files: `{path: [[time, value], …]}`. whisper is a package of Debian's own Python.
const READ: &str = "
import json, os, struct, sys, time
import whisper
folder, found = sys.argv[1], {}
for place, _, files in os.walk(folder):
    for name in files:
        path = os.path.join(place, name)
        try:
            (start, end, step), values = whisper.fetch(path, int(time.time()) - 599)
        except (whisper.WhisperException, TypeError, struct.error):
            continue  # carbon was killed while it made this one
        points = [[start + i * step, v] for i, v in enumerate(values) if v is not None]
        found[os.path.relpath(path, folder)[:-4].replace('/', '.')] = points
print(json.dumps(found))
";

/// Points in time of every path.
pub(crate) type Values = BTreeMap<String, Vec<(u64, f64)>>;

/// True if carbon is there; otherwise `test` is reported as skipped.
pub(crate) fn is_there(test: &str) -> bool {
    let found =
        Command::new("carbon-cache").arg("--help").output().is_ok_and(|output| output.status.success());
    if !found {
        evforge_testkit::skip(
            test,
            "carbon-cache is not here: apt-get install graphite-carbon (make test-tools does it)",
        );
    }
    found
}

/// Where a carbon listens and keeps its files.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

/// A carbon that runs; killed when dropped.
pub(crate) struct Carbon(pub(crate) Child);

impl Drop for Carbon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    /// A folder and three ports.
    pub(crate) fn new() -> Self {
        let [lines, pickle, query] = free_ports();
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display();
        let settings = format!(
            "[cache]\nSTORAGE_DIR = {at}\nLOCAL_DATA_DIR = {at}/whisper\nCONF_DIR = {at}\nLOG_DIR = {at}\nPID_DIR = {at}\nUSER =\n\
             LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = {}\n\
             PICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = {}\n\
             CACHE_QUERY_INTERFACE = 127.0.0.1\nCACHE_QUERY_PORT = {}\n\
             MAX_CACHE_SIZE = inf\nMAX_UPDATES_PER_SECOND = inf\nMAX_CREATES_PER_MINUTE = inf\n\
             ENABLE_LOGROTATION = False\nENABLE_TAGS = False\nLOG_UPDATES = False\nWHISPER_AUTOFLUSH = True\n",
            lines, pickle, query
        );
        std::fs::write(folder.path().join("carbon.conf"), settings).expect("settings");
        let schemas = "[all]\npattern = .*\nretentions = 1s:10m\n";
        std::fs::write(folder.path().join("storage-schemas.conf"), schemas).expect("schemas");
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, lines)), folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts carbon, and waits until it takes lines.
    pub(crate) fn start(&self) -> Carbon {
        let mut command = Command::new("carbon-cache");
        command.arg(format!("--config={}", self.file("carbon.conf").display()));
        command.args(["--nodaemon", "--debug", "start"]).current_dir(self.folder.path());
        // A carbon that was killed has left its number.
        let _ = std::fs::remove_file(self.file("carbon-cache-a.pid"));
        let log = std::fs::File::create(self.file("said.log")).expect("a log");
        let child = command.stdout(log.try_clone().expect("a log")).stderr(log).stdin(Stdio::null()).spawn();
        let carbon = Carbon(child.expect("carbon starts"));
        wait_until("carbon takes lines", || TcpStream::connect(self.address).is_ok());
        carbon
    }

    /// Everything in its files, as soon as `wanted` says yes to it. Carbon makes one file after the other: until no further one has
    /// come, some are missing.
    pub(crate) fn values_when(&self, wanted: impl Fn(&Values) -> bool) -> Values {
        let mut files_before = 0;
        wait_for("the values are in the files of carbon", || {
            let values = self.values();
            let are_all_made = std::mem::replace(&mut files_before, values.len()) == values.len();
            if are_all_made && wanted(&values) {
                return Some(values);
            }
            // A file takes carbon some milliseconds: it has to have the time for some.
            std::thread::sleep(Duration::from_millis(300));
            None
        })
    }

    fn values(&self) -> Values {
        let mut python = Command::new("/usr/bin/python3");
        let output = python.args(["-c", READ]).arg(self.file("whisper")).output().expect("Python");
        let said = String::from_utf8_lossy(&output.stderr);
        // A file that is being made is no file of carbon yet.
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            assert!(said.contains("whisper"), "{error}: {said}");
            Values::new()
        })
    }
}

/// A configuration of the workspace with further tables, in a folder.
pub(crate) fn configuration(name: &str, tables: &str, folder: &Path) -> PathBuf {
    let shipped = crate::common::workspace().join("configs").join(name);
    let text = std::fs::read_to_string(&shipped).expect("a shipped configuration");
    let configs = shipped.parent().expect("a folder").display().to_string();
    // Files that it names are next to it.
    let text = ["reference-2018", "isis"]
        .iter()
        .fold(text, |text, inner| text.replace(&format!("\"{inner}/"), &format!("\"{configs}/{inner}/")));
    let path = folder.join(name);
    std::fs::write(&path, format!("{text}\n{tables}")).expect("a configuration");
    path
}

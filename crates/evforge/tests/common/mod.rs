//! Live runs of the real program, for the tests.
#![allow(dead_code)]

pub(crate) mod commands;
pub(crate) mod kafka;
pub(crate) mod wire;

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_evforge");

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Commands that refuse files that exist.
const WRITING: [&str; 10] =
    ["run", "simulate", "record", "replay", "dump", "overlay", "score", "accuracy", "send", "receive"];

/// `--overwrite` for the commands that have it: tests write to the same names again.
pub(crate) fn overwriting(arguments: &[&str]) -> Option<&'static str> {
    arguments.first().filter(|command| WRITING.contains(command)).map(|_| "--overwrite")
}

/// Runs the program, which must succeed. Files that exist are replaced.
pub(crate) fn evforge(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).args(overwriting(arguments)).output().expect("the program starts");
    let said = || text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}", said());
    output
}

/// Sends a signal, by its name without SIG.
pub(crate) fn send_signal(process: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status();
    assert!(status.expect("kill").success(), "{name}");
}

/// Waits until something is so; a minute at most, as nothing here takes so long unless it hangs.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    const PATIENCE: Duration = Duration::from_secs(60);
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command lines of all processes, with blanks between arguments, by their numbers.
pub(crate) fn command_lines() -> Vec<(u32, String)> {
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let of = |process: std::fs::DirEntry| {
        let number = process.file_name().to_string_lossy().parse().ok()?;
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        Some((number, text(&line).replace('\0', " ")))
    };
    processes.filter_map(of).collect()
}

/// The Python with the packages of `tests/python/requirements.txt`.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let interpreter = std::env::var_os("EVFORGE_PYTHON")
        .map_or_else(|| workspace().join(".venv/bin/python"), PathBuf::from);
    // The packages take seconds to import: one test of a program tries for all.
    static HAS_PACKAGES: OnceLock<bool> = OnceLock::new();
    let has_packages = *HAS_PACKAGES.get_or_init(|| {
        let mut probe = Command::new(&interpreter);
        probe.args(["-c", "import h5py, scipp, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    if has_packages {
        return Some(interpreter);
    }
    evforge_testkit::skip(
        test,
        &format!(
            "{} cannot import h5py and scippnexus: `make test-tools` installs it",
            interpreter.display()
        ),
    );
    None
}

/// A live run under way, killed if the test ends early.
pub(crate) struct LiveProgram {
    child: Child,
    /// Where it receives.
    pub(crate) address: String,
    report: PathBuf,
    events: PathBuf,
}

impl Drop for LiveProgram {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LiveProgram {
    /// Starts a run that ends a second after the last packet, on a port that the kernel chooses; `further` are
    /// further arguments.
    pub(crate) fn start(config: &Path, folder: &Path, further: &[&str]) -> Self {
        let further = [&["--address", "127.0.0.1"], further].concat();
        Self::start_by(Command::new(PROGRAM), config, folder, &further)
    }

    /// The same, by a command that runs the program with the arguments after its own; `further` says the address.
    pub(crate) fn start_by(mut command: Command, config: &Path, folder: &Path, further: &[&str]) -> Self {
        let (report, events) = (folder.join("live.json"), folder.join("live.csv"));
        command.args(["run", "--overwrite", "--port", "0", "--idle", "1s", "--for", "60s", "--config"]);
        command.arg(config).arg("--report").arg(&report).arg("--events").arg(&events);
        command.args(further);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut said = String::new();
        let address = loop {
            let Some(line) = lines.next() else { panic!("the program does not receive: {said}") };
            let line = line.expect("text");
            said.push_str(&line);
            if let Some(address) = line.strip_prefix("receiving at UDP ") {
                break address.to_owned();
            }
        };
        // Somebody must go on reading, or the program could stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, report, events }
    }

    /// Number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        send_signal(self.child.id(), name);
    }

    /// Waits for the end, which must be a good one: the stream of its report, and its events.
    pub(crate) fn finish(self) -> (Value, String) {
        let (success, stream, events) = self.outcome();
        assert!(success);
        (stream, events)
    }

    /// Waits for the end: whether it was a good one, the stream of its report, and its events.
    pub(crate) fn outcome(mut self) -> (bool, Value, String) {
        let success = self.child.wait().expect("it ends").success();
        let report: Value =
            serde_json::from_slice(&std::fs::read(&self.report).expect("a report")).expect("JSON");
        let events = std::fs::read_to_string(&self.events).expect("events");
        (success, report["streams"][0].clone(), events)
    }
}

//! The program under way, with everything that it says.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_evforge");
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program under way, killed if the test ends early.
pub(crate) struct Program {
    child: Child,
    said: Arc<Mutex<String>>,
    printed: Arc<Mutex<String>>,
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads to the end, and lets others see what has come.
fn follow(
    mut source: impl std::io::Read + Send + 'static,
) -> (Arc<Mutex<String>>, std::thread::JoinHandle<()>) {
    let text = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&text);
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = source.read(&mut piece) {
            seen.lock().expect("no panic").push_str(&String::from_utf8_lossy(&piece[..length]));
        }
    });
    (text, reader)
}

/// Waits until something is so.
pub(crate) fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Program {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (printed, first) = follow(child.stdout.take().expect("piped"));
        let (said, second) = follow(child.stderr.take().expect("piped"));
        Self { child, said, printed, readers: vec![first, second] }
    }

    /// What it has said on standard error up to now.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until it says something.
    pub(crate) fn await_said(&mut self, words: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.said().contains(words) {
            let has_ended = self.child.try_wait().expect("a child").is_some() && !self.said().contains(words);
            assert!(!has_ended && Instant::now() < end, "it does not say {words}: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The address that it receives at, once it does.
    pub(crate) fn address(&mut self) -> String {
        self.await_said("received by");
        let said = self.said();
        let line = said.lines().find_map(|line| line.strip_prefix("receiving at UDP "));
        line.expect("an address").to_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().expect("kill").success());
    }

    /// Waits for its end: whether it was a good one, what it has printed, and what it has said on standard error.
    pub(crate) fn end(mut self) -> (bool, String, String) {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < end, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        };
        self.readers.drain(..).for_each(|reader| reader.join().expect("no panic"));
        let printed = self.printed.lock().expect("no panic").clone();
        (status.success(), printed, self.said())
    }
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// The program with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// A configuration that is shipped.
pub(crate) fn config(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    path_text(&path).to_owned()
}

/// A simulated capture of so many pulses.
pub(crate) fn simulated(folder: &Path, name: &str, pulses: &str) -> PathBuf {
    let path = folder.join(name);
    let config = config("gdgem-srs.toml");
    let output = run(&["simulate", "--config", &config, "--pulses", pulses, "--output", path_text(&path)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

/// Sends a capture to an address.
pub(crate) fn replay(capture: &Path, address: &str) {
    let output = run(&["replay", path_text(capture), "--to", address, "--rate", "5kpps"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The first file of a folder whose name begins so.
pub(crate) fn find(folder: &Path, beginning: &str) -> Option<PathBuf> {
    names(folder).into_iter().find(|name| name.starts_with(beginning)).map(|name| folder.join(name))
}

//! The process of a broker: started by `scripts/kafka.sh serve`, killed with whoever started it.

use rustix::process::{Pid, Signal, kill_process};
use std::fmt::{Display, Formatter};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka.sh")
}

/// What a broker lacks to run here.
pub(super) fn what_is_missing() -> Option<String> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let check = || match Command::new(script()).arg("check").output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("{} cannot be started: {error}", script().display())),
    };
    MISSING.get_or_init(check).clone()
}

/// A running broker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    log: Log,
}

/// What a broker says. Shown, it is the end of that.
#[derive(Clone, Debug)]
pub(super) struct Log(PathBuf);

impl Display for Log {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let log = std::fs::read_to_string(&self.0).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        formatter.write_str(&lines[lines.len().saturating_sub(40)..].join("\n"))
    }
}

impl Process {
    /// Starts one.
    pub(super) fn launch(folder: &Path, node: usize, port: u16, voters: &str, lines: &[String]) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let log = folder.join("log");
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        // The kernel kills it with the thread that started it, so that no broker is left behind by a test program that is killed.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(script()).arg("serve").arg(folder);
        command.args([node.to_string(), port.to_string(), voters.to_owned()]).args(lines);
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a log")).stderr(file);
        Self { child: start(command), log: Log(log) }
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the broker runs");
    }

    /// What it said if it has ended.
    pub(super) fn has_ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().expect("a child")?;
        Some(format!("{status}: {}", self.log))
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes a folder once this program has ended, in whatever way: what is static is never dropped.
pub(super) fn remove_at_the_end(folder: &Path) {
    // The pipe is closed then. The broker is killed at the same moment, and may write something still.
    let mut command = Command::new("sh");
    command.args(["-c", "cat; until rm -rf -- \"$0\"; do sleep 0.1; done"]).arg(folder);
    let remover = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    std::mem::forget(remover.expect("sh starts"));
}

type Request = (Command, Sender<std::io::Result<Child>>);

/// Starts a program from a thread that lives as long as this program: those of tests end before, and their children with them.
fn start(command: Command) -> Child {
    static STARTER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (give, take) = channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, answer) in take {
                // Nobody waits for it any more: then it is not needed either.
                if let Err(unheard) = answer.send(command.spawn())
                    && let Ok(mut child) = unheard.0
                {
                    let _ = child.kill();
                }
            }
        });
        Mutex::new(give)
    });
    let (give, take) = channel();
    // A test that panics here has not changed anything.
    let starter = starter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    starter.send((command, give)).expect("the starting thread lives");
    drop(starter);
    take.recv().expect("the starting thread lives").expect("setpriv (util-linux) starts")
}

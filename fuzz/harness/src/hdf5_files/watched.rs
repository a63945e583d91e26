//! A child, and how it ends.

use super::Reader;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long reading a file may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Files that a child reads before another one takes its place.
const AT_MOST: usize = 200;

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was read.
    Read,
    /// It was refused, with this sentence.
    Refused(String),
    /// The child has panicked, or had no memory: ours to mend.
    Panicked(String),
    /// A signal has ended the child: the crates that read forbid what could do that, so it is the library.
    Crashed {
        /// Its number.
        signal: i32,
        /// What was said last.
        said: String,
    },
    /// It took too long.
    Hung,
}

impl Outcome {
    /// In one word, for sums.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Refused(_) => "refused",
            Self::Panicked(_) => "panicked",
            Self::Crashed { .. } => "crashed",
            Self::Hung => "hung",
        }
    }
}

/// A child that reads files.
#[derive(Debug)]
pub struct Watched {
    make: fn() -> Command,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    files: ChildStdin,
    answers: Receiver<String>,
    errors: Receiver<String>,
    read: usize,
}

impl Watched {
    /// A child that `make` starts and that calls [`serve_child`](super::serve_child).
    pub fn new(make: fn() -> Command) -> Self {
        Self { make, running: None }
    }

    /// Has a file read.
    ///
    /// # Errors
    /// If no child can be started.
    pub fn read(&mut self, reader: Reader, path: &Path) -> std::io::Result<Outcome> {
        if self.running.as_ref().is_some_and(|running| running.read >= AT_MOST) {
            self.end();
        }
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start((self.make)())?,
        };
        running.read += 1;
        let asked = writeln!(running.files, "{} {}", reader.name(), path.display());
        let answer = asked.map_err(|_| RecvTimeoutError::Disconnected).and_then(|()| running.answer());
        match answer {
            Ok(answer) => {
                self.running = Some(running);
                Ok(match answer.strip_prefix("refused ") {
                    Some(why) => Outcome::Refused(why.to_owned()),
                    None => Outcome::Read,
                })
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = running.child.kill();
                let _ = running.child.wait();
                Ok(Outcome::Hung)
            }
            Err(RecvTimeoutError::Disconnected) => running.ended(),
        }
    }

    fn end(&mut self) {
        if let Some(Running { mut child, files, .. }) = self.running.take() {
            drop(files);
            let _ = child.wait();
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}

impl Running {
    fn start(mut command: Command) -> std::io::Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let missing = || std::io::Error::other("a child without its pipes");
        let files = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let (give, answers) = channel();
        std::thread::spawn(move || {
            let is_answer = |line: &String| line == "read" || line.starts_with("refused ");
            for line in BufReader::new(stdout).lines().map_while(Result::ok).filter(is_answer) {
                if give.send(line).is_err() {
                    return;
                }
            }
        });
        let (give, errors) = channel();
        std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said);
            let _ = give.send(String::from_utf8_lossy(&said).into_owned());
        });
        Ok(Self { child, files, answers, errors, read: 0 })
    }

    fn answer(&self) -> Result<String, RecvTimeoutError> {
        self.answers.recv_timeout(PATIENCE)
    }

    /// How a child has ended that has not answered.
    fn ended(mut self) -> std::io::Result<Outcome> {
        let status = self.child.wait()?;
        let said = self.errors.recv().unwrap_or_default();
        let last: String = {
            let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(4)..].join(" | ")
        };
        let is_ours = said.contains("panicked at") || said.contains("memory allocation of");
        Ok(match status.signal() {
            Some(signal) if !is_ours => Outcome::Crashed { signal, said: last },
            _ => Outcome::Panicked(last),
        })
    }
}

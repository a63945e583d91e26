//! The program under way, with everything that it says.

use super::send_signal;
use evforge_testkit::patience::wait_for;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

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

    /// What it has printed up to now.
    pub(crate) fn printed(&self) -> String {
        self.printed.lock().expect("no panic").clone()
    }

    /// Waits until it says something.
    pub(crate) fn await_said(&self, words: &str) {
        self.wait_for(words, || self.said().contains(words).then_some(()));
    }

    /// Waits until it has said or printed a line with these words: what is behind them.
    pub(crate) fn await_line(&self, words: &str) -> String {
        self.wait_for(words, || {
            let text = self.printed() + &self.said();
            let (line, _) = text.split_once(words)?.1.split_once('\n')?;
            Some(line.trim().to_owned())
        })
    }

    /// Waits until an attempt returns something, which must be before it ends.
    pub(crate) fn wait_for<T>(&self, what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
        wait_for(what, || {
            let has_ended = self.has_ended();
            let found = attempt();
            assert!(
                found.is_some() || !has_ended,
                "it has ended before {what}: {}{}",
                self.printed(),
                self.said()
            );
            found
        })
    }

    /// Whether it has ended, and all is known that it has said.
    pub(crate) fn has_ended(&self) -> bool {
        self.readers.iter().all(std::thread::JoinHandle::is_finished)
    }

    /// The address that it receives at, once it does.
    pub(crate) fn address(&self) -> String {
        self.await_said("received by");
        self.await_line("receiving at UDP ")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        send_signal(self.child.id(), name);
    }

    /// Waits for its end: whether it was a good one, what it has printed, and what it has said on standard error.
    pub(crate) fn end(self) -> (bool, String, String) {
        let (status, printed, said) = self.ended();
        (status.success(), printed, said)
    }

    /// The same with its status.
    pub(crate) fn ended(mut self) -> (ExitStatus, String, String) {
        let status = wait_for("its end", || self.child.try_wait().expect("a child"));
        self.readers.drain(..).for_each(|reader| reader.join().expect("no panic"));
        (status, self.printed(), self.said())
    }
}

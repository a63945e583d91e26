//! A thread that asks the disk to keep what was written, because the answer can take seconds.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::space::DiskSpace;

/// Questions at most that wait for their answer: one for what a commit has written, one for the word that it is there.
const QUESTIONS: usize = 4;

/// Asks the disk. The thread ends after the question at hand when this is dropped.
#[derive(Debug)]
pub struct Syncer {
    questions: SyncSender<()>,
    answers: Receiver<io::Result<()>>,
    open: usize,
}

impl Syncer {
    /// Starts the thread for a file in `folder`, whose name for it is kept first.
    ///
    /// # Errors
    /// If the operating system starts no more threads.
    pub fn start(file: File, folder: PathBuf, space: Arc<dyn DiskSpace>) -> io::Result<Self> {
        let (questions, asked) = sync_channel(QUESTIONS);
        let (answer, answers) = sync_channel(QUESTIONS);
        thread::Builder::new().name("sync".into()).spawn(move || {
            // Where a folder cannot be synchronised, the file system keeps its names in another way.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
            while let Ok(()) = asked.recv() {
                if answer.send(space.sync(&file)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { questions, answers, open: 0 })
    }

    /// Asks that everything written until now is kept. At most twice without waiting for the answers.
    pub fn ask(&mut self) {
        // A thread that has ended gives no answer, which is said then.
        let _ = self.questions.try_send(());
        self.open += 1;
    }

    /// Waits for the answers to all that was asked. None if they are not there in time.
    pub fn wait(&mut self, at_most: Duration) -> Option<io::Result<()>> {
        let begin = Instant::now();
        while self.open > 0 {
            match self.answers.recv_timeout(at_most.saturating_sub(begin.elapsed())) {
                Ok(Ok(())) => self.open -= 1,
                Ok(Err(error)) => return Some(Err(error)),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Err(io::Error::other("the thread that waits for the disk has ended")));
                }
            }
        }
        Some(Ok(()))
    }
}

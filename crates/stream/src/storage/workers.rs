//! Threads that compress chunks while events go on arriving.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

use rustix::process::{getpriority_process, setpriority_process};

use super::packer::{Chunk, Packer};

/// By how much these threads are nicer than the one that starts them: forming and receiving come first where all cores are
/// busy.
const NICER: i32 = 5;

/// A chunk to be compressed, and where to say what has become of it.
struct Job {
    plain: Vec<u8>,
    width: usize,
    reply: SyncSender<Chunk>,
}

/// The threads of one file. Without any, chunks are compressed at once by whoever submits them.
pub struct Workers {
    /// None once they are to end, and without threads.
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
    own: Packer,
}

impl fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Workers({})", self.threads.len())
    }
}

impl Workers {
    /// How many there are if nobody says: half of the cores, at least one and at most four.
    pub fn default_count() -> usize {
        thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4))
    }

    /// Starts so many threads, which compress with this level.
    ///
    /// # Errors
    /// If the operating system starts no more threads.
    pub fn start(count: usize, level: u8) -> io::Result<Self> {
        let mut workers = Self { jobs: None, threads: Vec::with_capacity(count), own: Packer::new(level) };
        if count == 0 {
            return Ok(workers);
        }
        // One for each to go on with; a writer that is faster waits.
        let (sender, jobs) = sync_channel(2 * count);
        workers.jobs = Some(sender);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..count {
            let jobs = Arc::clone(&jobs);
            let builder = thread::Builder::new().name(format!("compress-{number}"));
            workers.threads.push(builder.spawn(move || work(&jobs, level))?);
        }
        Ok(workers)
    }

    /// Hands a chunk of values of `width` bytes over. The receiver gets the result, or an error if its thread has ended.
    pub fn submit(&mut self, plain: Vec<u8>, width: usize) -> Receiver<Chunk> {
        let (reply, result) = sync_channel(1);
        match &self.jobs {
            // Without a thread to take it, `reply` is dropped, and the receiver knows.
            Some(jobs) => drop(jobs.send(Job { plain, width, reply })),
            None => drop(reply.send(self.own.pack(plain, width))),
        }
        result
    }

    /// Bytes at most of what the threads have in their hands, for chunks of so many bytes.
    pub fn memory_bound(count: usize, chunk: usize) -> usize {
        // Each has a chunk, its shuffled and its packed form, and the result; two more chunks for each wait.
        (count + 1) * 4 * (chunk + chunk / 8) + 2 * count * chunk
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // One that has panicked has said so, and its chunks are missed by whoever waits for them.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, level: u8) {
    // Without that they compete with forming on equal terms, which is what happens where it is not allowed.
    if let Ok(own) = getpriority_process(None) {
        let _ = setpriority_process(None, (own + NICER).min(19));
    }
    let mut packer = Packer::new(level);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { plain, width, reply }) = job else { return };
        // Nobody waits any more for a file that was given up.
        let _ = reply.send(packer.pack(plain, width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_testkit::patience::wait_until;

    #[test]
    fn any_number_of_threads_makes_the_same() {
        let chunk = |seed: u32| -> Vec<u8> {
            (0..2000_u32).flat_map(|index| (index * seed % 977).to_ne_bytes()).collect()
        };
        let all = |count: usize| -> Vec<Chunk> {
            let mut workers = Workers::start(count, 2).unwrap();
            let results: Vec<_> = (1..40).map(|seed| workers.submit(chunk(seed), 4)).collect();
            results.into_iter().map(|result| result.recv().unwrap()).collect()
        };
        let expected = all(0);
        assert!(expected.iter().all(|chunk| !chunk.is_plain));
        assert_eq!(all(1), expected);
        assert_eq!(all(3), expected);
    }

    #[test]
    fn a_thread_that_dies_is_noticed() {
        let mut workers = Workers::start(1, 2).unwrap();
        // Values of no bytes: no caller has any.
        let lost = workers.submit(vec![1; 100], 0);
        assert!(lost.recv().is_err());
        wait_until("the end of the thread", || workers.threads[0].is_finished());
        assert!(workers.submit(vec![1; 100], 4).recv().is_err());
    }
}

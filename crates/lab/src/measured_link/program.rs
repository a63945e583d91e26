//! A program that takes part in a measurement.

use super::MeasureError;
use super::threads::{ThreadTimes, stat_time};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How much longer than its packets a program may take to start, or to end: a slow receiver has a full buffer of packets left, and the
/// host other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
/// Time between looks at its threads: looking costs a system call for each of them.
const THREADS_POLL: Duration = Duration::from_millis(50);
/// What a receiver says when it is ready.
const READY: &str = "receiving at ";
/// What a node of trains says when it is ready, before the number of its module.
const READY_MODULE: &str = "receiving module ";
/// What a run says of its live view.
const PAGE: &str = "live view at http://";
/// What is kept of what a program says, in bytes.
const MOST_SAID: u64 = 100_000;

/// A time, for an option.
pub(crate) fn nanoseconds(time: Duration) -> String {
    format!("{}ns", time.as_nanos())
}

/// A program under way, killed when dropped.
pub(crate) struct Program {
    child: Child,
    /// With its arguments.
    command: String,
    said: std::sync::mpsc::Receiver<String>,
    /// Lines that were read while another one was waited for.
    heard: Vec<String>,
    processor: Duration,
    threads: ThreadTimes,
}

impl Program {
    pub(crate) fn start(mut command: Command, name: &str) -> Result<Self, MeasureError> {
        let arguments: Vec<OsString> = command.get_args().map(Into::into).collect();
        let line: Vec<String> = arguments.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|source| MeasureError::Start { program: name.to_owned(), source })?;
        let (tell, said) = channel();
        if let Some(errors) = child.stderr.take() {
            // It must be read to its end, or the program could stop at a full pipe; what nobody asks for is dropped.
            std::thread::spawn(move || {
                let mut errors = BufReader::new(errors);
                for line in errors.by_ref().take(MOST_SAID).lines().map_while(Result::ok) {
                    let _ = tell.send(line);
                }
                drop(tell);
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            });
        }
        Ok(Self {
            child,
            command: format!("{name}: {}", line.join(" ")),
            said,
            heard: Vec::new(),
            processor: Duration::ZERO,
            threads: ThreadTimes::default(),
        })
    }

    /// Waits until it says a line with this in it, or takes one that it has said already.
    fn wait_for(&mut self, wanted: &str) -> Result<String, MeasureError> {
        if let Some(place) = self.heard.iter().position(|line| line.contains(wanted)) {
            return Ok(self.heard.remove(place));
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.said.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(wanted) => return Ok(line),
                Ok(line) => self.heard.push(line),
                Err(RecvTimeoutError::Timeout) => return Err(self.failed("it is not ready")),
                Err(RecvTimeoutError::Disconnected) => {
                    let last = self.heard.last().cloned().unwrap_or_default();
                    return Err(self.failed(&last));
                }
            }
        }
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// If it takes longer than `most`, or `stop` is set.
    pub(crate) fn wait(&mut self, most: Duration, stop: &AtomicBool) -> Result<ExitStatus, MeasureError> {
        let end = Instant::now() + most;
        let mut looked: Option<Instant> = None;
        loop {
            if looked.is_none_or(|looked| looked.elapsed() >= THREADS_POLL) {
                self.threads.keep_latest(ThreadTimes::of(self.child.id()));
                looked = Some(Instant::now());
            }
            if let Some(used) = processor_time(self.child.id()) {
                self.processor = used;
            }
            let status = self.child.try_wait();
            let status =
                status.map_err(|source| MeasureError::Start { program: self.command.clone(), source })?;
            if let Some(status) = status {
                return Ok(status);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(MeasureError::Stopped);
            }
            if Instant::now() > end {
                return Err(self.failed(&format!("it has not ended within {most:?}")));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Waits until it has ended well.
    ///
    /// # Errors
    /// As [`Program::wait`], and if its status is not good.
    pub(crate) fn wait_good(&mut self, most: Duration, stop: &AtomicBool) -> Result<(), MeasureError> {
        let status = self.wait(most, stop)?;
        self.check(status)
    }

    /// The processor time of all its threads, as [`Program::wait`] has seen it last: to 10 ms.
    pub(crate) fn processor(&self) -> Duration {
        self.processor
    }

    /// The processor time of each of its threads up to now, or up to where [`Program::wait`] has seen it last: to 10 ms.
    pub(crate) fn threads(&mut self) -> &ThreadTimes {
        self.threads.keep_latest(ThreadTimes::of(self.child.id()));
        &self.threads
    }

    /// The processor time of all its threads up to now: to 10 ms. None if it has ended.
    pub(crate) fn processor_now(&self) -> Option<Duration> {
        processor_time(self.child.id())
    }

    /// An error with what it said last, unless its status is good.
    pub(crate) fn check(&self, status: ExitStatus) -> Result<(), MeasureError> {
        if status.success() {
            return Ok(());
        }
        let lines: Vec<String> = self.heard.iter().cloned().chain(self.said.iter()).collect();
        let tail = lines[lines.len().saturating_sub(3)..].join(" / ");
        Err(self.failed(&format!("{status}: {tail}")))
    }

    /// The next address at which it says that it receives.
    pub(crate) fn address(&mut self) -> Result<SocketAddr, MeasureError> {
        self.address_behind(READY)
    }

    /// The address at which it says that it receives a module.
    pub(crate) fn address_of_module(&mut self) -> Result<SocketAddr, MeasureError> {
        self.address_behind(READY_MODULE)
    }

    fn address_behind(&mut self, ready: &str) -> Result<SocketAddr, MeasureError> {
        let line = self.wait_for(ready)?;
        // `at` is in what is waited for, or behind it; UDP or TCP, then the address.
        let said = line.split_once(" at ").and_then(|(_, said)| said.split_whitespace().nth(1));
        let address = said.and_then(|address| address.parse().ok());
        address.ok_or_else(|| self.failed(&format!("no address in `{line}`")))
    }

    /// The address at which it says that its live view is.
    pub(crate) fn page(&mut self) -> Result<SocketAddr, MeasureError> {
        let line = self.wait_for(PAGE)?;
        let address = line.split_once(PAGE).and_then(|(_, address)| address.trim().parse().ok());
        address.ok_or_else(|| self.failed(&format!("no address of a page in `{line}`")))
    }

    pub(crate) fn failed(&self, said: &str) -> MeasureError {
        MeasureError::Failed { program: self.command.clone(), said: said.to_owned() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// User and system time of a process; none if it has ended.
fn processor_time(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    of_stat(&text)
}

/// As [`stat_time`]; what has ended and was not waited for has no time of its own any more.
fn of_stat(text: &str) -> Option<Duration> {
    stat_time(text).filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_a_name_with_anything_in_it() {
        let text = "7 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0\n";
        assert_eq!(of_stat(text), Some(Duration::from_secs(2)));
        assert_eq!(of_stat("7 (a"), None);
        assert_eq!(of_stat("7 (a) Z 1 2 3 4 5 6 7 8 9 10 0 0 0 0"), None);
    }
}

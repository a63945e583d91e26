//! Programs that look at a run again and again, each in a thread of this process.

use crate::measured_link::MeasureError;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The kernel's tables of this network namespace in which lost packets are counted, and the sockets.
const TABLES: [&str; 5] = [
    "/proc/self/net/snmp",
    "/proc/self/net/netstat",
    "/proc/self/net/dev",
    "/proc/self/net/udp",
    "/proc/self/net/softnet_stat",
];
/// Time between readings of the kernel's tables.
const TABLES_INTERVAL: Duration = Duration::from_millis(1);
/// Time between questions for the metrics.
const METRICS_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is looked whether to end.
const LOOK: Duration = Duration::from_millis(20);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Something that is done at an interval, until it is finished.
pub(super) struct Polling {
    what: &'static str,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<u64, String>>>,
}

impl Polling {
    /// Reads the kernel's tables every millisecond.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub(super) fn of_tables() -> Result<Self, MeasureError> {
        Self::begin("reading the kernel's tables", TABLES_INTERVAL, || {
            for table in TABLES {
                std::fs::read(table).map_err(|error| format!("{table}: {error}"))?;
            }
            Ok(())
        })
    }

    /// Asks a page for its metrics once a second.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub(super) fn of_metrics(page: SocketAddr) -> Result<Self, MeasureError> {
        let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        let address = format!("http://{page}/metrics");
        Self::begin("asking for metrics", METRICS_INTERVAL, move || {
            let failed = |error: ureq::Error| format!("{address}: {error}");
            let text =
                agent.get(&address).call().map_err(failed)?.body_mut().read_to_string().map_err(failed)?;
            match text.lines().any(|line| line.starts_with("evforge_")) {
                true => Ok(()),
                false => Err(format!("{address}: there is no metric of evforge in the answer")),
            }
        })
    }

    fn begin(
        what: &'static str,
        interval: Duration,
        mut look: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<Self, MeasureError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let (mut times, mut due) = (0, Instant::now());
            while !stopped.load(Ordering::Relaxed) {
                let left = due.saturating_duration_since(Instant::now());
                if !left.is_zero() {
                    std::thread::sleep(left.min(LOOK));
                    continue;
                }
                look()?;
                times += 1;
                // What takes longer than the interval makes the next one later, not two at once.
                due = (due + interval).max(Instant::now());
            }
            Ok(times)
        };
        let thread = std::thread::Builder::new().name("polling".into()).spawn(work);
        let thread = thread.map_err(|source| MeasureError::Start { program: what.to_owned(), source })?;
        Ok(Self { what, stop, thread: Some(thread) })
    }

    /// Ends it soon.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends it: how often it has looked.
    ///
    /// # Errors
    /// What it could not do.
    pub(super) fn finish(mut self) -> Result<u64, MeasureError> {
        self.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        let ended = ended.unwrap_or_else(|| Ok(Err("it has ended already".into())));
        let ended = ended.unwrap_or_else(|_| Err("its thread has panicked".into()));
        ended.map_err(|said| MeasureError::Failed { program: self.what.to_owned(), said })
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_testkit::patience::wait_until;

    #[test]
    fn the_tables_are_there_and_what_fails_is_told() {
        wait_until("a look", || {
            let polling = Polling::of_tables().expect("a thread");
            std::thread::sleep(Duration::from_millis(5));
            polling.finish().expect("tables") > 0
        });
        let failing = Polling::begin("trying", Duration::ZERO, || Err("no luck".into())).expect("a thread");
        wait_until("its end", || failing.thread.as_ref().is_some_and(JoinHandle::is_finished));
        let error = failing.finish().expect_err("it fails").to_string();
        assert!(error.contains("no luck"), "{error}");
    }
}

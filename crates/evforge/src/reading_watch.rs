//! Who looks whether a file is still being read. The HDF5 library runs in circles on some damaged files, where no signal reaches it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a step may still take once the end was asked for.
const AT_THE_END: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(200);

/// Ends the process if no step of reading comes to its end; for commands that do nothing else.
pub(crate) struct ReadingWatch {
    steps: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl ReadingWatch {
    /// How long one step of reading may take: slow disks take seconds.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

    /// Watches who reads `path`, from now on, of which a step may take so long. `stop` is what asks for the end.
    ///
    /// # Errors
    /// If the host gives no thread.
    pub(crate) fn start(path: &Path, patience: Duration, stop: &Arc<AtomicBool>) -> io::Result<Self> {
        let watch = Self { steps: Arc::default(), is_over: Arc::default() };
        let (steps, is_over, stop) = (Arc::clone(&watch.steps), Arc::clone(&watch.is_over), Arc::clone(stop));
        let path = path.to_owned();
        std::thread::Builder::new().name("watch".into()).spawn(move || {
            let (mut known, mut since) = (0, Instant::now());
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                let now = steps.load(Ordering::Relaxed);
                if now != known {
                    (known, since) = (now, Instant::now());
                }
                let limit = if stop.load(Ordering::Relaxed) { AT_THE_END } else { patience };
                if since.elapsed() >= limit && !is_over.load(Ordering::Relaxed) {
                    eprintln!(
                        "evforge: {} is not read any further: the HDF5 library has not come back for {} s, as on some damaged files. \
                         Given up.",
                        path.display(),
                        since.elapsed().as_secs()
                    );
                    // At once: the library would be called once more by an end in good order.
                    signal_hook::low_level::exit(1);
                }
            }
        })?;
        Ok(watch)
    }

    /// A step has come to its end.
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ReadingWatch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

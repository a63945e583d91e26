//! When packets arrived, by the counter of the interface that they came in by.

use crate::measured_link::MeasureError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between looks at the counter: how well an arrival is known.
const LOOK: Duration = Duration::from_millis(1);

/// The count of packets over time. It is known each millisecond or so; in between it rises evenly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// When the count had been seen, and the packets up to then; both rise.
    counts: Vec<(Instant, u64)>,
}

impl Arrivals {
    #[cfg(test)]
    pub(super) fn of(counts: Vec<(Instant, u64)>) -> Self {
        Self { counts }
    }

    /// Packets in all.
    pub fn packets(&self) -> u64 {
        self.counts.last().map_or(0, |(_, packets)| *packets)
    }

    /// When the packet with this number arrived, counted from 1; fractions are in between. None if fewer came.
    pub fn when(&self, number: f64) -> Option<Instant> {
        let after = self.counts.partition_point(|(_, packets)| (*packets as f64) < number);
        let &(end, most) = self.counts.get(after)?;
        let Some(&(begin, least)) = after.checked_sub(1).and_then(|before| self.counts.get(before)) else {
            return Some(end);
        };
        let share = (number - least as f64) / (most - least) as f64;
        Some(begin + end.duration_since(begin).mul_f64(share.clamp(0.0, 1.0)))
    }

    fn see(&mut self, at: Instant, packets: u64) {
        match &mut self.counts[..] {
            // Nothing came since: the count holds from when it was first seen up to here.
            [.., (_, one), (last, two)] if *two == packets && *one == packets => *last = at,
            _ => self.counts.push((at, packets)),
        }
    }
}

/// Looks at the counter of an interface, in a thread of its own.
pub(super) struct ArrivalWatch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<std::io::Result<Arrivals>>>,
    file: PathBuf,
}

impl ArrivalWatch {
    /// Begins, before anything is sent.
    ///
    /// # Errors
    /// If there is no such interface.
    pub(super) fn begin(interface: &str) -> Result<Self, MeasureError> {
        let file = Path::new("/sys/class/net").join(interface).join("statistics/rx_packets");
        let start = count(&file).map_err(|error| unreadable(&file, &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, path) = (Arc::clone(&stop), file.clone());
        let thread = std::thread::Builder::new().name("arrivals".into()).spawn(move || {
            let mut arrivals = Arrivals::default();
            arrivals.see(Instant::now(), 0);
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                let packets = count(&path)?.saturating_sub(start);
                arrivals.see(Instant::now(), packets);
            }
            Ok(arrivals)
        });
        let thread = thread
            .map_err(|source| MeasureError::Start { program: "a look at the interface".into(), source })?;
        Ok(Self { stop, thread: Some(thread), file })
    }

    /// What has arrived up to now.
    ///
    /// # Errors
    /// If the counter could no longer be read.
    pub(super) fn finish(mut self) -> Result<Arrivals, MeasureError> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Ok(arrivals))) => Ok(arrivals),
            Some(Ok(Err(error))) => Err(unreadable(&self.file, &error)),
            Some(Err(_)) | None => Err(unreadable(&self.file, &"its thread has panicked")),
        }
    }
}

impl Drop for ArrivalWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn count(file: &Path) -> std::io::Result<u64> {
    let text = std::fs::read_to_string(file)?;
    text.trim()
        .parse()
        .map_err(|_| std::io::Error::other(format!("found `{}`, expected a number", text.trim())))
}

fn unreadable(file: &Path, why: &dyn std::fmt::Display) -> MeasureError {
    MeasureError::Failed { program: format!("counting packets in {}", file.display()), said: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_evenly_between_two_looks_and_none_arrives_while_the_count_stands() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut arrivals = Arrivals::default();
        for (ms, packets) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 10), (5, 10), (6, 10), (10, 50)] {
            arrivals.see(at(ms), packets);
        }
        assert_eq!(arrivals.counts.len(), 5, "{arrivals:?}");
        assert_eq!(arrivals.packets(), 50);
        assert_eq!(arrivals.when(5.0), Some(begin + Duration::from_micros(3500)));
        assert_eq!(
            (arrivals.when(10.0), arrivals.when(30.0), arrivals.when(50.0)),
            (Some(at(4)), Some(at(8)), Some(at(10)))
        );
        assert_eq!(arrivals.when(51.0), None);
        assert_eq!(Arrivals::default().when(1.0), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = ArrivalWatch::begin("no-such-link").map(|_| ()).expect_err("none").to_string();
        assert!(error.contains("no-such-link"), "{error}");
    }
}

//! What is measured, and how it is said.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Seconds of a measurement: by the clock, and of all threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) wall: f64,
    pub(super) cpu: f64,
}

impl Measured {
    /// Begins.
    pub(super) fn begin() -> Begun {
        Begun { at: Instant::now(), busy: processor_seconds() }
    }

    /// Cores in use.
    pub(super) fn cores(self) -> f64 {
        self.cpu / self.wall
    }
}

/// A measurement that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    at: Instant,
    busy: f64,
}

impl Begun {
    /// Ends it.
    pub(super) fn end(self) -> Measured {
        Measured { wall: self.at.elapsed().as_secs_f64(), cpu: processor_seconds() - self.busy }
    }
}

/// How a measurement goes on, looked at a hundred times a second.
#[derive(Debug)]
pub(super) struct Course {
    points: JoinHandle<Vec<Measured>>,
    is_over: Arc<AtomicBool>,
}

impl Course {
    /// Follows it in a thread of its own.
    pub(super) fn follow(begun: Begun) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let points = thread::spawn(move || {
            let mut points = vec![begun.end()];
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
                points.push(begun.end());
            }
            points
        });
        Self { points, is_over }
    }

    /// Ends that.
    pub(super) fn end(self) -> Points {
        self.is_over.store(true, Ordering::Relaxed);
        Points(self.points.join().unwrap_or_default())
    }
}

/// What was seen of a measurement.
#[derive(Debug)]
pub(super) struct Points(Vec<Measured>);

impl Points {
    /// As it was so many seconds after its beginning.
    pub(super) fn at(&self, wall: f64) -> Measured {
        let cpu =
            self.0.iter().find(|point| point.wall >= wall).or(self.0.last()).map_or(0.0, |point| point.cpu);
        Measured { wall, cpu }
    }
}

/// Seconds of processor time of all threads, in steps of 10 ms, those that have ended included.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = text.rsplit(')').next().unwrap_or_default();
    // Fields 14 and 15 of proc(5); the first one behind the name is the third.
    behind_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

/// The median, and the order statistics that hold it in 95 % of all cases, by the normal approximation.
pub(super) fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let reach = (0.98 * (values.len() as f64).sqrt()).ceil() as usize;
    let middle = values.len() / 2;
    let at =
        |index: usize| values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN);
    format!(
        "median {:.3}, 95 % interval {:.3} to {:.3}",
        at(middle),
        at(middle.saturating_sub(reach)),
        at(middle + reach)
    )
}

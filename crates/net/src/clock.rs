//! The clock that arrivals are stamped with, what a reading of it costs, and how well the cores agree about it.
//!
//! On Linux the standard library reads the clock without a call of the kernel, from the processor's time-stamp counter: the
//! kernel has checked that the counter runs evenly and alike on all cores, has calibrated it, and goes on watching it. Where
//! it does not trust it, it falls back to a slow clock outside of the processor; that is what [`ClockReport::warning`] is
//! for. A library of our own on top of the same counter saves some ten nanoseconds for each batch of packets
//! (docs/development/decisions/0012).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evforge_core::time::Clock;

use crate::affinity::{allowed_cores, pin_current_thread};

/// Nanoseconds since the Unix epoch.
pub fn wall_clock_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock of this host, for runs: see [`Clock`].
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose elapsed time begins now.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn unix_ns(&self) -> u64 {
        wall_clock_ns()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Readings that are timed.
const READINGS: u32 = 1000;
/// Exchanges between two cores, of which the fastest counts.
const EXCHANGES: u64 = 200;
/// Cores that are compared with the first one.
const MOST_CORES: usize = 15;
/// Clocks outside of the processor: a reading takes a microsecond and more, and waits for other cores.
const SLOW_SOURCES: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What is known about the clock of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockReport {
    /// What the kernel takes it from (`tsc`, `kvm-clock`, `hpet`); none if it does not tell.
    pub source: Option<String>,
    /// Mean cost of a reading.
    pub reading: Duration,
    /// The clocks of the cores that this process may use agree to within this, as far as an exchange between them can
    /// tell; none with a single core.
    pub cores_agree_to: Option<Duration>,
}

impl ClockReport {
    /// Measures; that takes some milliseconds.
    pub fn measure() -> Self {
        let begun = Instant::now();
        for _ in 0..READINGS {
            std::hint::black_box(SystemTime::now());
        }
        let reading = begun.elapsed() / READINGS;
        let source = std::fs::read_to_string(SOURCE).ok().map(|text| text.trim().to_owned());
        let cores = allowed_cores().unwrap_or_default();
        let others = cores.iter().skip(1).take(MOST_CORES);
        let cores_agree_to =
            cores.first().and_then(|&first| others.filter_map(|&other| offset_bound(first, other)).max());
        Self { source, reading, cores_agree_to }
    }

    /// What to tell if the clock is a slow one.
    pub fn warning(&self) -> Option<String> {
        let source = self.source.as_deref().filter(|source| SLOW_SOURCES.contains(source))?;
        Some(format!(
            "The kernel takes the time from {source}, and each reading costs {:?}: packets are lost sooner. See why it does \
             not trust the processor's counter: dmesg | grep -i clocksource. To try it nevertheless: echo tsc | sudo tee \
             {SOURCE}",
            self.reading
        ))
    }
}

impl fmt::Display for ClockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} ns a reading",
            self.source.as_deref().unwrap_or("system clock"),
            self.reading.as_nanos()
        )?;
        match self.cores_agree_to {
            Some(bound) => write!(f, ", cores agree to {} ns", bound.as_nanos()),
            None => Ok(()),
        }
    }
}

/// How far the clocks of two cores can be apart: a thread on each passes a reading to the other. Whatever the first one
/// reads before and after the other's answer bounds the other's clock; the narrowest bounds count. None if a thread cannot
/// be put on its core.
fn offset_bound(first: usize, second: usize) -> Option<Duration> {
    let origin = Instant::now();
    let now = || u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    // An odd number asks, the even one after it has been answered.
    let (turn, answer) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pin_current_thread(second).is_ok();
            for exchange in 0..EXCHANGES {
                while turn.load(Ordering::Acquire) != 2 * exchange + 1 {
                    std::hint::spin_loop();
                }
                answer.store(now(), Ordering::Relaxed);
                turn.store(2 * exchange + 2, Ordering::Release);
            }
            pinned
        });
        let asking = scope.spawn(|| {
            let pinned = pin_current_thread(first).is_ok();
            let mut narrowest: Option<(u64, u64)> = None;
            for exchange in 0..EXCHANGES {
                let before = now();
                turn.store(2 * exchange + 1, Ordering::Release);
                while turn.load(Ordering::Acquire) != 2 * exchange + 2 {
                    std::hint::spin_loop();
                }
                let (there, after) = (answer.load(Ordering::Relaxed), now());
                let width = after.saturating_sub(before);
                // The farthest that the other's reading can be from the moment at which it was taken.
                let bound = there
                    .saturating_sub(before)
                    .max(after.saturating_sub(there))
                    .max(before.saturating_sub(there).max(there.saturating_sub(after)));
                if narrowest.is_none_or(|(least, _)| width < least) {
                    narrowest = Some((width, bound));
                }
            }
            narrowest.filter(|_| pinned)
        });
        let pinned = answering.join().ok()?;
        let (_, bound) = asking.join().ok()??;
        pinned.then(|| Duration::from_nanos(bound))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_host_is_described() {
        let report = ClockReport::measure();
        let text = report.to_string();
        assert!(text.contains("ns a reading"), "{text}");
        let several = allowed_cores().is_ok_and(|cores| cores.len() > 1);
        assert_eq!(report.cores_agree_to.is_some(), several, "{text}");
    }

    #[test]
    fn a_slow_clock_comes_with_a_warning() {
        let report = |source: &str| ClockReport {
            source: Some(source.into()),
            reading: Duration::from_nanos(1200),
            cores_agree_to: None,
        };
        let text = report("hpet").warning().unwrap();
        assert!(text.contains("from hpet") && text.contains("1.2µs") && text.contains("dmesg"), "{text}");
        assert_eq!(report("tsc").warning(), None);
    }
}

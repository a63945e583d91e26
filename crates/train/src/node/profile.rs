//! Where the time of a receiving thread goes.

use std::time::{Duration, Instant};

/// What a receiving thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderStep {
    /// Waits in the kernel for packets, and fetches them.
    Receiving,
    /// Puts packets into their places, and checks trains that are whole.
    Assembling,
    /// Takes buffers back, looks for trains that have timed out, tells how far it is.
    Housekeeping,
}

impl ReaderStep {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Receiving, Self::Assembling, Self::Housekeeping];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receiving => "receiving",
            Self::Assembling => "assembling",
            Self::Housekeeping => "housekeeping",
        }
    }
}

/// Where the time of a receiving thread went.
///
/// The clock is read three times for each batch of packets and never for a packet, so that it can be left on: `evforge measure trains`
/// measures what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderProfile {
    times: [Duration; 3],
    /// Batches with packets.
    pub batches: u64,
    /// Batches without: nothing had come for 20 ms, or polling found nothing.
    pub empty: u64,
    /// Packets of the largest batch.
    pub largest: usize,
}

impl ReaderProfile {
    /// Time of a step.
    pub const fn time(&self, step: ReaderStep) -> Duration {
        self.times[step as usize]
    }

    /// Time of all steps.
    pub fn total(&self) -> Duration {
        self.times.iter().sum()
    }

    /// A step's part of all, 0 to 1.
    pub fn part(&self, step: ReaderStep) -> f64 {
        let total = self.total().as_secs_f64();
        if total > 0.0 { self.time(step).as_secs_f64() / total } else { 0.0 }
    }

    /// Packets came, or none.
    pub(super) fn batch(&mut self, packets: usize) {
        if packets == 0 {
            self.empty += 1;
        } else {
            self.batches += 1;
            self.largest = self.largest.max(packets);
        }
    }
}

/// Reads the clock between steps.
#[derive(Debug)]
pub(super) struct ProfileClock {
    profile: ReaderProfile,
    last: Option<Instant>,
}

impl ProfileClock {
    /// Nothing yet; without `is_on` it stays so.
    pub(super) fn new(is_on: bool) -> Self {
        Self { profile: ReaderProfile::default(), last: is_on.then(Instant::now) }
    }

    /// The step that is over.
    #[inline]
    pub(super) fn over(&mut self, step: ReaderStep) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.profile.times[step as usize] += now - *last;
            *last = now;
        }
    }

    pub(super) fn profile(&mut self) -> &mut ReaderProfile {
        &mut self.profile
    }

    pub(super) const fn is_on(&self) -> bool {
        self.last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_each_step_is_its_own_and_all_of_it_is_there() {
        let start = Instant::now();
        let mut clock = ProfileClock::new(true);
        std::thread::sleep(Duration::from_millis(2));
        clock.over(ReaderStep::Receiving);
        clock.over(ReaderStep::Assembling);
        std::thread::sleep(Duration::from_millis(1));
        clock.over(ReaderStep::Housekeeping);
        let (profile, all) = (*clock.profile(), start.elapsed());
        assert!(profile.time(ReaderStep::Receiving) >= Duration::from_millis(2));
        assert!(profile.time(ReaderStep::Housekeeping) >= Duration::from_millis(1));
        assert!(profile.total() <= all);
        assert!((ReaderStep::ALL.map(|step| profile.part(step)).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let mut off = ProfileClock::new(false);
        off.over(ReaderStep::Receiving);
        assert_eq!((off.is_on(), *off.profile()), (false, ReaderProfile::default()));
    }
}

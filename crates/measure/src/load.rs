//! What else a host is doing while something is measured on it.

use evforge_host::Host;
use evforge_metrics::parse::core_times;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// Cores that may be busy, all together, before a host counts as loaded: what services of an idle host take stays well below.
const IDLE: f64 = 0.2;
/// Share of the time that another virtual machine may take before it does.
const STOLEN: f64 = 0.01;

/// What a host did while nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// How long it was watched, in seconds.
    pub seconds: f64,
    /// Cores that are online.
    pub cores: u32,
    /// How many of them were busy, by the kernel's account of processor time: 0.25 is a quarter of one core.
    pub busy_cores: f64,
    /// Of the time of all cores, the share that the hypervisor gave to others: 0 to 1.
    pub stolen: f64,
    /// Load average over the last minute; none if the host does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
}

/// Processor time since the start of the host, in ticks, of all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    stolen: u64,
    all: u64,
    cores: u32,
}

impl Ticks {
    /// The text of `/proc/stat`; what guests take is in user and nice. None if it has no core.
    fn of(text: &str) -> Option<Self> {
        let cores = core_times(text);
        let mut sum =
            Self { cores: u32::try_from(cores.len()).ok().filter(|cores| *cores > 0)?, ..Self::default() };
        for (_, [user, nice, system, idle, waiting, hard, soft, stolen]) in cores {
            let add = |parts: &[u64]| parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
            let busy = add(&[user, nice, system, hard, soft]);
            sum.busy = sum.busy.saturating_add(busy);
            sum.stolen = sum.stolen.saturating_add(stolen);
            sum.all = sum.all.saturating_add(add(&[busy, idle, waiting, stolen]));
        }
        Some(sum)
    }
}

impl Load {
    /// Watches a host while this process sleeps. None if the host does not tell.
    pub fn watch(host: &dyn Host, time: Duration) -> Option<Self> {
        let clock = Instant::now();
        let read = || Ticks::of(&host.read(Path::new("/proc/stat")).ok()?);
        let before = read()?;
        std::thread::sleep(time);
        let after = read()?;
        let average = host.read(Path::new("/proc/loadavg")).ok();
        let average = average.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        Self::between(before, after, clock.elapsed().as_secs_f64(), average)
    }

    fn between(before: Ticks, after: Ticks, seconds: f64, average: Option<f64>) -> Option<Self> {
        let all = after.all.checked_sub(before.all).filter(|ticks| *ticks > 0)? as f64;
        let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / all;
        Some(Self {
            seconds: (seconds * 1e3).round() / 1e3,
            cores: after.cores,
            busy_cores: share(before.busy, after.busy) * f64::from(after.cores),
            stolen: share(before.stolen, after.stolen),
            average: average.filter(|average: &f64| average.is_finite()),
        })
    }

    /// True if what is measured is hardly what the host can do.
    pub fn is_loaded(&self) -> bool {
        self.busy_cores > IDLE || self.stolen > STOLEN
    }

    /// What it was, for a person.
    pub fn sentence(&self) -> String {
        let average = self.average.map(|average| format!(", load average {average:.2}")).unwrap_or_default();
        let stolen = match self.stolen > STOLEN {
            true => format!(", and other virtual machines took {:.1} % of the time", 100.0 * self.stolen),
            false => String::new(),
        };
        let before = format!(
            "{:.2} of {} cores were busy with other work in the {:.1} s before the measurement{average}{stolen}",
            self.busy_cores, self.cores, self.seconds
        );
        match self.is_loaded() {
            true => format!("LOADED HOST: {before}. An idle host does better, and its figures vary less."),
            false => format!("The host was idle: {before}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEFORE: &str = "cpu  100 0 50 1000 20 5 5 0 0 0\ncpu0 50 0 25 500 10 5 5 0 0 0\ncpu1 50 0 25 500 10 0 0 0 0 0\nintr 1";
    const OF_CORE_1: &str = "\ncpu1 50 0 25 500 10 0 0 0 0 0";

    fn between(core_0: &str) -> Load {
        let after = &format!("{core_0}{OF_CORE_1}");
        Load::between(Ticks::of(BEFORE).unwrap(), Ticks::of(after).unwrap(), 1.0, Some(0.5)).unwrap()
    }

    #[test]
    fn a_host_with_other_work_is_called_loaded() {
        // 200 ticks of two cores: 10 of them busy.
        let idle = between("cpu0 55 0 30 690 10 5 5 0 0 0");
        assert!((idle.busy_cores - 0.1).abs() < 1e-9 && !idle.is_loaded(), "{idle:?}");
        assert!(idle.sentence().starts_with("The host was idle: 0.10 of 2 cores"), "{}", idle.sentence());
        let busy = between("cpu0 150 0 25 600 10 5 5 0 0 0");
        assert!((busy.busy_cores - 1.0).abs() < 1e-9 && busy.is_loaded());
        assert!(busy.sentence().contains("LOADED HOST: 1.00 of 2 cores"), "{}", busy.sentence());
        let stolen = between("cpu0 50 0 25 690 10 5 5 10 0 0");
        assert!(
            stolen.is_loaded() && stolen.sentence().contains("5.0 % of the time"),
            "{}",
            stolen.sentence()
        );
    }

    proptest! {
        #[test]
        fn no_account_of_a_kernel_is_too_strange(before in "(cpu|cpu0|x)( [0-9a]{1,22}){0,11}\n?", after in "(cpu |cpu1)( [0-9]{1,20}){0,11}") {
            if let (Some(before), Some(after)) = (Ticks::of(&before), Ticks::of(&after))
                && let Some(load) = Load::between(before, after, 1.0, None)
            {
                prop_assert!(load.busy_cores >= 0.0 && load.busy_cores.is_finite() && !load.sentence().is_empty());
            }
        }
    }
}

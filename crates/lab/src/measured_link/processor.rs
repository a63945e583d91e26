//! What the cores of this host did over an interval, by the kernel's account (`/proc/stat`).

use evforge_metrics::parse::core_times;
use std::path::Path;

const STAT: &str = "/proc/stat";

/// What a core did, in shares of the time: 0 to 1. The kernel counts in ticks of 10 ms: over a second, shares are known to 1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CoreShares {
    /// Programs, outside the kernel.
    pub user: f64,
    /// The kernel for programs: system calls.
    pub system: f64,
    /// The kernel for packets and timers: interrupts and what they leave to be done (irq, softirq).
    pub interrupts: f64,
    /// Another virtual machine.
    pub stolen: f64,
}

impl CoreShares {
    /// All that was done.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.interrupts
    }
}

/// The account of all cores at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorAccount {
    cores: Vec<(u64, [u64; 8])>,
    /// Interrupts since the start of the host.
    interrupts: Option<u64>,
}

impl ProcessorAccount {
    /// As it is now; empty if the kernel does not tell.
    pub fn read() -> Self {
        std::fs::read_to_string(Path::new(STAT)).map(|text| Self::of(&text)).unwrap_or_default()
    }

    fn of(text: &str) -> Self {
        let interrupts = text.lines().find_map(|line| line.strip_prefix("intr "));
        let interrupts = interrupts.and_then(|counts| counts.split_ascii_whitespace().next()?.parse().ok());
        Self { cores: core_times(text), interrupts }
    }

    /// What a core has done since; none if it is not in both accounts, or no tick has passed.
    pub fn since(&self, before: &Self, core: usize) -> Option<CoreShares> {
        let of = |account: &Self| {
            account.cores.iter().find(|(number, _)| *number == core as u64).map(|(_, ticks)| *ticks)
        };
        let (now, then) = (of(self)?, of(before)?);
        let [user, nice, system, idle, waiting, hard, soft, stolen] =
            std::array::from_fn(|mode| now[mode].saturating_sub(then[mode]) as f64);
        let all = user + nice + system + idle + waiting + hard + soft + stolen;
        (all > 0.0).then(|| CoreShares {
            user: (user + nice) / all,
            system: system / all,
            interrupts: (hard + soft) / all,
            stolen: stolen / all,
        })
    }

    /// Interrupts of all cores since.
    pub fn interrupts_since(&self, before: &Self) -> Option<u64> {
        self.interrupts?.checked_sub(before.interrupts?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "cpu 0\ncpu0 100 10 50 1000 20 5 5 0 0 0\ncpu1 50 0 25 500 10 0 0 0 0 0\nintr 1000 7 7\n";

    #[test]
    fn shares_are_those_of_the_interval() {
        let after =
            "cpu 0\ncpu0 130 20 70 1000 20 5 45 0 0 0\ncpu1 50 0 25 500 10 0 0 0 0 0\nintr 1500 9 7\n";
        let (before, after) = (ProcessorAccount::of(BEFORE), ProcessorAccount::of(after));
        let shares = after.since(&before, 0).expect("100 ticks");
        assert_eq!((shares.user, shares.system, shares.interrupts, shares.stolen), (0.4, 0.2, 0.4, 0.0));
        assert_eq!(shares.busy(), 1.0);
        assert_eq!(after.since(&before, 1), None, "no tick");
        assert_eq!(after.since(&before, 2), None, "no such core");
        assert_eq!(after.interrupts_since(&before), Some(500));
    }

    #[test]
    fn this_host_tells() {
        let account = ProcessorAccount::read();
        assert!(!account.cores.is_empty() && account.interrupts.is_some());
    }
}

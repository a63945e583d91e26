//! The host and this process: what the kernel tells in `/proc` and `/sys`, and what `evforge_net` asks it for.
//!
//! Everything is read when somebody asks, but at most once a second: ten readers cost no more than one. It takes some
//! milliseconds and never happens in the thread that receives or forms events. Every file is read up to a bound.

pub(crate) mod declared;
mod kernel_file;
pub mod parse;
mod process;
mod system;

use crate::reading::Reading;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Readings that are younger are given again.
const FRESH: Duration = Duration::from_millis(900);

/// Reads the host and this process.
#[derive(Debug, Default)]
pub struct Host {
    last: Mutex<Option<(Instant, Vec<Reading>)>>,
}

impl Host {
    /// What there is now, or was less than a second ago.
    pub fn readings(&self) -> Vec<Reading> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, readings)) if at.elapsed() < FRESH => readings.clone(),
            _ => {
                let readings = read();
                *last = Some((Instant::now(), readings.clone()));
                readings
            }
        }
    }
}

/// Reads everything now.
fn read() -> Vec<Reading> {
    let mut readings = Vec::with_capacity(256);
    process::read(&mut readings);
    system::read(&mut readings);
    readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn this_host_tells_everything_that_every_host_tells() {
        let host = Host::default();
        let readings = host.readings();
        let names: BTreeSet<String> = readings.iter().map(Reading::family).collect();
        // A container may have no disks of its own, and loopback no driver that counts.
        for metric in
            declared::ALL.iter().filter(|metric| !metric.name.starts_with("disk_") && metric.name != "driver")
        {
            let name = crate::reading::family(metric.group, metric.name, metric.unit);
            assert!(names.contains(&name), "{name} is not in {names:?}");
        }
        let loopback = readings.iter().filter(|r| r.labels.iter().any(|(_, value)| value == "lo"));
        assert!(loopback.count() > 8);
        assert_eq!(host.readings(), readings, "within a second nothing is read again");
    }
}

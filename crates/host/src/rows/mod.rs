//! Every setting that is looked at, in tables: where it is, what evforge wants, what the papers had, why, and what it risks.
//!
//! | table | of |
//! |---|---|
//! | `kernel` | the kernel's memory and queues for packets |
//! | `interface` | network interfaces and their cards |
//! | `processor` | cores |
//! | `services` | services that change what others have set |

mod interface;
mod kernel;
mod row;
mod services;

use crate::place::Place;

use crate::finding::Verdict;
use crate::profile::Profile;
use crate::wanted::Wanted;
pub use kernel::RECEIVE_BUFFER;
pub use row::{At, Context, Paper, Row};

/// All rows, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Row> {
    kernel::ROWS.iter().chain(interface::ROWS).chain(ROWS).chain(services::ROWS)
}

/// True if a row has its setting at this place, on some host.
pub(crate) fn is_of_a_row(place: &Place) -> bool {
    all().any(|row| row.at.can_be(place))
}

/// The rows of this table.
pub(super) const ROWS: &[Row] = &[Row {
    name: "governor",
    subject: "core frequency",
    at: At::EachCore("cpufreq/scaling_governor"),
    wish: |_| Some(Wanted::Exactly("performance".to_owned())),
    papers: &[(Profile::Udp, Paper::Value("performance")), (Profile::Xfel, Paper::Value("performance"))],
    verdict: Verdict::Advice,
    weight: 6,
    why: "Cores slow down in the pauses between pulses, and are slow when the next one comes.",
    source: "10GE network tests with UDP, host tuning (cpuspeed is stopped); Reliable UDP at 10 Gb/s, 3.4 (throttling)",
    risk: "More power, more heat.",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethtool::Group;

    #[test]
    fn places_of_rows_are_known_and_no_others() {
        let file = |path: &str| Place::File(path.into());
        let ring = |interface: &str, name: &str| Place::Ethtool {
            group: Group::Ring,
            interface: interface.into(),
            name: name.into(),
        };
        for place in [
            file("/proc/sys/net/core/rmem_max"),
            file("/sys/class/net/eth2/mtu"),
            file("/sys/class/net/eth2/queues/rx-12/rps_cpus"),
            file("/proc/irq/24/smp_affinity_list"),
            file("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"),
            ring("eth2", "RX"),
            Place::Service("irqbalance".into()),
            Place::PciReadRequest("0000:3b:00.0".into()),
        ] {
            assert!(is_of_a_row(&place), "{place:?}");
        }
        for place in [
            file("/etc/passwd"),
            file("/proc/sys/kernel/core_pattern"),
            file("/proc/sys/net/core/../../kernel/core_pattern"),
            file("/sys/class/net/../mtu"),
            file("/sys/class/net/eth2/x/mtu"),
            file("/proc/irq/a/smp_affinity_list"),
            file("proc/sys/net/core/rmem_max"),
            ring("-a", "RX"),
            ring("eth2", "RX Jumbo"),
            Place::Service("ssh".into()),
            Place::PciReadRequest("-v".into()),
        ] {
            assert!(!is_of_a_row(&place), "{place:?}");
        }
    }

    #[test]
    fn every_row_says_why_where_from_and_what_it_risks() {
        let mut names = std::collections::BTreeSet::new();
        for row in all() {
            assert!(names.insert(row.name), "{} twice", row.name);
            for text in [row.subject, row.why, row.source, row.risk] {
                assert!(text.len() >= 3, "{}", row.name);
            }
        }
        assert!(names.len() >= 25, "{}", names.len());
    }
}

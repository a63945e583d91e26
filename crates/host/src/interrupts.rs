//! Which cores the kernel's own work on the packets of a network interface is done on.
//!
//! A receiving thread on one of them competes with the kernel for the same packets, and both lose.

use crate::cores::{from_list, from_mask};
use crate::host::Host;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The interrupts of an interface, in order: of the card itself, or of the bus device that a virtual card is on.
pub(crate) fn numbers(host: &dyn Host, interface: &str) -> BTreeSet<u32> {
    let device = Path::new("/sys/class/net").join(interface).join("device");
    let lists = ["msi_irqs", "../msi_irqs"].map(|folder| host.list(&device.join(folder)).unwrap_or_default());
    let single = host.read(&device.join("irq")).ok().filter(|number| number != "0");
    lists.into_iter().flatten().chain(single).filter_map(|number| number.parse().ok()).collect()
}

/// What the kernel says of an interrupt: one that is not in use has no such folder.
pub(crate) fn folder(number: u32) -> PathBuf {
    PathBuf::from(format!("/proc/irq/{number}"))
}

/// The cores that serve the interrupts of an interface, or are given its packets by the kernel (RPS), in order. Empty if it
/// has no interrupts (a virtual interface), or the system does not tell.
pub fn interrupt_cores(host: &dyn Host, interface: &str) -> Vec<usize> {
    let mut cores = BTreeSet::new();
    for number in numbers(host, interface) {
        let served = host.read(&folder(number).join("effective_affinity_list"));
        cores.extend(from_list(&served.unwrap_or_default()));
    }
    let queues = Path::new("/sys/class/net").join(interface).join("queues");
    for queue in host.list(&queues).unwrap_or_default().iter().filter(|name| name.starts_with("rx-")) {
        cores.extend(from_mask(&host.read(&queues.join(queue).join("rps_cpus")).unwrap_or_default()));
    }
    cores.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::LocalHost;
    use std::fs;

    #[test]
    fn interrupts_and_steering_of_all_queues_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/class/net/eth7/device/msi_irqs/40", "msix");
        write("sys/class/net/eth7/device/msi_irqs/41", "msix");
        write("sys/class/net/eth7/device/msi_irqs/42", "msix");
        write("proc/irq/40/effective_affinity_list", "4\n");
        write("proc/irq/41/effective_affinity_list", "6-7\n");
        write("sys/class/net/eth7/queues/rx-0/rps_cpus", "2\n");
        write("sys/class/net/eth7/queues/tx-0/xps_cpus", "8\n");
        let host = LocalHost::below(root.path());
        assert_eq!(interrupt_cores(&host, "eth7"), [1, 4, 6, 7]);
        assert_eq!(interrupt_cores(&host, "eth8"), [0; 0]);
        // A card of the old kind has one, and says so in a file.
        write("sys/class/net/eth9/device/irq", "9\n");
        write("proc/irq/9/effective_affinity_list", "3\n");
        assert_eq!(interrupt_cores(&host, "eth9"), [3]);
    }

    #[test]
    fn the_loopback_interface_has_no_interrupts() {
        assert_eq!(interrupt_cores(&LocalHost::new(), "lo"), [0; 0]);
    }
}

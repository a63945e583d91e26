//! Which cores the kernel's own work on the packets of a network interface is done on.
//!
//! A receiving thread on one of them competes with the kernel for the same packets, and both lose.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The cores that serve the interrupts of an interface, or are given its packets by the kernel (RPS), in order. Empty if it
/// has no interrupts (a virtual interface), or the system does not tell.
pub fn interrupt_cores(interface: &str) -> Vec<usize> {
    cores_under(Path::new("/"), interface)
}

fn cores_under(root: &Path, interface: &str) -> Vec<usize> {
    let folder = root.join("sys/class/net").join(interface);
    let mut cores = BTreeSet::new();
    // Of the card itself, or of the bus device that a virtual card sits on.
    for device in [folder.join("device/msi_irqs"), folder.join("device/../msi_irqs")] {
        for interrupt in entries(&device) {
            cores.extend(served_by(root, &interrupt));
        }
    }
    if let Some(interrupt) = content(&folder.join("device/irq")).filter(|number| number != "0") {
        cores.extend(served_by(root, &interrupt));
    }
    for queue in entries(&folder.join("queues")).iter().filter(|name| name.starts_with("rx-")) {
        cores.extend(mask(&content(&folder.join("queues").join(queue).join("rps_cpus")).unwrap_or_default()));
    }
    cores.into_iter().collect()
}

/// The cores of an interrupt: one that is not in use has no folder.
fn served_by(root: &Path, interrupt: &str) -> Vec<usize> {
    let folder = root.join("proc/irq").join(interrupt);
    list(&content(&folder.join("effective_affinity_list")).unwrap_or_default())
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    found.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn content(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Cores as the kernel lists them: "0-3,6".
fn list(text: &str) -> Vec<usize> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cores.extend(first..=last.min(first + 65_535));
        }
    }
    cores
}

/// Cores as the kernel masks them: hexadecimal words of 32 cores, the last one first, "00000001,80000000".
fn mask(text: &str) -> Vec<usize> {
    let mut cores = Vec::new();
    for (place, word) in text.split(',').rev().enumerate() {
        let bits = u32::from_str_radix(word, 16).unwrap_or(0);
        cores.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| place * 32 + bit));
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_are_read_as_the_kernel_writes_them() {
        assert_eq!(list("0-2,6"), [0, 1, 2, 6]);
        assert_eq!(list("3"), [3]);
        assert_eq!(list(""), [0; 0]);
        assert_eq!(mask("00000001,80000002"), [1, 31, 32]);
        assert_eq!(mask("0"), [0; 0]);
        assert_eq!(mask(""), [0; 0]);
    }

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
        assert_eq!(cores_under(root.path(), "eth7"), [1, 4, 6, 7]);
        assert_eq!(cores_under(root.path(), "eth8"), [0; 0]);
    }

    #[test]
    fn the_loopback_interface_has_no_interrupts() {
        assert_eq!(interrupt_cores("lo"), [0; 0]);
    }
}

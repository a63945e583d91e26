//! The kernel.

use super::gathered::Gathered;
use super::processor;
use evforge_host::Host;
use std::path::Path;

/// Parameters on the kernel's command line that change how fast it is. Others name disks, consoles and services of a machine.
const PARAMETERS: [&str; 31] = [
    "amd_iommu",
    "amd_pstate",
    "clocksource",
    "cpuidle.off",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "numa_balancing",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "skew_tick",
    "swiotlb",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

pub(super) fn add(gathered: &mut Gathered, host: &dyn Host) {
    let read = |path: &str| host.read(Path::new(path)).ok();
    gathered
        .part("kernel")
        .add("release", read("/proc/sys/kernel/osrelease"))
        .add("version", read("/proc/sys/kernel/version"))
        .add("parameters", read("/proc/cmdline").map(|line| parameters(&line)))
        .add("distribution", read("/etc/os-release").and_then(|text| distribution(&text)))
        .add("clock", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
        .add("BPF compiler", read("/proc/sys/net/core/bpf_jit_enable"))
        .add("busy polling (us)", read("/proc/sys/net/core/busy_poll"));
    processor::add_mitigations(gathered, host);
}

/// Those of the command line that matter, in its order.
fn parameters(line: &str) -> String {
    let is_known = |word: &&str| PARAMETERS.contains(&word.split('=').next().unwrap_or_default());
    let known: Vec<&str> = line.split_whitespace().filter(is_known).collect();
    if known.is_empty() { "none that changes its speed".to_owned() } else { known.join(" ") }
}

fn distribution(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_name_the_machine_are_left_out() {
        let line =
            "BOOT_IMAGE=/boot/x root=/dev/sda1 isolcpus=2-7 nosmt init=/sbin/x --token=y mitigations=auto\n";
        assert_eq!(parameters(line), "isolcpus=2-7 nosmt mitigations=auto");
        assert_eq!(parameters("root=/dev/sda1"), "none that changes its speed");
        assert!(PARAMETERS.is_sorted());
    }
}

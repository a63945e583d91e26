//! The kernel.

use super::gathered::Gathered;
use super::processor;
use evforge_host::Host;
use std::path::Path;

pub(super) fn add(gathered: &mut Gathered, host: &dyn Host) {
    let read = |path: &str| host.read(Path::new(path)).ok();
    gathered
        .part("kernel")
        .add("release", read("/proc/sys/kernel/osrelease"))
        .add("version", read("/proc/sys/kernel/version"))
        .add("command line", read("/proc/cmdline"))
        .add("distribution", read("/etc/os-release").and_then(|text| distribution(&text)))
        .add("clock", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
        .add("BPF compiler", read("/proc/sys/net/core/bpf_jit_enable"))
        .add("busy polling (us)", read("/proc/sys/net/core/busy_poll"));
    processor::add_mitigations(gathered, host);
}

fn distribution(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

//! The kernel and its settings.

use std::fs;
use std::path::Path;

use super::{Finding, HostNeeds};
use crate::clock::ClockReport;
use crate::helper::Helper;
use crate::privileges;

/// Packets that the kernel takes in one go, below which a peak waits longer than it needs to.
const BACKLOG: u64 = 10_000;
/// The first versions of Linux that know what is needed.
const XDP_SINCE: (u32, u32) = (5, 10);

pub(super) fn check(root: &Path, needs: &HostNeeds) -> Vec<Finding> {
    let mut findings = vec![version(root, needs), buffer(root, needs), backlog(root), clock()];
    findings.extend(governor(root));
    findings
}

fn setting(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned())
}

fn number(root: &Path, path: &str) -> Option<u64> {
    setting(root, path)?.parse().ok()
}

fn version(root: &Path, needs: &HostNeeds) -> Finding {
    let subject = "kernel";
    let Some(release) = setting(root, "proc/sys/kernel/osrelease") else {
        return Finding::advice(subject, "its version cannot be read", "mount /proc");
    };
    let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if needs.xdp.is_asked_for() && version < XDP_SINCE {
        let found = format!("Linux {release}; AF_XDP is used from 5.10 on");
        return Finding::missing(
            subject,
            found,
            "set receive.method = \"socket\", or install a newer kernel",
        );
    }
    Finding::good(subject, format!("Linux {release}"))
}

fn buffer(root: &Path, needs: &HostNeeds) -> Finding {
    let (subject, wanted) = ("receive buffer", needs.buffer as u64);
    let Some(most) = number(root, "proc/sys/net/core/rmem_max") else {
        return Finding::advice(subject, "net.core.rmem_max cannot be read", "mount /proc");
    };
    let found = format!("net.core.rmem_max is {most} bytes, receive.buffer asks for {wanted}");
    if most >= wanted {
        return Finding::good(subject, found);
    }
    if privileges::may_exceed_buffer_limit() {
        return Finding::good(subject, format!("{found}; this process may go beyond"));
    }
    let helper = Helper::start().ok().flatten();
    let size = u32::try_from(wanted).unwrap_or(u32::MAX);
    if let Some(helper) = helper
        && needs.ports.iter().all(|&port| helper.check_buffer(port, size).is_ok())
    {
        return Finding::good(subject, format!("{found}; {} sets it", helper.path().display()));
    }
    let fix = format!(
        "sudo sysctl -w net.core.rmem_max={wanted} (for good: net.core.rmem_max = {wanted} in \
         /etc/sysctl.d/90-evforge.conf)"
    );
    Finding::missing(subject, found, fix)
}

fn backlog(root: &Path) -> Finding {
    let subject = "kernel backlog";
    match number(root, "proc/sys/net/core/netdev_max_backlog") {
        Some(most) if most < BACKLOG => Finding::advice(
            subject,
            format!(
                "net.core.netdev_max_backlog is {most} packets for each core; it matters where packets are steered to other \
                 cores (RPS), and on virtual interfaces"
            ),
            "sudo sysctl -w net.core.netdev_max_backlog=250000",
        ),
        Some(most) => Finding::good(subject, format!("net.core.netdev_max_backlog is {most} packets")),
        None => Finding::advice(subject, "net.core.netdev_max_backlog cannot be read", "mount /proc"),
    }
}

fn clock() -> Finding {
    let report = ClockReport::measure();
    match report.warning() {
        Some(warning) => Finding::advice("clock", report.to_string(), warning),
        None => Finding::good("clock", report.to_string()),
    }
}

/// None where the frequency of cores is not governed here, as in virtual machines.
fn governor(root: &Path) -> Option<Finding> {
    let subject = "core frequency";
    let governor = setting(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    let found = format!("the governor is \"{governor}\"");
    Some(if governor == "performance" {
        Finding::good(subject, found)
    } else {
        let found = format!("{found}: cores slow down in the pauses between pulses, and wake up slowly");
        Finding::advice(subject, found, "sudo cpupower frequency-set -g performance")
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Verdict, XdpNeed};
    use super::*;

    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn needs(buffer: usize, xdp: XdpNeed) -> HostNeeds {
        HostNeeds { buffer, xdp, ..HostNeeds::default() }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (release, verdict) in
            [("6.18.0-rc1", Verdict::Good), ("5.10.0-23-amd64", Verdict::Good), ("5.9.16", Verdict::Missing)]
        {
            let root = host(&[("proc/sys/kernel/osrelease", release)]);
            assert_eq!(version(root.path(), &needs(1, XdpNeed::Must)).verdict, verdict, "{release}");
            assert_eq!(version(root.path(), &needs(1, XdpNeed::No)).verdict, Verdict::Good);
        }
    }

    #[test]
    fn a_buffer_that_cannot_be_had_comes_with_the_command() {
        let root = host(&[("proc/sys/net/core/rmem_max", "212992\n")]);
        let on_a_thread_without_privileges = std::thread::spawn(move || {
            privileges::keep_only(rustix::thread::CapabilitySet::empty()).unwrap();
            buffer(root.path(), &needs(16_000_000, XdpNeed::No))
        });
        let finding = on_a_thread_without_privileges.join().unwrap();
        assert_eq!(finding.verdict, Verdict::Missing);
        assert!(finding.found.contains("212992"), "{finding:?}");
        assert!(finding.fix.unwrap().starts_with("sudo sysctl -w net.core.rmem_max=16000000"));
        let root = host(&[("proc/sys/net/core/rmem_max", "33554432")]);
        assert_eq!(buffer(root.path(), &needs(16_000_000, XdpNeed::No)).verdict, Verdict::Good);
    }

    #[test]
    fn what_would_be_better_is_advice() {
        let root = host(&[
            ("proc/sys/net/core/netdev_max_backlog", "1000"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ]);
        assert_eq!(backlog(root.path()).verdict, Verdict::Advice);
        assert_eq!(governor(root.path()).unwrap().verdict, Verdict::Advice);
        let empty = host(&[]);
        assert_eq!((governor(empty.path()), backlog(empty.path()).verdict), (None, Verdict::Advice));
    }
}

//! What this process may do, and what it lacks for AF_XDP.

use std::fs;

/// A privilege of Linux: `capabilities(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capability {
    number: u32,
    /// As commands want it.
    pub(super) name: &'static str,
    /// What it is needed for.
    pub(super) purpose: &'static str,
}

/// In the order in which they are needed.
const NEEDED: [Capability; 4] = [
    Capability { number: 13, name: "CAP_NET_RAW", purpose: "AF_XDP sockets" },
    Capability { number: 39, name: "CAP_BPF", purpose: "the steering program and its maps" },
    Capability { number: 38, name: "CAP_PERFMON", purpose: "its looking behind VLAN tags" },
    Capability { number: 12, name: "CAP_NET_ADMIN", purpose: "attaching the program to the interface" },
];
/// Contains CAP_BPF and CAP_PERFMON.
const SYS_ADMIN: u32 = 21;

/// The capabilities that AF_XDP needs and this thread lacks; none if that cannot be told.
pub(super) fn missing() -> Vec<Capability> {
    fs::read_to_string("/proc/thread-self/status").map(|status| missing_in(&status)).unwrap_or_default()
}

fn missing_in(status: &str) -> Vec<Capability> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(held) = line.and_then(|word| u64::from_str_radix(word.trim(), 16).ok()) else {
        return Vec::new();
    };
    let holds = |number: u32| held >> number & 1 == 1;
    let lacks = |capability: &Capability| {
        let in_another = matches!(capability.number, 38 | 39) && holds(SYS_ADMIN);
        !holds(capability.number) && !in_another
    };
    NEEDED.into_iter().filter(lacks).collect()
}

/// Memory that this process may lock, in bytes; none if there is no limit.
pub(super) fn lockable_memory() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writes.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_what_is_missing_is_listed() {
        let names = |mask: u64| -> Vec<_> {
            missing_in(&format!("Name:\tx\nCapEff:\t{mask:016x}\n"))
                .iter()
                .map(|missing| missing.name)
                .collect()
        };
        assert_eq!(names(0), ["CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(1 << 13 | 1 << 39), ["CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(1 << 13 | 1 << 12 | 1 << 21), [""; 0]);
        assert_eq!(names(u64::MAX), [""; 0]);
        assert!(missing_in("nothing of the kind").is_empty());
    }
}

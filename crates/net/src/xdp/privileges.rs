//! What this process may do, and what it lacks for AF_XDP.

use std::fs;
use std::io;

/// A privilege of Linux: `capabilities(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capability {
    number: u32,
    /// As commands want it.
    pub(crate) name: &'static str,
    /// What it is needed for.
    pub(crate) purpose: &'static str,
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
pub(crate) fn missing() -> Vec<Capability> {
    fs::read_to_string("/proc/thread-self/status").map(|status| missing_in(&status)).unwrap_or_default()
}

/// The names of all that AF_XDP needs.
pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
    NEEDED.iter().map(|needed| needed.name)
}

/// True if this thread holds a capability; false if that cannot be told.
fn holds(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    held_in(&status).is_some_and(|held| held >> number & 1 == 1)
}

/// True if receive buffers may be larger than the host's limit.
pub(crate) fn may_exceed_buffer_limit() -> bool {
    holds(NET_ADMIN)
}

/// True if there is no limit to the memory that may be locked.
pub(crate) fn may_lock_any_memory() -> bool {
    holds(IPC_LOCK)
}

/// True if threads may have this real-time priority.
pub(crate) fn may_have_priority(priority: u8) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writes.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &mut limit) };
    holds(SYS_NICE) || (status == 0 && limit.rlim_cur >= priority.into())
}

/// The capabilities in effect.
fn held_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn missing_in(status: &str) -> Vec<Capability> {
    let Some(held) = held_in(status) else { return Vec::new() };
    let holds = |number: u32| held >> number & 1 == 1;
    let lacks = |capability: &Capability| {
        let in_another = matches!(capability.number, 38 | 39) && holds(SYS_ADMIN);
        !holds(capability.number) && !in_another
    };
    NEEDED.into_iter().filter(lacks).collect()
}

const NET_ADMIN: u32 = 12;
const IPC_LOCK: u32 = 14;
const SYS_NICE: u32 = 23;

/// `struct __user_cap_header_struct` of include/uapi/linux/capability.h.
#[repr(C)]
struct Header {
    version: u32,
    thread: i32,
}

/// `struct __user_cap_data_struct`, of which version 3 has two: for capabilities below 32, and the others.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;

/// Gives up what opening has needed, for good: of this thread, and those that it starts from now on.
pub(crate) fn give_up() -> io::Result<()> {
    let mut header = Header { version: VERSION_3, thread: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: both are valid for writes, and as long as version 3 says.
    if unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for number in NEEDED.iter().map(|needed| needed.number).chain([IPC_LOCK]) {
        let (set, keep) = (&mut sets[number as usize / 32], !(1_u32 << (number % 32)));
        set.effective &= keep;
        set.permitted &= keep;
        set.inheritable &= keep;
    }
    // SAFETY: both are valid for reads, and as long as version 3 says.
    if unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Memory that this process may lock, in bytes; none if there is no limit.
pub(crate) fn lockable_memory() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writes.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_missing() {
        std::thread::spawn(|| {
            give_up().unwrap();
            // CAP_SYS_ADMIN, where it is held, stays, and contains two of them.
            let missing: Vec<_> = missing().iter().map(|missing| missing.name).collect();
            assert!(
                missing.starts_with(&["CAP_NET_RAW"]) && missing.ends_with(&["CAP_NET_ADMIN"]),
                "{missing:?}"
            );
        })
        .join()
        .unwrap();
    }

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

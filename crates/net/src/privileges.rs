//! What this process may do, what it lacks, and giving it up.
//!
//! Receiving, forming and writing need no privilege. What does — AF_XDP, large socket buffers, real-time priorities — is
//! done by the [helper](crate::helper), and [`drop_all`] leaves the program itself with nothing: no capability now, and
//! none to be had by executing another program.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::user::User;

/// A privilege of Linux: `capabilities(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capability {
    set: CapabilitySet,
    /// As commands want it.
    pub(crate) name: &'static str,
    /// What it is needed for.
    pub(crate) purpose: &'static str,
}

/// What AF_XDP needs, in the order in which it is needed.
const FOR_XDP: [Capability; 4] = [
    Capability { set: CapabilitySet::NET_RAW, name: "CAP_NET_RAW", purpose: "AF_XDP sockets" },
    Capability { set: CapabilitySet::BPF, name: "CAP_BPF", purpose: "the steering program and its maps" },
    Capability { set: CapabilitySet::PERFMON, name: "CAP_PERFMON", purpose: "its looking behind VLAN tags" },
    Capability {
        set: CapabilitySet::NET_ADMIN,
        name: "CAP_NET_ADMIN",
        purpose: "attaching the program to the interface",
    },
];

/// Everything that the helper can use. Locking memory without a limit, ports below 1024 and real-time priorities can be
/// left out, and are then not to be had.
pub(crate) const OF_THE_HELPER: CapabilitySet = CapabilitySet::NET_RAW
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_NICE);

/// The same as `setcap` wants it.
pub(crate) const SETCAP: &str =
    "cap_net_raw,cap_bpf,cap_perfmon,cap_net_admin,cap_ipc_lock,cap_net_bind_service,cap_sys_nice=ep";

/// The capabilities in effect of this thread; none if that is unknown.
pub(crate) fn held() -> CapabilitySet {
    rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
}

/// The capabilities that AF_XDP needs and this thread lacks.
pub(crate) fn missing() -> Vec<Capability> {
    missing_in(held())
}

fn missing_in(held: CapabilitySet) -> Vec<Capability> {
    let lacks = |capability: &Capability| {
        // CAP_SYS_ADMIN contains these two.
        let in_another = capability.set.intersects(CapabilitySet::BPF | CapabilitySet::PERFMON)
            && held.contains(CapabilitySet::SYS_ADMIN);
        !held.contains(capability.set) && !in_another
    };
    FOR_XDP.into_iter().filter(lacks).collect()
}

/// True if this process has got privileges by the file that it was started from (`setcap`, set-user-ID), which its user
/// lacks: then nothing that the user chose may be trusted.
pub fn is_secure_execution() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// True if receive buffers may be larger than the host's limit.
pub(crate) fn may_exceed_buffer_limit() -> bool {
    held().contains(CapabilitySet::NET_ADMIN)
}

/// True if threads may have this real-time priority.
pub(crate) fn may_have_priority(priority: u8) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writes.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &mut limit) };
    held().contains(CapabilitySet::SYS_NICE) || (status == 0 && limit.rlim_cur >= priority.into())
}

/// Memory that this process may lock, in bytes; none if there is no limit.
pub(crate) fn lockable_memory() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: valid for writes.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Drops every privilege, for good: all capabilities, those that an executed program could get (bounding set), and
/// by `no_new_privs` those of programs with privileges of their own. As root, the process then still owns what root owns,
/// unless it becomes `user`. Concerns this thread and those that it starts from now on: call it while there is no other.
///
/// # Errors
/// If the system refuses, or another user is asked for by a process that is not root's.
pub fn drop_all(user: Option<&User>) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    empty_bounding_set()?;
    if let Some(user) = user {
        become_user(user)?;
    }
    keep_only(CapabilitySet::empty())?;
    if let Some(user) = user
        && (rustix::process::getuid().as_raw() != user.uid
            || rustix::thread::set_thread_uid(rustix::process::Uid::ROOT).is_ok())
    {
        return Err(io::Error::other(format!("this process has not become {} for good", user.name)));
    }
    Ok(())
}

/// Removes what an executed program could get, where this process may do that. Where it may not, `no_new_privs` has the
/// same effect.
fn empty_bounding_set() -> io::Result<()> {
    if !held().contains(CapabilitySet::SETPCAP) {
        return Ok(());
    }
    // This kernel knows no capabilities beyond the first that it refuses.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn become_user(user: &User) -> io::Result<()> {
    use rustix::process::{Gid, Uid};
    let groups: Vec<Gid> = user.groups.iter().map(|&group| Gid::from_raw(group)).collect();
    rustix::thread::set_thread_groups(&groups)?;
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Drops all capabilities of this thread, and those that it starts from now on, that are not in `kept`.
pub(crate) fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    // Kernels before 4.3 have none of these.
    let _ = rustix::thread::clear_ambient_capability_set();
    let now = rustix::thread::capabilities(None)?;
    Ok(rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: now.effective & kept,
            permitted: now.permitted & kept,
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_missing() {
        std::thread::spawn(|| {
            keep_only(CapabilitySet::empty()).unwrap();
            assert_eq!(missing().len(), 4);
            assert!(!may_exceed_buffer_limit());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn exactly_what_is_missing_is_listed() {
        let names = |held| missing_in(held).iter().map(|missing| missing.name).collect::<Vec<_>>();
        use CapabilitySet as C;
        assert_eq!(names(C::empty()), ["CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(C::NET_RAW | C::BPF), ["CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(C::NET_RAW | C::NET_ADMIN | C::SYS_ADMIN), [""; 0]);
        assert_eq!(names(C::all()), [""; 0]);
    }

    #[test]
    fn what_setcap_gives_is_what_the_helper_keeps() {
        let names = SETCAP.trim_end_matches("=ep").split(',');
        let all = names
            .map(|name| name.trim_start_matches("cap_").to_uppercase())
            .map(|name| CapabilitySet::from_name(&name).unwrap_or_else(|| panic!("{name} is no capability")));
        assert_eq!(all.fold(CapabilitySet::empty(), CapabilitySet::union), OF_THE_HELPER);
    }
}

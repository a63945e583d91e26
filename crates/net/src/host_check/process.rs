//! What this process may do.

use super::{Finding, HostNeeds, XdpNeed};
use crate::affinity::allowed_cores;
use crate::xdp::privileges;

pub(super) fn check(needs: &HostNeeds) -> Vec<Finding> {
    let mut findings = vec![cores(needs)];
    if needs.xdp.is_asked_for() {
        findings.push(capabilities(needs));
        findings.push(lockable_memory(needs));
    }
    findings.extend(needs.priority.map(priority));
    findings
}

fn cores(needs: &HostNeeds) -> Finding {
    let subject = "processor cores";
    match allowed_cores() {
        Err(error) => Finding::advice(subject, error.to_string(), "leave the cores of [threads] out"),
        Ok(allowed) => match needs.cores.iter().find(|core| !allowed.contains(core)) {
            Some(core) => Finding::missing(
                subject,
                format!("core {core} does not exist, or this process may not use it; it may use {allowed:?}"),
                "name others in [threads], or widen what is allowed (taskset, CPUAffinity of systemd, the container)",
            ),
            None if allowed.len() == 1 => Finding::advice(
                subject,
                "only one: receiving, forming and the kernel's work on packets take turns",
                "allow more of them (taskset, CPUAffinity of systemd, the container)",
            ),
            None => Finding::good(subject, format!("this process may use {}", allowed.len())),
        },
    }
}

/// Missing or only advised, as AF_XDP must be had or not.
fn lacking(needs: &HostNeeds, subject: &str, found: String, mend: String) -> Finding {
    if needs.xdp == XdpNeed::Must {
        Finding::missing(subject, found, mend)
    } else {
        Finding::advice(subject, format!("{found}; a socket will be used"), mend)
    }
}

fn capabilities(needs: &HostNeeds) -> Finding {
    let subject = "AF_XDP privileges";
    let missing = privileges::missing();
    if missing.is_empty() {
        return Finding::good(subject, "this process has all that opening needs");
    }
    let names: Vec<String> =
        missing.iter().map(|missing| format!("{} ({})", missing.name, missing.purpose)).collect();
    let mend = format!(
        "sudo setcap {},cap_ipc_lock=ep \"$(command -v evforge)\", or AmbientCapabilities= in a systemd unit",
        privileges::all_names().map(str::to_lowercase).collect::<Vec<_>>().join(",")
    );
    lacking(needs, subject, format!("this process lacks {}", names.join(", ")), mend)
}

fn lockable_memory(needs: &HostNeeds) -> Finding {
    let subject = "lockable memory";
    let wanted = needs.locked_per_queue;
    match privileges::lockable_memory() {
        Some(limit) if limit < wanted && !privileges::may_lock_any_memory() => lacking(
            needs,
            subject,
            format!("this process may lock {limit} bytes, and each queue of AF_XDP needs {wanted}"),
            "ulimit -l unlimited, LimitMEMLOCK=infinity in a systemd unit, or the capability CAP_IPC_LOCK; or take less: \
             receive.ring"
                .into(),
        ),
        _ => Finding::good(subject, format!("enough for a queue of AF_XDP ({wanted} bytes)")),
    }
}

fn priority(wanted: u8) -> Finding {
    let subject = "real-time priority";
    if privileges::may_have_priority(wanted) {
        Finding::good(subject, format!("this process may have {wanted}"))
    } else {
        Finding::missing(
            subject,
            format!("this process may not have {wanted}"),
            format!(
                "sudo setcap cap_sys_nice=ep \"$(command -v evforge)\", or LimitRTPRIO={wanted} in a systemd unit; or leave \
                 the priority out"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn all_that_is_missing_is_named_with_the_command() {
        let needs = HostNeeds { xdp: XdpNeed::Must, priority: Some(50), ..HostNeeds::default() };
        let without_privileges = std::thread::spawn(move || {
            privileges::give_up().unwrap();
            (capabilities(&needs), capabilities(&HostNeeds { xdp: XdpNeed::IfPossible, ..needs }))
        });
        let (must, possible) = without_privileges.join().unwrap();
        assert_eq!((must.verdict, possible.verdict), (Verdict::Missing, Verdict::Advice));
        assert!(must.found.contains("CAP_NET_RAW (AF_XDP sockets)"), "{must:?}");
        assert!(must.mend.unwrap().contains("cap_net_raw,cap_bpf,cap_perfmon,cap_net_admin,cap_ipc_lock=ep"));
    }

    #[test]
    fn a_core_that_does_not_exist_is_missing() {
        let needs = HostNeeds { cores: vec![1023], ..HostNeeds::default() };
        assert_eq!(cores(&needs).verdict, Verdict::Missing);
        assert_ne!(cores(&HostNeeds::default()).verdict, Verdict::Missing);
    }

    #[test]
    fn memory_that_may_be_locked_is_compared_with_what_is_needed() {
        let needs = HostNeeds { xdp: XdpNeed::Must, locked_per_queue: 1, ..HostNeeds::default() };
        assert_eq!(lockable_memory(&needs).verdict, Verdict::Good);
    }
}

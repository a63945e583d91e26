//! What this process may do.

use super::{Finding, HostNeeds, XdpNeed};
use crate::affinity::allowed_cores;
use crate::helper::{Helper, RULES_FILE};
use crate::privileges;

pub(super) fn check(needs: &HostNeeds) -> Vec<Finding> {
    let mut findings = vec![cores(needs)];
    if needs.xdp.is_asked_for() {
        findings.push(helper(needs));
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
fn lacking(needs: &HostNeeds, subject: &str, found: String, fix: String) -> Finding {
    if needs.xdp == XdpNeed::Must {
        Finding::missing(subject, found, fix)
    } else {
        Finding::advice(subject, format!("{found}; a socket will be used"), fix)
    }
}

/// The program itself has no privileges; its helper has, if it is installed with them and the rules allow this user what
/// is wanted.
fn helper(needs: &HostNeeds) -> Finding {
    let subject = "AF_XDP helper";
    let running = match Helper::start() {
        Ok(Some(helper)) => helper,
        Ok(None) => {
            let found = match Helper::find() {
                None => "evforge-helper is neither next to evforge nor in /usr/local/libexec".to_owned(),
                Some(path) => format!("{} has no privileges", path.display()),
            };
            return lacking(needs, subject, found, Helper::install_command());
        }
        Err(error) => return lacking(needs, subject, error.to_string(), Helper::install_command()),
    };
    let of_it = |interface: &String| running.check(interface, &needs.ports).err();
    match needs.interfaces.iter().find_map(of_it) {
        Some(refusal) => lacking(
            needs,
            subject,
            refusal.message,
            format!(
                "sudo install -D -m 644 my-rules.toml {RULES_FILE}: docs/receive.md, \"Privileges\", has an example"
            ),
        ),
        None => {
            Finding::good(subject, format!("{} gives this user what is wanted", running.path().display()))
        }
    }
}

fn priority(wanted: u8) -> Finding {
    let subject = "real-time priority";
    if privileges::may_have_priority(wanted) {
        return Finding::good(subject, format!("this process may have {wanted}"));
    }
    let fix = format!(
        "ulimit -r {wanted}, LimitRTPRIO={wanted} in a systemd unit, or evforge-helper with largest_priority = {wanted} in \
         {RULES_FILE}; or leave the priority out"
    );
    match Helper::start().ok().flatten().map(|helper| helper.check_priority(wanted)) {
        Some(Ok(())) => Finding::good(subject, format!("the helper gives {wanted} to this user")),
        Some(Err(refusal)) => Finding::missing(subject, refusal.message, fix),
        None => Finding::missing(subject, format!("this process may not have {wanted}"), fix),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_core_that_does_not_exist_is_missing() {
        let needs = HostNeeds { cores: vec![1023], ..HostNeeds::default() };
        assert_eq!(cores(&needs).verdict, Verdict::Missing);
        assert_ne!(cores(&HostNeeds::default()).verdict, Verdict::Missing);
    }
}

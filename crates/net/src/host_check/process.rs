//! What this process may do.

use crate::affinity::allowed_cores;
use crate::clock::ClockReport;
use crate::helper::{Helper, RULES_FILE};
use crate::privileges;
use crate::synchronisation::Synchronisation;
use evforge_host::{Finding, HostNeeds, XdpNeed};

/// Checks what this process may do, and its clock, which is read some thousand times.
pub fn check_process(needs: &HostNeeds) -> Vec<Finding> {
    let mut findings = vec![cores(needs), clock(), synchronisation()];
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

/// Says how this process gets receive buffers of this size although the host's limit is lower; None if it does not.
pub fn buffer_granted_by(buffer: usize, ports: &[u16]) -> Option<String> {
    if privileges::may_exceed_buffer_limit() {
        return Some("this process may go beyond the limit of the host".to_owned());
    }
    let helper = Helper::start().ok().flatten()?;
    let size = u32::try_from(buffer).unwrap_or(u32::MAX);
    let is_granted = ports.iter().all(|&port| helper.check_buffer(port, size).is_ok());
    is_granted.then(|| format!("{} sets it", helper.path().display()))
}

fn clock() -> Finding {
    let report = ClockReport::measure();
    match report.warning() {
        Some(warning) => Finding::advice("clock", report.to_string(), warning),
        None => Finding::good("clock", report.to_string()),
    }
}

/// Packets carry times; those of arrival are this host's.
fn synchronisation() -> Finding {
    let subject = "clock synchronisation";
    match Synchronisation::read() {
        Err(error) => Finding::advice(subject, error.to_string(), "allow adjtimex in the sandbox"),
        Ok(clock) if clock.is_synchronised => {
            Finding::good(subject, format!("wrong by {:?} at most", clock.maximum_error))
        }
        Ok(_) => {
            let fix = "sudo apt-get install chrony (or ptp4l and phc2sys, with a card that has a clock)";
            let why = "Times of arrival, of runs and of files are wrong by what nobody knows; times of events are the readout's, and are not.";
            let found = "nothing keeps the clock of this host right";
            let finding =
                Finding::advice(subject, found, fix).because("synchronised", why, "Linux, adjtimex(2)");
            Finding { weight: 2, ..finding }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_host::Verdict;

    #[test]
    fn a_core_that_does_not_exist_is_missing() {
        let needs = HostNeeds { cores: vec![1023], ..HostNeeds::default() };
        assert_eq!(cores(&needs).verdict, Verdict::Missing);
        assert_ne!(cores(&HostNeeds::default()).verdict, Verdict::Missing);
    }

    #[test]
    fn without_privileges_no_buffer_is_granted_beyond_the_limit() {
        let on_a_thread_without_privileges = std::thread::spawn(|| {
            privileges::keep_only(rustix::thread::CapabilitySet::empty()).unwrap();
            privileges::may_exceed_buffer_limit()
        });
        assert!(!on_a_thread_without_privileges.join().unwrap());
    }
}

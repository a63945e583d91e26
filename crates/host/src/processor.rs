//! Cores: threads that share one, and cores that others use, too.

use crate::cores::{from_list, to_list};
use crate::finding::Finding;
use crate::host::Host;
use crate::needs::HostNeeds;
use std::collections::BTreeSet;
use std::path::PathBuf;

const PLACEMENT: &str = "FPGA-to-server with the eXpress Data Path, optimization of task assignment";

/// What concerns the cores of `[threads]`.
pub(crate) fn check(host: &dyn Host, needs: &HostNeeds) -> Vec<Finding> {
    [siblings(host, needs), isolated(host, needs), huge_pages(host)].into_iter().flatten().collect()
}

/// Two threads on the two hardware threads of one core.
fn siblings(host: &dyn Host, needs: &HostNeeds) -> Option<Finding> {
    let subject = "hardware threads (SMT)";
    let of = |core: usize| {
        let path = PathBuf::from(format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"));
        host.read(&path).map(|list| from_list(&list)).unwrap_or_default()
    };
    let is_on = host.read(&PathBuf::from("/sys/devices/system/cpu/smt/active")).ok()? == "1";
    if !is_on {
        return Some(Finding::good(subject, "off: each core is one"));
    }
    let shared = needs.cores.iter().enumerate().find_map(|(place, &core)| {
        let siblings = of(core);
        let other =
            needs.cores[place + 1..].iter().find(|&&other| other != core && siblings.contains(&other))?;
        Some((core, *other))
    });
    let Some((one, other)) = shared else {
        return Some(Finding::good(subject, "on; no two threads share a core"));
    };
    let advice = Finding::advice(
        subject,
        format!("{one} and {other} of [threads] are one core"),
        "take cores in [threads] that are no siblings: lscpu --extended",
    );
    let why = "Two threads on one core have half of it each: a worker loses packets unless it has its core for itself.";
    Some(Finding { weight: 6, ..advice.because("cores of their own", why, PLACEMENT) })
}

/// Cores that were chosen for receiving, and that the scheduler gives to others as well.
fn isolated(host: &dyn Host, needs: &HostNeeds) -> Option<Finding> {
    let subject = "isolated cores";
    let isolated = from_list(&host.read(&PathBuf::from("/sys/devices/system/cpu/isolated")).ok()?);
    let receiving: BTreeSet<usize> = needs.receiving_cores.iter().copied().collect();
    if receiving.is_empty() {
        return None;
    }
    let list = to_list(&receiving);
    if receiving.is_subset(&isolated) {
        return Some(Finding::good(
            subject,
            format!("{} are kept free of other programs", to_list(&isolated)),
        ));
    }
    let found = match isolated.is_empty() {
        true => format!("none: other programs may run on {list}, which receive"),
        false => format!("{}, but {list} receive", to_list(&isolated)),
    };
    let fix =
        format!("isolcpus={list} nohz_full={list} on the kernel's command line, then a restart of the host");
    let advice = Finding::advice(subject, found, fix).because(
        &list,
        "Another program on such a core stops the receiving thread for milliseconds.",
        "FPGA-to-server with the eXpress Data Path, test setup: a whole processor is isolated from the scheduler",
    );
    Some(Finding { weight: 4, risk: Some("The cores are idle while nothing is received."), ..advice })
}

/// Not used by evforge: said, because it is asked for.
fn huge_pages(host: &dyn Host) -> Option<Finding> {
    let pages = host.read(&PathBuf::from("/proc/sys/vm/nr_hugepages")).ok()?;
    Some(Finding::good("huge pages", format!("vm.nr_hugepages is {pages}; evforge uses none")))
}

//! A network interface: its driver, queues, rings and interrupts.

use std::io;

use super::{Finding, HostNeeds};
use crate::interrupts::interrupt_cores;
use crate::xdp::interface::Interface;

/// Of the ring that the driver can have at most, the part below which it is worth a word.
const SMALL_RING: u32 = 2;

pub(super) fn check(name: &str, needs: &HostNeeds) -> Vec<Finding> {
    let subject = format!("interface {name}");
    let interface = match Interface::find(name) {
        Ok(interface) => interface,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let fix = "see which there are: ip -brief link";
            return vec![Finding::missing(&subject, "there is no such interface", fix)];
        }
        Err(error) => return vec![Finding::advice(&subject, error.to_string(), "ip -brief link")],
    };
    let mut findings = vec![Finding::good(&subject, description(&interface))];
    findings.extend(ring(&subject, &interface, name));
    findings.push(interrupts(&subject, name, needs));
    if needs.xdp.is_asked_for() && interface.driver.is_none() {
        let found = "its driver does not tell its name: it hardly runs XDP programs itself";
        findings.push(Finding::advice(&subject, found, "set receive.method = \"socket\""));
    }
    findings
}

fn description(interface: &Interface) -> String {
    let queues = match interface.queues {
        None => "number of queues unknown".to_owned(),
        Some(1) => "1 queue".to_owned(),
        Some(queues) => format!("{queues} queues"),
    };
    let driver = interface.driver.as_deref().unwrap_or("unknown");
    format!("driver {driver}, {queues}, packets of up to {} bytes", interface.mtu)
}

/// None where the driver has no ring to speak of.
fn ring(subject: &str, interface: &Interface, name: &str) -> Option<Finding> {
    let (ring, most) = interface.ring?;
    let found = format!("its receive ring has {ring} of at most {most} entries");
    Some(if ring < most / SMALL_RING {
        Finding::advice(subject, format!("{found}: peaks that it cannot hold are lost in the card"), {
            format!("sudo ethtool -G {name} rx {most}")
        })
    } else {
        Finding::good(subject, found)
    })
}

fn interrupts(subject: &str, name: &str, needs: &HostNeeds) -> Finding {
    let busy = interrupt_cores(name);
    if busy.is_empty() {
        return Finding::good(subject, "no interrupts of its own");
    }
    let found = format!("its interrupts are served by the cores {busy:?}");
    match needs.receiving_cores.iter().find(|core| busy.contains(core)) {
        Some(core) if needs.share_interrupt_core => {
            Finding::advice(subject, format!("{found}, and core {core} receives"), "receive on another core")
        }
        Some(core) => Finding::missing(
            subject,
            format!("{found}, and core {core} is to receive"),
            "take another core in [threads], move the interrupts (/proc/irq/*/smp_affinity_list), or set \
             threads.receive.share_interrupt_core = true",
        ),
        None => Finding::good(subject, found),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Verdict, XdpNeed};
    use super::*;

    fn needs() -> HostNeeds {
        HostNeeds { xdp: XdpNeed::No, ..HostNeeds::default() }
    }

    #[test]
    fn an_interface_is_described_or_missing() {
        let found = check("lo", &needs());
        assert!(found.iter().all(|finding| finding.verdict == Verdict::Good), "{found:?}");
        assert!(found[0].found.contains("packets of up to"), "{found:?}");
        let missing = check("no-such-if", &needs());
        assert_eq!(missing[0].verdict, Verdict::Missing);
        assert!(missing[0].fix.as_deref().is_some_and(|fix| fix.contains("ip -brief link")));
    }

    #[test]
    fn a_small_ring_comes_with_the_command_that_enlarges_it() {
        let interface = |ring| Interface { index: 1, mtu: 1500, queues: Some(2), driver: None, ring };
        let small = ring("interface eth7", &interface(Some((512, 4096))), "eth7").unwrap();
        assert_eq!(small.fix.as_deref(), Some("sudo ethtool -G eth7 rx 4096"));
        assert_eq!(ring("x", &interface(Some((4096, 4096))), "eth7").unwrap().verdict, Verdict::Good);
        assert_eq!(ring("x", &interface(None), "eth7"), None);
        assert!(description(&interface(None)).contains("2 queues"));
    }
}

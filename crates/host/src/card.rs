//! A network card: which it is, and where it sits.

use crate::cores::from_list;
use crate::ethtool::identity;
use crate::finding::Finding;
use crate::host::Host;
use crate::needs::HostNeeds;
use std::io;
use std::path::{Path, PathBuf};

const XDP_PAPER: &str =
    "FPGA-to-server with the eXpress Data Path, test setup (only the processor next to the card is used)";

/// The interface, its driver, its place on the bus, and whether the cores that receive are near it.
pub(crate) fn check(host: &dyn Host, name: &str, needs: &HostNeeds) -> Vec<Finding> {
    let subject = format!("interface {name}");
    let folder = Path::new("/sys/class/net").join(name);
    let Ok(mtu) = host.read(&folder.join("mtu")) else {
        return vec![Finding::missing(
            &subject,
            "there is no such interface",
            "see which there are: ip -brief link",
        )];
    };
    let identity = host.run(&["ethtool", "-i", name]);
    let answer = identity.as_deref().unwrap_or_default();
    let mut findings = vec![described(host, &subject, &folder, answer, &mtu)];
    if needs.xdp.is_asked_for() && host.link(&folder.join("device/driver")).is_err() && identity.is_err() {
        let found = "its driver does not tell its name: it hardly runs XDP programs itself";
        findings.push(Finding::advice(&subject, found, "set receive.method = \"socket\""));
    }
    if host.link(&folder.join("device")).is_ok() {
        findings.extend(ethtool_is_missing(identity.as_ref().err(), name));
        findings.extend(bus(host, &format!("{name}: PCI bus"), &folder));
        findings.extend(memory_node(host, &format!("{name}: processor next to the card"), &folder, needs));
        findings.push(cache_access(host, &format!("{name}: direct cache access")));
    }
    findings
}

fn described(host: &dyn Host, subject: &str, folder: &Path, answer: &str, mtu: &str) -> Finding {
    let driver = identity(answer, "driver").map(str::to_owned);
    let driver = driver
        .or_else(|| host.link(&folder.join("device/driver")).ok())
        .unwrap_or_else(|| "unknown".to_owned());
    let queues = host.list(&folder.join("queues")).unwrap_or_default();
    let queues = match queues.iter().filter(|queue| queue.starts_with("rx-")).count() {
        0 => "number of queues unknown".to_owned(),
        1 => "1 queue".to_owned(),
        queues => format!("{queues} queues"),
    };
    let mut found = format!("driver {driver}, {queues}, packets of up to {mtu} bytes");
    if let Some(firmware) = identity(answer, "firmware-version").filter(|version| *version != "N/A") {
        found += &format!(", firmware {firmware}");
    }
    if let Ok(speed) = host.read(&folder.join("speed"))
        && speed.parse::<u32>().is_ok_and(|speed| speed > 0)
    {
        found += &format!(", {speed} Mb/s");
    }
    Finding::good(subject, found)
}

fn ethtool_is_missing(error: Option<&io::Error>, name: &str) -> Option<Finding> {
    (error?.kind() == io::ErrorKind::NotFound).then(|| {
        Finding::advice(
            &format!("{name}: rings, interrupts, offloads"),
            "not looked at: the command ethtool is not installed",
            "sudo apt-get install ethtool",
        )
    })
}

/// A card in a slow slot, or one that has come up with fewer lanes than it has.
fn bus(host: &dyn Host, subject: &str, folder: &Path) -> Option<Finding> {
    let read = |file: &str| host.read(&folder.join("device").join(file)).ok();
    let (speed, width) = (read("current_link_speed")?, read("current_link_width")?);
    let (best_speed, best_width) = (read("max_link_speed")?, read("max_link_width")?);
    let found = format!("{width} lanes of {speed}");
    if (&speed, &width) == (&best_speed, &best_width) {
        return Some(Finding::good(subject, found));
    }
    let fix = "put the card into another slot; see lspci -vv, LnkSta";
    let found = format!("{found}; the card can have {best_width} of {best_speed}");
    let advice = Finding::advice(subject, found, fix).because(
        &format!("{best_width} lanes of {best_speed}"),
        "What the bus cannot take is lost in the card, as if its ring were full.",
        "10GE network tests with UDP, host tuning (PCI bus)",
    );
    Some(Finding { weight: 7, ..advice })
}

/// The card's memory node, and the cores of that node.
fn memory_node(host: &dyn Host, subject: &str, folder: &Path, needs: &HostNeeds) -> Option<Finding> {
    let node = host.read(&folder.join("device/numa_node")).ok()?;
    if node == "-1" {
        return None;
    }
    let cores = host.read(&PathBuf::from(format!("/sys/devices/system/node/node{node}/cpulist"))).ok()?;
    let near = from_list(&cores);
    let found = format!("the card is at node {node}, with the cores {cores}");
    let Some(far) = needs.cores.iter().find(|core| !near.contains(core)) else {
        return Some(Finding::good(subject, found));
    };
    let fix = format!("take cores of {cores} in [threads]");
    let advice = Finding::advice(subject, format!("{found}; core {far} of [threads] is at another"), fix)
        .because(
            &format!("cores of {cores}"),
            "Every packet goes from the memory of one processor to the other's.",
            XDP_PAPER,
        );
    Some(Finding { weight: 7, ..advice })
}

/// The card puts packets into the processor's cache: Intel's DCA of the time of the slides; newer processors do it without being asked.
fn cache_access(host: &dyn Host, subject: &str) -> Finding {
    match host.list(Path::new("/sys/class/dca")) {
        Ok(devices) if !devices.is_empty() => Finding::good(subject, "DCA is on"),
        _ => Finding::good(subject, "no DCA: newer processors do it themselves (DDIO)"),
    }
}

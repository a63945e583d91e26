//! A network interface and its card.

use super::gathered::Gathered;
use crate::error::MeasureError;
use evforge_host::Host;
use evforge_host::ethtool::{Group, features, identity};
use std::path::Path;

pub(super) fn add(gathered: &mut Gathered, host: &dyn Host, name: &str) -> Result<(), MeasureError> {
    let all = Path::new("/sys/class/net");
    let folder = all.join(name);
    let read = |file: &str| host.read(&folder.join(file)).ok();
    let Some(mtu) = read("mtu") else {
        let others = host.list(all).unwrap_or_default().join(", ");
        return Err(MeasureError::Wrong(format!("there is no interface `{name}`; there are {others}")));
    };
    let answer = host.run(&["ethtool", "-i", name]).unwrap_or_default();
    let identity = |field: &str| identity(&answer, field).map(str::to_owned).filter(|value| value != "N/A");
    // Where nothing is plugged in, the kernel says -1 or nothing.
    let speed = read("speed").filter(|speed| speed.parse::<u32>().is_ok_and(|speed| speed > 0));
    let queues = |kind: &str| {
        let names = host.list(&folder.join("queues")).ok()?;
        Some(names.iter().filter(|queue| queue.starts_with(kind)).count().to_string())
    };
    gathered
        .part(format!("interface {name}"))
        .add("driver", identity("driver").or_else(|| host.link(&folder.join("device/driver")).ok()))
        .add("driver version", identity("version"))
        .add("firmware", identity("firmware-version"))
        .add(
            "card (PCI)",
            read("device/vendor").zip(read("device/device")).map(|(maker, card)| format!("{maker}:{card}")),
        )
        .add(
            "slot",
            read("device/current_link_speed")
                .zip(read("device/current_link_width"))
                .map(|(speed, lanes)| format!("{speed}, {lanes} lanes")),
        )
        .add("NUMA node", read("device/numa_node"))
        .add("speed (Mb/s)", speed)
        .add("MTU", Some(mtu))
        .add("receive queues", queues("rx-"))
        .add("transmit queues", queues("tx-"))
        .add("deferred interrupts", read("napi_defer_hard_irqs"))
        .add("flush of coalesced packets (ns)", read("gro_flush_timeout"))
        .add("polling in threads", read("threaded"));
    if let Ok(answer) = host.run(&["ethtool", Group::Offload.show(), name]) {
        for (feature, state) in features(&answer) {
            gathered.add(&format!("offload {feature}"), Some(state));
        }
    }
    Ok(())
}

//! What a configuration asks of the host, for whoever checks that before a run.

use evforge_config::CommonConfig;
use evforge_host::{HostNeeds, XdpNeed};
use evforge_net::host_check::buffer_granted_by;
use evforge_net::interfaces::InterfacesInUse;
use evforge_net::live_receiver::ReceiveMethod;

/// What a live run with this configuration needs of the host. The interfaces are the one that is named, or those that have
/// the address.
pub fn host_needs(config: &CommonConfig) -> HostNeeds {
    let (receive, threads) = (&config.receive, &config.threads);
    let by_address = || {
        let reading = InterfacesInUse::OfAddress(receive.address.ip()).read();
        reading.map(|reading| reading.names().into_iter().map(str::to_owned).collect()).unwrap_or_default()
    };
    let xdp = match (receive.method, &receive.interface) {
        (ReceiveMethod::Xdp, _) => XdpNeed::Must,
        (ReceiveMethod::Auto, Some(_)) => XdpNeed::IfPossible,
        (ReceiveMethod::Socket, _) | (ReceiveMethod::Auto, None) => XdpNeed::No,
    };
    let buffer = usize::try_from(receive.buffer.bytes).unwrap_or(usize::MAX);
    let ports: Vec<u16> = [receive.address.port()].into_iter().chain(receive.ports.iter().copied()).collect();
    HostNeeds {
        buffer,
        buffer_granted_by: buffer_granted_by(buffer, &ports),
        sockets: receive.receivers(),
        interfaces: receive.interface.clone().map_or_else(by_address, |interface| vec![interface]),
        ports,
        xdp,
        cores: threads.receive.core.iter().chain(&threads.form.core).copied().collect(),
        receiving_cores: threads.receive.core.clone(),
        share_interrupt_core: threads.receive.share_interrupt_core,
        priority: threads.receive.priority.max(threads.form.priority),
    }
}

//! The virtual interfaces between two network namespaces.

use super::TwoHostsError;
use super::namespace::{Namespace, prepare_own, run};
use std::net::Ipv4Addr;

pub(super) const RECEIVER: &str = "wire-r";
pub(super) const SENDER: &str = "wire-s";
pub(super) const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
pub(super) const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);

/// The link; the sender's namespace ends with it.
pub(super) struct Link {
    pub(super) sender: Namespace,
}

impl Link {
    pub(super) fn lay(mtu: u32) -> Result<Self, TwoHostsError> {
        let link = Self { sender: Namespace::make()? };
        let mtu = mtu.to_string();
        let peer = link.sender.process();
        prepare_own()?;
        run("ip", &["link", "add", RECEIVER, "type", "veth", "peer", "name", SENDER, "netns", &peer])?;
        run("ip", &["address", "add", &format!("{RECEIVER_ADDRESS}/24"), "dev", RECEIVER])?;
        run("ip", &["link", "set", RECEIVER, "mtu", &mtu, "up"])?;
        run("ethtool", &["-K", RECEIVER, "gro", "on", "rx-udp-gro-forwarding", "on"])?;
        link.sender.run(&["ip", "address", "add", &format!("{SENDER_ADDRESS}/24"), "dev", SENDER])?;
        link.sender.run(&["ip", "link", "set", SENDER, "mtu", &mtu, "up"])?;
        link.sender.run(&["ethtool", "-K", SENDER, "tx-udp-segmentation", "off"])?;
        Ok(link)
    }

    /// Gives both ends another MTU, in bytes.
    pub(super) fn set_mtu(&self, mtu: u32) -> Result<(), TwoHostsError> {
        let mtu = mtu.to_string();
        run("ip", &["link", "set", RECEIVER, "mtu", &mtu])?;
        self.sender.run(&["ip", "link", "set", SENDER, "mtu", &mtu])
    }

    /// Packets come in one by one, and are not joined on the sender's core (GRO) before the kernel's work on them is handed to another one.
    pub(super) fn take_singly(&self) -> Result<(), TwoHostsError> {
        run("ethtool", &["-K", RECEIVER, "gro", "off", "rx-udp-gro-forwarding", "off"])
    }
}

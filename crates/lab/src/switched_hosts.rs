//! Several hosts at a switch, on one machine: a network namespace each, joined by a bridge; or loopback where namespaces cannot be had.
//!
//! ```text
//!  host 0 ── veth ──┐
//!  host 1 ── veth ──┤ bridge, in the namespace of this process
//!  host 2 ── veth ──┘
//! ```
//!
//! This process must be in namespaces of its own ([`two_hosts::within`](crate::two_hosts::within)): whatever ends it takes hosts, bridge and programs along.

use crate::two_hosts::namespace::{Namespace, prepare_own, run};
use crate::two_hosts::{TwoHostsError, program_ending_with_this, without_surroundings};
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

/// The bridge.
const SWITCH: &str = "switch";
/// Hosts at most: addresses of a network.
const MOST: usize = 250;

/// Several hosts; those in namespaces vanish with the process.
pub struct SwitchedHosts(Place);

enum Place {
    /// All are this host.
    Loopback,
    /// Namespaces at a bridge.
    Namespaces(Vec<Namespace>),
}

impl SwitchedHosts {
    /// All hosts are this one.
    pub const fn on_loopback() -> Self {
        Self(Place::Loopback)
    }

    /// So many namespaces (1 to 250) at a bridge, whose interfaces take packets of `mtu` bytes.
    ///
    /// # Errors
    /// If `ip`, `unshare` or `nsenter` is missing or fails.
    ///
    /// # Panics
    /// If there are to be more than 250.
    pub fn in_namespaces(count: usize, mtu: u32) -> Result<Self, TwoHostsError> {
        assert!((1..=MOST).contains(&count), "{count} hosts, expected 1 to {MOST}");
        prepare_own()?;
        let mtu = mtu.to_string();
        run("ip", &["link", "add", SWITCH, "type", "bridge"])?;
        run("ip", &["link", "set", SWITCH, "mtu", &mtu, "up"])?;
        let host = |number: usize| {
            let namespace = Namespace::make()?;
            let (port, peer) = (format!("port-{number}"), namespace.process());
            run("ip", &["link", "add", &port, "type", "veth", "peer", "name", "node", "netns", &peer])?;
            run("ip", &["link", "set", &port, "mtu", &mtu, "master", SWITCH, "up"])?;
            let address = format!("{}/24", address(number));
            namespace.run(&["ip", "address", "add", &address, "dev", "node"])?;
            namespace.run(&["ip", "link", "set", "node", "mtu", &mtu, "up"])?;
            Ok(namespace)
        };
        Ok(Self(Place::Namespaces((0..count).map(host).collect::<Result<_, TwoHostsError>>()?)))
    }

    /// A program on the host of this number, below the count: without input, and without what the environment says of options of
    /// evforge, which the measurement sets itself.
    pub fn command(&self, host: usize, program: impl AsRef<OsStr>) -> Command {
        match &self.0 {
            Place::Loopback => program_ending_with_this(program),
            Place::Namespaces(all) => {
                let mut command = all[host].command(program);
                without_surroundings(&mut command);
                command
            }
        }
    }

    /// The address of a host.
    pub fn address(&self, host: usize) -> IpAddr {
        match &self.0 {
            Place::Loopback => Ipv4Addr::LOCALHOST.into(),
            Place::Namespaces(_) => address(host).into(),
        }
    }

    /// The network interface that stands for the switch; none on loopback.
    pub const fn interface(&self) -> Option<&str> {
        match &self.0 {
            Place::Loopback => None,
            Place::Namespaces(_) => Some(SWITCH),
        }
    }

    /// True if each host is a network namespace.
    pub const fn has_namespaces(&self) -> bool {
        matches!(self.0, Place::Namespaces(_))
    }
}

fn address(host: usize) -> Ipv4Addr {
    // At most 250 hosts.
    Ipv4Addr::new(10, 9, 1, u8::try_from(host + 1).unwrap_or(u8::MAX))
}

//! The network interfaces in use, and what they have lost: for the ledger.
//!
//! The counters are those that the kernel keeps for every interface (`rtnl_link_stats64` of Linux,
//! include/uapi/linux/if_link.h; Documentation/networking/statistics.rst). They hold all traffic of an interface, not
//! ours alone. Reading them asks the driver, which may take its locks or ask the card: not once for every packet, and
//! not in the thread that receives.

mod counters;
mod driver;
mod in_use;
mod links;
mod netlink;
pub(crate) mod next_hop;

use std::net::IpAddr;
use std::path::Path;

pub use counters::InterfaceCounters;
pub use driver::driver_counters;
pub use in_use::{InterfacesError, InterfacesInUse};
pub use links::InterfaceReading;
use links::used;

impl InterfacesInUse {
    /// Reads the counters as they are now, in the network namespace of this thread.
    ///
    /// Interfaces that lie on others (VLAN, bond, bridge) bring those along: that is where a cable ends.
    ///
    /// # Errors
    /// If there is no such interface, or the kernel does not answer.
    pub fn read(&self) -> Result<InterfaceReading, InterfacesError> {
        let mut socket = netlink::open().map_err(InterfacesError::Unreadable)?;
        let links = netlink::links(&mut socket).map_err(InterfacesError::Unreadable)?;
        let addresses = netlink::addresses(&mut socket).map_err(InterfacesError::Unreadable)?;
        let reading = used(self, &links, &addresses);
        if reading.is_empty() { Err(InterfacesError::None(self.clone())) } else { Ok(reading) }
    }
}

/// The addresses of this host, in the network namespace of this thread, in the order of its interfaces.
///
/// # Errors
/// If the kernel does not answer.
pub fn own_addresses() -> Result<Vec<IpAddr>, InterfacesError> {
    let mut socket = netlink::open().map_err(InterfacesError::Unreadable)?;
    let found = netlink::addresses(&mut socket).map_err(InterfacesError::Unreadable)?;
    let mut addresses = Vec::new();
    for (_, address) in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// True if there is a device behind the interface, which sends every frame for itself: not so for loopback, veth pairs and
/// bridges. In another network namespace than the one that /sys was mounted in, it finds none.
pub fn has_device(interface: &str) -> bool {
    Path::new("/sys/class/net").join(interface).join("device").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interfaces_of_this_host_are_found_by_name_and_address() {
        let loopback = InterfacesInUse::Named("lo".into()).read().unwrap();
        assert_eq!(loopback.names(), ["lo"]);
        let by_address = InterfacesInUse::OfAddress([127, 0, 0, 1].into()).read().unwrap();
        assert_eq!(by_address.names(), ["lo"]);
        let all = InterfacesInUse::OfAddress([0, 0, 0, 0].into()).read().unwrap();
        assert!(all.names().contains(&"lo"), "{all:?}");
        assert!(!has_device("lo"));
        // Nothing is in error on loopback.
        let since = InterfacesInUse::Named("lo".into()).read().unwrap().since(&loopback);
        assert_eq!((since.crc_errors, since.missed), (0, 0));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let text = InterfacesInUse::Named("no-such-if".into()).read().unwrap_err().to_string();
        assert!(text.contains("there is no network interface \"no-such-if\""), "{text}");
        let text = InterfacesInUse::OfAddress([192, 0, 2, 1].into()).read().unwrap_err().to_string();
        assert!(text.contains("no network interface has the address 192.0.2.1"), "{text}");
    }
}

//! Which of the host's interfaces are in use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::counters::InterfaceCounters;
use super::in_use::InterfacesInUse;

/// One network interface of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) is_up: bool,
    /// The interface that this one lies on, as a VLAN on a network card.
    pub(super) lower: Option<u32>,
    /// The bond or bridge that it belongs to.
    pub(super) upper: Option<u32>,
    /// True of bonds: they have the sums of what lies below them.
    pub(super) is_sum: bool,
    pub(super) counters: InterfaceCounters,
}

/// Counters of the interfaces in use at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceReading(BTreeMap<u32, (String, InterfaceCounters)>);

impl InterfaceReading {
    /// Names of the interfaces.
    pub fn names(&self) -> Vec<&str> {
        self.0.values().map(|(name, _)| name.as_str()).collect()
    }

    /// Each interface by its name, with its counters.
    pub fn each(&self) -> impl Iterator<Item = (&str, &InterfaceCounters)> + '_ {
        self.0.values().map(|(name, counters)| (name.as_str(), counters))
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the interfaces of another reading of the same moment; none is in it twice.
    pub fn unite(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// What the interfaces have counted since `earlier`, together. One that has come since then counts from 0.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> InterfaceCounters {
        let mut sum = InterfaceCounters::default();
        for (index, (_, now)) in &self.0 {
            let before = earlier.0.get(index).map_or(InterfaceCounters::default(), |(_, counters)| *counters);
            sum.add(&now.since(&before));
        }
        sum
    }
}

/// The interfaces in use among `links`, and what those lie on. `addresses` are those of the host, with the number of the
/// interface.
pub(super) fn used(which: &InterfacesInUse, links: &[Link], addresses: &[(u32, IpAddr)]) -> InterfaceReading {
    let everywhere = |address: &IpAddr| address.is_unspecified() || address.is_multicast();
    let named: BTreeSet<u32> = match which {
        InterfacesInUse::Named(name) => {
            links.iter().filter(|link| link.name == *name).map(|link| link.index).collect()
        }
        InterfacesInUse::OfAddress(address) if everywhere(address) => {
            links.iter().filter(|link| link.is_up).map(|link| link.index).collect()
        }
        InterfacesInUse::OfAddress(address) => {
            // All of 127.0.0.0/8 is on the interface that has 127.0.0.1.
            let address = match address.to_canonical() {
                IpAddr::V4(address) if address.is_loopback() => IpAddr::from([127, 0, 0, 1]),
                address => address,
            };
            addresses.iter().filter(|(_, other)| *other == address).map(|(index, _)| *index).collect()
        }
    };
    let mut found = named;
    loop {
        let before = found.len();
        for link in links {
            if link.upper.is_some_and(|upper| found.contains(&upper)) {
                found.insert(link.index);
            }
            if let Some(lower) = link.lower.filter(|_| found.contains(&link.index)) {
                found.insert(lower);
            }
        }
        if found.len() == before {
            break;
        }
    }
    let has_parts = |link: &Link| links.iter().any(|part| part.upper == Some(link.index));
    InterfaceReading(
        links
            .iter()
            .filter(|link| found.contains(&link.index) && !(link.is_sum && has_parts(link)))
            .map(|link| (link.index, (link.name.clone(), link.counters)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str) -> Link {
        let counters = InterfaceCounters { crc_errors: u64::from(index), ..Default::default() };
        Link { index, name: name.into(), is_up: true, counters, ..Link::default() }
    }

    fn host() -> (Vec<Link>, Vec<(u32, IpAddr)>) {
        let links = vec![
            link(1, "lo"),
            Link { upper: Some(4), ..link(2, "eth0") },
            Link { upper: Some(4), ..link(3, "eth1") },
            Link { is_sum: true, ..link(4, "bond0") },
            Link { lower: Some(4), ..link(5, "bond0.7") },
            Link { is_up: false, ..link(6, "eth2") },
        ];
        let addresses = [(1, "127.0.0.1"), (5, "10.0.0.1"), (5, "fd00::1"), (6, "10.0.1.1")]
            .map(|(index, address)| (index, address.parse().expect("an address")));
        (links, addresses.to_vec())
    }

    #[test]
    fn the_interface_with_the_address_brings_those_below_it_and_none_twice() {
        let (links, addresses) = host();
        let names = |address: &str| {
            let which = InterfacesInUse::OfAddress(address.parse().unwrap());
            used(&which, &links, &addresses).names().join(" ")
        };
        assert_eq!(names("10.0.0.1"), "eth0 eth1 bond0.7");
        assert_eq!(names("fd00::1"), "eth0 eth1 bond0.7");
        assert_eq!(names("::ffff:10.0.0.1"), "eth0 eth1 bond0.7");
        assert_eq!(names("127.0.0.9"), "lo");
        assert_eq!(names("10.0.1.1"), "eth2");
        assert_eq!(names("10.0.9.9"), "");
        for everywhere in ["0.0.0.0", "::", "239.0.0.1"] {
            assert_eq!(names(everywhere), "lo eth0 eth1 bond0.7");
        }
        assert_eq!(used(&InterfacesInUse::Named("eth1".into()), &links, &addresses).names(), ["eth1"]);
    }

    #[test]
    fn readings_of_several_interfaces_add_up_and_one_that_comes_later_counts_from_zero() {
        let (mut links, addresses) = host();
        let which = InterfacesInUse::OfAddress("10.0.0.1".parse().unwrap());
        let mut before = used(&which, &links[..2], &addresses);
        before.unite(used(&which, &links[4..], &addresses));
        links[1].counters.crc_errors += 100;
        links[4].counters.crc_errors = 0;
        let since = used(&which, &links, &addresses).since(&before);
        // eth0 was not in the first reading, because the bond was not; nor was eth1. bond0.7 has gone back.
        assert_eq!(since.crc_errors, 102 + 3);
        before = used(&which, &links, &addresses);
        links[2].counters.crc_errors += 5;
        assert_eq!(used(&which, &links, &addresses).since(&before).lost_on_the_link(), 5);
    }

    #[test]
    fn the_same_loss_in_several_counters_of_a_card_counts_once() {
        let counters =
            InterfaceCounters { missed: 7, fifo_errors: 7, over_errors: 3, ..InterfaceCounters::default() };
        assert_eq!(counters.lost_in_the_card(), 7);
    }
}

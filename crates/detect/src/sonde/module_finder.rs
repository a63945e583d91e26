//! Which module a packet is from.

use super::settings::{GroupAddress, GroupSettings, SYSTEMS};
use evforge_core::packet::PacketOrigin;
use std::net::IpAddr;

/// Number of a module that does not exist.
const NONE: u16 = u16::MAX;

/// Finds a group by its address.
#[derive(Clone, Debug, get_size2::GetSize)]
enum Groups {
    Any,
    BySource(Addresses),
    /// A place for every port.
    ByPort(Vec<u16>),
}

/// Memory of places. Addresses do not say what they have on the heap: nothing.
fn room_of<T>(places: &Vec<T>) -> usize {
    places.capacity() * size_of::<T>()
}

/// Addresses with their groups, each near the place that its bits say, in at least twice as many places.
#[derive(Clone, Debug, get_size2::GetSize)]
struct Addresses {
    #[get_size(size_fn = room_of)]
    places: Vec<Option<(IpAddr, u16)>>,
}

impl Addresses {
    fn new(groups: &[(IpAddr, u16)]) -> Self {
        let mut places = vec![None; Self::place_count(groups.len())];
        for &(address, group) in groups {
            let mut place = Self::first_place(address, places.len());
            while places[place].is_some() {
                place = (place + 1) % places.len();
            }
            places[place] = Some((address, group));
        }
        Self { places }
    }

    fn place_count(groups: usize) -> usize {
        (2 * groups).next_power_of_two()
    }

    /// Where the search for an address begins. There are 2^n places.
    #[inline]
    fn first_place(address: IpAddr, places: usize) -> usize {
        let bits = match address {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => (address.to_bits() ^ (address.to_bits() >> 64)) as u64,
        };
        // The golden ratio spreads neighbours; its upper bits are those that depend on all.
        (bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & (places - 1)
    }

    #[inline]
    fn group(&self, address: IpAddr) -> Option<u16> {
        let mut place = Self::first_place(address, self.places.len());
        // Half of the places are free: the search ends.
        while let Some((other, group)) = self.places[place] {
            if other == address {
                return Some(group);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
        None
    }
}

/// Finds modules. They are numbered through all groups, in the order of the settings.
#[derive(Clone, Debug, get_size2::GetSize)]
pub struct ModuleFinder {
    groups: Groups,
    /// Module of each system of each group.
    modules: Vec<[u16; SYSTEMS]>,
}

impl ModuleFinder {
    /// For groups that have been checked.
    pub fn new(groups: &[GroupSettings]) -> Self {
        let mut first = 0;
        let mut modules = Vec::with_capacity(groups.len());
        for group in groups {
            let mut systems = [NONE; SYSTEMS];
            for (number, module) in (first..).zip(&group.modules) {
                match module.system {
                    None => systems.fill(number),
                    Some(system) => systems[usize::from(system) % SYSTEMS] = number,
                }
            }
            first += group.modules.len() as u16;
            modules.push(systems);
        }
        let (mut by_source, mut by_port) = (Vec::new(), Vec::new());
        for (number, group) in (0..).zip(groups) {
            match group.address {
                GroupAddress::Any => {}
                GroupAddress::Source(address) => by_source.push((address.to_canonical(), number)),
                GroupAddress::Port(port) => {
                    by_port.resize(1 << 16, NONE);
                    by_port[usize::from(port)] = number;
                }
            }
        }
        let groups = if !by_source.is_empty() {
            Groups::BySource(Addresses::new(&by_source))
        } else if !by_port.is_empty() {
            Groups::ByPort(by_port)
        } else {
            Groups::Any
        };
        Self { groups, modules }
    }

    /// The module of a packet with this origin and system number, or none that is configured.
    #[inline]
    pub fn find(&self, origin: &PacketOrigin, system: u8) -> Option<usize> {
        let group = match &self.groups {
            Groups::Any => 0,
            Groups::BySource(groups) => groups.group(origin.source.ip().to_canonical())?,
            Groups::ByPort(groups) => *groups.get(usize::from(origin.destination_port))?,
        };
        let module = *self.modules.get(usize::from(group))?.get(usize::from(system))?;
        (module != NONE).then_some(usize::from(module))
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::ModuleSettings;
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr};

    fn group(address: GroupAddress, systems: &[Option<u8>]) -> GroupSettings {
        let modules = systems.iter().map(|&system| ModuleSettings { system, x: 0, y: 0 }).collect();
        GroupSettings { address, x: 0, y: 0, modules }
    }

    fn origin(source: &str, destination_port: u16) -> PacketOrigin {
        let source: SocketAddr = source.parse().unwrap();
        PacketOrigin { source, destination_port, ..PacketOrigin::default() }
    }

    #[test]
    fn by_source_address_whatever_the_port_and_the_notation() {
        let address = |text: &str| GroupAddress::Source(text.parse().unwrap());
        let groups =
            [group(address("10.0.0.2"), &[Some(0), Some(1)]), group(address("10.0.0.1"), &[Some(31)])];
        let finder = ModuleFinder::new(&groups);
        assert_eq!(finder.find(&origin("10.0.0.2:50011", 9000), 1), Some(1));
        assert_eq!(finder.find(&origin("[::ffff:10.0.0.1]:50021", 9000), 31), Some(2));
        assert_eq!(finder.find(&origin("10.0.0.1:50011", 9000), 0), None);
        assert_eq!(finder.find(&origin("10.0.0.3:50011", 9000), 0), None);
    }

    #[test]
    fn many_addresses_each_with_its_group() {
        let address = |number: u32| IpAddr::from(Ipv4Addr::from_bits(0x0A00_0000 + number * 257));
        let groups: Vec<_> =
            (0..1000).map(|number| group(GroupAddress::Source(address(number)), &[Some(3)])).collect();
        let finder = ModuleFinder::new(&groups);
        for number in 0..3000 {
            let origin =
                PacketOrigin { source: SocketAddr::new(address(number), 1), ..PacketOrigin::default() };
            let expected = (number < 1000).then_some(number as usize);
            assert_eq!(finder.find(&origin, 3), expected);
        }
    }

    #[test]
    fn by_destination_port_or_without_any_difference() {
        let groups = [group(GroupAddress::Port(9000), &[None]), group(GroupAddress::Port(9001), &[Some(5)])];
        let finder = ModuleFinder::new(&groups);
        assert_eq!(finder.find(&origin("10.0.0.2:1", 9000), 17), Some(0));
        assert_eq!(finder.find(&origin("10.0.0.2:1", 9001), 5), Some(1));
        assert_eq!(finder.find(&origin("10.0.0.2:1", 9002), 5), None);
        let finder = ModuleFinder::new(&[group(GroupAddress::Any, &[None])]);
        assert_eq!(finder.find(&PacketOrigin::default(), 3), Some(0));
    }
}

//! The flow rules of the kernel's network cards (`struct ethtool_rxnfc` of include/uapi/linux/ethtool.h).
//!
//! Virtual interfaces refuse them, so that nothing here can be exercised without such a card: it only translates.

use std::io;
use std::net::UdpSocket;

use super::flow_rule::{Cards, FlowRule};
use crate::xdp::interface::{ask, request};

const COUNT_RULES: u32 = 0x2e;
const GET_RULE: u32 = 0x2f;
const LIST_RULES: u32 = 0x30;
const DELETE_RULE: u32 = 0x31;
const INSERT_RULE: u32 = 0x32;
const UDP_IPV4: u32 = 0x02;
const UDP_IPV6: u32 = 0x06;
/// Places of rules that are asked for at once.
const MOST_RULES: usize = 8192;
/// The card chooses the place.
const ANY_PLACE: u32 = 0xffff_ffff;

/// `struct ethtool_rx_flow_spec`, with its unions as bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlowSpec {
    flow_type: u32,
    header: [u8; 52],
    header_extension: [u8; 20],
    mask: [u8; 52],
    mask_extension: [u8; 20],
    ring: u64,
    location: u32,
}

/// `struct ethtool_rxnfc`, with room for the places of rules.
#[repr(C)]
struct Command {
    command: u32,
    flow_type: u32,
    data: u64,
    spec: FlowSpec,
    count: u32,
    places: [u32; MOST_RULES],
}

impl Command {
    fn new(command: u32) -> Box<Self> {
        let spec = FlowSpec {
            flow_type: 0,
            header: [0; 52],
            header_extension: [0; 20],
            mask: [0; 52],
            mask_extension: [0; 20],
            ring: 0,
            location: 0,
        };
        Box::new(Self { command, flow_type: 0, data: 0, spec, count: 0, places: [0; MOST_RULES] })
    }
}

/// Where the destination port is: `struct ethtool_tcpip4_spec` and `ethtool_tcpip6_spec`.
fn port_place(ipv6: bool) -> std::ops::Range<usize> {
    if ipv6 { 34..36 } else { 10..12 }
}

fn spec_of(rule: &FlowRule, location: u32) -> FlowSpec {
    let mut spec = Command::new(0).spec;
    spec.flow_type = if rule.ipv6 { UDP_IPV6 } else { UDP_IPV4 };
    spec.header[port_place(rule.ipv6)].copy_from_slice(&rule.port.to_be_bytes());
    spec.mask[port_place(rule.ipv6)].copy_from_slice(&[0xff; 2]);
    spec.ring = rule.queue.into();
    spec.location = location;
    spec
}

/// The rule, if it is one of those that are set here: a port and nothing else, to a queue.
fn rule_of(spec: &FlowSpec) -> Option<FlowRule> {
    let ipv6 = match spec.flow_type {
        UDP_IPV4 => false,
        UDP_IPV6 => true,
        _ => return None,
    };
    let place = port_place(ipv6);
    let port = u16::from_be_bytes([spec.header[place.start], spec.header[place.start + 1]]);
    let rule = FlowRule { ipv6, port, queue: u32::try_from(spec.ring).ok()? };
    let expected = spec_of(&rule, spec.location);
    (spec.mask == expected.mask && spec.mask_extension == expected.mask_extension).then_some(rule)
}

/// The cards of this network namespace.
#[derive(Debug)]
pub(super) struct KernelCards(UdpSocket);

impl KernelCards {
    /// Asks by any socket.
    pub(super) fn open() -> io::Result<Self> {
        UdpSocket::bind(("0.0.0.0", 0)).or_else(|_| UdpSocket::bind(("::", 0))).map(Self)
    }

    fn command(&self, interface: &str, command: &mut Command) -> io::Result<()> {
        let mut request = request(interface);
        request.ifr_ifru.ifru_data = std::ptr::from_mut(command).cast();
        ask(&self.0, libc::SIOCETHTOOL, &mut request)
    }

    /// The places that are taken, and how many there are.
    fn places(&self, interface: &str) -> io::Result<(Vec<u32>, u32)> {
        let mut counted = Command::new(COUNT_RULES);
        self.command(interface, &mut counted)?;
        let mut all = Command::new(LIST_RULES);
        all.count = counted.count.min(MOST_RULES as u32);
        self.command(interface, &mut all)?;
        let taken = all.places[..(all.count as usize).min(MOST_RULES)].to_vec();
        // The upper half has flags.
        Ok((taken, all.data as u32))
    }
}

impl Cards for KernelCards {
    fn list(&mut self, interface: &str) -> io::Result<Vec<(u32, FlowRule)>> {
        let mut found = Vec::new();
        for place in self.places(interface)?.0 {
            let mut one = Command::new(GET_RULE);
            one.spec.location = place;
            self.command(interface, &mut one)?;
            found.extend(rule_of(&one.spec).map(|rule| (place, rule)));
        }
        Ok(found)
    }

    fn insert(&mut self, interface: &str, rule: &FlowRule) -> io::Result<()> {
        let mut command = Command::new(INSERT_RULE);
        command.spec = spec_of(rule, ANY_PLACE);
        match self.command(interface, &mut command) {
            // Cards that do not choose a place themselves: the last free one, as lower ones go first.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSPC)) => {
                let (taken, size) = self.places(interface)?;
                let free = (0..size).rev().find(|place| !taken.contains(place));
                command.spec = spec_of(rule, free.ok_or(error)?);
                self.command(interface, &mut command)
            }
            result => result,
        }
    }

    fn remove(&mut self, interface: &str, place: u32) -> io::Result<()> {
        let mut command = Command::new(DELETE_RULE);
        command.spec.location = place;
        self.command(interface, &mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_are_as_long_as_the_kernels() {
        assert_eq!(size_of::<FlowSpec>(), 168);
        assert_eq!(std::mem::offset_of!(Command, places), 188);
        assert_eq!(std::mem::offset_of!(FlowSpec, ring), 152);
    }

    #[test]
    fn rules_are_found_again_and_those_of_another_kind_are_not_taken_for_them() {
        for ipv6 in [false, true] {
            let rule = FlowRule { ipv6, port: 9000, queue: 3 };
            let spec = spec_of(&rule, 7);
            assert_eq!(rule_of(&spec), Some(rule));
            let mut with_address = spec;
            with_address.mask[0] = 0xff;
            assert_eq!(rule_of(&with_address), None);
            assert_eq!(rule_of(&FlowSpec { flow_type: 1, ..spec }), None);
            // To be dropped: no queue has this number.
            assert_eq!(rule_of(&FlowSpec { ring: u64::MAX, ..spec }), None);
        }
    }

    #[test]
    fn virtual_interfaces_refuse() {
        let mut cards = KernelCards::open().unwrap();
        assert!(cards.list("lo").is_err());
        assert_eq!(cards.list("no-such-if").unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}

//! A rule in a network card, and the cards that have them.

use std::io;

/// UDP to this port goes to this queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowRule {
    /// IPv6, else IPv4.
    pub(super) ipv6: bool,
    pub(super) port: u16,
    pub(super) queue: u32,
}

/// The rules of network cards: the kernel's, or those of a test.
pub(super) trait Cards {
    /// The rules of an interface of the kind that we set, each with its place in the card.
    fn list(&mut self, interface: &str) -> io::Result<Vec<(u32, FlowRule)>>;
    /// Sets a rule at any free place.
    fn insert(&mut self, interface: &str, rule: &FlowRule) -> io::Result<()>;
    /// Removes the rule at a place.
    fn remove(&mut self, interface: &str, place: u32) -> io::Result<()>;
}

/// Removes a rule wherever it is in the card; one that is not there, or an interface that is not, is no fault.
pub(super) fn remove_rule(cards: &mut dyn Cards, interface: &str, rule: &FlowRule) -> io::Result<()> {
    let there = match cards.list(interface) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()),
        there => there?,
    };
    there
        .into_iter()
        .filter(|(_, other)| other == rule)
        .try_for_each(|(place, _)| cards.remove(interface, place))
}

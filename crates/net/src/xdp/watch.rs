//! A look at the interface during a run: whether it is there, up, and receives frames as long as at the start.
//!
//! The kernel tells of every change (rtnetlink), so that none is missed however short it was.

use std::io;
use std::time::{Duration, Instant};

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use super::interface::Interface;

/// `RTMGRP_LINK` of include/uapi/linux/rtnetlink.h: news of interfaces.
const OF_LINKS: u32 = 1;

/// A change of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was set down, or its carrier is lost.
    Down,
    /// It is up again.
    Up,
    /// It has been removed.
    Gone,
    /// One of its name is there again, and up.
    Back,
    /// It receives packets of up to this many bytes from now on.
    Mtu(usize),
}

/// The interface as last heard of.
#[derive(Debug)]
struct State {
    /// None while it is not there.
    index: Option<u32>,
    up: bool,
    mtu: usize,
}

/// Hears of changes of one interface.
pub(super) struct InterfaceWatch {
    socket: Socket,
    name: String,
    state: State,
    buffer: Vec<u8>,
}

impl InterfaceWatch {
    /// Begins to listen.
    pub(super) fn begin(name: &str, interface: &Interface) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, OF_LINKS))?;
        socket.set_non_blocking(true)?;
        // An interface that is down now is reported when it comes up.
        let state = State { index: Some(interface.index), up: true, mtu: interface.mtu };
        Ok(Self { socket, name: name.to_owned(), state, buffer: Vec::with_capacity(32 << 10) })
    }

    /// Whether the interface is there.
    pub(super) fn is_there(&self) -> bool {
        self.state.index.is_some()
    }

    /// What has changed since the last call, oldest first.
    pub(super) fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(0) => return changes,
                Ok(_) => {
                    let bytes = std::mem::take(&mut self.buffer);
                    self.take(&bytes, &mut changes);
                    self.buffer = bytes;
                }
                // Some news did not fit into the socket's buffer: how things stand is asked.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.look(&mut changes),
                Err(_) => return changes,
            }
        }
    }

    fn take(&mut self, bytes: &[u8], changes: &mut Vec<Change>) {
        let mut rest = bytes;
        while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
            let length = (message.header.length as usize).next_multiple_of(4);
            if let NetlinkPayload::InnerMessage(inner) = message.payload {
                match inner {
                    RouteNetlinkMessage::NewLink(link) => self.hear(&link, changes),
                    RouteNetlinkMessage::DelLink(link) if self.state.index == Some(link.header.index) => {
                        self.state.index = None;
                        changes.push(Change::Gone);
                    }
                    _ => {}
                }
            }
            match rest.get(length..) {
                Some(after) if length > 0 && !after.is_empty() => rest = after,
                _ => return,
            }
        }
    }

    fn hear(&mut self, link: &LinkMessage, changes: &mut Vec<Change>) {
        let is_ours = match self.state.index {
            Some(index) => index == link.header.index,
            None => link
                .attributes
                .iter()
                .any(|attribute| matches!(attribute, LinkAttribute::IfName(name) if *name == self.name)),
        };
        if !is_ours {
            return;
        }
        let up = link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp);
        let mtu = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Mtu(mtu) => usize::try_from(*mtu).ok(),
            _ => None,
        });
        self.settle(link.header.index, up, mtu.unwrap_or(self.state.mtu), changes);
    }

    fn look(&mut self, changes: &mut Vec<Change>) {
        match Interface::find(&self.name) {
            Ok(interface) => self.settle(interface.index, true, interface.mtu, changes),
            Err(_) if self.state.index.take().is_some() => changes.push(Change::Gone),
            Err(_) => {}
        }
    }

    fn settle(&mut self, index: u32, up: bool, mtu: usize, changes: &mut Vec<Change>) {
        let state = &mut self.state;
        match state.index {
            None if up => {
                *state = State { index: Some(index), up, mtu };
                changes.push(Change::Back);
                return;
            }
            // Reported again when it is up.
            None => return,
            Some(_) => {}
        }
        if state.mtu != mtu {
            state.mtu = mtu;
            changes.push(Change::Mtu(mtu));
        }
        if state.up != up {
            state.up = up;
            changes.push(if up { Change::Up } else { Change::Down });
        }
    }
}

/// What was wrong with an interface during a run.
#[derive(Debug, Default)]
pub(super) struct Outages {
    pub(super) times_down: u64,
    pub(super) times_gone: u64,
    /// Of outages that are over.
    total: Duration,
    since: Option<Instant>,
}

impl Outages {
    pub(super) fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub(super) fn end(&mut self) {
        self.total += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// In whole sentences; none if nothing was wrong.
    pub(super) fn alarm(&self, interface: &str) -> Option<String> {
        let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let what = match (self.times_down, self.times_gone) {
            (0, 0) => return None,
            (down, 0) => format!("was down {}", times(down)),
            (0, gone) => format!("was removed {}", times(gone)),
            (down, gone) => format!("was down {} and removed {}", times(down), times(gone)),
        };
        let total = self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed());
        let now = match self.since {
            Some(_) => "it is not back yet, and is received from again when it is",
            None => "it is received from again",
        };
        Some(format!(
            "The interface {interface} {what} during the run, {:.1} s in all; {now}. What was sent to it meanwhile is lost.",
            total.as_secs_f64()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_told_in_a_sentence() {
        let mut outages = Outages::default();
        assert_eq!(outages.alarm("eth2"), None);
        outages.times_down = 2;
        let text = outages.alarm("eth2").unwrap();
        assert!(text.contains("eth2 was down 2 times") && text.contains("again"), "{text}");
        outages.times_gone = 1;
        outages.begin();
        let text = outages.alarm("eth2").unwrap();
        assert!(text.contains("removed once") && text.contains("not back yet"), "{text}");
    }

    #[test]
    fn changes_follow_from_what_is_heard() {
        let interface = Interface { index: 7, mtu: 1500, queues: None, driver: None, ring: None };
        let mut watch = InterfaceWatch::begin("eth2", &interface).unwrap();
        let mut heard = |index, up, mtu| {
            let mut changes = Vec::new();
            watch.settle(index, up, mtu, &mut changes);
            changes
        };
        assert_eq!(heard(7, true, 1500), []);
        assert_eq!(heard(7, false, 9000), [Change::Mtu(9000), Change::Down]);
        assert_eq!(heard(7, true, 9000), [Change::Up]);
        watch.state.index = None;
        let mut heard = |index, up| {
            let mut changes = Vec::new();
            watch.settle(index, up, 1500, &mut changes);
            changes
        };
        assert_eq!(heard(8, false), []);
        assert_eq!(heard(8, true), [Change::Back]);
    }
}

//! The way to the wire: packets in the order in which they leave, with those that are held back.

use crate::packet::SimulatedPacket;
use std::collections::VecDeque;

/// A packet on its way.
#[derive(Clone, Debug)]
pub(super) struct OnItsWay {
    pub packet: SimulatedPacket,
    /// Its number among the packets of its source.
    pub number: u64,
    /// True for a copy, which passes nobody.
    pub is_copy: bool,
    /// Whose delay is to be told when it has been sent: the place in the injector's list of open entries.
    pub entry: Option<u64>,
}

/// What a packet waits for.
#[derive(Clone, Copy, Debug)]
enum Waits {
    /// This many later packets of its source.
    Behind(u32),
    /// This time.
    Until(u64),
}

#[derive(Debug)]
struct Waiting {
    what: OnItsWay,
    waits: Waits,
    passed_by: u64,
}

/// When held packets leave together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Release {
    /// When there are this many.
    Count(u32),
    /// At this time.
    At(u64),
}

/// Everything is held back, of one source or of all.
#[derive(Debug)]
struct Hold {
    source: Option<usize>,
    release: Release,
    packets: VecDeque<SimulatedPacket>,
    entry: u64,
}

/// What has happened to something whose particulars were open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub entry: u64,
    /// Later packets that were sent before it; for a hold, how many packets were held.
    pub count: u64,
}

/// The way to the wire. Packets that nothing happens to leave in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Wire {
    now_ns: u64,
    waiting: Vec<Waiting>,
    hold: Option<Hold>,
    pub settled: Vec<Settled>,
    /// Packets put on the wire, by source.
    pub on_wire: Vec<u64>,
}

impl Wire {
    pub(super) fn new(sources: usize) -> Self {
        Self { on_wire: vec![0; sources], ..Self::default() }
    }

    /// Time has come to the sending of a packet: what is due before it leaves.
    pub(super) fn advance(&mut self, sending_ns: u64, sent: &mut Vec<SimulatedPacket>) {
        self.now_ns = self.now_ns.max(sending_ns);
        loop {
            let due = self.earliest_due(self.now_ns);
            match self.hold {
                Some(Hold { release: Release::At(at), .. })
                    if at <= self.now_ns && due.is_none_or(|(time_ns, _)| at <= time_ns) =>
                {
                    self.release(Some(at), sent);
                }
                _ => match due {
                    Some((_, place)) => self.leave(place, sent),
                    None => return,
                },
            }
        }
    }

    /// The packet leaves, and those that waited for it to pass.
    pub(super) fn send(&mut self, what: OnItsWay, sent: &mut Vec<SimulatedPacket>) {
        let (source, number) = (what.packet.sender.source, what.number);
        let sending_ns = what.packet.origin.arrival_ns;
        self.put(what.packet, sent);
        if what.is_copy {
            return;
        }
        for waiting in &mut self.waiting {
            if waiting.what.packet.sender.source == source && waiting.what.number < number {
                waiting.passed_by += 1;
                if let Waits::Behind(left) = &mut waiting.waits {
                    *left = left.saturating_sub(1);
                }
            }
        }
        while let Some(place) = self.next_passed(source) {
            let mut waiting = self.waiting.remove(place);
            let time_ns = &mut waiting.what.packet.origin.arrival_ns;
            *time_ns = sending_ns.max(*time_ns);
            self.tell(&waiting);
            self.send(waiting.what, sent);
        }
    }

    /// The packet waits until this many later ones of its source have left.
    pub(super) fn wait_behind(&mut self, what: OnItsWay, packets: u32) {
        self.waiting.push(Waiting { what, waits: Waits::Behind(packets), passed_by: 0 });
    }

    /// The packet waits until this time.
    pub(super) fn wait_until(&mut self, what: OnItsWay, time_ns: u64) {
        self.waiting.push(Waiting { what, waits: Waits::Until(time_ns), passed_by: 0 });
    }

    /// From here on everything is held back. False if it is already.
    pub(super) fn hold(&mut self, source: Option<usize>, release: Release, entry: u64) -> bool {
        if self.hold.is_some() {
            return false;
        }
        self.hold = Some(Hold { source, release, packets: VecDeque::new(), entry });
        true
    }

    /// Nothing more comes: everything leaves.
    pub(super) fn finish(&mut self, sent: &mut Vec<SimulatedPacket>) {
        // Who waits for packets that do not come leaves first: it would have been sent long ago.
        let (behind, timed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| matches!(waiting.waits, Waits::Behind(_)));
        self.waiting = timed;
        for waiting in behind {
            self.tell(&waiting);
            self.send(waiting.what, sent);
        }
        while let Some((_, place)) = self.earliest_due(u64::MAX) {
            self.leave(place, sent);
        }
        self.release(None, sent);
    }

    /// What waits for the earliest time up to `now_ns`: that time and the place.
    fn earliest_due(&self, now_ns: u64) -> Option<(u64, usize)> {
        let due = self.waiting.iter().enumerate().filter_map(|(place, waiting)| match waiting.waits {
            Waits::Until(time_ns) if time_ns <= now_ns => Some((time_ns, place)),
            _ => None,
        });
        due.min()
    }

    fn next_passed(&self, source: usize) -> Option<usize> {
        self.waiting.iter().position(|waiting| {
            waiting.what.packet.sender.source == source && matches!(waiting.waits, Waits::Behind(0))
        })
    }

    /// What has waited for its time leaves then.
    fn leave(&mut self, place: usize, sent: &mut Vec<SimulatedPacket>) {
        let mut waiting = self.waiting.remove(place);
        if let Waits::Until(time_ns) = waiting.waits {
            waiting.what.packet.origin.arrival_ns = time_ns;
        }
        self.tell(&waiting);
        self.send(waiting.what, sent);
    }

    fn tell(&mut self, waiting: &Waiting) {
        if let Some(entry) = waiting.what.entry {
            self.settled.push(Settled { entry, count: waiting.passed_by });
        }
    }

    /// On the wire, or behind what is held back.
    fn put(&mut self, packet: SimulatedPacket, sent: &mut Vec<SimulatedPacket>) {
        let source = packet.sender.source;
        if let Some(on_wire) = self.on_wire.get_mut(source) {
            *on_wire += 1;
        }
        match &mut self.hold {
            Some(hold) if hold.source.is_none_or(|held| held == source) => {
                let sending_ns = packet.origin.arrival_ns;
                hold.packets.push_back(packet);
                if let Release::Count(count) = hold.release
                    && hold.packets.len() >= count as usize
                {
                    self.release(Some(sending_ns), sent);
                }
            }
            _ => sent.push(packet),
        }
    }

    /// What is held back leaves, all at this time, or when the last of it should have.
    fn release(&mut self, at_ns: Option<u64>, sent: &mut Vec<SimulatedPacket>) {
        let Some(hold) = self.hold.take() else { return };
        let last_ns = hold.packets.iter().map(|packet| packet.origin.arrival_ns).max().unwrap_or(0);
        let at_ns = at_ns.unwrap_or(last_ns).max(last_ns);
        self.settled.push(Settled { entry: hold.entry, count: hold.packets.len() as u64 });
        sent.extend(hold.packets.into_iter().map(|mut packet| {
            packet.origin.arrival_ns = at_ns;
            packet
        }));
    }
}

//! Triggers to packets of the boards: trigger times (EFU formats of 2018, section 1.3).

use crate::electronics::Hit;
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Mover, Pulse, Readout, Source};
use evforge_detect::sonde::SondeSettings;
use evforge_detect::sonde::digital_geometry::asic_channel;
use evforge_detect::sonde::settings::GroupAddress;
use evforge_wire::sonde::{CHANNELS, Header, PACKET_COUNT_BITS, SondeEncoder, TriggerTime};
use std::net::{IpAddr, Ipv4Addr};

/// Port that boards send from and to (section 1).
const PORT: u16 = 50011;
/// Bytes before the first trigger: the header and their number.
const HEADER: usize = 11;
/// A board sends what it has when its oldest trigger is so old, in picoseconds: well within the window of 500 us that
/// the shipped configurations put triggers into order with. Chosen: the documents give no value.
const FLUSH_PS: u64 = 200_000_000;
/// Boards without triggers send an empty packet at the end of a pulse if they were silent for so long: a receiver can
/// follow their counter for half a turn only, which is 2.1 s of nanoseconds.
const SILENCE_NS: u64 = 500_000_000;

/// A module of the detector: what it is called, and where its packets come from.
#[derive(Clone, Debug)]
struct Board {
    number: usize,
    name: String,
    address: Ipv4Addr,
    port: u16,
    system: u8,
    source: Source,
    encoder: SondeEncoder,
    triggers: Vec<TriggerTime>,
    /// When the oldest of the triggers was sent by its channel, in picoseconds since the start of the pulse.
    oldest_ps: u64,
    newest_ps: u64,
    spoke_ns: u64,
}

/// The boards of a SoNDe.
#[derive(Clone, Debug)]
pub struct SondeReadout {
    boards: Vec<Board>,
    places: Vec<Place>,
    tick_ps: u64,
}

impl SondeReadout {
    /// The boards of a detector with these channels. Without the length of a tick in the settings, a tick is 1 ns.
    pub fn new(settings: &SondeSettings, layout: &Layout) -> Self {
        let groups = settings.groups.iter().enumerate();
        let boards = groups.flat_map(|(number, group)| {
            let (address, port) = match group.address {
                GroupAddress::Source(IpAddr::V4(address)) => (address, PORT),
                GroupAddress::Port(port) => (Ipv4Addr::new(192, 168, 10, 1), port),
                GroupAddress::Any | GroupAddress::Source(_) => (Ipv4Addr::new(192, 168, 10, 1), PORT),
            };
            group.modules.iter().map(move |module| Board {
                number: 0,
                name: match module.system {
                    Some(system) => format!("group {number}, system {system}"),
                    None => format!("group {number}"),
                },
                address,
                port,
                system: module.system.unwrap_or(0),
                source: Source::new(0, PACKET_COUNT_BITS),
                encoder: SondeEncoder::default(),
                triggers: Vec::with_capacity(256),
                oldest_ps: 0,
                newest_ps: 0,
                spoke_ns: 0,
            })
        });
        Self {
            boards: boards.enumerate().map(|(number, board)| Board { number, ..board }).collect(),
            places: layout.places().to_vec(),
            tick_ps: settings.time.tick.unwrap_or(1000).max(1),
        }
    }
}

impl Board {
    /// The 32 bits that the board's clock shows.
    fn time(&self, pulse: &Pulse, time_ps: u64, tick_ps: u64) -> u32 {
        let picoseconds = u128::from(pulse.start_ns) * 1000 + u128::from(self.source.shown_ps(time_ps));
        (picoseconds / u128::from(tick_ps)) as u32
    }

    fn take(
        &mut self,
        pulse: &Pulse,
        place: Place,
        hit: &Hit,
        tick_ps: u64,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        if !self.triggers.is_empty() && hit.sent_ps >= self.oldest_ps + FLUSH_PS {
            self.send(pulse, self.oldest_ps + FLUSH_PS, tick_ps, packets);
        }
        if self.triggers.is_empty() {
            self.oldest_ps = hit.sent_ps;
        }
        self.newest_ps = hit.sent_ps;
        let (asic, channel) = (place.coordinate / CHANNELS as u16, place.coordinate % CHANNELS as u16);
        let time = self.time(pulse, hit.time_ps, tick_ps);
        self.triggers.push(TriggerTime { time, asic_channel: asic_channel(asic as u8, channel as u8) });
        if self.triggers.len() == evforge_wire::sonde::LARGEST_ENTRY_COUNT {
            self.send(pulse, self.newest_ps, tick_ps, packets);
        }
    }

    fn send(&mut self, pulse: &Pulse, sent_ps: u64, tick_ps: u64, packets: &mut Vec<SimulatedPacket>) {
        let number = self.source.count();
        let header = Header {
            system: self.system,
            packet_count: number as u16,
            time: self.time(pulse, sent_ps, tick_ps),
            ..Header::default()
        };
        self.encoder.begin_trigger_times(&header);
        for trigger in self.triggers.drain(..) {
            let has_room = self.encoder.push_trigger_time(&trigger);
            debug_assert!(has_room, "a packet is sent when it is full");
        }
        self.spoke_ns = pulse.start_ns + sent_ps / 1000;
        let bytes = self.encoder.packet().to_vec();
        let sender = Sender { source: self.number, number: Some(number), header: HEADER };
        packets.push(SimulatedPacket::new(bytes, self.address, self.port, self.spoke_ns).of(sender));
    }
}

impl Readout for SondeReadout {
    fn sources(&self) -> Vec<String> {
        self.boards.iter().map(|board| board.name.clone()).collect()
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let first = packets.len();
        for hit in hits {
            let Some(place) = self.places.get(hit.channel as usize) else { continue };
            let Some(board) = self.boards.get_mut(usize::from(place.module)) else { continue };
            board.take(pulse, *place, hit, self.tick_ps, packets);
        }
        let end_ps = (pulse.end_ns - pulse.start_ns) * 1000;
        for board in &mut self.boards {
            let is_silent = pulse.end_ns >= board.spoke_ns + SILENCE_NS;
            if !board.triggers.is_empty() || is_silent {
                let due_ps = if board.triggers.is_empty() { end_ps } else { board.oldest_ps + FLUSH_PS };
                board.send(pulse, due_ps.max(board.newest_ps).min(end_ps), self.tick_ps, packets);
            }
            board.newest_ps = 0;
        }
        packets[first..].sort_by_key(|packet| packet.origin.arrival_ns);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let board = self.boards.get_mut(disturbance.source());
        board.map(|board| board.source.disturb(disturbance)).is_some()
    }

    fn mover(&self) -> Option<Mover> {
        Some(Mover::TriggerTimes { tick_ps: self.tick_ps })
    }
}

//! The packets of one stream: the output of its data generators, numbered.

use super::generator::{Generator, GeneratorError, GeneratorSettings};
use super::pattern::WordPattern;
use super::sent::SentGenerator;
use crate::link::fault::{Fate, Fault, flipped};
use crate::link::send::LinkPayload;
use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_core::quantity::Rate;
use evforge_wire::drop::{DropHeader, DropLayout, Order, Scramble};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a stream sends.
#[derive(Clone, Debug)]
pub struct StreamSettings {
    /// Layout of the packets.
    pub layout: DropLayout,
    /// Order of the identifiers.
    pub order: Order,
    /// Number of the stream in the header (layout P1).
    pub number: u16,
    /// Counter of the first packet.
    pub first_identifier: u64,
    /// The pattern of all data generators.
    pub pattern: Arc<WordPattern>,
    /// The data generators, at least one. Their packets follow one another as they are ready; those ready at the
    /// same time take turns.
    pub generators: Vec<GeneratorSettings>,
    /// Largest rate of the whole stream, of packets or of UDP payload bits; none does not limit it.
    pub rate: Option<Rate>,
    /// Ends the stream with the packet that reaches so many payload bytes.
    pub largest_bytes: Option<u64>,
    /// Faults to provoke.
    pub faults: Vec<Fault>,
}

/// Makes the packets of one stream, in order, without a network and without a clock.
///
/// Each packet is stamped with the time at which it is due, in nanoseconds from 0, if pauses or a rate give it one.
#[derive(Debug)]
pub struct SendStream {
    settings: StreamSettings,
    scramble: Option<Scramble>,
    generators: Vec<Generator>,
    /// Counter of the next packet.
    identifier: u64,
    packets: u64,
    payload_bytes: u64,
    /// UDP payload bytes so far, for the rate.
    datagram_bytes: u64,
    is_scheduled: bool,
    /// Bytes of the largest packet.
    largest: usize,
    latest: u64,
    /// Generator that is asked first among those that are ready at the same time.
    turn: usize,
    /// Packets that a fault holds back, each with the number of the packet behind which it goes.
    held: Vec<(u64, Vec<u8>)>,
    /// Datagrams made that found no place in the last slab.
    waiting: VecDeque<Vec<u8>>,
}

impl SendStream {
    /// A stream before its first packet.
    ///
    /// # Errors
    /// If blocks, packets, generators or the rate are impossible.
    pub fn new(settings: StreamSettings) -> Result<Self, GeneratorError> {
        let header = settings.layout.header_bytes();
        let generators: Vec<Generator> = settings
            .generators
            .iter()
            .map(|generator| Generator::new(*generator, header))
            .collect::<Result<_, _>>()?;
        if generators.is_empty() {
            return Err(GeneratorError::NoGenerator);
        }
        if matches!(settings.rate, Some(Rate::Packets(0) | Rate::Bits(0))) {
            return Err(GeneratorError::NoRate);
        }
        let largest = settings.generators.iter().map(|one| header + one.packet_bytes).max().unwrap_or(header);
        let pauses = settings.generators.iter().any(|one| one.pause_per_word > 0 || one.pause_per_packet > 0);
        Ok(Self {
            scramble: settings.order.scramble(settings.layout.width()),
            identifier: settings.first_identifier,
            generators,
            packets: 0,
            payload_bytes: 0,
            datagram_bytes: 0,
            is_scheduled: pauses || settings.rate.is_some(),
            largest,
            latest: 0,
            turn: 0,
            held: Vec::new(),
            waiting: VecDeque::new(),
            settings,
        })
    }

    /// True if packets have a time at which they are due.
    pub fn is_scheduled(&self) -> bool {
        self.is_scheduled
    }

    /// When the next packet is due, in picoseconds after the start; none if there is none.
    pub fn next_due(&self) -> Option<u64> {
        if !self.waiting.is_empty() {
            return Some(self.latest);
        }
        if self.settings.largest_bytes.is_some_and(|most| self.payload_bytes >= most) {
            return None;
        }
        let (_, ready) = self.next_generator()?;
        let of_rate = match self.settings.rate {
            None => 0,
            Some(Rate::Packets(rate)) => u128::from(self.packets) * 1_000_000_000_000 / u128::from(rate),
            Some(Rate::Bits(rate)) => u128::from(self.datagram_bytes) * 8_000_000_000_000 / u128::from(rate),
        };
        let of_rate = u64::try_from(of_rate).unwrap_or(u64::MAX);
        Some(ready.max(of_rate).max(self.latest))
    }

    /// Puts the packets that are due by `until` (picoseconds after the start) behind those in `slab`, as far as they
    /// fit.
    pub fn fill(&mut self, slab: &mut PacketSlab, until: u64) {
        while self.next_due().is_some_and(|due| due <= until) && self.make_next(slab) {}
        // Held packets follow the last one, whatever they waited for.
        if self.next_due().is_none() {
            self.hand_out_held(slab);
        }
    }

    /// Makes the packet that is due next, unless others still wait for room or there is none for it.
    fn make_next(&mut self, slab: &mut PacketSlab) -> bool {
        if !self.hand_out_waiting(slab) || !slab.has_room_for(self.largest) {
            return false;
        }
        // What has waited is all that there was.
        let (Some(due), Some((index, _))) = (self.next_due(), self.next_generator()) else { return true };
        self.latest = due;
        self.make_by(index, slab);
        true
    }

    /// Hands out packets that found no room before. False if some still find none.
    fn hand_out_waiting(&mut self, slab: &mut PacketSlab) -> bool {
        while let Some(waiting) = self.waiting.pop_front() {
            if !slab.push(&waiting, waiting.len(), self.origin(self.latest)) {
                self.waiting.push_front(waiting);
                return false;
            }
        }
        true
    }

    fn hand_out_held(&mut self, slab: &mut PacketSlab) {
        for (_, packet) in std::mem::take(&mut self.held) {
            self.hand_out(packet, slab);
        }
    }

    /// True if all packets have been handed out.
    pub fn is_finished(&self) -> bool {
        self.next_due().is_none() && self.held.is_empty()
    }

    /// Packets made so far, those that a fault lost included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their payload bytes.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// What each data generator has made so far.
    pub fn generators(&self) -> Vec<SentGenerator> {
        let sent = |generator: &Generator| SentGenerator {
            block_bytes: generator.settings().block_bytes,
            packet_bytes: generator.settings().packet_bytes,
            bytes: generator.bytes(),
        };
        self.generators.iter().map(sent).collect()
    }

    /// The settings.
    pub fn settings(&self) -> &StreamSettings {
        &self.settings
    }

    /// The generator whose packet is ready first, and when.
    fn next_generator(&self) -> Option<(usize, u64)> {
        let count = self.generators.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .filter_map(|index| self.generators[index].ready().map(|ready| (index, ready)))
            .min_by_key(|&(_, ready)| ready)
    }

    fn origin(&self, due: u64) -> PacketOrigin {
        if self.is_scheduled {
            let (arrival_ns, arrival_clock) = (due / 1000, ArrivalClock::Capture);
            PacketOrigin { arrival_ns, arrival_clock, ..PacketOrigin::default() }
        } else {
            PacketOrigin::default()
        }
    }

    /// Makes the next packet, of this generator.
    fn make_by(&mut self, index: usize, slab: &mut PacketSlab) {
        self.turn = (index + 1) % self.generators.len();
        let piece = self.generators[index].advance();
        let number = self.packets;
        let fate = Fate::of(number, &self.settings.faults);
        self.identifier = self.identifier.wrapping_add_signed(fate.jump);
        let identifier = self.scramble.map_or(self.identifier, |scramble| scramble.apply(self.identifier));
        let header = DropHeader {
            identifier,
            stream: self.settings.number,
            first_of_block: piece.first_of_block,
            last_of_block: piece.last_of_block,
            is_pattern: true,
        };
        self.identifier = self.identifier.wrapping_add(1);
        self.packets += 1;
        self.payload_bytes += piece.length as u64;
        let bytes = self.settings.layout.header_bytes() + piece.length;
        self.datagram_bytes += bytes as u64;
        let payload = self.settings.pattern.payload(piece.offset, piece.length);
        if !fate.is_touched {
            // There is room: the caller has asked for that of the largest packet.
            let origin = self.origin(self.latest);
            let mut space = slab.space();
            let memory = space.memory();
            if let Some(place) = header.write(&self.settings.layout, piece.length, memory) {
                memory[place..bytes].copy_from_slice(payload);
                space.add(0, bytes, bytes, origin);
            }
        } else {
            let mut packet = vec![0; bytes];
            if let Some(place) = header.write(&self.settings.layout, piece.length, &mut packet) {
                packet[place..].copy_from_slice(payload);
            }
            self.spoil(number, packet, &fate, slab);
        }
        if !self.held.is_empty() {
            let (due, held) =
                std::mem::take(&mut self.held).into_iter().partition(|(after, _)| *after <= number);
            self.held = held;
            let due: Vec<(u64, Vec<u8>)> = due;
            for (_, packet) in due {
                self.hand_out(packet, slab);
            }
        }
    }

    /// Does to a packet what its faults want.
    fn spoil(&mut self, number: u64, mut packet: Vec<u8>, fate: &Fate, slab: &mut PacketSlab) {
        let header = self.settings.layout.header_bytes();
        for bit in flipped(number, &self.settings.faults) {
            let place = usize::try_from(bit / 8).unwrap_or(usize::MAX);
            if let Some(byte) = packet.get_mut(header.saturating_add(place)) {
                *byte ^= 0x80 >> (bit % 8);
            }
        }
        for _ in 0..fate.copies {
            match fate.after {
                Some(after) => self.held.push((after, packet.clone())),
                None => self.hand_out(packet.clone(), slab),
            }
        }
    }

    fn hand_out(&mut self, packet: Vec<u8>, slab: &mut PacketSlab) {
        let origin = self.origin(self.latest);
        if !self.waiting.is_empty() || !slab.push(&packet, packet.len(), origin) {
            self.waiting.push_back(packet);
        }
    }
}

impl LinkPayload for SendStream {
    fn due_ns(&self) -> Option<u64> {
        self.next_due().map(|picoseconds| picoseconds / 1000)
    }

    /// The packets have no stamp.
    fn make(&mut self, _: u64, slabs: &mut [PacketSlab]) -> bool {
        slabs.first_mut().is_some_and(|slab| self.make_next(slab))
    }

    fn finish(&mut self, slabs: &mut [PacketSlab]) -> bool {
        let Some(slab) = slabs.first_mut() else { return true };
        if self.hand_out_waiting(slab) {
            self.hand_out_held(slab);
        }
        self.waiting.is_empty()
    }

    fn largest(&self) -> usize {
        self.largest
    }
}

//! Pulses of pixels to frames, and these to messages in datagrams (ISIS streaming readout, sections 2 and 3).
//!
//! A frame is sent when it has ended, by one board after the other. It begins with its pulse, or by the frame sync delay later:
//! what comes before that is in the frame of the pulse before.

use super::boards::{Board, Boards, Part};
use super::frames::{FrameState, Frames, TrueFrame};
use super::model::IsisModel;
use super::settings::IsisSimulation;
use crate::detector_model::DetectorModel;
use crate::electronics::Hit;
use crate::layout::Place;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use crate::truth::Neutron;
use evforge_core::pulse::PulseTrain;
use evforge_detect::isis::settings::IsisSettings;
use evforge_wire::isis::{
    HEADER_WORDS_V1, HEADER_WORDS_V2, HEADER_WORDS_V2_BOARD, Header, IsisEncoder, Kind, Version,
};

/// Where boards send from and to. Chosen: no port is documented.
const PORT: u16 = 9000;
/// Width of the streamed frame number.
const NUMBER_BITS: u32 = 32;
/// One board sends so much later than the one before, in nanoseconds, and a datagram of a board than the one before. Chosen.
const BOARD_NS: u64 = 1000;
/// The end of a run is told so much later than the last frame has ended, in nanoseconds. Chosen.
const END_OF_RUN_NS: u64 = 1_000_000;
/// Bytes of a message with the longer header and one event.
const SHORTEST_WITH_EVENT: usize = 72;

/// A pulse of a pixel that waits for the end of its frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Picoseconds since 1970.
    time_ps: u128,
    place: Place,
    height: u16,
}

/// The boards.
#[derive(Clone, Debug)]
pub struct IsisReadout {
    version: Version,
    boards: Vec<Board>,
    parts: Vec<Part>,
    sources: Vec<Source>,
    places: Vec<Place>,
    simulation: IsisSimulation,
    frames: Frames,
    pulses: PulseTrain,
    /// By how much frames begin later than pulses, in nanoseconds, and in units of the header.
    delay_ns: u64,
    delay: u32,
    encoder: IsisEncoder,
    waiting: Vec<Waiting>,
    /// The pulse of the frame that is sent next, and that of the first one; none before the first pulse.
    next: Option<(u64, u64)>,
    true_frames: Vec<TrueFrame>,
}

impl IsisReadout {
    /// Boards that have just been started.
    pub fn new(
        settings: &IsisSettings,
        boards: Boards,
        model: &IsisModel,
        simulation: IsisSimulation,
        pulses: PulseTrain,
        seed: u64,
    ) -> Self {
        let unit_ps = settings.frame_sync_delay_unit.max(1);
        let delay = u32::try_from(simulation.frame_sync_delay.picoseconds / unit_ps).unwrap_or(u32::MAX);
        Self {
            version: boards.version,
            sources: vec![Source::new(0, NUMBER_BITS); boards.boards.len()],
            boards: boards.boards,
            parts: boards.parts,
            places: model.layout().places().to_vec(),
            frames: Frames::new(simulation.clone(), seed),
            encoder: IsisEncoder::new(simulation.datagram_bytes, settings.bit_order),
            simulation,
            pulses,
            delay_ns: u64::from(delay) * unit_ps / 1000,
            delay,
            waiting: Vec::new(),
            next: None,
            true_frames: Vec::new(),
        }
    }

    /// When the frame of a pulse begins, in nanoseconds.
    fn begin_ns(&self, pulse: u64) -> u64 {
        self.pulses.start_ns(pulse).unwrap_or(u64::MAX).saturating_add(self.delay_ns)
    }

    /// The pulse whose frame a time belongs to; pulse 0 for earlier ones.
    fn pulse_of(&self, time_ns: u64) -> u64 {
        let at = time_ns.checked_sub(self.delay_ns).and_then(|time_ns| self.pulses.locate(time_ns));
        at.map_or(0, |at| at.pulse)
    }

    /// Number and state of the frame of a pulse.
    fn state(&self, pulse: u64) -> (u64, FrameState) {
        let number = pulse - self.next.map_or(pulse, |(_, first)| first).min(pulse);
        (number, self.frames.state(number))
    }

    /// Sends the frame of a pulse.
    fn send_frame(&mut self, pulse: u64, packets: &mut Vec<SimulatedPacket>) {
        let (number, state) = self.state(pulse);
        let (begin_ns, end_ns) = (self.begin_ns(pulse), self.begin_ns(pulse + 1));
        let end = self.waiting.partition_point(|waiting| waiting.time_ps < u128::from(end_ns) * 1000);
        let waiting: Vec<Waiting> = self.waiting.drain(..end).collect();
        let mut events = vec![Vec::new(); self.boards.len()];
        for Waiting { time_ps, place, height } in waiting {
            let Some(part) = self.parts.get(usize::from(place.module)).filter(|_| !state.is_hard_vetoed)
            else {
                continue;
            };
            let since_ps = time_ps.saturating_sub(u128::from(begin_ns) * 1000) as u64;
            let raw = since_ps / self.boards.get(part.board).map_or(1, |board| board.tick_ps.max(1));
            // Later than a board can tell: it stops before that.
            let words = part.words(raw, place.coordinate, height);
            if let Some((events, words)) = events.get_mut(part.board).zip(words) {
                events.push(words);
            }
        }
        self.true_frames.push(TrueFrame {
            number,
            reference_ns: self.pulses.start_ns(pulse).unwrap_or(u64::MAX),
            period: state.period,
            vetoes: state.vetoes,
            protons: self.simulation.protons,
            events: events.iter().map(|events| events.len() as u64).sum(),
        });
        let kind = if state.is_hard_vetoed { Kind::Veto } else { Kind::NeutronData };
        for (board, events) in events.iter().enumerate() {
            let is_silent = events.is_empty() && !self.simulation.empty_frames;
            if !is_silent || self.boards.get(board).is_some_and(|board| board.is_control) {
                let header = self.header(board, kind, begin_ns, number, &state);
                self.send(board, header, events, end_ns, packets);
            }
        }
    }

    fn header(&self, board: usize, kind: Kind, begin_ns: u64, number: u64, state: &FrameState) -> Header {
        let shown_ps = |source: &Source| i128::from(begin_ns) * 1000 + i128::from(source.offset_ps());
        let gps_ns = self.sources.get(board).map_or(0, |source| shown_ps(source).max(0) / 1000);
        let common = Header {
            version: self.version,
            kind,
            gps_ns: u64::try_from(gps_ns).unwrap_or(u64::MAX),
            frame: number as u32,
            period: state.period,
            protons: self.simulation.protons,
            vetoes: state.vetoes,
            ..Header::default()
        };
        match (self.version, self.boards.get(board)) {
            (Version::V2, Some(board)) => {
                Header { pcb: board.pcb, board: board.parameters, frame_sync_delay: self.delay, ..common }
            }
            _ => common,
        }
    }

    /// Sends a frame of a board: as many messages as its events take, as many of them in a datagram as there is room for.
    fn send(
        &mut self,
        board: usize,
        header: Header,
        events: &[(u32, u32)],
        end_ns: u64,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        let Some(source) = self.sources.get_mut(board) else { return };
        let number = source.count();
        let header = Header { streamed_frame: number as u32, events_in_frame: events.len() as u32, ..header };
        let mut sent_ns = end_ns.saturating_add(BOARD_NS * board as u64);
        let most = self.simulation.events_per_message;
        let mut left = events;
        let mut has_begun = false;
        while !has_begun || !left.is_empty() {
            // No message without an event for want of room.
            if self.encoder.datagram().len() + SHORTEST_WITH_EVENT > self.simulation.datagram_bytes {
                self.flush(board, number, &mut sent_ns, packets);
            }
            if !self.encoder.begin(&header) {
                // The time cannot be told: it is after 2255.
                break;
            }
            has_begun = true;
            let taken =
                left.iter().take(most).take_while(|event| self.encoder.push_event(event.0, event.1)).count();
            left = &left[taken..];
            if taken < most && !left.is_empty() {
                self.flush(board, number, &mut sent_ns, packets);
            }
        }
        self.flush(board, number, &mut sent_ns, packets);
    }

    /// Sends what the datagram has.
    fn flush(&mut self, board: usize, number: u64, sent_ns: &mut u64, packets: &mut Vec<SimulatedPacket>) {
        if self.encoder.datagram().is_empty() {
            return;
        }
        self.encoder.pad(&vec![0; self.simulation.padding]);
        let Some(of) = self.boards.get(board) else { return };
        let header = match (self.version, of.parameters) {
            (Version::V1, _) => HEADER_WORDS_V1,
            (Version::V2, None) => HEADER_WORDS_V2,
            (Version::V2, Some(_)) => HEADER_WORDS_V2_BOARD,
        };
        let sender = Sender { source: board, number: Some(number), header: 4 * header };
        packets.push(SimulatedPacket::new(self.encoder.finish(), of.address, PORT, *sent_ns).of(sender));
        *sent_ns = sent_ns.saturating_add(BOARD_NS);
    }
}

impl Readout for IsisReadout {
    fn sources(&self) -> Vec<String> {
        self.boards.iter().map(|board| board.name.clone()).collect()
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        self.pulses.locate(start_ns).map_or(0, |at| at.pulse)
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let first = packets.len();
        if self.next.is_none() {
            let begun = self.pulse_of(pulse.start_ns);
            self.next = Some((begun, begun));
        }
        for hit in hits {
            let Some(place) = self.places.get(hit.channel as usize) else { continue };
            let time_ps = u128::from(pulse.start_ns) * 1000 + u128::from(hit.time_ps);
            self.waiting.push(Waiting { time_ps, place: *place, height: hit.amplitude });
        }
        self.waiting.sort_by_key(|waiting| waiting.time_ps);
        while let Some((next, begun)) = self.next
            && self.begin_ns(next + 1) <= pulse.end_ns
        {
            self.send_frame(next, packets);
            self.next = Some((next + 1, begun));
        }
        packets[first..].sort_by_key(|packet| packet.origin.arrival_ns);
    }

    fn finish(&mut self, packets: &mut Vec<SimulatedPacket>) {
        let Some((mut next, begun)) = self.next else { return };
        while !self.waiting.is_empty() {
            self.send_frame(next, packets);
            next += 1;
            self.next = Some((next, begun));
        }
        if !self.simulation.end_of_run {
            return;
        }
        let (number, state) = self.state(next);
        let begin_ns = self.begin_ns(next);
        for board in 0..self.boards.len() {
            let header = self.header(board, Kind::EndOfRun, begin_ns, number, &state);
            self.send(board, header, &[], begin_ns.saturating_add(END_OF_RUN_NS), packets);
        }
    }

    fn is_sent(&self, neutron: &Neutron) -> bool {
        let Some(part) = self.parts.get(neutron.module as usize) else { return false };
        let pulse = self.pulse_of(neutron.time_ns);
        let tick_ps = self.boards.get(part.board).map_or(1, |board| board.tick_ps.max(1));
        let since_ns = neutron.time_ns.saturating_sub(self.begin_ns(pulse));
        part.tells(since_ns.saturating_mul(1000) / tick_ps) && !self.state(pulse).1.is_hard_vetoed
    }

    fn has_frames(&self) -> bool {
        true
    }

    fn take_frames(&mut self) -> Vec<TrueFrame> {
        std::mem::take(&mut self.true_frames)
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let source = self.sources.get_mut(disturbance.source());
        source.map(|source| source.disturb(disturbance)).is_some()
    }
}

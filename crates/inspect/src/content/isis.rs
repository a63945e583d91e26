//! Messages of the ISIS streaming readout: boards, frames, events, periods and vetoes.

use crate::channels::{Channels, Span};
use crate::report::{Line, line, listed, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::isis::{BoardParameters, Header, Kind, Message, Messages, Rules, Version};
use evforge_wire::recognise::isis_fault_in_words;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Boards that are told apart.
const MOST: usize = 256;
/// Distances of frames that are kept: the median of the first ones is that of all.
const MOST_DISTANCES: usize = 4096;

/// What makes a board: version, number of the printed circuit board, address. Version 1 has none of the latter two: a sender is a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BoardKey {
    is_v2: bool,
    pcb: u16,
    address: Option<u8>,
}

/// What one board has sent.
#[derive(Debug)]
struct Board {
    messages: u64,
    events: u64,
    kinds: [u64; 4],
    paused: u64,
    /// Frames, by their streamed numbers, and what they say that they have.
    frames: u64,
    announced: u64,
    without_events: u64,
    tracker: SequenceTracker,
    latest: Option<(u32, u64)>,
    times: Span,
    distances: Vec<u64>,
    periods: Channels,
    protons: Span,
    delays: Span,
    /// Frames with each veto.
    vetoes: [u64; 32],
    parameters: Option<BoardParameters>,
}

/// Boards with their frames.
#[derive(Debug, Default)]
pub struct IsisContent {
    boards: BTreeMap<BoardKey, Board>,
    faults: BTreeMap<&'static str, u64>,
    not_kept: u64,
    /// Datagrams whose end is no message: with zeros, with anything else.
    padded: [u64; 2],
}

impl IsisContent {
    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        let mut messages = Messages::new(bytes, Rules::default());
        let mut end_is_known = true;
        for message in messages.by_ref() {
            match message {
                Ok(message) => self.take_message(&message, arrival_ns),
                Err(fault) => {
                    end_is_known &= !fault.ends_datagram();
                    *self.faults.entry(isis_fault_in_words(fault)).or_default() += 1;
                }
            }
        }
        if end_is_known && !messages.rest().is_empty() {
            self.padded[usize::from(!messages.rest_is_zero())] += 1;
        }
    }

    fn take_message(&mut self, message: &Message<'_>, arrival_ns: u64) {
        let Header { version, pcb, board, .. } = message.header;
        let key = BoardKey {
            is_v2: version == Version::V2,
            pcb,
            address: board.map(|parameters| parameters.address),
        };
        if self.boards.len() >= MOST && !self.boards.contains_key(&key) {
            self.not_kept += 1;
            return;
        }
        self.boards.entry(key).or_insert_with(Board::new).take(message, arrival_ns);
    }

    /// Whether messages of these versions were seen: 1, 2.
    pub fn versions(&self) -> [bool; 2] {
        [false, true].map(|is_v2| self.boards.keys().any(|key| key.is_v2 == is_v2))
    }

    /// The boards of version 2: number of the printed circuit board, and how they describe their events, if they do.
    pub fn boards_of_version_2(&self) -> impl Iterator<Item = (u16, Option<BoardParameters>)> {
        self.boards.iter().filter(|(key, _)| key.is_v2).map(|(key, board)| (key.pcb, board.parameters))
    }

    /// Whether there is a board with events.
    pub fn has_events(&self) -> bool {
        self.readouts() > 0
    }

    pub(super) fn readouts(&self) -> u64 {
        self.boards.values().map(|board| board.events).sum()
    }

    pub(super) fn places(&self) -> String {
        listed(self.boards.keys().map(|key| key.name()))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("events", grouped(self.readouts()))];
        for (key, board) in &self.boards {
            let mut title = key.name();
            for text in board.lines() {
                lines.push(line(std::mem::take(&mut title), text));
            }
        }
        for (fault, messages) in &self.faults {
            lines.push(line("messages", format!("{} rejected: {fault}", grouped(*messages))));
        }
        for (datagrams, what) in self.padded.iter().zip(["zeros", "bytes that are no message"]) {
            if *datagrams > 0 {
                lines.push(line("padding", format!("{} datagrams end with {what}", grouped(*datagrams))));
            }
        }
        if self.not_kept > 0 {
            lines.push(line(
                "not told apart",
                format!("{} messages of further boards", grouped(self.not_kept)),
            ));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let board = |(key, board): (&BoardKey, &Board)| {
            json!({
                "version": key.version(), "pcb": key.pcb, "address": key.address, "messages": board.messages,
                "events": board.events, "frames": board.frames, "events_announced": board.announced,
                "frames_without_events": board.without_events,
                "neutron_data": board.kinds[0], "veto_frames": board.kinds[1],
                "sample_environment": board.kinds[2], "ends_of_run": board.kinds[3], "paused": board.paused,
                "first_ns": board.times.ends().map(|ends| ends.0), "last_ns": board.times.ends().map(|ends| ends.1),
                "frame_ns": board.frame_ns(), "periods": board.periods.iter().collect::<Vec<_>>(),
                "protons": board.protons.ends(), "frame_sync_delays": board.delays.ends(),
                "frames_with_veto": board.vetoes().collect::<BTreeMap<_, _>>(),
                "bits": board.parameters.map(|p| [p.position_bits, p.diagnostic_bits, p.channel_bits]),
                "detector_id_offset": board.parameters.map(|p| p.detector_id_offset),
                "sequence": sequence_json(&board.tracker),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "boards": self.boards.iter().map(board).collect::<Vec<_>>(),
            "rejected": self.faults,
            "padded_with_zeros": self.padded[0],
            "padded_with_others": self.padded[1],
            "not_told_apart": self.not_kept,
        })
    }
}

impl BoardKey {
    fn version(self) -> u8 {
        1 + u8::from(self.is_v2)
    }

    fn name(self) -> String {
        match (self.is_v2, self.address) {
            (false, _) => "version 1".to_owned(),
            (true, None) => format!("version 2, board {}", self.pcb),
            (true, Some(address)) => format!("version 2, board {}, address {address}", self.pcb),
        }
    }
}

impl Board {
    fn new() -> Self {
        Self {
            messages: 0,
            events: 0,
            kinds: [0; 4],
            paused: 0,
            frames: 0,
            announced: 0,
            without_events: 0,
            tracker: SequenceTracker::new(32),
            latest: None,
            times: Span::default(),
            distances: Vec::new(),
            periods: Channels::default(),
            protons: Span::default(),
            delays: Span::default(),
            vetoes: [0; 32],
            parameters: None,
        }
    }

    fn take(&mut self, message: &Message<'_>, arrival_ns: u64) {
        let header = &message.header;
        self.messages += 1;
        self.events += message.len() as u64;
        let kind = match header.kind {
            Kind::NeutronData => 0,
            Kind::Veto => 1,
            Kind::SampleEnvironment => 2,
            Kind::EndOfRun => 3,
        };
        self.kinds[kind] += 1;
        self.paused += u64::from(header.is_paused);
        self.parameters = header.board;
        self.times.take(header.gps_ns);
        // A frame may be spread over messages, which have the same number and time.
        let same = (header.streamed_frame, header.gps_ns);
        if self.latest == Some(same) {
            return;
        }
        if let Some((_, before)) = self.latest.replace(same)
            && let Some(distance) = header.gps_ns.checked_sub(before).filter(|&distance| distance > 0)
            && self.distances.len() < MOST_DISTANCES
        {
            self.distances.push(distance);
        }
        self.frames += 1;
        self.announced += u64::from(header.events_in_frame);
        self.without_events += u64::from(header.events_in_frame == 0);
        let stamp = Stamp { arrival_ns, sent: Some(header.gps_ns), content: 0 };
        self.tracker.observe_packet(u64::from(header.streamed_frame), stamp);
        self.periods.insert(header.period);
        self.protons.take(header.protons);
        self.delays.take(header.frame_sync_delay);
        for (bit, frames) in self.vetoes.iter_mut().enumerate() {
            *frames += u64::from(header.vetoes >> bit & 1);
        }
    }

    /// The median distance of successive frames in nanoseconds.
    fn frame_ns(&self) -> Option<u64> {
        let mut distances = self.distances.clone();
        let middle = distances.len().checked_sub(1)? / 2;
        Some(*distances.select_nth_unstable(middle).1)
    }

    /// Frames with each veto that occurred.
    fn vetoes(&self) -> impl Iterator<Item = (usize, u64)> {
        self.vetoes.iter().copied().enumerate().filter(|(_, frames)| *frames > 0)
    }

    fn lines(&self) -> Vec<String> {
        let mut first = format!(
            "{} messages, {} frames, {} events of {} announced; {}",
            grouped(self.messages),
            grouped(self.frames),
            grouped(self.events),
            grouped(self.announced),
            sequence_in_words(&self.tracker)
        );
        for (messages, what) in [
            (self.kinds[1], "veto frames"),
            (self.kinds[2], "of sample environment"),
            (self.kinds[3], "ends of run"),
            (self.paused, "paused"),
        ] {
            if messages > 0 {
                first += &format!("; {} {what}", grouped(messages));
            }
        }
        let mut lines = vec![first, self.time_in_words()];
        lines.push(format!("protons per pulse {}, {}", self.protons, self.periods_in_words()));
        let vetoes: Vec<_> =
            self.vetoes().map(|(bit, frames)| format!("{bit} in {} frames", grouped(frames))).collect();
        if !vetoes.is_empty() {
            lines.push(format!("vetoes: bit {}", vetoes.join(", ")));
        }
        if let Some(parameters) = self.parameters {
            lines.push(format!(
                "pixels from {}: {} bits of position, {} of channel; {} bits of diagnostic data",
                parameters.detector_id_offset,
                parameters.position_bits,
                parameters.channel_bits,
                parameters.diagnostic_bits
            ));
        }
        if self.delays.ends() != Some((0, 0)) {
            lines.push(format!("frame sync delay {} (its unit is not known)", self.delays));
        }
        lines
    }

    fn periods_in_words(&self) -> String {
        let numbers = self.periods.to_string();
        numbers.replace("channel", "period")
    }

    fn time_in_words(&self) -> String {
        let Some((first, last)) = self.times.ends() else { return String::new() };
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let mut text =
            format!("from {:.3} s of Unix time, {:.3} s long", seconds(first), seconds(last - first));
        if let Some(frame) = self.frame_ns() {
            text += &format!(", a frame every {:.3} ms", frame as f64 / 1e6);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_wire::isis::IsisEncoder;

    #[test]
    fn boards_of_both_versions_tell_their_frames() {
        let mut content = IsisContent::default();
        let mut encoder = IsisEncoder::default();
        for frame in 0..5_u32 {
            let common = Header {
                gps_ns: 1_787_229_296_000_000_000 + 20_000_000 * u64::from(frame),
                frame,
                streamed_frame: frame,
                period: (frame / 2) as u16,
                events_in_frame: 2,
                protons: 200,
                vetoes: 0x42 & (frame << 1),
                ..Header::default()
            };
            let parameters = BoardParameters { position_bits: 6, address: 4, ..BoardParameters::default() };
            for header in [
                common,
                common,
                Header { version: Version::V2, pcb: 3877, board: Some(parameters), ..common },
                Header { version: Version::V2, pcb: 999, kind: Kind::Veto, events_in_frame: 0, ..common },
            ] {
                assert!(encoder.begin(&header));
                assert!(header.kind == Kind::Veto || encoder.push_event(0xE000_0001, 5));
            }
            encoder.pad(&[0; 4]);
            content.take(&encoder.finish(), 0);
        }
        content.take(&[0xFF, 0xFF, 0xFF, 0xFF, 1], 0);
        assert_eq!((content.boards.len(), content.readouts(), content.versions()), (3, 15, [true; 2]));
        let text: Vec<_> =
            content.lines().into_iter().map(|(title, text)| format!("{title}: {text}")).collect();
        for expected in [
            "version 1: 10 messages, 5 frames, 10 events of 10 announced; none lost",
            ": from 1787229296.000 s of Unix time, 0.080 s long, a frame every 20.000 ms",
            ": protons per pulse 200, periods 0-2 (3 of them)",
            ": vetoes: bit 1 in 2 frames",
            "version 2, board 999: 5 messages, 5 frames, 0 events of 0 announced; none lost; 5 veto frames",
            "version 2, board 3877, address 4: 5 messages, 5 frames, 5 events of 10 announced; none lost",
            ": pixels from 0: 6 bits of position, 0 of channel; 0 bits of diagnostic data",
            "padding: 5 datagrams end with zeros",
            "messages: 1 rejected: it ends within the header of a message",
        ] {
            assert!(text.iter().any(|line| line == expected), "{expected}\n{text:#?}");
        }
        let json = content.json();
        assert_eq!(json["boards"][2]["events_announced"], 10);
        assert_eq!(json["boards"][0]["frame_ns"], 20_000_000);
    }

    #[test]
    fn boards_are_told_apart_up_to_a_number() {
        let mut content = IsisContent::default();
        let mut encoder = IsisEncoder::default();
        for pcb in 0..MOST as u16 + 3 {
            let header =
                Header { version: Version::V2, pcb, gps_ns: 1_787_229_296_000_000_000, ..Header::default() };
            assert!(encoder.begin(&header));
            content.take(&encoder.finish(), 0);
        }
        assert_eq!((content.boards.len(), content.not_kept), (MOST, 3));
    }
}

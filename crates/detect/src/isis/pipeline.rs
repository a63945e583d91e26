//! The pipeline of the streaming readout of ISIS: packets in, frames with their events out.

use super::amplitudes::Amplitudes;
use super::assembly::{Assembly, Placed};
use super::board_clock::{Finding, JumpRules};
use super::boards::{Board, BoardKey, Boards};
use super::counters::IsisCounters;
use super::decode::{EventColumns, Timing, decode_events};
use super::layout::PixelLayout;
use super::message_counts::{count_fault, count_message};
use super::open_frame::of_message;
use super::settings::IsisSettings;
use super::timing::timing;
use crate::first_cases::FirstCases;
use crate::packet_gate::PacketGate;
use crate::settings::SettingsError;
use crate::vmm_files::content::some_of;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::frame::FrameLedger;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::MonitorData;
use evforge_core::packet::{LARGEST_PAYLOAD, Packet, PacketBatch};
use evforge_core::pixel_ids::PixelIds;
use evforge_wire::isis::{Kind, Message, Messages, Version};
use pulp::Arch;
use std::net::IpAddr;
use std::sync::Arc;

/// A packet of which some messages have been taken.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    /// Bytes of it that have been walked over.
    offset: usize,
    /// True if a message of it was of use.
    is_used: bool,
    /// True if the message at `offset` has begun, and events of it have left: this many.
    begun: Option<usize>,
}

/// How far a packet came.
enum Step {
    /// It has been taken.
    Taken,
    /// Frames have to leave first.
    NoRoom,
    /// The event batch filled up.
    Full,
}

/// The streaming readout of ISIS.
#[derive(Debug)]
pub struct Isis {
    settings: IsisSettings,
    /// What this processor can do.
    arch: Arch,
    jumps: JumpRules,
    layout: PixelLayout,
    boards: Boards,
    /// Puts messages together to frames; none where they are handed on as they come.
    assembly: Option<Assembly>,
    /// What is known of frames where nobody puts them together.
    ledger: FrameLedger,
    counting: u32,
    uah_per_proton: f64,
    under_way: Option<UnderWay>,
    last_version: Option<Version>,
    /// Sources that nothing is known of.
    unknown: FirstCases<IpAddr>,
    gate: PacketGate,
    counters: IsisCounters,
    monitor: Option<Box<Amplitudes>>,
}

impl Isis {
    /// A readout with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &IsisSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let ledger = FrameLedger::new(settings.named_vetoes());
        let uah_per_proton = settings.charge_per_proton.uah();
        let room = settings.board_room();
        let boards = Boards::new(settings);
        let assembly = settings.frames.assembled.then(|| {
            let mut assembly = Assembly::new(&settings.frames, room, uah_per_proton, ledger.clone());
            if boards.expects_seen() {
                assembly = assembly.expecting_seen();
            }
            let listed = boards.all().iter().enumerate();
            listed
                .filter(|(_, board)| board.is_expected)
                .for_each(|(number, _)| assembly.expect(number, None));
            assembly
        });
        Ok(Self {
            arch: Arch::new(),
            jumps: Assembly::jump_rules(&settings.frames),
            layout: settings.layout()?,
            boards,
            assembly,
            counting: ledger.counting(),
            ledger,
            uah_per_proton,
            under_way: None,
            last_version: None,
            unknown: FirstCases::default(),
            gate: PacketGate::new(LARGEST_PAYLOAD),
            counters: IsisCounters::default(),
            monitor: None,
            settings: settings.clone(),
        })
    }

    /// Takes a packet, or goes on with the one under way.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> Step {
        let mut here = match self.under_way.take() {
            Some(under_way) => under_way,
            None if self.gate.admit_unnumbered(packet) => UnderWay::default(),
            None => return Step::Taken,
        };
        let mut messages =
            Messages::new(packet.bytes.get(here.offset..).unwrap_or_default(), self.settings.rules());
        let mut is_cut_short = false;
        loop {
            here.offset = packet.bytes.len() - messages.rest().len();
            if let Some(assembly) = &mut self.assembly
                && !assembly.has_room()
            {
                assembly.force(&mut self.counters);
                self.under_way = Some(here);
                return Step::NoRoom;
            }
            match messages.next() {
                None => break,
                Some(Err(fault)) => {
                    count_fault(&mut self.counters, fault);
                    is_cut_short = fault.ends_datagram();
                }
                Some(Ok(message)) => {
                    let is_new = here.begun.is_none();
                    here.is_used = true;
                    if let Err(left) =
                        self.take_message(&message, packet, is_new, here.begun.unwrap_or(0), events)
                    {
                        self.under_way = Some(UnderWay { begun: Some(left), ..here });
                        return Step::Full;
                    }
                    here.begun = None;
                }
            }
        }
        self.counters.packets_with_rest +=
            u64::from(!is_cut_short && here.is_used && !messages.rest_is_zero());
        let outcome: Result<(), crate::packet_gate::Discard<IsisCounters>> =
            if here.is_used { Ok(()) } else { Err(|counters| &mut counters.packets_without_message) };
        self.gate.settle(packet, outcome, &mut self.counters);
        Step::Taken
    }

    /// Takes a message, of which the first `from` events have left. If the batch fills up: how many have left now.
    fn take_message(
        &mut self,
        message: &Message<'_>,
        packet: &Packet<'_>,
        is_new: bool,
        from: usize,
        events: &mut EventBatch,
    ) -> Result<(), usize> {
        let header = &message.header;
        if is_new && !count_message(&mut self.counters, &mut self.last_version, header) {
            return Ok(());
        }
        let key = BoardKey::of(packet.origin.source.ip(), header);
        let Some(number) = self.boards.find(&key).or_else(|| self.boards.meet(key, header.version)) else {
            self.turn_away(message, key.source);
            return Ok(());
        };
        let Some(board) = self.boards.get_mut(number) else { return Ok(()) };
        if is_new {
            self.counters.readouts += message.len() as u64;
            board.observe(header, packet.origin.arrival_ns);
            if let Some(monitor) = &mut self.monitor {
                monitor.watch(number, board, message);
            }
        }
        #[cfg(test)]
        if is_new && !message.is_empty() && crate::ledger_tests::vanishes() {
            return Ok(());
        }
        if header.kind == Kind::EndOfRun && message.is_empty() {
            board.clock.end();
            if let Some(assembly) = &mut self.assembly {
                assembly.note(number, board);
            }
            return Ok(());
        }
        let timing = timing(self.arch, &self.settings, board, header);
        // The time is after 2000, and the delay less than that.
        let reference_ns = header.gps_ns.saturating_sub(timing.delay_ns);
        if self.assembly.is_some() {
            self.put_together(number, reference_ns, message, timing);
            return Ok(());
        }
        self.hand_on(number, reference_ns, message, timing, from, events)
    }

    #[cold]
    fn turn_away(&mut self, message: &Message<'_>, source: IpAddr) {
        self.counters.messages_unknown_board += 1;
        self.counters.readouts += message.len() as u64;
        self.counters.unknown_board += message.len() as u64;
        self.unknown.see(source);
    }

    /// Takes a message into its frame, or puts it aside if its time jumps.
    fn put_together(&mut self, number: usize, reference_ns: u64, message: &Message<'_>, timing: Timing) {
        let Self { boards, assembly, counters, settings, jumps, arch, .. } = self;
        let expects_seen = boards.expects_seen();
        let (Some(board), Some(assembly)) = (boards.get_mut(number), assembly) else { return };
        let (header, events) = (&message.header, message.events());
        match board.clock.look_back(reference_ns, *jumps) {
            Finding::Nothing => {}
            Finding::Confirmed => {
                take_suspect(number, board, assembly, (*arch, settings), counters, expects_seen)
            }
            Finding::Refuted => {
                counters.unconfirmed_jump += board.clock.suspected_events() as u64;
                if let Some((_, memory)) = board.clock.take_suspect() {
                    board.clock.keep(memory);
                }
            }
        }
        let Some(at) = board.clock.follow(reference_ns, *jumps) else {
            board.clock.put_aside(reference_ns, header, events);
            return;
        };
        let placed = Placed { board: number, at, header, events, timing };
        take(placed, board, assembly, counters, expects_seen);
    }

    /// Hands a message on as it comes. If the batch fills up: how many events have left.
    fn hand_on(
        &mut self,
        number: usize,
        reference_ns: u64,
        message: &Message<'_>,
        timing: Timing,
        from: usize,
        events: &mut EventBatch,
    ) -> Result<(), usize> {
        let header = &message.header;
        let told = of_message(header, self.counting, self.uah_per_proton);
        if !events.begin_frame(reference_ns, told) {
            return Err(from);
        }
        let Some(board) = self.boards.get_mut(number) else { return Ok(()) };
        let (counters, mut left) = (&mut self.counters, message.events().get(from..).unwrap_or_default());
        while !left.is_empty() {
            if events.is_full() {
                return Err(message.len() - left.len());
            }
            let (these, rest) = left.split_at(left.len().min(events.capacity() - events.len()));
            let mut placed = 0;
            events.append(these.len(), |times_ns, ids| {
                let mut out = EventColumns { reference_ns, times_ns, ids, used: 0 };
                placed = decode_events(these, header, board.wired.as_ref(), timing, &mut out, counters);
                placed
            });
            counters.hits += placed as u64;
            counters.hits_in_events += placed as u64;
            counters.events += placed as u64;
            left = rest;
        }
        Ok(())
    }

    /// Hands out what is closed. False if the batch filled up before the end.
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Self { assembly, boards, counters, .. } = self;
        assembly.as_mut().is_none_or(|assembly| assembly.drain(events, boards, counters))
    }

    /// Takes the next message that was put aside, at the end of the input. False if there is none left.
    fn take_next_suspect(&mut self) -> bool {
        let Self { boards, assembly, counters, settings, arch, .. } = self;
        let Some(assembly) = assembly else { return false };
        let expects_seen = boards.expects_seen();
        let has_suspect = |board: &Board| board.clock.has_suspect();
        let Some(number) = boards.all().iter().position(has_suspect) else { return false };
        if let Some(board) = boards.get_mut(number) {
            take_suspect(number, board, assembly, (*arch, settings), counters, expects_seen);
        }
        true
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let sources: Vec<String> = self
            .unknown
            .named()
            .iter()
            .map(|(source, count)| format!("{source} ({count} messages)"))
            .collect();
        if !sources.is_empty() {
            let what = if self.settings.rows.is_empty() { "isis.wiring" } else { "the wiring table" };
            notes.push(format!(
                "Messages of boards that nothing is known of come from {}: add them to {what}, or raise isis.max_boards.",
                some_of(&sources)
            ));
        }
        let has_begun = self.counters.frames > 0;
        let is_silent = |board: &&Board| has_begun && board.is_expected && board.messages == 0;
        let silent: Vec<&str> =
            self.boards.all().iter().filter(is_silent).map(|board| board.name.as_str()).collect();
        if !silent.is_empty() {
            notes.push(format!(
                "Nothing has come from {}: every frame waits for isis.frames.lag and counts as late or incomplete.",
                some_of(&silent)
            ));
        }
        notes
    }
}

/// Takes a message into its frame.
#[inline]
fn take(
    placed: Placed<'_>,
    board: &mut Board,
    assembly: &mut Assembly,
    counters: &mut IsisCounters,
    expects_seen: bool,
) {
    if expects_seen && !board.is_expected {
        board.is_expected = true;
        assembly.expect(placed.board, Some(placed.at));
    }
    assembly.note(placed.board, board);
    assembly.take(placed, board, counters);
}

/// Takes the message that was put aside, with its jump.
#[cold]
fn take_suspect(
    number: usize,
    board: &mut Board,
    assembly: &mut Assembly,
    (arch, settings): (Arch, &IsisSettings),
    counters: &mut IsisCounters,
    expects_seen: bool,
) {
    let Some(at) = board.clock.jump() else { return };
    let Some((suspect, memory)) = board.clock.take_suspect() else { return };
    let timing = timing(arch, settings, board, &suspect.header);
    let events = memory.as_chunks().0;
    let placed = Placed { board: number, at, header: &suspect.header, events, timing };
    take(placed, board, assembly, counters, expects_seen);
    board.clock.keep(memory);
}

impl Detector for Isis {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            match self.take_packet(&packet, events) {
                Step::Taken => taken += 1,
                Step::NoRoom => {}
                Step::Full => return Progress { taken, full: true },
            }
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        loop {
            if !self.drain(events) {
                return true;
            }
            if let Some(assembly) = &mut self.assembly
                && !assembly.has_room()
            {
                assembly.force(&mut self.counters);
                continue;
            }
            if !self.take_next_suspect() {
                break;
            }
        }
        if let Some(assembly) = &mut self.assembly {
            assembly.end();
        }
        !self.drain(events)
    }

    fn ledger(&self) -> DetectorLedger {
        let suspected = self.boards.all().iter().map(|board| board.clock.suspected_events() as u64).sum();
        let (ahead, back) = self
            .boards
            .all()
            .iter()
            .map(|board| board.clock.jumps)
            .fold((0, 0), |sum, jumps| (sum.0 + jumps.0, sum.1 + jumps.1));
        let counters = IsisCounters {
            held: self.assembly.as_ref().map_or(0, Assembly::held),
            held_in_quarantine: suspected,
            forward_jumps: ahead,
            clock_restarts: back,
            ..self.counters
        };
        let frames = self.assembly.as_ref().map_or(&self.ledger, Assembly::ledger);
        let sent = |board: &&Board| board.messages > 0;
        DetectorLedger {
            sources: self.boards.all().iter().filter(sent).map(Board::ledger).collect(),
            counters: CounterSnapshot::of(self.gate.counters()).and(&counters),
            frames: Some(frames.clone()),
            notes: self.notes(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.layout.geometry
    }

    fn pixel_ids(&self) -> Option<Arc<PixelIds>> {
        Some(Arc::clone(&self.layout.ids))
    }

    fn tells_pulses(&self) -> bool {
        true
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.assembly.as_ref()?.newest_ns()
    }

    fn memory_bound(&self) -> usize {
        let room = self.settings.board_room();
        let frames = &self.settings.frames;
        size_of::<Self>()
            + Boards::memory_bound(room)
            + if frames.assembled {
                Assembly::memory_bound(frames, room)
            } else {
                FrameLedger::memory_bound()
            }
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.boards.all_mut().iter_mut().for_each(|board| board.sequence.confirm_above(packets));
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(Amplitudes::of(self.boards.all())));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_ref().map(|monitor| monitor.data())
    }
}

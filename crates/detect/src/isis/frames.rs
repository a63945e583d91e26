//! Messages of boards to events in their frames.

use super::amplitudes::Amplitudes;
use super::assembly::{Assembly, Placed};
use super::board_clock::{Finding, JumpRules};
use super::boards::{Board, BoardKey, Boards};
use super::counters::IsisCounters;
use super::decode::{EventColumns, Timing, decode_events};
use super::message_counts::count_message;
use super::open_frame::of_message;
use super::settings::IsisSettings;
use super::timing::timing;
use crate::first_cases::FirstCases;
use crate::pipeline::Former;
use crate::vmm_files::content::some_of;
use evforge_core::event::EventBatch;
use evforge_core::frame::FrameLedger;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::Packet;
use evforge_wire::isis::{Kind, Message, Version};
use pulp::Arch;
use std::net::IpAddr;

/// The boards, and the frames that their messages are of.
#[derive(Debug, get_size2::GetSize)]
pub struct Frames {
    #[get_size(ignore)]
    settings: IsisSettings,
    /// What this processor can do.
    #[get_size(ignore)]
    arch: Arch,
    jumps: JumpRules,
    boards: Boards,
    /// Puts messages together to frames; none where they are handed on as they come.
    assembly: Option<Assembly>,
    /// What is known of frames where nobody puts them together.
    ledger: FrameLedger,
    counting: u32,
    uah_per_proton: f64,
    #[get_size(ignore)]
    last_version: Option<Version>,
    /// Sources that nothing is known of.
    #[get_size(ignore)]
    unknown: FirstCases<IpAddr>,
    counters: IsisCounters,
}

impl Frames {
    /// For settings that have been checked.
    pub(super) fn new(settings: &IsisSettings) -> Self {
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
        Self {
            arch: Arch::new(),
            jumps: Assembly::jump_rules(&settings.frames),
            boards,
            assembly,
            counting: ledger.counting(),
            ledger,
            uah_per_proton,
            last_version: None,
            unknown: FirstCases::default(),
            counters: IsisCounters::default(),
            settings: settings.clone(),
        }
    }

    /// The boards that are known so far.
    pub(super) fn boards(&self) -> &[Board] {
        self.boards.all()
    }

    /// Makes sure that a message fits. False if frames have to leave first.
    #[inline]
    pub(super) fn make_room_for_a_message(&mut self) -> bool {
        match &mut self.assembly {
            Some(assembly) if !assembly.has_room() => {
                assembly.force(&mut self.counters);
                false
            }
            _ => true,
        }
    }

    /// Takes a message, of which `begun` events have left if it has begun. If the batch fills up: how many have left now.
    pub(super) fn take_message(
        &mut self,
        message: &Message<'_>,
        packet: &Packet<'_>,
        begun: Option<usize>,
        monitor: Option<&mut Amplitudes>,
        events: &mut EventBatch,
    ) -> Option<usize> {
        let header = &message.header;
        let is_new = begun.is_none();
        if is_new && !count_message(&mut self.counters, &mut self.last_version, header) {
            return None;
        }
        let key = BoardKey::of(packet.origin.source.ip(), header);
        let Some(number) = self.boards.find(&key).or_else(|| self.boards.meet(key, header.version)) else {
            self.turn_away(message, key.source);
            return None;
        };
        let board = self.boards.get_mut(number)?;
        if is_new {
            self.counters.readouts += message.len() as u64;
            board.observe(header, packet.origin.arrival_ns);
            if let Some(monitor) = monitor {
                monitor.watch(number, board, message);
            }
        }
        #[cfg(test)]
        if is_new && !message.is_empty() && crate::ledger_tests::vanishes() {
            return None;
        }
        if header.kind == Kind::EndOfRun && message.is_empty() {
            board.clock.end();
            if let Some(assembly) = &mut self.assembly {
                assembly.note(number, board);
            }
            return None;
        }
        let timing = timing(self.arch, &self.settings, board, header);
        // The time is after 2000, and the delay less than that.
        let reference_ns = header.gps_ns.saturating_sub(timing.delay_ns);
        if self.assembly.is_some() {
            self.put_together(number, reference_ns, message, timing);
            return None;
        }
        self.hand_on(number, reference_ns, message, timing, begun.unwrap_or(0), events)
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
    ) -> Option<usize> {
        let header = &message.header;
        let told = of_message(header, self.counting, self.uah_per_proton);
        if !events.begin_frame(reference_ns, told) {
            return Some(from);
        }
        let board = self.boards.get_mut(number)?;
        let (counters, mut left) = (&mut self.counters, message.events().get(from..).unwrap_or_default());
        while !left.is_empty() {
            if events.is_full() {
                return Some(message.len() - left.len());
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
        None
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

    /// Everything that has been counted here.
    pub(super) fn counters(&self) -> IsisCounters {
        let clocks = || self.boards.all().iter().map(|board| &board.clock);
        IsisCounters {
            held: self.assembly.as_ref().map_or(0, Assembly::held),
            held_in_quarantine: clocks().map(|clock| clock.suspected_events() as u64).sum(),
            forward_jumps: clocks().map(|clock| clock.jumps.0).sum(),
            clock_restarts: clocks().map(|clock| clock.jumps.1).sum(),
            ..self.counters
        }
    }

    /// Adds the boards, the frames and the notes.
    pub(super) fn complete(&self, ledger: &mut DetectorLedger) {
        let sent = |board: &&Board| board.messages > 0;
        ledger.sources = self.boards.all().iter().filter(sent).map(Board::ledger).collect();
        ledger.frames = Some(self.assembly.as_ref().map_or(&self.ledger, Assembly::ledger).clone());
        ledger.notes = self.notes();
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

impl Former for Frames {
    type Monitor = Amplitudes;

    fn drain(&mut self, _: Option<&mut Amplitudes>, events: &mut EventBatch) -> bool {
        let Self { assembly, boards, counters, .. } = self;
        assembly.as_mut().is_none_or(|assembly| assembly.drain(events, boards, counters))
    }

    fn close(&mut self, _: Option<&mut Amplitudes>) -> bool {
        // What a message closes leaves before the next one comes.
        if !self.make_room_for_a_message() || self.take_next_suspect() {
            return true;
        }
        self.assembly.iter_mut().for_each(Assembly::end);
        false
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.assembly.as_ref()?.newest_ns()
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.boards.all_mut().iter_mut().for_each(|board| board.sequence.confirm_above(packets));
    }
}

//! Messages to frames: what belongs together, and when a frame is closed.
//!
//! A frame is closed, in the order of reference times, when
//! * every expected board has sent as many events as it announced: it is complete; or
//! * every expected board has gone on to later frames: what is missing is lost; or
//! * a board is later by `frames.lag`: whoever is behind is no longer waited for.
//!
//! None of it depends on a clock of this host, nor on how the datagrams of different boards interleave, unless a board is
//! behind by more than `frames.lag`.

use super::board_clock::{At, JumpRules};
use super::boards::{Board, Boards};
use super::counters::IsisCounters;
use super::decode::{KeyColumn, Timing, decode_events};
use super::open_frame::{BoardPart, Comparison, OpenFrame, mark};
use super::outlet::Outlet;
use super::pieces::Pieces;
use super::settings::{Announced, FrameSettings, MESSAGE_EVENTS, PIECE};
use crate::earliest::{Earliest, NEVER};
use evforge_core::event::EventBatch;
use evforge_core::frame::{FrameLedger, FrameState};
use evforge_wire::isis::Header;
use std::collections::VecDeque;

/// Room that a message and one that was put aside need: frames, and pieces.
const FRAMES_NEEDED: usize = 2;
const PIECES_NEEDED: usize = 2 * (MESSAGE_EVENTS.div_ceil(PIECE) + 1);

/// Distances in time, in nanoseconds.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Distances {
    tolerance: u64,
    /// How much later a board must be to have gone on.
    window: u64,
    lag: u64,
}

/// The board that is ahead of all others.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Leader {
    front: At,
    epoch_start_ns: u64,
}

/// Puts messages together to frames.
#[derive(Debug, get_size2::GetSize)]
pub struct Assembly {
    distances: Distances,
    #[get_size(ignore)]
    announced: Announced,
    uah_per_proton: f64,
    frames: Vec<OpenFrame>,
    /// Frames that are open, in order of their reference times.
    order: VecDeque<u16>,
    free: Vec<u16>,
    pieces: Pieces,
    outlet: Outlet,
    /// How far each expected board is.
    fronts: Earliest,
    is_expected: Vec<bool>,
    leader: Option<Leader>,
    /// The first reference time, where boards are waited for once they send: for a while others may begin.
    settling_from_ns: Option<u64>,
    expects_seen: bool,
    /// The frame that was closed last.
    closed: Option<At>,
    /// True while the earliest frame is to be closed for want of room.
    is_forced: bool,
    has_ended: bool,
    held: u64,
    /// What is known of all frames.
    ledger: FrameLedger,
    /// The vetoes that count.
    counting: u32,
}

/// A message, and whose it is.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Number of the board.
    pub board: usize,
    /// When, on the clock of the board.
    pub at: At,
    /// What it says.
    pub header: &'a Header,
    /// Its events.
    pub events: &'a [[u8; 8]],
    /// What its times mean.
    pub timing: Timing,
}

impl Assembly {
    /// For these settings, with boards up to this number.
    pub fn new(settings: &FrameSettings, boards: usize, uah_per_proton: f64, ledger: FrameLedger) -> Self {
        let ns = |picoseconds: u64| picoseconds / 1000;
        let pieces = Pieces::new(settings.max_held_events);
        let tolerance = ns(settings.tolerance);
        Self {
            distances: Distances {
                tolerance,
                window: ns(settings.window).max(tolerance),
                lag: ns(settings.lag),
            },
            announced: settings.announced,
            uah_per_proton,
            frames: (0..settings.max_open).map(|_| OpenFrame::new(boards, &pieces)).collect(),
            order: VecDeque::with_capacity(settings.max_open),
            free: (0..settings.max_open as u16).rev().collect(),
            pieces,
            outlet: Outlet::new(settings.max_held_events),
            fronts: Earliest::new(boards),
            is_expected: vec![false; boards],
            leader: None,
            settling_from_ns: None,
            expects_seen: false,
            closed: None,
            is_forced: false,
            has_ended: false,
            held: 0,
            counting: ledger.counting(),
            ledger,
        }
    }

    /// What counts as a jump.
    pub fn jump_rules(settings: &FrameSettings) -> JumpRules {
        JumpRules { forward_ns: settings.forward_jump / 1000, restart_ns: settings.restart / 1000 }
    }

    /// Waits for boards once they send. Frames of the first time, as long as `frames.lag`, leave only when all that have begun have
    /// gone on: others may begin meanwhile.
    #[must_use]
    pub fn expecting_seen(mut self) -> Self {
        self.expects_seen = true;
        self
    }

    /// Waits for a board in all frames from now on, and in those that are open and not earlier than its first message.
    pub fn expect(&mut self, board: usize, from: Option<At>) {
        if let Some(is_expected) = self.is_expected.get_mut(board) {
            *is_expected = true;
        }
        self.fronts.set(board, (0, 0));
        let Some(from) = from else { return };
        for &slot in &self.order {
            let frame = &mut self.frames[usize::from(slot)];
            let part = &mut frame.parts[board];
            if frame.at.0 == from.0 && frame.latest_ns.saturating_add(self.distances.tolerance) >= from.1 {
                part.is_awaited = true;
                let is_whole = part.is_whole() && self.announced == Announced::Board;
                frame.others_open -= usize::from(part.came && !is_whole);
                frame.waiting += usize::from(!is_whole);
            }
        }
    }

    /// True if there is room for a message.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.free.len() >= FRAMES_NEEDED && self.pieces.free() >= PIECES_NEEDED
    }

    /// Closes the earliest frame, whatever is missing.
    #[cold]
    pub fn force(&mut self, counters: &mut IsisCounters) {
        counters.forced_closings += 1;
        self.is_forced = true;
    }

    /// Nothing comes any more: closes all frames.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Takes note of how far a board has come.
    #[inline]
    pub fn note(&mut self, number: usize, board: &Board) {
        let Some(front) = board.clock.front() else { return };
        if board.is_expected {
            self.fronts.set(number, if board.clock.has_ended() { (u32::MAX - 1, u64::MAX) } else { front });
        }
        if self.expects_seen && self.settling_from_ns.is_none() {
            self.settling_from_ns = Some(front.1);
        }
        if self.leader.is_none_or(|leader| front > leader.front) {
            self.leader = Some(Leader { front, epoch_start_ns: board.clock.epoch_start_ns() });
        }
    }

    /// Takes a message, for which there is room; its events have been counted as readouts.
    pub fn take(&mut self, message: Placed<'_>, board: &mut Board, counters: &mut IsisCounters) {
        let Placed { at, header, events, .. } = message;
        let tolerance = self.distances.tolerance;
        let is_late =
            |(epoch, closed): At| at.0 < epoch || (at.0 == epoch && at.1 <= closed.saturating_add(tolerance));
        if self.closed.is_some_and(is_late) {
            counters.late += events.len() as u64;
            counters.messages_late += 1;
            return;
        }
        let slot = self.find(at, board.last_slot);
        board.last_slot = slot;
        let Self { frames, pieces, .. } = self;
        let Some(frame) = frames.get_mut(usize::from(slot)) else { return };
        match frame.compare(mark(message.board, header, events)) {
            Comparison::New => {}
            Comparison::NotCompared => counters.messages_not_compared += 1,
            Comparison::Repeated => {
                counters.repeated += events.len() as u64;
                counters.messages_repeated += 1;
                return;
            }
        }
        frame.tell((board.is_control, message.board), at.1, header);
        let placed = place(message, board, frame, pieces, counters);
        frame.events += placed;
        self.held += placed as u64;
        counters.hits += placed as u64;
        self.count_part(slot, message, counters);
    }

    /// The frame of a message: one that is open, or a new one.
    #[inline]
    fn find(&mut self, at: At, last: u16) -> u16 {
        let tolerance = self.distances.tolerance;
        if let Some(frame) = self.frames.get(usize::from(last))
            && frame.is_open
            && frame.has(at, tolerance)
        {
            return last;
        }
        let place = self.order.partition_point(|&slot| {
            let OpenFrame { at: (epoch, _), latest_ns, .. } = self.frames[usize::from(slot)];
            (epoch, latest_ns.saturating_add(tolerance)) < at
        });
        if let Some(&slot) = self.order.get(place)
            && self.frames[usize::from(slot)].has(at, tolerance)
        {
            return slot;
        }
        self.open(at)
    }

    fn open(&mut self, at: At) -> u16 {
        // There is room: whoever calls has looked.
        let Some(slot) = self.free.pop() else { return u16::MAX };
        let place = self.order.partition_point(|&slot| self.frames[usize::from(slot)].at < at);
        self.order.insert(place, slot);
        self.frames[usize::from(slot)].begin(at, &self.is_expected);
        slot
    }

    /// Counts what has come of a frame from a board.
    fn count_part(&mut self, slot: u16, message: Placed<'_>, counters: &mut IsisCounters) {
        let Placed { board, header, events, .. } = message;
        let frame = &mut self.frames[usize::from(slot)];
        let Some(part) = frame.parts.get_mut(board) else { return };
        let can_be_whole = self.announced == Announced::Board;
        let before = *part;
        let differs = before.came && before.announced != header.events_in_frame;
        counters.announcements_differ += u64::from(differs);
        *part = BoardPart {
            came: true,
            announced: before.announced.max(header.events_in_frame),
            received: before.received.saturating_add(events.len() as u32),
            ..before
        };
        let was_whole = before.is_whole() && can_be_whole;
        let is_whole = part.is_whole() && can_be_whole;
        // A later message may announce more: then it is not whole any more.
        if before.is_awaited {
            frame.waiting += usize::from(was_whole && !is_whole);
            frame.waiting -= usize::from(!was_whole && is_whole);
        } else {
            let was_open = before.came && !was_whole;
            frame.others_open += usize::from(!was_open && !is_whole);
            frame.others_open -= usize::from(was_open && is_whole);
        }
    }

    /// Why the earliest frame is to be closed; none if it is not.
    fn due(&self) -> Option<(u16, FrameState)> {
        let slot = *self.order.front()?;
        let frame = &self.frames[usize::from(slot)];
        let (epoch, latest) = (frame.at.0, frame.latest_ns);
        let is_whole = frame.waiting == 0 && frame.others_open == 0;
        let slowest = match self.fronts.earliest() {
            NEVER => (u32::MAX, u64::MAX),
            slowest => slowest,
        };
        let have_gone_on = self.has_ended || slowest > (epoch, latest.saturating_add(self.distances.window));
        let is_behind = |Leader { front: (of, front), epoch_start_ns }: Leader| {
            let from = if of == epoch { latest } else { epoch_start_ns };
            of >= epoch && front.saturating_sub(from) > self.distances.lag
        };
        let is_over = self.is_forced || self.leader.is_some_and(is_behind);
        let state = match (is_whole, have_gone_on, is_over) {
            (true, gone_on, over) if gone_on || over || !self.is_settling() => FrameState::Complete,
            // Where boards announce nothing, all that can be said is whether they have come.
            (false, true, _) if self.announced == Announced::Ignored => FrameState::Unknown,
            (false, true, _) => FrameState::Incomplete,
            (false, false, true) => FrameState::Late,
            _ => return None,
        };
        Some((slot, state))
    }

    /// True as long as boards that nobody has listed may begin.
    fn is_settling(&self) -> bool {
        let since = |from: u64| {
            self.leader.is_none_or(|leader| leader.front.1.saturating_sub(from) <= self.distances.lag)
        };
        self.settling_from_ns.is_some_and(since)
    }

    /// Hands on frames that are closed, and closes those that can be. False if the batch is full.
    pub fn drain(
        &mut self,
        events: &mut EventBatch,
        boards: &mut Boards,
        counters: &mut IsisCounters,
    ) -> bool {
        loop {
            let (handed_on, is_all) = self.outlet.hand_on(events);
            counters.hits_in_events += handed_on;
            counters.events += handed_on;
            if !is_all {
                return false;
            }
            let Some((slot, state)) = self.due() else { return true };
            self.close(slot, state, boards, counters);
        }
    }

    fn close(&mut self, slot: u16, state: FrameState, boards: &mut Boards, counters: &mut IsisCounters) {
        self.is_forced = false;
        self.order.pop_front();
        self.free.push(slot);
        let frame = &mut self.frames[usize::from(slot)];
        frame.is_open = false;
        let closed = (frame.at.0, frame.latest_ns);
        self.closed = Some(self.closed.map_or(closed, |before| before.max(closed)));
        let missing = count_missing(&frame.parts, self.announced, boards, counters);
        let state = match state {
            FrameState::Unknown if missing => FrameState::Incomplete,
            state => state,
        };
        counters.frames += 1;
        match state {
            FrameState::Unknown => {}
            FrameState::Complete => counters.frames_complete += 1,
            FrameState::Incomplete => counters.frames_incomplete += 1,
            FrameState::Late => counters.frames_late += 1,
        }
        let (period_differs, charge_differs) = frame.differences();
        counters.frames_period_differs += u64::from(period_differs);
        counters.frames_charge_differs += u64::from(charge_differs);
        let told = frame.frame(state, self.counting, self.uah_per_proton);
        let (reference_ns, events) = (frame.at.1, frame.events as u64);
        let Self { outlet, pieces, .. } = self;
        outlet.begin(reference_ns, told, |keys| pieces.empty(&mut frame.held, keys));
        self.held -= events;
        self.ledger.add(reference_ns, &told, events);
    }

    /// Events that wait.
    pub fn held(&self) -> u64 {
        self.held + self.outlet.held() as u64
    }

    /// The newest reference time of any board.
    pub fn newest_ns(&self) -> Option<u64> {
        self.leader.map(|leader| leader.front.1)
    }

    /// What is known of all frames.
    pub fn ledger(&self) -> &FrameLedger {
        &self.ledger
    }
}

/// Decodes the events of a message into the memory of its frame. Returns how many there are.
fn place(
    message: Placed<'_>,
    board: &Board,
    frame: &mut OpenFrame,
    pieces: &mut Pieces,
    counters: &mut IsisCounters,
) -> usize {
    let Placed { header, mut events, timing, .. } = message;
    let mut all = 0;
    while !events.is_empty() {
        let Some(room) = pieces.room(&mut frame.held, events.len()) else { break };
        let (these, rest) = events.split_at(room.len().min(events.len()));
        let mut out = KeyColumn { keys: room, used: 0 };
        let placed = decode_events(these, header, board.wired.as_ref(), timing, &mut out, counters);
        frame.held.grow(placed);
        all += placed;
        events = rest;
    }
    all
}

/// Counts what is missing of a frame that is closed; true if anything of it is known to be.
fn count_missing(
    parts: &[BoardPart],
    announced: Announced,
    boards: &mut Boards,
    counters: &mut IsisCounters,
) -> bool {
    let mut is_missing = false;
    for (board, part) in boards.all_mut().iter_mut().zip(parts) {
        if !part.came {
            counters.board_frames_absent += u64::from(part.is_awaited);
            is_missing |= part.is_awaited;
        } else if announced == Announced::Board {
            if part.received < part.announced {
                board.partial += 1;
                counters.board_frames_partial += 1;
                is_missing = true;
            }
            counters.events_missing += u64::from(part.announced.saturating_sub(part.received));
            counters.events_beyond_announced += u64::from(part.received.saturating_sub(part.announced));
        }
    }
    is_missing
}

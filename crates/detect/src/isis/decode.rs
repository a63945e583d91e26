//! Events of a message to times of flight and ids (ISIS streaming readout, sections 2 and 3).
//!
//! A message is decoded in one go, without a branch per event, and looked at afterwards: only if anything in it is out of the
//! ordinary is it gone through once more, event by event. The compiler makes that loop for several processors, and the best that
//! this one has is taken ([`pulp`]).

use super::counters::IsisCounters;
use super::wiring::{BoardType, CHANNELS, WiringRow};
use evforge_wire::isis::event::{v1, v2};
use evforge_wire::isis::{BoardParameters, Header, Version};
use pulp::Arch;

/// The largest time of flight in nanoseconds, and the largest id: 31 bits.
const LARGEST: u64 = i32::MAX as u64;

/// Where events go: (time of flight in nanoseconds, id).
pub trait Columns {
    /// Appends what `place` makes of each event; there is room for all.
    fn fill(&mut self, events: &[[u8; 8]], place: impl FnMut(u64) -> (u32, u32));

    /// Appends an event, for which there is room.
    fn push(&mut self, time_ns: u32, id: u32);

    /// Forgets the events appended last.
    fn forget(&mut self, events: usize);
}

/// A channel of an MADC board.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Channel {
    first_id: u32,
    /// Positions of 12 bits to ids.
    shift: u32,
}

/// What the events of a version 1 board mean.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
enum Meaning {
    Wlsf { first_id: u32 },
    Madc { channels: [Channel; CHANNELS as usize], wired: u32 },
    Lvds { first_id: u32 },
}

/// What the events of a version 1 board mean, by its rows in the wiring table.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct WiredBoard {
    meaning: Meaning,
    by_height: bool,
    board_type: BoardType,
}

impl WiredBoard {
    /// A board of the type of this row, wired as it says; rows of further channels follow.
    pub fn new(row: &WiringRow) -> Self {
        let first_id = row.first_id;
        let (meaning, by_height) = match row.board_type {
            BoardType::WlsfPosition => (Meaning::Wlsf { first_id }, false),
            BoardType::WlsfHeight => (Meaning::Wlsf { first_id }, true),
            BoardType::MadcPosition | BoardType::MadcHeight => {
                let none = [Channel::default(); CHANNELS as usize];
                let by_height = row.board_type == BoardType::MadcHeight;
                (Meaning::Madc { channels: none, wired: 0 }, by_height)
            }
            BoardType::Lvds => (Meaning::Lvds { first_id }, false),
        };
        let mut board = Self { meaning, by_height, board_type: row.board_type };
        board.wire(row);
        board
    }

    /// Takes a row of a further channel.
    pub fn wire(&mut self, row: &WiringRow) {
        if let Meaning::Madc { channels, wired } = &mut self.meaning
            && let Some(channel) = channels.get_mut(usize::from(row.channel))
        {
            // floor(position / (4096 / length)), with a length that is a power of two.
            let shift = 12_u32.saturating_sub(row.ids.trailing_zeros());
            *channel = Channel { first_id: row.first_id, shift };
            *wired |= 1 << row.channel;
        }
    }

    /// What it is.
    pub fn board_type(&self) -> BoardType {
        self.board_type
    }

    /// Channels whose amplitudes can be told apart.
    pub fn channels(&self) -> usize {
        match self.meaning {
            Meaning::Madc { .. } => usize::from(CHANNELS),
            Meaning::Wlsf { .. } => 1,
            Meaning::Lvds { .. } => 0,
        }
    }

    /// Channel and amplitude of an event; none where there is no amplitude.
    pub fn amplitude(&self, event: &[u8; 8]) -> Option<(usize, u16)> {
        let second = u64::from_be_bytes(*event) as u32;
        match self.meaning {
            Meaning::Wlsf { .. } => Some((0, v1::Wlsf::of(second).height)),
            Meaning::Madc { .. } => {
                let v1::Madc { channel, height, .. } = v1::Madc::of(second);
                Some((usize::from(channel), height))
            }
            Meaning::Lvds { .. } => None,
        }
    }
}

/// The times of a message.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// What this processor can do.
    pub arch: Arch,
    /// Nanoseconds of a tick.
    pub tick_ns: u32,
    /// Nanoseconds that are added to each time of flight: the frame sync delay.
    pub delay_ns: u64,
}

impl Timing {
    /// Nanoseconds of a raw time.
    #[inline(always)]
    fn of(self, raw: u32) -> u64 {
        u64::from(raw) * u64::from(self.tick_ns) + self.delay_ns
    }
}

/// Appends the events of a message, or some of them, to `out`, in which there is room for all. Returns how many there are; those
/// that are not handed on are counted. `wired` is what the table says of its board, in version 1.
#[inline]
pub fn decode_events(
    events: &[[u8; 8]],
    header: &Header,
    wired: Option<&WiredBoard>,
    timing: Timing,
    out: &mut impl Columns,
    counters: &mut IsisCounters,
) -> usize {
    match (header.version, wired, &header.board) {
        (Version::V1, Some(wired), _) => version_1(events, wired, timing, out, counters),
        (Version::V2, _, Some(described)) => version_2(events, described, timing, out, counters),
        _ => {
            counters.without_meaning += events.len() as u64;
            0
        }
    }
}

/// Appends the events of a version 1 message to `out`, in which there is room for all. Returns how many there are; those that
/// are not handed on are counted.
#[inline]
fn version_1(
    events: &[[u8; 8]],
    board: &WiredBoard,
    timing: Timing,
    out: &mut impl Columns,
    counters: &mut IsisCounters,
) -> usize {
    let raw = |word: u64| v1::raw_time((word >> 32) as u32);
    match (board.meaning, board.by_height) {
        (Meaning::Wlsf { first_id }, false) => decode(events, timing, out, counters, move |word| Placed {
            raw: raw(word),
            id: u64::from(first_id) + u64::from(word as u16),
            fault: 0,
        }),
        (Meaning::Wlsf { first_id }, true) => decode(events, timing, out, counters, move |word| Placed {
            raw: raw(word),
            id: u64::from(first_id) + u64::from(v1::Wlsf::of(word as u32).height),
            fault: 0,
        }),
        (Meaning::Madc { channels, wired }, by_height) => {
            decode(events, timing, out, counters, move |word| {
                let madc = v1::Madc::of(word as u32);
                let Channel { first_id, shift } = channels[usize::from(madc.channel & (CHANNELS - 1))];
                let value = u32::from(if by_height { madc.height } else { madc.position });
                let fault = (!wired >> madc.channel) & 1;
                Placed {
                    raw: raw(word),
                    id: u64::from(first_id) + u64::from(value >> shift),
                    fault: fault * UNWIRED,
                }
            })
        }
        (Meaning::Lvds { first_id }, _) => decode(events, timing, out, counters, move |word| Placed {
            raw: raw(word),
            id: u64::from(first_id) + u64::from(word as u32),
            fault: 0,
        }),
    }
}

/// As [`version_1`], of a version 2 message.
#[inline]
fn version_2(
    events: &[[u8; 8]],
    board: &BoardParameters,
    timing: Timing,
    out: &mut impl Columns,
    counters: &mut IsisCounters,
) -> usize {
    decode(events, timing, out, counters, move |word| {
        let first = (word >> 32) as u32;
        let fault = u32::from(!v2::is_event(first)) * NO_EVENT;
        let id = v2::SelfDescribed::of(word as u32, board).pixel(board);
        Placed { raw: v2::raw_time25(first), id, fault }
    })
}

const UNWIRED: u32 = 1;
const NO_EVENT: u32 = 2;

/// What an event says.
struct Placed {
    raw: u32,
    id: u64,
    fault: u32,
}

#[inline(always)]
fn decode(
    events: &[[u8; 8]],
    timing: Timing,
    out: &mut impl Columns,
    counters: &mut IsisCounters,
    place: impl Fn(u64) -> Placed + Copy,
) -> usize {
    let columns = &mut *out;
    // Everything by value: what is reached by a reference would be read again for each event.
    let (faults, ids, times) = timing.arch.dispatch(move || {
        let (mut faults, mut ids, mut times) = (0, 0, 0);
        columns.fill(events, |word| {
            let Placed { raw, id, fault } = place(word);
            let time_ns = timing.of(raw);
            faults |= fault;
            ids |= id;
            times |= time_ns;
            (time_ns as u32, id as u32)
        });
        (faults, ids, times)
    });
    // A bit above the lowest 31 is in one of them if it is in all together.
    if faults == 0 && ids <= LARGEST && times <= LARGEST {
        return events.len();
    }
    out.forget(events.len());
    one_by_one(events, timing, out, counters, place)
}

#[cold]
fn one_by_one(
    events: &[[u8; 8]],
    timing: Timing,
    out: &mut impl Columns,
    counters: &mut IsisCounters,
    place: impl Fn(u64) -> Placed + Copy,
) -> usize {
    let mut placed = 0;
    for event in events {
        let Placed { raw, id, fault } = place(u64::from_be_bytes(*event));
        let time_ns = timing.of(raw);
        if fault & NO_EVENT != 0 {
            counters.no_event += 1;
        } else if fault & UNWIRED != 0 {
            counters.unwired_channel += 1;
        } else if id > LARGEST {
            counters.id_too_large += 1;
        } else if time_ns > LARGEST {
            counters.time_too_long += 1;
        } else {
            out.push(time_ns as u32, id as u32);
            placed += 1;
        }
    }
    placed
}

/// Events as they leave: times on the clock of the frame, and ids.
pub struct EventColumns<'a> {
    /// Start of the frame in nanoseconds.
    pub reference_ns: u64,
    /// Nanoseconds; as long as `ids`.
    pub times_ns: &'a mut [u64],
    /// Ids.
    pub ids: &'a mut [u32],
    /// How many there are so far.
    pub used: usize,
}

impl Columns for EventColumns<'_> {
    #[inline(always)]
    fn fill(&mut self, events: &[[u8; 8]], mut place: impl FnMut(u64) -> (u32, u32)) {
        let reference_ns = self.reference_ns;
        let (times, ids) = (&mut self.times_ns[self.used..], &mut self.ids[self.used..]);
        for ((event, time), id) in events.iter().zip(times).zip(ids) {
            let (time_ns, placed) = place(u64::from_be_bytes(*event));
            (*time, *id) = (reference_ns + u64::from(time_ns), placed);
        }
        self.used += events.len();
    }

    #[inline]
    fn push(&mut self, time_ns: u32, id: u32) {
        if let (Some(time), Some(place)) = (self.times_ns.get_mut(self.used), self.ids.get_mut(self.used)) {
            (*time, *place) = (self.reference_ns + u64::from(time_ns), id);
            self.used += 1;
        }
    }

    fn forget(&mut self, events: usize) {
        self.used = self.used.saturating_sub(events);
    }
}

/// An event as one number, in the order of time of flight and id.
pub type EventKey = u64;

/// The parts of a key: time of flight in nanoseconds, and id.
#[inline]
pub fn unpack(key: EventKey) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// Events that wait for their frame.
pub struct KeyColumn<'a> {
    /// Room for keys.
    pub keys: &'a mut [EventKey],
    /// How many there are so far.
    pub used: usize,
}

impl Columns for KeyColumn<'_> {
    #[inline(always)]
    fn fill(&mut self, events: &[[u8; 8]], mut place: impl FnMut(u64) -> (u32, u32)) {
        for (event, key) in events.iter().zip(&mut self.keys[self.used..]) {
            let (time_ns, id) = place(u64::from_be_bytes(*event));
            *key = u64::from(time_ns) << 32 | u64::from(id);
        }
        self.used += events.len();
    }

    #[inline]
    fn push(&mut self, time_ns: u32, id: u32) {
        if let Some(key) = self.keys.get_mut(self.used) {
            *key = u64::from(time_ns) << 32 | u64::from(id);
            self.used += 1;
        }
    }

    fn forget(&mut self, events: usize) {
        self.used = self.used.saturating_sub(events);
    }
}

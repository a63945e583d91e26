//! A frame that is being put together.

use super::board_clock::At;
use super::pieces::{Held, Pieces};
use evforge_core::frame::{Frame, FrameState, ProtonCharge};
use evforge_wire::isis::{Header, Kind};

/// Messages of a frame that are compared with those before.
const COMPARED: usize = 3072;
/// Places for that: a power of two with room to spare.
const PLACES: usize = 4096;

/// What has come of a frame from one board.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct BoardPart {
    /// True if the frame waits for this board.
    pub is_awaited: bool,
    /// True if anything has come.
    pub came: bool,
    /// Events that it announced.
    pub announced: u32,
    /// Events in its messages.
    pub received: u32,
}

impl BoardPart {
    /// True if everything that was announced has come.
    pub fn is_whole(self) -> bool {
        self.came && self.received >= self.announced
    }
}

/// The messages of a frame that have come, by what they look like.
#[derive(Debug, get_size2::GetSize)]
struct Compared {
    /// 0 where there is none.
    places: Vec<u64>,
    used: usize,
}

/// Whether a message has come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It is new.
    New,
    /// It has.
    Repeated,
    /// There are too many to tell.
    NotCompared,
}

impl Compared {
    fn new() -> Self {
        Self { places: vec![0; PLACES], used: 0 }
    }

    fn clear(&mut self) {
        if self.used > 0 {
            self.places.fill(0);
            self.used = 0;
        }
    }

    fn compare(&mut self, mark: u64) -> Comparison {
        let mark = mark.max(1);
        let mut place = (mark >> 32) as usize % PLACES;
        while self.places[place] != 0 {
            if self.places[place] == mark {
                return Comparison::Repeated;
            }
            place = (place + 1) % PLACES;
        }
        if self.used == COMPARED {
            return Comparison::NotCompared;
        }
        self.places[place] = mark;
        self.used += 1;
        Comparison::New
    }
}

/// What a message looks like: a number that another message has with a chance of one in 10^19, made of the board, the header
/// and of what is at the beginning, in the middle and at the end of the events.
pub fn mark(board: usize, header: &Header, events: &[[u8; 8]]) -> u64 {
    let word = |place: usize| events.get(place).map_or(0, |event| u64::from_be_bytes(*event));
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let words = [
        board as u64,
        header.gps_ns,
        pair(header.frame, header.streamed_frame),
        pair(header.next_frame_address, header.events_in_frame),
        pair(u32::from(header.period) << 16 | u32::from(header.repeat), header.vetoes),
        events.len() as u64,
        word(0),
        word(1),
        word(events.len() / 2),
        word(events.len().wrapping_sub(2)),
        word(events.len().wrapping_sub(1)),
    ];
    words.into_iter().fold(0x243f_6a88_85a3_08d3, |mark: u64, word| {
        let mixed = (mark ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

/// Something that boards tell: what the board that counts most says, last.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Told<T> {
    /// Who said it, and what.
    said: Option<((bool, usize), T)>,
    differs: bool,
}

impl<T: PartialEq + Copy> Told<T> {
    fn tell(&mut self, rank: (bool, usize), value: T) {
        if let Some((of, said)) = self.said {
            self.differs |= said != value;
            if of > rank {
                return;
            }
        }
        self.said = Some((rank, value));
    }
}

/// A frame that is being put together.
#[derive(Debug, get_size2::GetSize)]
pub struct OpenFrame {
    /// False while the place is free.
    pub is_open: bool,
    /// Its reference time: the earliest that any board has told.
    pub at: At,
    /// The latest one.
    pub latest_ns: u64,
    /// What has come from each board.
    pub parts: Vec<BoardPart>,
    /// Boards that it waits for and that have not sent all of it.
    pub waiting: usize,
    /// Other boards that have sent some of it, and not all.
    pub others_open: usize,
    /// Its events.
    pub held: Held,
    /// How many there are.
    pub events: usize,
    compared: Compared,
    period: Told<u16>,
    protons: Told<u8>,
    vetoes: u32,
    is_hard_vetoed: bool,
}

impl OpenFrame {
    /// A place for frames with parts of so many boards.
    pub fn new(boards: usize, pieces: &Pieces) -> Self {
        Self {
            is_open: false,
            at: (0, 0),
            latest_ns: 0,
            parts: vec![BoardPart::default(); boards],
            waiting: 0,
            others_open: 0,
            held: pieces.hold(),
            events: 0,
            compared: Compared::new(),
            period: Told::default(),
            protons: Told::default(),
            vetoes: 0,
            is_hard_vetoed: false,
        }
    }

    /// Begins a frame that waits for the boards of which this is true.
    pub fn begin(&mut self, at: At, is_expected: &[bool]) {
        for (part, &is_awaited) in self.parts.iter_mut().zip(is_expected) {
            *part = BoardPart { is_awaited, ..BoardPart::default() };
        }
        self.compared.clear();
        (self.is_open, self.at, self.latest_ns) = (true, at, at.1);
        let waiting = is_expected.iter().filter(|is_expected| **is_expected).count();
        (self.waiting, self.others_open, self.events) = (waiting, 0, 0);
        (self.period, self.protons) = (Told::default(), Told::default());
        (self.vetoes, self.is_hard_vetoed) = (0, false);
    }

    /// True if a message with this time is of this frame.
    #[inline]
    pub fn has(&self, (epoch, reference_ns): At, tolerance_ns: u64) -> bool {
        epoch == self.at.0
            && reference_ns.saturating_add(tolerance_ns) >= self.latest_ns
            && reference_ns <= self.at.1.saturating_add(tolerance_ns)
    }

    /// Takes what a header says, of a board of this rank.
    pub fn tell(&mut self, rank: (bool, usize), reference_ns: u64, header: &Header) {
        self.at.1 = self.at.1.min(reference_ns);
        self.latest_ns = self.latest_ns.max(reference_ns);
        self.period.tell(rank, header.period);
        self.protons.tell(rank, header.protons);
        self.vetoes |= header.vetoes;
        self.is_hard_vetoed |= header.kind == Kind::Veto || header.is_paused;
    }

    /// Whether a message has come before.
    pub fn compare(&mut self, mark: u64) -> Comparison {
        self.compared.compare(mark)
    }

    /// Whether boards told different periods, and different charges.
    pub fn differences(&self) -> (bool, bool) {
        (self.period.differs, self.protons.differs)
    }

    /// What is known of the frame.
    pub fn frame(&self, state: FrameState, counting: u32, uah_per_proton: f64) -> Frame {
        let charge = |(_, protons): (_, u8)| ProtonCharge { uah: f64::from(protons) * uah_per_proton };
        Frame {
            period: self.period.said.map(|(_, period)| u32::from(period)),
            vetoes: self.vetoes,
            is_vetoed: self.vetoes & counting != 0 || self.is_hard_vetoed,
            charge: self.protons.said.map(charge),
            state,
        }
    }
}

/// What a single message says of its frame, where messages are handed on as they come.
pub fn of_message(header: &Header, counting: u32, uah_per_proton: f64) -> Frame {
    Frame {
        period: Some(u32::from(header.period)),
        vetoes: header.vetoes,
        is_vetoed: header.vetoes & counting != 0 || header.kind == Kind::Veto || header.is_paused,
        charge: Some(ProtonCharge { uah: f64::from(header.protons) * uah_per_proton }),
        state: FrameState::Unknown,
    }
}

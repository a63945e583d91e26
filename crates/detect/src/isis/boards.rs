//! The boards that send, and which of them a message is of.

use super::board_clock::BoardClock;
use super::decode::WiredBoard;
use super::sent_numbers::SentNumbers;
use super::settings::{Expected, IsisSettings};
use evforge_core::ledger::{PacketLedger, SourceLedger};
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::isis::{Header, Version};
use get_size2::GetSize;
use std::net::{IpAddr, Ipv4Addr};

/// The source of a listed board as long as none is known.
const ANYWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Who a message is of. Version 1 knows the source alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct BoardKey {
    /// Where its datagrams come from.
    #[get_size(ignore)]
    pub source: IpAddr,
    /// Number of the printed circuit board; 0 in version 1.
    pub pcb: u16,
    /// Address of the board; none in version 1, and for boards without parameters.
    pub address: Option<u8>,
}

impl BoardKey {
    /// That of a message from `source`.
    pub fn of(source: IpAddr, header: &Header) -> Self {
        Self { source, pcb: header.pcb, address: header.board.map(|board| board.address) }
    }

    fn hash(&self) -> u64 {
        let source = match self.source {
            IpAddr::V4(address) => u64::from(u32::from(address)),
            IpAddr::V6(address) => {
                let bits = u128::from(address);
                bits as u64 ^ (bits >> 64) as u64
            }
        };
        let own = u64::from(self.pcb) << 9 | self.address.map_or(0x100, u64::from);
        (source ^ own << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A board that the configuration names.
pub(super) struct Listed {
    pub(super) key: BoardKey,
    pub(super) name: String,
    pub(super) wired: Option<WiredBoard>,
    pub(super) is_control: bool,
}

/// The boards that the configuration names, the control board last.
pub(super) fn listed(settings: &IsisSettings) -> impl Iterator<Item = Listed> {
    let mut boards: Vec<Listed> = Vec::new();
    let mut rows: Vec<_> = settings.rows.iter().collect();
    rows.sort_by_key(|row| row.line);
    let mut by_address: Vec<(IpAddr, usize)> = Vec::new();
    for row in rows {
        let source = IpAddr::V4(row.address);
        match by_address.binary_search_by_key(&source, |(address, _)| *address) {
            Ok(place) => {
                if let Some(wired) =
                    boards.get_mut(by_address[place].1).and_then(|board| board.wired.as_mut())
                {
                    wired.wire(row);
                }
            }
            Err(place) => {
                by_address.insert(place, (source, boards.len()));
                boards.push(Listed {
                    key: BoardKey { source, pcb: 0, address: None },
                    name: format!("{} ({source})", row.board),
                    wired: Some(WiredBoard::new(row)),
                    is_control: false,
                });
            }
        }
    }
    let described = settings.boards.iter().map(|board| Listed {
        key: BoardKey { source: board.source.unwrap_or(ANYWHERE), pcb: board.pcb, address: board.address },
        name: board.name.clone(),
        wired: None,
        is_control: board.address.is_none(),
    });
    boards.extend(described);
    boards.extend(settings.control_board.map(|source| Listed {
        key: BoardKey { source, pcb: 0, address: None },
        name: format!("control board ({source})"),
        wired: None,
        is_control: true,
    }));
    // What the control board says of a frame counts: it is asked last.
    boards.sort_by_key(|board| board.is_control);
    boards.into_iter()
}

/// A board, and what has come of it.
#[derive(Debug, get_size2::GetSize)]
pub struct Board {
    /// Who it is.
    pub key: BoardKey,
    /// What people call it.
    pub name: String,
    /// What its events mean, in version 1.
    pub wired: Option<WiredBoard>,
    /// True if its word on period and charge counts.
    pub is_control: bool,
    /// True if frames wait for it.
    pub is_expected: bool,
    /// How far its time has come.
    pub clock: BoardClock,
    /// The frame that its last message was of.
    pub last_slot: u16,
    /// Its frames by number.
    pub sequence: SequenceTracker,
    sent: SentNumbers,
    /// Frames of which events are missing, though others have come.
    pub partial: u64,
    /// Messages that have come.
    pub messages: u64,
}

impl Board {
    fn new(listed: Listed, is_expected: bool) -> Self {
        let Listed { key, name, wired, is_control } = listed;
        Self {
            key,
            name,
            wired,
            is_control,
            is_expected,
            clock: BoardClock::default(),
            last_slot: 0,
            sequence: SequenceTracker::new(u32::BITS),
            sent: SentNumbers::default(),
            partial: 0,
            messages: 0,
        }
    }

    /// Takes note of a message: the number of its frame counts once.
    pub fn observe(&mut self, header: &Header, arrival_ns: u64) {
        self.messages += 1;
        if self.sent.is_new(header.streamed_frame, header.gps_ns) {
            // A frame has several messages: none of their contents is that of the frame.
            let stamp = Stamp { arrival_ns, sent: Some(header.gps_ns), content: 0 };
            self.sequence.observe_packet(u64::from(header.streamed_frame), stamp);
        }
    }

    /// Its frames: a frame is received if all of it is, and lost if anything of it is.
    pub fn ledger(&self) -> SourceLedger {
        let whole = SourceLedger::of_sequence(self.name.clone(), &self.sequence);
        // A frame whose numbers say that it came twice cannot be partial more than once.
        let partial = self.partial.min(whole.packets.received.saturating_sub(whole.packets.duplicated));
        let packets = PacketLedger {
            received: whole.packets.received - partial,
            lost: whole.packets.lost + partial,
            ..whole.packets
        };
        SourceLedger { packets, ..whole }
    }
}

/// Memory of all boards that can come. One that nobody has listed allocates when it is met.
fn room_for_boards(boards: &Vec<Board>) -> usize {
    let key = BoardKey { source: ANYWHERE, pcb: 0, address: None };
    let listed = Listed { key, name: String::with_capacity(64), wired: None, is_control: false };
    boards.get_heap_size() + (boards.capacity() - boards.len()) * Board::new(listed, false).get_heap_size()
}

/// All boards. What it costs to find one does not grow with their number.
#[derive(Debug, get_size2::GetSize)]
pub struct Boards {
    #[get_size(size_fn = room_for_boards)]
    boards: Vec<Board>,
    room: usize,
    /// Places in `boards`, from 1, by the hash of the key; 0 where there is none. At most a quarter is in use.
    table: Vec<u16>,
    /// The board found last.
    last: usize,
    expects_seen: bool,
}

impl Boards {
    /// Those that the settings list, and room for others.
    pub fn new(settings: &IsisSettings) -> Self {
        let room = settings.board_room();
        let listed: Vec<Listed> = listed(settings).collect();
        let expects_seen = settings.frames.expected == Expected::Seen || listed.is_empty();
        let mut all = Self {
            boards: Vec::with_capacity(room),
            room,
            table: vec![0; (4 * room).next_power_of_two()],
            last: 0,
            expects_seen,
        };
        for board in listed {
            all.add(board, !expects_seen);
        }
        all
    }

    fn add(&mut self, listed: Listed, is_expected: bool) -> usize {
        let key = listed.key;
        let number = self.boards.len();
        self.boards.push(Board::new(listed, is_expected));
        self.enter(key, number);
        number
    }

    fn enter(&mut self, key: BoardKey, number: usize) {
        let mut place = self.place(&key);
        while self.table[place] != 0 {
            place = (place + 1) % self.table.len();
        }
        self.table[place] = number as u16 + 1;
    }

    fn place(&self, key: &BoardKey) -> usize {
        (key.hash() >> 32) as usize & (self.table.len() - 1)
    }

    /// The number of the board of this key.
    #[inline]
    pub fn find(&mut self, key: &BoardKey) -> Option<usize> {
        if self.boards.get(self.last).is_some_and(|board| board.key == *key) {
            return Some(self.last);
        }
        let mut place = self.place(key);
        loop {
            let number = usize::from(self.table[place]).checked_sub(1)?;
            if self.boards.get(number).is_some_and(|board| board.key == *key) {
                self.last = number;
                return Some(number);
            }
            place = (place + 1) % self.table.len();
        }
    }

    /// Takes a board of version 2, which says itself what its events mean: one that is listed without a source, or that nobody has
    /// listed. None if it cannot be followed.
    #[cold]
    pub fn meet(&mut self, key: BoardKey, version: Version) -> Option<usize> {
        if version == Version::V1 {
            return None;
        }
        let BoardKey { source, pcb, address } = key;
        let waits = BoardKey { source: ANYWHERE, ..key };
        if let Some(number) = self.boards.iter().position(|board| board.key == waits && board.messages == 0) {
            // Listed without a source: it is the first one that says it is this board.
            self.boards[number].key = key;
            self.enter(key, number);
            return Some(number);
        }
        if self.boards.len() >= self.room {
            return None;
        }
        let name = match address {
            Some(address) => format!("PC{pcb} {address} ({source})"),
            None => format!("PC{pcb} ({source})"),
        };
        let is_control = address.is_none();
        Some(self.add(Listed { key, name, wired: None, is_control }, false))
    }

    /// The board of this number.
    #[inline]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Board> {
        self.boards.get_mut(number)
    }

    /// True if frames wait for boards from their first message on.
    pub fn expects_seen(&self) -> bool {
        self.expects_seen
    }

    /// All of them, in the order of the list.
    pub fn all(&self) -> &[Board] {
        &self.boards
    }

    /// All of them, to be changed.
    pub fn all_mut(&mut self) -> &mut [Board] {
        &mut self.boards
    }
}

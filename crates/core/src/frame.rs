//! Frames: pulses whose readout says more of them than their time, as that of ISIS does (period, vetoes, proton charge, and
//! how many events there are).
//!
//! A frame travels with its pulse: [`EventBatch::begin_frame`](crate::event::EventBatch::begin_frame) in the detector,
//! [`PulsedBatch::frames`](crate::pulsed::PulsedBatch::frames) in the outputs. What is known of all frames together is a
//! [`FrameLedger`], in the ledger of the detector.
//!
//! Whether a frame is *good* is decided once, by the detector: none of the vetoes that count is present. Whoever files, shows
//! or sends frames asks [`Frame::is_vetoed`].

use get_size2::GetSize;
use std::ops::AddAssign;

/// Vetoes that a frame can have: bits of a word.
pub const MOST_FRAME_VETOES: usize = 32;

/// Periods that the totals tell apart; frames of later ones are counted together.
pub const MOST_PERIODS: usize = 256;

/// A charge of protons, in microampere hours. Two are equal if their bits are.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct ProtonCharge {
    /// Microampere hours, 0 or more.
    pub uah: f64,
}

impl PartialEq for ProtonCharge {
    fn eq(&self, other: &Self) -> bool {
        self.uah.to_bits() == other.uah.to_bits()
    }
}

impl Eq for ProtonCharge {}

impl AddAssign for ProtonCharge {
    fn add_assign(&mut self, other: Self) {
        self.uah += other.uah;
    }
}

/// Whether everything that was announced of a frame has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, get_size2::GetSize)]
#[repr(u8)]
pub enum FrameState {
    /// Nobody has compared: the frame was handed on message by message.
    #[default]
    Unknown = 0,
    /// All expected boards have sent it, and as many events as they announced.
    Complete = 1,
    /// Events, or the frame of a whole board, are missing, and every board has gone on to later frames.
    Incomplete = 2,
    /// It was closed when its time was up, and a board had neither sent all of it nor gone on. What comes of it after that
    /// is discarded, and counted.
    Late = 3,
}

impl FrameState {
    /// All of them, in order of their codes.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Complete, Self::Incomplete, Self::Late];

    /// As files, messages and pages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Late => "late",
        }
    }

    /// The state of this name, if there is one.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The number that files have for it.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// What the readout says of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Frame {
    /// The period, counted from 0 as electronics and messages do (files and people count from 1); none if no board has said it.
    pub period: Option<u32>,
    /// The vetoes that were present, a bit for each, whether they count or not.
    pub vetoes: u32,
    /// True if a veto is present that counts.
    pub is_vetoed: bool,
    /// The charge of the protons of this pulse; none if no board has said it.
    pub charge: Option<ProtonCharge>,
    /// Whether it is complete.
    pub state: FrameState,
}

/// Totals of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct FrameTotals {
    /// All of them: the *raw* frames.
    pub raw: u64,
    /// Those without a veto that counts: the *good* frames.
    pub good: u64,
    /// Charge of all of them.
    pub raw_charge: ProtonCharge,
    /// Charge of the good ones.
    pub good_charge: ProtonCharge,
    /// Events of all of them.
    pub raw_events: u64,
    /// Events of the good ones.
    pub good_events: u64,
}

impl FrameTotals {
    /// Adds a frame with this many events.
    pub fn add(&mut self, frame: &Frame, events: u64) {
        let charge = frame.charge.unwrap_or_default();
        self.raw += 1;
        self.raw_charge += charge;
        self.raw_events += events;
        if !frame.is_vetoed {
            self.good += 1;
            self.good_charge += charge;
            self.good_events += events;
        }
    }
}

/// A veto, and how many frames it was present in.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct FrameVeto {
    /// Its bit in the word of the vetoes, from 0.
    pub bit: u8,
    /// What it is called.
    pub name: String,
    /// True if a frame with it is not good.
    pub counts: bool,
    /// Frames in which it was present.
    pub frames: u64,
}

/// Memory of all vetoes that can come. One that nobody has named gets its name when it comes.
fn room_for_vetoes(vetoes: &Vec<FrameVeto>) -> usize {
    let to_come = vetoes.capacity() - vetoes.len();
    vetoes.get_heap_size() + to_come * "bit 31".len()
}

/// What is known of all frames of a stream together.
#[derive(Clone, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct FrameLedger {
    /// All frames that were handed on.
    pub all: FrameTotals,
    /// Those of each period, from 0; the last of [`MOST_PERIODS`] has all later ones, too.
    pub periods: Vec<FrameTotals>,
    /// Frames by their state, in the order of [`FrameState::ALL`].
    pub states: [u64; FrameState::ALL.len()],
    /// The vetoes, in order of their bits.
    #[get_size(size_fn = room_for_vetoes)]
    pub vetoes: Vec<FrameVeto>,
    /// The newest frame, with its time in nanoseconds on the clock of the events; none before the first.
    pub newest: Option<(u64, Frame)>,
}

impl FrameLedger {
    /// No frame yet; `vetoes` are those that have a name, with whether they count. Those of other bits are called by their
    /// number, and count.
    pub fn new(vetoes: impl IntoIterator<Item = (u8, String, bool)>) -> Self {
        let veto = |(bit, name, counts)| FrameVeto { bit, name, counts, frames: 0 };
        let mut vetoes: Vec<FrameVeto> = vetoes.into_iter().map(veto).collect();
        vetoes.sort_by_key(|veto| veto.bit);
        vetoes.dedup_by_key(|veto| veto.bit);
        // All memory that this will ever take: forming allocates nothing.
        vetoes.reserve_exact(MOST_FRAME_VETOES - vetoes.len().min(MOST_FRAME_VETOES));
        Self { vetoes, periods: Vec::with_capacity(MOST_PERIODS), ..Self::default() }
    }

    /// The vetoes that count, a bit for each.
    pub fn counting(&self) -> u32 {
        self.vetoes
            .iter()
            .filter(|veto| !veto.counts)
            .fold(u32::MAX, |mask, veto| mask & !(1 << (veto.bit % 32)))
    }

    /// Adds a frame that started at `time_ns` and has this many events.
    pub fn add(&mut self, time_ns: u64, frame: &Frame, events: u64) {
        self.all.add(frame, events);
        if let Some(period) = frame.period {
            let place = (period as usize).min(MOST_PERIODS - 1);
            if self.periods.len() <= place {
                self.periods.resize(place + 1, FrameTotals::default());
            }
            self.periods[place].add(frame, events);
        }
        self.states[usize::from(frame.state.code())] += 1;
        let mut present = frame.vetoes;
        while present != 0 {
            self.count_veto(present.trailing_zeros() as u8);
            present &= present - 1;
        }
        self.newest = Some((time_ns, *frame));
    }

    fn count_veto(&mut self, bit: u8) {
        match self.vetoes.binary_search_by_key(&bit, |veto| veto.bit) {
            Ok(place) => self.vetoes[place].frames += 1,
            // Once for each bit of a run at most.
            Err(place) => {
                self.vetoes
                    .insert(place, FrameVeto { bit, name: format!("bit {bit}"), counts: true, frames: 1 });
            }
        }
    }

    /// Frames in this state.
    pub fn in_state(&self, state: FrameState) -> u64 {
        self.states[usize::from(state.code())]
    }

    /// The share of frames that are known to be complete, of those that were compared; none if none was.
    pub fn live_fraction(&self) -> Option<f64> {
        let compared = self.all.raw - self.in_state(FrameState::Unknown);
        (compared > 0).then(|| self.in_state(FrameState::Complete) as f64 / compared as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(period: u32, vetoes: u32, state: FrameState) -> Frame {
        let charge = Some(ProtonCharge { uah: 0.5 });
        Frame { period: Some(period), vetoes, is_vetoed: vetoes & 2 != 0, charge, state }
    }

    #[test]
    fn frames_are_told_apart_by_veto_period_and_state() {
        let mut ledger = FrameLedger::new([(1, "SMP".to_owned(), true), (0, "overflow".to_owned(), false)]);
        assert_eq!((ledger.counting(), ledger.live_fraction()), (!1, None));
        ledger.add(10, &frame(0, 1, FrameState::Complete), 7);
        ledger.add(20, &frame(2, 3, FrameState::Incomplete), 5);
        ledger.add(30, &frame(2, 1 << 31, FrameState::Late), 0);
        ledger.add(40, &Frame::default(), 1);
        let all = ledger.all;
        assert_eq!((all.raw, all.good, all.raw_events, all.good_events), (4, 3, 13, 8));
        assert_eq!((all.raw_charge.uah, all.good_charge.uah), (1.5, 1.0));
        assert_eq!(ledger.periods.iter().map(|period| period.raw).collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(ledger.states, [1, 1, 1, 1]);
        assert_eq!(ledger.live_fraction(), Some(1.0 / 3.0));
        let vetoes: Vec<_> = ledger.vetoes.iter().map(|veto| (veto.name.as_str(), veto.frames)).collect();
        assert_eq!(vetoes, [("overflow", 2), ("SMP", 1), ("bit 31", 1)]);
        assert_eq!(ledger.newest, Some((40, Frame::default())));
    }

    #[test]
    fn periods_beyond_the_last_one_are_counted_together() {
        let mut ledger = FrameLedger::new([]);
        let capacity = ledger.periods.capacity();
        for period in [u32::MAX, MOST_PERIODS as u32 - 1, MOST_PERIODS as u32] {
            ledger.add(0, &frame(period, u32::MAX, FrameState::Complete), 1);
        }
        assert_eq!((ledger.periods.len(), ledger.periods[MOST_PERIODS - 1].raw), (MOST_PERIODS, 3));
        assert_eq!((ledger.periods.capacity(), ledger.vetoes.len()), (capacity, 32));
    }

    #[test]
    fn states_have_names_and_codes() {
        for (code, state) in FrameState::ALL.into_iter().enumerate() {
            assert_eq!((usize::from(state.code()), FrameState::of_name(state.name())), (code, Some(state)));
        }
        assert_eq!(FrameState::of_name("whole"), None);
    }
}

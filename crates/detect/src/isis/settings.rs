//! Everything that can be configured of the streaming readout of ISIS: the section `[isis]`.

use super::wiring::WiringRow;
use crate::settings::Picoseconds;
use evforge_core::quantity::picoseconds;
use evforge_wire::isis::{BitOrder, Format, Rules, Version};
use serde::de::{Deserialize, Deserializer, Error};
use std::net::IpAddr;
use std::path::PathBuf;

/// Boards that can be followed at most.
pub const MOST_BOARDS: usize = 1024;

/// Frames that can be open at a time at most.
pub const MOST_OPEN_FRAMES: usize = 4096;

/// Events that a message has at most: 4095 words without the shortest header.
pub const MESSAGE_EVENTS: usize = (evforge_wire::isis::LARGEST_MESSAGE_WORDS - 14) / 2;

/// Events per piece of memory in which the events of a frame wait.
pub const PIECE: usize = 2048;

pub(super) const MILLISECOND: Picoseconds = 1_000_000_000;

/// The ticks of the boards' times, in picoseconds; whole nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ticks {
    /// PC3877MS, fibres.
    #[serde(deserialize_with = "picoseconds")]
    pub wlsf: Picoseconds,
    /// PC3544MS, tubes.
    #[serde(deserialize_with = "picoseconds")]
    pub madc: Picoseconds,
    /// PC3634M1S.
    #[serde(deserialize_with = "picoseconds")]
    pub lvds: Picoseconds,
}

impl Ticks {
    /// What the program of ISIS that reads version 1 takes them for.
    const V1: Self = Self { wlsf: 20_000, madc: 1000, lvds: 1000 };
    /// Version 2: no unit is documented; that of the fibres for all.
    const V2: Self = Self { wlsf: 20_000, madc: 20_000, lvds: 20_000 };
}

impl Default for Ticks {
    fn default() -> Self {
        Self::V1
    }
}

/// A board of version 2 that is expected: `[[isis.board]]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSettings {
    /// Where its datagrams come from; none if that does not matter: pcb and address say which board it is.
    pub source: Option<IpAddr>,
    /// Number of the printed circuit board, e.g. 3877 of a PC3877MS.
    pub pcb: u16,
    /// Address of the board (word 13). None for a board without parameters: a control board.
    pub address: Option<u8>,
    /// What people call it.
    pub name: String,
}

/// The picture of ids that no table describes: `isis.pixels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PixelSettings {
    /// The id of the first pixel.
    pub first_id: u32,
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
}

impl Default for PixelSettings {
    fn default() -> Self {
        Self { first_id: 1, nx: 256, ny: 256 }
    }
}

/// Which boards a frame waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// Those of the table, of `[[isis.board]]` and the control board; where there are none, those that send.
    #[default]
    Listed,
    /// Those that send, from their first message on.
    Seen,
}

/// What word 7 (version 1) or 6 is taken for: the number of events of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Announced {
    /// The events of the board that says it.
    #[default]
    Board,
    /// Nothing: a frame of a board is never known to be complete.
    Ignored,
}

/// How messages become frames: `isis.frames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrameSettings {
    /// Whether messages are put together to frames, or handed on one by one as they come.
    pub assembled: bool,
    /// Messages whose reference times differ by no more than this are of one frame.
    #[serde(deserialize_with = "picoseconds")]
    pub tolerance: Picoseconds,
    /// Which boards a frame waits for.
    pub expected: Expected,
    /// How much later than a frame a board must be before it is known to send nothing more of it.
    #[serde(deserialize_with = "picoseconds")]
    pub window: Picoseconds,
    /// A frame is closed at the latest when a board is this much later, whoever is behind.
    #[serde(deserialize_with = "picoseconds")]
    pub lag: Picoseconds,
    /// A step ahead of a board's time by more than this must be confirmed by its next message.
    #[serde(deserialize_with = "picoseconds")]
    pub forward_jump: Picoseconds,
    /// A step back by more than this, confirmed by the next message, is a restart of the board's clock.
    #[serde(deserialize_with = "picoseconds")]
    pub restart: Picoseconds,
    /// What the number of events in a header is.
    pub announced: Announced,
    /// Frames that can be open at a time.
    pub max_open: usize,
    /// Events that may wait in open frames.
    pub max_held_events: usize,
}

impl Default for FrameSettings {
    fn default() -> Self {
        Self {
            assembled: true,
            tolerance: 1_000_000,
            expected: Expected::default(),
            window: 50 * MILLISECOND,
            lag: 500 * MILLISECOND,
            forward_jump: 1000 * MILLISECOND,
            restart: 1000 * MILLISECOND,
            announced: Announced::default(),
            max_open: 256,
            max_held_events: 1 << 21,
        }
    }
}

/// A veto: `[[isis.veto]]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VetoSettings {
    /// Its bit in the word of the vetoes, from 0.
    pub bit: u8,
    /// What it is called.
    pub name: String,
    /// Whether a frame with it is not good.
    #[serde(default = "yes")]
    pub counts: bool,
}

fn yes() -> bool {
    true
}

/// The vetoes of version 2 as documented: of word 9.
const VETOES_OF_V2: [(u8, &str); 18] = [
    (0, "data overflow"),
    (1, "SMP"),
    (2, "TS2 pulse"),
    (3, "wrong pulse"),
    (4, "ISIS slow"),
    (5, "run signal"),
    (6, "pause"),
    (7, "period overflow"),
    (8, "dwell period"),
    (9, "status packet CRC fault"),
    (16, "external 0"),
    (17, "external 1"),
    (18, "external 2"),
    (19, "external 3"),
    (20, "fast chopper 0"),
    (21, "fast chopper 1"),
    (22, "fast chopper 2"),
    (23, "fast chopper 3"),
];

/// Charge of a unit in femtoampere hours: microampere hours with nine digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargeUnit(pub u64);

impl ChargeUnit {
    const PER_UAH: f64 = 1e9;

    /// In microampere hours.
    pub fn uah(self) -> f64 {
        self.0 as f64 / Self::PER_UAH
    }
}

impl Default for ChargeUnit {
    fn default() -> Self {
        Self((evforge_wire::isis::MICROAMPERE_HOURS_PER_UNIT * Self::PER_UAH).round() as u64)
    }
}

impl<'de> Deserialize<'de> for ChargeUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let uah = f64::deserialize(deserializer)?;
        let scaled = (uah * Self::PER_UAH).round();
        if !(1.0..=1e15).contains(&scaled) {
            return Err(D::Error::custom(format!("found {uah}, expected from 1e-9 to 1e6 µAh")));
        }
        Ok(Self(scaled as u64))
    }
}

/// The settings of the readout: the section `[isis]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IsisSettings {
    /// Which version of the format comes.
    #[serde(deserialize_with = "format")]
    pub format: Format,
    /// How bits of words 2, 6, 8 and 9 of version 2 are numbered.
    #[serde(deserialize_with = "bit_order")]
    pub bit_order: BitOrder,
    /// The file with the wiring table of version 1.
    pub wiring: Option<PathBuf>,
    /// What is in it.
    #[serde(skip)]
    pub rows: Vec<WiringRow>,
    /// Where the frames of the control board come from, in version 1.
    pub control_board: Option<IpAddr>,
    /// The boards of version 2 that are expected.
    #[serde(rename = "board")]
    pub boards: Vec<BoardSettings>,
    /// Boards that can be followed, those that nobody listed included.
    pub max_boards: usize,
    /// The picture of ids that no table describes.
    pub pixels: PixelSettings,
    /// Ticks of version 1.
    pub tick: Ticks,
    /// Ticks of version 2.
    #[serde(deserialize_with = "ticks_of_v2")]
    pub tick_v2: Ticks,
    /// Unit of the frame sync delay of version 2.
    #[serde(deserialize_with = "picoseconds")]
    pub frame_sync_delay_unit: Picoseconds,
    /// Charge of a unit of protons.
    pub charge_per_proton: ChargeUnit,
    /// How messages become frames.
    pub frames: FrameSettings,
    /// Names of vetoes.
    #[serde(rename = "veto")]
    pub vetoes: Vec<VetoSettings>,
}

impl Default for IsisSettings {
    fn default() -> Self {
        Self {
            format: Format::default(),
            bit_order: BitOrder::default(),
            wiring: None,
            rows: Vec::new(),
            control_board: None,
            boards: Vec::new(),
            max_boards: 128,
            pixels: PixelSettings::default(),
            tick: Ticks::V1,
            tick_v2: Ticks::V2,
            frame_sync_delay_unit: 1_000_000,
            charge_per_proton: ChargeUnit::default(),
            frames: FrameSettings::default(),
            vetoes: Vec::new(),
        }
    }
}

fn format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
    let name = String::deserialize(deserializer)?;
    Format::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &["auto", "v1", "v2"]))
}

fn bit_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BitOrder, D::Error> {
    let name = String::deserialize(deserializer)?;
    BitOrder::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &["lsb", "msb"]))
}

/// As [`Ticks`], with the defaults of version 2.
fn ticks_of_v2<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ticks, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Some {
        wlsf: Option<evforge_core::quantity::TimeSpan>,
        madc: Option<evforge_core::quantity::TimeSpan>,
        lvds: Option<evforge_core::quantity::TimeSpan>,
    }
    let Some { wlsf, madc, lvds } = Some::deserialize(deserializer)?;
    let or = |tick: Option<evforge_core::quantity::TimeSpan>, default| {
        tick.map_or(default, |tick| tick.picoseconds)
    };
    let default = Ticks::V2;
    Ok(Ticks { wlsf: or(wlsf, default.wlsf), madc: or(madc, default.madc), lvds: or(lvds, default.lvds) })
}

impl IsisSettings {
    /// How messages are read.
    pub fn rules(&self) -> Rules {
        Rules { format: self.format, bit_order: self.bit_order }
    }

    /// The ticks of a version.
    pub fn ticks(&self, version: Version) -> Ticks {
        match version {
            Version::V1 => self.tick,
            Version::V2 => self.tick_v2,
        }
    }

    /// The vetoes that have a name: those of the configuration, or else those that are documented. Nothing is known of the
    /// names of version 1: its bits are numbered from either end.
    pub fn named_vetoes(&self) -> Vec<(u8, String, bool)> {
        if !self.vetoes.is_empty() {
            return self.vetoes.iter().map(|veto| (veto.bit, veto.name.clone(), veto.counts)).collect();
        }
        match self.format {
            Format::V1 => Vec::new(),
            Format::V2 | Format::Auto => {
                VETOES_OF_V2.iter().map(|&(bit, name)| (bit, name.to_owned(), true)).collect()
            }
        }
    }
}

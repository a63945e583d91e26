//! Everything that can be configured of the streaming readout of ISIS: the section `[isis]`.

use super::wiring::WiringRow;
use crate::settings::Picoseconds;
use crate::settings::table::{Time, defaults, table};
use evforge_core::quantity::InPicoseconds;
use evforge_wire::isis::{BitOrder, Format, Rules, Version};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// PC3877MS, fibres.
    pub wlsf: Picoseconds,
    /// PC3544MS, tubes.
    pub madc: Picoseconds,
    /// PC3634M1S.
    pub lvds: Picoseconds,
}

table! { Ticks {
    /// Of a PC3877MS, for fibres.
    "wlsf" => (.wlsf) Time { "x-range": "1 ns to 1 ms" },
    /// Of a PC3544MS, for tubes.
    "madc" => (.madc) Time { "x-range": "1 ns to 1 ms" },
    /// Of a PC3634M1S.
    "lvds" => (.lvds) Time { "x-range": "1 ns to 1 ms" },
} }

defaults! {
    tick_v1: Ticks = Ticks::V1;
    tick_v2: Ticks = Ticks::V2;
}

impl Ticks {
    /// What the program of ISIS that reads version 1 takes them for.
    const V1: Self = Self { wlsf: 20_000, madc: 1000, lvds: 1000 };
    /// Version 2: no unit is documented; that of the fibres for all.
    const V2: Self = Self { wlsf: 20_000, madc: 20_000, lvds: 20_000 };
}

/// A board of version 2 that is expected: `[[isis.board]]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardSettings {
    /// Where its datagrams come from; needed only if two boards have the same address.
    pub source: Option<IpAddr>,
    /// Number of the printed circuit board, e.g. 3877 of a PC3877MS.
    pub pcb: u16,
    /// Address of the board (word 13); one without it is a control board.
    pub address: Option<u8>,
    /// What people call it.
    pub name: String,
}

/// The picture of ids that no table describes: `isis.pixels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// Those of the table, of `[[isis.board]]` and the control board; where there are none, those that send.
    #[default]
    Listed,
    /// Those that send, from their first message on.
    Seen,
}

/// What word 7 (version 1) or 6 is taken for: the number of events of a frame.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Announced {
    /// The events of the board that says it.
    #[default]
    Board,
    /// Nothing: a frame of a board is never known to be complete.
    Ignored,
}

/// How messages become frames: `isis.frames`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameSettings {
    /// `false` hands messages on one by one as they come, each with its own reference time: what ISIS calls raw events. Nobody then knows
    /// whether a frame is complete.
    pub assembled: bool,
    /// Messages whose reference times differ by no more than this are of one frame; its time is the earliest.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "at most 1 ms"))]
    pub tolerance: Picoseconds,
    /// Whether frames wait for the boards of table and `[[isis.board]]`, or for those that send. Without any listed, for those that send.
    pub expected: Expected,
    /// How much later than a frame a board must be before it has gone on: datagrams may overtake one another by as much.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "at most 1000 s"))]
    pub window: Picoseconds,
    /// A frame is closed when a board is this much later; what comes of it after that is counted in `late` and makes no second frame.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above `window`, at most 1000 s"))]
    pub lag: Picoseconds,
    /// A step of a board's time ahead by more than this must be confirmed by its next message.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above `window`, at most 1000 s"))]
    pub forward_jump: Picoseconds,
    /// A step back by more than this, confirmed by the next message, is a restart of the board's clock.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "above `window`, at most 1000 s"))]
    pub restart: Picoseconds,
    /// What the number of events in a header is: the board's own for the frame, or nothing. Read from documents, not proved.
    pub announced: Announced,
    /// Frames open at a time; more are closed early (`forced_closings`, an alarm).
    #[schemars(range(min = 2, max = MOST_OPEN_FRAMES))]
    pub max_open: usize,
    /// Events that wait in open frames, 24 bytes each.
    #[schemars(range(max = 1 << 30), extend("x-range" = "(`max_open` + 4) × 2048 to 2^30"))]
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
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

impl Serialize for ChargeUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / Self::PER_UAH)
    }
}

evforge_core::written_as! {
    ChargeUnit: |_generator| schemars::json_schema!({ "type": "number", "minimum": 1e-9, "maximum": 1e6, "x-unit": "µAh" });
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IsisSettings {
    /// Which version is read; messages of the other are counted in `messages_of_wrong_version`.
    #[serde(deserialize_with = "format")]
    #[schemars(with = "String", extend("enum" = ["auto", "v1", "v2"], "default" = "auto"))]
    pub format: Format,
    /// From which end the bits of words 2, 6, 8 and 9 of version 2 are numbered: not proved by any packet.
    #[serde(deserialize_with = "bit_order")]
    #[schemars(with = "String", extend("enum" = ["lsb", "msb"], "default" = "lsb"))]
    pub bit_order: BitOrder,
    /// The wiring table of version 1 (CSV), as ISIS writes it; needed with `format = "v1"`. What is wrong in it is said with line and column.
    #[schemars(extend("x-unit" = "file"))]
    pub wiring: Option<PathBuf>,
    /// What is in it.
    #[serde(skip)]
    pub rows: Vec<WiringRow>,
    /// Version 1: the address that the frames of the control board come from. What it says of period and charge counts.
    pub control_board: Option<IpAddr>,
    /// Version 2: boards that are expected.
    #[serde(rename = "board")]
    pub boards: Vec<BoardSettings>,
    /// Boards that can be followed, those that nobody listed included.
    #[schemars(range(min = 1, max = MOST_BOARDS))]
    pub max_boards: usize,
    /// The picture where there is no wiring table: by default from id 1, 256 columns and 256 rows.
    pub pixels: PixelSettings,
    /// A tick of version 1, as the program of ISIS takes it; those of MADC and LVDS are not documented.
    #[serde(with = "tick_v1")]
    pub tick: Ticks,
    /// A tick of version 2; not documented.
    #[serde(with = "tick_v2")]
    pub tick_v2: Ticks,
    /// What the frame sync delay of version 2 counts; not documented. It is taken off the reference time and added to times of flight.
    #[serde(with = "InPicoseconds")]
    #[schemars(extend("x-range" = "1 ns to 1 ms"))]
    pub frame_sync_delay_unit: Picoseconds,
    /// µAh of a unit of protons per pulse.
    pub charge_per_proton: ChargeUnit,
    /// How messages become frames.
    pub frames: FrameSettings,
    /// Names of vetoes; a frame with one that counts is not good. Vetoes without a name count. With any entry, no other names are known;
    /// without one, those documented for version 2.
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

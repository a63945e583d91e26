//! Where the channels of a chip are on the detector.

use crate::hit::STRIP_LIMIT;
use evforge_wire::srs_vmm::CHANNELS;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// One of the two planes of strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    /// Strips that give the column.
    X,
    /// Strips that give the row.
    Y,
}

impl Plane {
    /// 0 for x, 1 for y.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What the channels of a chip are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChipPlane {
    /// Strips that give the column.
    X,
    /// Strips that give the row.
    Y,
    /// Strips across both.
    U,
    /// Pads, each with a column and a row.
    Pads,
}

impl From<Plane> for ChipPlane {
    fn from(plane: Plane) -> Self {
        match plane {
            Plane::X => Self::X,
            Plane::Y => Self::Y,
        }
    }
}

impl ChipPlane {
    /// 0 for x, 1 for y, 2 for u; 0 for pads.
    pub fn index(self) -> usize {
        match self {
            Self::X | Self::Pads => 0,
            Self::Y => 1,
            Self::U => 2,
        }
    }
}

/// The strips of a chip's channels, or its pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChipStrips {
    /// Channel 0 has this strip; the others follow.
    From(u16),
    /// One strip for each channel, or [`UNWIRED`]: in files with the wiring only.
    Listed([u16; CHANNELS]),
    /// The pad of each channel, or [`UNWIRED`].
    Pads {
        /// Their columns.
        columns: [u16; CHANNELS],
        /// Their rows.
        rows: [u16; CHANNELS],
    },
}

/// In [`ChipStrips::Listed`] and of pads: no strip is wired to the channel.
pub const UNWIRED: u16 = u16::MAX;

/// One chip's place on the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "ChipEntry")]
#[schemars(with = "ChipEntry")]
pub struct ChipMapping {
    /// The FEC, 1..=256 (1..=15 for VMM3a, 1 for VMM2).
    pub fec: u16,
    /// The chip, 0..=15.
    pub chip: u8,
    /// Panel of its channels, counted from 0.
    pub panel: u16,
    /// Plane of its channels.
    pub plane: ChipPlane,
    /// Strips of its channels.
    pub strips: ChipStrips,
}

impl ChipMapping {
    /// A chip of panel 0 whose channel 0 has the strip `strip_offset`; the others follow.
    pub fn following(fec: u16, chip: u8, plane: Plane, strip_offset: u16) -> Self {
        Self { fec, chip, panel: 0, plane: plane.into(), strips: ChipStrips::From(strip_offset) }
    }

    /// The strip of a channel, or none if it is not wired to one.
    pub fn strip(&self, channel: u8) -> Option<u16> {
        let channel = usize::from(channel);
        match &self.strips {
            ChipStrips::From(first) if channel < CHANNELS => Some(first + channel as u16),
            ChipStrips::From(_) | ChipStrips::Pads { .. } => None,
            ChipStrips::Listed(strips) => strips.get(channel).copied().filter(|&strip| strip != UNWIRED),
        }
    }

    /// Column and row of the pad of a channel, or none if it is not wired to one.
    pub fn pad(&self, channel: u8) -> Option<[u16; 2]> {
        let ChipStrips::Pads { columns, rows } = &self.strips else { return None };
        let channel = usize::from(channel);
        let place = [*columns.get(channel)?, *rows.get(channel)?];
        (!place.contains(&UNWIRED)).then_some(place)
    }

    /// True if anything is wired to a channel.
    pub fn is_wired(&self, channel: u8) -> bool {
        self.strip(channel).is_some() || self.pad(channel).is_some()
    }

    /// The channel of a strip, or none if it is not on this chip.
    pub fn channel(&self, strip: u32) -> Option<u8> {
        (0..CHANNELS as u8).find(|&channel| self.strip(channel).map(u32::from) == Some(strip))
    }
}

/// A chip in a configuration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChipEntry {
    /// Number of the front-end card (FEC): 1 to 15 with VMM3a, 1 to 256 with VMM3 of 2018, 1 with VMM2.
    #[schemars(range(min = 1, max = 256))]
    fec: u16,
    /// Number of the chip on its card. A chip may be mapped once.
    #[serde(rename = "vmm")]
    #[schemars(range(max = 15))]
    chip: u8,
    /// Panel of its channels, below `geometry.panels`.
    #[serde(default)]
    #[schemars(range(max = 15))]
    panel: u16,
    /// Plane of its channels. x gives the column, y the row; u is a third plane. Pads have a column and a row each.
    plane: ChipPlane,
    /// Strip of channel 0. Channel c is strip `strip_offset + c`. Not for pads.
    #[schemars(range(max = 8128))]
    strip_offset: Option<u16>,
    /// Of pads: column of each channel; −1 where nothing is wired.
    columns: Option<PadPlaces>,
    /// Of pads: row of each channel; −1 where nothing is wired.
    rows: Option<PadPlaces>,
}

evforge_core::written_as! {
    PadPlaces: |_generator| schemars::json_schema!({
        "type": "array",
        "items": { "type": "integer", "minimum": -1, "maximum": STRIP_LIMIT - 1 },
        "minItems": CHANNELS,
        "maxItems": CHANNELS,
    });
}

/// Columns or rows of the pads of a chip: one for each channel, or -1.
struct PadPlaces([u16; CHANNELS]);

impl<'de> Deserialize<'de> for PadPlaces {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        let found = Vec::<i64>::deserialize(list)?;
        let mut places = [UNWIRED; CHANNELS];
        if found.len() != CHANNELS {
            let problem = format!("{} numbers, expected {CHANNELS}: one for each channel", found.len());
            return Err(D::Error::custom(problem));
        }
        for (place, number) in places.iter_mut().zip(found) {
            if number != -1 {
                let is_small = |number: &u16| *number < STRIP_LIMIT;
                *place = u16::try_from(number).ok().filter(is_small).ok_or_else(|| {
                    D::Error::custom(format!("{number}, expected -1 (not wired) to {}", STRIP_LIMIT - 1))
                })?;
            }
        }
        Ok(Self(places))
    }
}

impl TryFrom<ChipEntry> for ChipMapping {
    type Error = &'static str;

    fn try_from(entry: ChipEntry) -> Result<Self, &'static str> {
        let ChipEntry { fec, chip, panel, plane, .. } = entry;
        let strips = match (plane, entry.strip_offset, entry.columns, entry.rows) {
            (ChipPlane::Pads, None, Some(PadPlaces(columns)), Some(PadPlaces(rows))) => {
                ChipStrips::Pads { columns, rows }
            }
            (ChipPlane::Pads, ..) => {
                return Err("pads have columns and rows, each a list of 64 numbers, and no strip_offset");
            }
            (_, Some(first), None, None) => ChipStrips::From(first),
            (_, None, None, None) => return Err("missing field `strip_offset`"),
            _ => return Err("columns and rows are for plane = \"pads\"; strips have strip_offset"),
        };
        Ok(Self { fec, chip, panel, plane, strips })
    }
}

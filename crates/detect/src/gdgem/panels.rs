//! What the panels of a Gd-GEM with the SRS are, as wired and configured: two planes of strips, one, three, or pads.

use super::settings::{ChipMapping, ChipPlane, ChipStrips, GdGemSettings, UNWIRED};
use crate::hit::STRIP_LIMIT;
use crate::matched_clusters::PLANES;
use crate::pairing::Ambiguous;
use crate::panel_kind::{MOST_PANELS, PanelKind};
use crate::plane_matching::MatchBy;
use crate::settings::SettingsError;
use crate::settings::table::{Over, signed_picoseconds, table};
use crate::third_plane::{MILLIONTHS, MILLISTRIPS};
use evforge_wire::srs_vmm::CHANNELS;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};

/// Where a neutron is on a third plane, u, and how well that must fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThirdPlaneSettings {
    /// Strips of u per strip of x and of y, in millionths.
    pub from: [i64; PLANES],
    /// Strip of u at the first strips of x and y, in millistrips.
    pub offset: i64,
    /// By how much u may differ from what x and y say, in millistrips.
    pub tolerance: i64,
    /// By how much u comes after x, in picoseconds. It counts in no difference of times.
    pub delay: i64,
}

table! { ThirdPlaneSettings {
    "from_x" => (.from[0]) millionths,
    "from_y" => (.from[1]) millionths,
    "offset" => (.offset) millistrips,
    "tolerance" => (.tolerance) millistrips,
    "delay" => (.delay) signed_picoseconds,
} }

/// Casts of floats saturate.
fn millionths<'de, A: MapAccess<'de>>(_: &i64, values: &mut A) -> Result<i64, A::Error> {
    Ok((values.next_value::<f64>()? * MILLIONTHS as f64).round() as i64)
}

fn millistrips<'de, A: MapAccess<'de>>(_: &i64, values: &mut A) -> Result<i64, A::Error> {
    Ok((values.next_value::<f64>()? * MILLISTRIPS as f64).round() as i64)
}

/// Strips by which u may differ unless told otherwise: x, y and u are each a strip off at most, as a rule.
const USUAL_TOLERANCE: i64 = 3 * MILLISTRIPS;

/// Strips of u per strip of x or y are no more than this, in millionths.
const LARGEST_COEFFICIENT: i64 = 100 * MILLIONTHS;

impl ThirdPlaneSettings {
    /// Reads the table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read<'de, D: Deserializer<'de>>(table: D) -> Result<Option<Self>, D::Error> {
        Over(Self { tolerance: USUAL_TOLERANCE, ..Self::default() }).deserialize(table).map(Some)
    }

    fn check(&self, settings: &GdGemSettings) -> Result<(), SettingsError> {
        for (name, coefficient) in ["from_x", "from_y"].iter().zip(self.from) {
            if coefficient == 0 || coefficient.abs() > LARGEST_COEFFICIENT {
                let problem = "strips of u per strip: neither 0 nor beyond 100 either way";
                return SettingsError::refuse(format!("third_plane.{name}"), problem);
            }
        }
        let most = i64::from(STRIP_LIMIT) * MILLISTRIPS;
        if self.offset.abs() > 100 * most {
            return SettingsError::refuse("third_plane.offset", "lies far beyond all strips");
        }
        if !(0..=most).contains(&self.tolerance) {
            return SettingsError::refuse(
                "third_plane.tolerance",
                format!("is not in 0..={STRIP_LIMIT} strips"),
            );
        }
        let matching = &settings.matching;
        if matching.ambiguous == Ambiguous::Join {
            let problem = "u tells pairs of x and y apart: needs ambiguous = \"nearest\" or \"drop\"";
            return SettingsError::refuse("matching.ambiguous", problem);
        }
        if matching.by != MatchBy::End {
            let problem = "clusters of three planes are matched by their ends: needs by = \"end\"";
            return SettingsError::refuse("matching.by", problem);
        }
        let limit = u32::from(STRIP_LIMIT);
        if settings.geometry.nx() > limit || settings.geometry.ny() > limit {
            let problem = format!("at most {limit} columns and rows with a third plane");
            return SettingsError::refuse("geometry", problem);
        }
        Ok(())
    }
}

/// A chip in a configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChipEntry {
    fec: u16,
    #[serde(rename = "vmm")]
    chip: u8,
    #[serde(default)]
    panel: u16,
    plane: ChipPlane,
    strip_offset: Option<u16>,
    columns: Option<PadPlaces>,
    rows: Option<PadPlaces>,
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

impl GdGemSettings {
    /// What each panel is; those beyond the geometry are of two planes.
    pub fn panel_kinds(&self) -> [PanelKind; MOST_PANELS] {
        let mut kinds = [PanelKind::TwoPlanes; MOST_PANELS];
        for (number, kind) in (0_u16..).zip(&mut kinds) {
            let has = self.planes_of(number);
            *kind = if has[ChipPlane::Pads as usize] {
                PanelKind::Pads
            } else if has[ChipPlane::U as usize] && self.third_plane.is_some() {
                PanelKind::ThreePlanes
            } else if self.one_plane.contains(&number) {
                if has[ChipPlane::Y as usize] { PanelKind::OnlyY } else { PanelKind::OnlyX }
            } else {
                PanelKind::TwoPlanes
            };
        }
        kinds
    }

    /// Which planes chips of a panel are on: x, y, u, pads.
    fn planes_of(&self, panel: u16) -> [bool; 4] {
        let mut has = [false; 4];
        for chip in self.mapping.iter().filter(|chip| chip.panel == panel) {
            has[chip.plane as usize] = true;
        }
        has
    }

    /// Panels with strips of one plane that are not said to have one plane only, which have no events: each with the plane.
    pub fn panels_without_events(&self) -> Vec<(u16, &'static str)> {
        let lone = |panel| match self.planes_of(panel) {
            _ if self.one_plane.contains(&panel) => None,
            [true, false, false, false] => Some((panel, "x")),
            [false, true, false, false] => Some((panel, "y")),
            _ => None,
        };
        (0..MOST_PANELS as u16).filter_map(lone).collect()
    }

    /// Panels are what they are said to be, and all of one kind.
    pub(super) fn check_panels(&self) -> Result<(), SettingsError> {
        for (index, &panel) in self.one_plane.iter().enumerate() {
            let refuse = |problem: String| SettingsError::refuse(format!("one_plane[{index}]"), problem);
            let panels = self.geometry.panels();
            if u32::from(panel) >= panels {
                return refuse(format!("panel {panel} of a detector of {panels} panels"));
            }
            match self.planes_of(panel) {
                [true, false, false, false] | [false, true, false, false] => {}
                [false, false, false, false] => return refuse(format!("no strip of panel {panel} is wired")),
                _ => return refuse(format!("panel {panel} has more than strips of x or of y: remove it")),
            }
        }
        if let Some(third) = &self.third_plane {
            third.check(self)?;
        }
        self.check_kinds_of_chips()?;
        let is_other = |kind: &PanelKind| *kind != PanelKind::TwoPlanes;
        if let (Some(panel), Some(_)) = (self.panel_kinds().iter().position(is_other), &self.partition) {
            let problem =
                format!("regions are for panels of two planes of strips, and panel {panel} is none");
            return SettingsError::refuse("partition", problem);
        }
        Ok(())
    }

    fn check_kinds_of_chips(&self) -> Result<(), SettingsError> {
        for (index, chip) in self.mapping.iter().enumerate() {
            let refuse = |key, problem| SettingsError::refuse(format!("mapping[{index}].{key}"), problem);
            if chip.plane == ChipPlane::U && self.third_plane.is_none() {
                let problem = "strips of a third plane: needs [gdgem.third_plane], which says where they lie";
                return refuse("plane", problem.to_owned());
            }
            let ChipStrips::Pads { columns, rows } = &chip.strips else {
                if chip.plane == ChipPlane::Pads {
                    return refuse("strips", "pads have columns and rows".to_owned());
                }
                continue;
            };
            if chip.plane != ChipPlane::Pads {
                return refuse("strips", "columns and rows are for pads".to_owned());
            }
            if self.planes_of(chip.panel)[..ChipPlane::Pads as usize].contains(&true) {
                return refuse("panel", format!("panel {} has strips as well as pads", chip.panel));
            }
            let (nx, ny) = (self.geometry.nx(), self.geometry.ny());
            if u64::from(nx) * u64::from(ny) > u64::from(STRIP_LIMIT) {
                let problem = format!("{nx} x {ny} pads: at most {STRIP_LIMIT} on a panel");
                return SettingsError::refuse("geometry", problem);
            }
            for (&column, &row) in columns.iter().zip(rows) {
                if (column == UNWIRED) != (row == UNWIRED) {
                    let problem = "a channel has a column and a row, or -1 for both";
                    return refuse("columns", problem.to_owned());
                }
                if column != UNWIRED && u32::from(column) >= nx {
                    return refuse("columns", format!("column {column} of {nx} (geometry.nx)"));
                }
                if row != UNWIRED && u32::from(row) >= ny {
                    return refuse("rows", format!("row {row} of {ny} (geometry.ny)"));
                }
            }
        }
        Ok(())
    }
}

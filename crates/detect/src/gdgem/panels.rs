//! What the panels of a Gd-GEM with the SRS are, as wired and configured: two planes of strips, one, three, or pads.

use super::chip_mapping::{ChipPlane, ChipStrips, UNWIRED};
use super::settings::GdGemSettings;
use crate::hit::STRIP_LIMIT;
use crate::panel_kind::{MOST_PANELS, PanelKind};
use crate::settings::SettingsError;

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
            third.check(self.matching.by, self.matching.ambiguous, &self.geometry)?;
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

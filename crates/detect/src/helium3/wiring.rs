//! Which group of which FEN is where on the detector.
//!
//! An entry of the wiring says where the first pixel of its first group is, and by how much each further group and each further FEN
//! are shifted. A hundred tubes that follow a pattern are one line, and nothing about an instrument is in code.

use super::settings::{Axis, GROUPS, Helium3Settings, Steps, WiringEntry};
use crate::ess::settings::{FENS, RINGS};
use crate::settings::SettingsError;

/// A group of tubes with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The ring.
    pub ring: u8,
    /// The FEN.
    pub fen: u8,
    /// The group on its FEN.
    pub group: u8,
    /// Column of its first pixel.
    pub x: u32,
    /// Row of its first pixel.
    pub y: u32,
    /// Its place in the calibration.
    pub calibration: u32,
}

/// All groups, in the order of ring, FEN and group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    groups: Vec<Group>,
}

impl Groups {
    /// The groups.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// Where a group is in the list.
    pub fn place(&self, ring: u8, fen: u8, group: u8) -> Option<usize> {
        let address = (ring, fen, group);
        self.groups.binary_search_by_key(&address, |group| (group.ring, group.fen, group.group)).ok()
    }
}

impl WiringEntry {
    /// Groups of a FEN.
    fn count(&self) -> u64 {
        self.groups.iter().map(|steps| u64::from(steps.count)).product()
    }

    /// The groups, if the first has this place in the calibration; numbers are checked.
    fn expand(&self, first: u32) -> impl Iterator<Item = Group> + '_ {
        let count = self.count() as u32;
        let fens = self.fens.unwrap_or(Steps { count: 1, x: 0, y: 0, calibration: None });
        (0..u32::from(fens.count)).flat_map(move |fen| {
            (0..count).map(move |number| {
                let mut group = Group {
                    ring: self.ring,
                    fen: self.fen.saturating_add(fen as u8),
                    group: self.group.saturating_add(number as u8),
                    x: self.x.saturating_add(fens.x.saturating_mul(fen)),
                    y: self.y.saturating_add(fens.y.saturating_mul(fen)),
                    calibration: first.saturating_add(fens.calibration.unwrap_or(count).saturating_mul(fen)),
                };
                let (mut rest, mut within) = (number, 1);
                for steps in &self.groups {
                    let step = rest % u32::from(steps.count);
                    rest /= u32::from(steps.count);
                    group.x = group.x.saturating_add(steps.x.saturating_mul(step));
                    group.y = group.y.saturating_add(steps.y.saturating_mul(step));
                    let calibration = steps.calibration.unwrap_or(within);
                    group.calibration = group.calibration.saturating_add(calibration.saturating_mul(step));
                    within *= u32::from(steps.count);
                }
                group
            })
        })
    }
}

impl Helium3Settings {
    /// All groups; keys of errors are `wiring[n].key`.
    ///
    /// # Errors
    /// If there are none, a number is out of range, a tube begins outside the geometry, or a group is there twice.
    pub fn expand(&self) -> Result<Groups, SettingsError> {
        if self.wiring.is_empty() {
            return SettingsError::refuse(
                "wiring",
                "no tube is wired: add [[ess_helium3.wiring]], or mapping_file",
            );
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut next = 0;
        for (index, entry) in self.wiring.iter().enumerate() {
            let refuse =
                |key: &str, problem: String| SettingsError::refuse(format!("wiring[{index}].{key}"), problem);
            let fens = entry.fens.map_or(1, |fens| u64::from(fens.count));
            if entry.ring >= RINGS {
                return refuse("ring", format!("{} is not in 0..={}", entry.ring, RINGS - 1));
            }
            if fens == 0 || u64::from(entry.fen) + fens > u64::from(FENS) {
                return refuse(
                    "fens",
                    format!("FEN {} and {fens} of them are not in 0..={}", entry.fen, FENS - 1),
                );
            }
            let count = entry.count();
            if count == 0 || u64::from(entry.group) + count > GROUPS as u64 {
                let problem =
                    format!("group {} and {count} of them are not in 0..={}", entry.group, GROUPS - 1);
                return refuse("groups", problem);
            }
            let first = entry.calibration.unwrap_or(next);
            let before = groups.len();
            groups.extend(entry.expand(first));
            let own = &groups[before..];
            next =
                own.iter().map(|group| group.calibration.saturating_add(1)).max().unwrap_or(next).max(next);
            if let Some((group, tube)) = own.iter().find_map(|group| Some((group, self.outside(group)?))) {
                let problem = format!(
                    "tube {tube} of ring {}, FEN {}, group {} begins outside {} x {} pixels",
                    group.ring,
                    group.fen,
                    group.group,
                    self.geometry.nx(),
                    self.geometry.ny()
                );
                return refuse("x", problem);
            }
        }
        groups.sort_by_key(|group| (group.ring, group.fen, group.group));
        let same = |pair: &[Group]| {
            let address = |group: &Group| (group.ring, group.fen, group.group);
            address(&pair[0]) == address(&pair[1])
        };
        if let Some(twice) = groups.windows(2).find(|pair| same(pair)).and_then(|pair| pair.first()) {
            let Group { ring, fen, group, .. } = twice;
            return SettingsError::refuse(
                "wiring",
                format!("ring {ring}, FEN {fen}, group {group} is wired twice"),
            );
        }
        Ok(Groups { groups })
    }

    /// The first tube of a group that begins outside the geometry.
    fn outside(&self, group: &Group) -> Option<usize> {
        self.tubes.iter().position(|tube| self.first_pixel(group, tube.x, tube.y).is_none())
    }

    /// The first pixel of a tube.
    pub(super) fn first_pixel(&self, group: &Group, x: u32, y: u32) -> Option<u32> {
        let pixel = self.geometry.pixel_2d(group.x.checked_add(x)?, group.y.checked_add(y)?);
        (pixel != 0).then_some(pixel)
    }

    /// Pixels of a tube of a group that lie inside the geometry.
    pub(super) fn pixels_inside(&self, group: &Group, x: u32, y: u32) -> u16 {
        let room = match self.along {
            Axis::X => self.geometry.nx() - group.x - x,
            Axis::Y => self.geometry.ny() - group.y - y,
        };
        room.min(u32::from(self.pixels)) as u16
    }

    /// The pixels of a group, tube by tube.
    fn pixels_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = u32> + 'a {
        self.tubes.iter().flat_map(move |tube| {
            let first = self.first_pixel(group, tube.x, tube.y).unwrap_or(0);
            (0..u32::from(self.pixels_inside(group, tube.x, tube.y)))
                .map(move |number| first + number * self.step())
        })
    }

    /// The group of each pixel id, by its place in the list; groups that share pixels count as the first of them, and `u32::MAX` is no group.
    pub fn groups_of_pixels(&self, groups: &Groups) -> Vec<u32> {
        let mut of_pixels = vec![u32::MAX; self.geometry.pixel_count() as usize + 1];
        for (group, place) in groups.all().iter().zip(0..) {
            let first = self.pixels_of(group).next().and_then(|pixel| of_pixels.get(pixel as usize)).copied();
            let owner = first.filter(|&owner| owner != u32::MAX).unwrap_or(place);
            for pixel in self.pixels_of(group) {
                if let Some(slot) = of_pixels.get_mut(pixel as usize).filter(|slot| **slot == u32::MAX) {
                    *slot = owner;
                }
            }
        }
        of_pixels
    }

    /// The note on groups that share pixels with one before them.
    pub(super) fn shared_pixels(&self, groups: &Groups) -> Option<String> {
        let of_pixels = self.groups_of_pixels(groups);
        let is_shared = |(group, place): &(&Group, u32)| {
            self.pixels_of(group).any(|pixel| of_pixels.get(pixel as usize) != Some(place))
        };
        let mut shared = groups.all().iter().zip(0..).filter(is_shared);
        let (Group { ring, fen, group, .. }, _) = shared.next()?;
        Some(format!(
            "{} of {} groups share pixels with others, the first of them group {group} of ring {ring}, FEN {fen}",
            1 + shared.count(),
            groups.all().len()
        ))
    }

    /// From a pixel to the next one along its tube.
    pub(super) fn step(&self) -> u32 {
        match self.along {
            Axis::X => 1,
            Axis::Y => self.geometry.nx(),
        }
    }
}

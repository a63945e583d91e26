//! The digital geometry: which strip or pad a channel is wired to, and from which amplitude on it counts.

use super::settings::{ChipMapping, ChipPlane, GdGemSettings};
use crate::hit::STRIP_LIMIT;
use crate::panel_kind::{PanelKind, PlaneNumbers};
use crate::threshold_steps::{ThresholdClass, ThresholdSetting};
use evforge_wire::srs_vmm::{CHANNELS, LARGEST_ADC};

/// Chips that the 5 bits of a chip number can name.
const CHIPS: usize = 32;

/// A strip of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripPlace {
    /// The plane, numbered over the panels as [`PlaneNumbers`] says.
    pub plane: usize,
    /// The strip; of pads, their number: the row times the columns of the panel, plus the column.
    pub strip: u16,
    /// Least amplitude of a readout that did not cross the chip's own threshold.
    pub threshold: u16,
}

/// Why a channel has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// No strip is wired to it.
    Unwired,
    /// It is left out.
    Masked,
}

/// The wiring of one FEC: a table over chip and channel.
#[derive(Clone, Debug, get_size2::GetSize)]
pub struct FecWiring {
    /// Plane above threshold above strip; or [`UNWIRED`], or [`MASKED`].
    places: Vec<u32>,
    /// The threshold setting of each of them.
    classes: Vec<ThresholdClass>,
}

const STRIP_BITS: u32 = STRIP_LIMIT.trailing_zeros();
const THRESHOLD_BITS: u32 = (LARGEST_ADC + 1).trailing_zeros();
const PLANE_SHIFT: u32 = STRIP_BITS + THRESHOLD_BITS;

const UNWIRED: u32 = u32::MAX;
const MASKED: u32 = UNWIRED - 1;

impl FecWiring {
    /// The wiring of `fec`.
    pub fn new(fec: u16, settings: &GdGemSettings) -> Self {
        let thresholds = settings.clustering.map(|plane| plane.adc_threshold);
        let listed = ThresholdClass::try_from(thresholds.len()).unwrap_or(0)..;
        let tracks = settings.tracks();
        let mut wiring = Self::of_mapping(
            fec,
            &settings.mapping,
            tracks.panel_kinds(),
            settings.geometry.nx(),
            thresholds,
        );
        let own = listed.zip(&settings.channel_thresholds).filter(|(_, entry)| entry.fec == fec);
        for (class, entry) in own {
            for place in wiring.listed(entry.chip, &entry.channels) {
                wiring.set_threshold(place, entry.adc);
                wiring.classes[place] = class;
            }
        }
        for entry in settings.mask.iter().filter(|entry| entry.fec == fec) {
            for place in wiring.listed(entry.chip, &entry.channels) {
                wiring.places[place] = MASKED;
            }
        }
        wiring
    }

    /// The wiring of `fec` according to `mapping`, with a threshold for x and one for y. Others than y have that of x. A
    /// panel has so many columns of pads.
    fn of_mapping(
        fec: u16,
        mapping: &[ChipMapping],
        panels: &[PanelKind],
        columns: u32,
        thresholds: [u16; 2],
    ) -> Self {
        let numbers = PlaneNumbers::of(panels);
        let mut places = vec![UNWIRED; CHIPS * CHANNELS];
        let mut classes = vec![0; CHIPS * CHANNELS];
        for entry in mapping.iter().filter(|entry| entry.fec == fec) {
            let panel = usize::from(entry.panel);
            let is_first = panels.get(panel) == Some(&PanelKind::OnlyY);
            let plane = numbers.first(panel) + if is_first { 0 } else { entry.plane.index() };
            let class = usize::from(entry.plane == ChipPlane::Y);
            let threshold = u32::from(thresholds[class]);
            let first = usize::from(entry.chip) * CHANNELS;
            classes[first..][..CHANNELS].fill(class as ThresholdClass);
            let chip = &mut places[first..][..CHANNELS];
            for (place, channel) in chip.iter_mut().zip(0..) {
                let pad = |[column, row]: [u16; 2]| u32::from(row) * columns + u32::from(column);
                if let Some(strip) = entry.strip(channel).map(u32::from).or(entry.pad(channel).map(pad)) {
                    *place = (plane as u32) << PLANE_SHIFT | threshold << STRIP_BITS | strip;
                }
            }
        }
        Self { places, classes }
    }

    /// The thresholds of the settings: the classes are their numbers.
    pub fn threshold_settings(settings: &GdGemSettings) -> Vec<ThresholdSetting> {
        let planes = ["clustering.x.adc_threshold", "clustering.y.adc_threshold"].into_iter();
        let planes = planes.zip(&settings.clustering);
        let planes = planes.map(|(key, plane)| ThresholdSetting::new(key, plane.adc_threshold, LARGEST_ADC));
        let own = settings.channel_thresholds.iter().enumerate();
        let own = own.map(|(index, entry)| {
            ThresholdSetting::new(format!("channel_threshold[{index}].adc"), entry.adc, LARGEST_ADC)
        });
        planes.chain(own).collect()
    }

    /// The threshold setting of a channel.
    #[inline]
    pub fn class(&self, chip: u8, channel: u8) -> ThresholdClass {
        self.classes[(usize::from(chip) * CHANNELS + usize::from(channel)) % (CHIPS * CHANNELS)]
    }

    /// Gives all channels of a threshold setting another value.
    pub fn set_class(&mut self, class: ThresholdClass, adc: u16) {
        for place in 0..self.places.len() {
            if self.classes[place] == class {
                self.set_threshold(place, adc);
            }
        }
    }

    /// Places in the table of channels that the table has.
    fn listed(&self, chip: u8, channels: &[u8]) -> Vec<usize> {
        let place = |&channel: &u8| usize::from(chip) * CHANNELS + usize::from(channel);
        channels.iter().map(place).filter(|&place| place < self.places.len()).collect()
    }

    fn set_threshold(&mut self, place: usize, adc: u16) {
        let place = &mut self.places[place];
        if *place < MASKED {
            let others = !(u32::from(LARGEST_ADC) << STRIP_BITS);
            *place = *place & others | u32::from(adc) << STRIP_BITS;
        }
    }

    /// The strip of a channel.
    ///
    /// # Errors
    /// Why it has none.
    #[inline]
    pub fn place(&self, chip: u8, channel: u8) -> Result<StripPlace, NoPlace> {
        let index = (usize::from(chip) * CHANNELS + usize::from(channel)) % (CHIPS * CHANNELS);
        let place = self.places[index];
        if place >= MASKED {
            return Err(if place == MASKED { NoPlace::Masked } else { NoPlace::Unwired });
        }
        Ok(StripPlace {
            plane: (place >> PLANE_SHIFT) as usize,
            strip: place as u16 & (STRIP_LIMIT - 1),
            threshold: (place >> STRIP_BITS) as u16 & LARGEST_ADC,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{ChipStrips, LARGEST_PANEL_COUNT, Plane, UNWIRED};
    use super::*;

    fn place(plane: usize, strip: u16, threshold: u16) -> Result<StripPlace, NoPlace> {
        Ok(StripPlace { plane, strip, threshold })
    }

    #[test]
    fn channels_follow_their_chips_offset() {
        let mut reversed = [UNWIRED; CHANNELS];
        for (channel, strip) in reversed.iter_mut().zip((0..63).rev()) {
            *channel = strip;
        }
        let last = LARGEST_PANEL_COUNT as u16 - 1;
        let mapping = [
            ChipMapping::following(1, 3, Plane::Y, 64),
            ChipMapping { panel: last, ..ChipMapping::following(2, 3, Plane::X, 8128) },
            ChipMapping {
                panel: 2,
                strips: ChipStrips::Listed(reversed),
                ..ChipMapping::following(1, 9, Plane::Y, 0)
            },
        ];
        let panels = [PanelKind::TwoPlanes; LARGEST_PANEL_COUNT as usize];
        let wiring = |fec| FecWiring::of_mapping(fec, &mapping, &panels, 8, [LARGEST_ADC, 7]);
        let mut first = wiring(1);
        assert_eq!(first.place(3, 5), place(1, 69, 7));
        assert_eq!(first.place(4, 5), Err(NoPlace::Unwired));
        assert_eq!(first.place(9, 62), place(5, 0, 7));
        assert_eq!(first.place(9, 63), Err(NoPlace::Unwired));
        for index in first.listed(9, &[62, 63, 64]) {
            first.set_threshold(index, 1000);
        }
        assert_eq!(first.place(9, 61), place(5, 1, 7));
        assert_eq!(first.place(9, 62), place(5, 0, 1000));
        assert_eq!(first.place(9, 63), Err(NoPlace::Unwired), "a threshold wires nothing");
        assert_eq!(wiring(2).place(3, 63), place(2 * usize::from(last), 8191, LARGEST_ADC));
        assert_eq!(wiring(3).place(3, 0), Err(NoPlace::Unwired));
    }
}

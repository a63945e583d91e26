//! Which strips a hybrid reads.

use crate::ess::files::HybridId;
use crate::ess::settings::{FENS, HYBRID_CHANNELS, HYBRIDS, RINGS};
use crate::gdgem::settings::Plane;
use schemars::JsonSchema;
use serde::Deserialize;

/// Channels of a VMM.
const CHANNELS: u16 = 64;

/// A hybrid: 128 strips of a plane that follow one another; any strips if a file says so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StripHybrid {
    /// The ring: half the fibre number.
    #[schemars(range(max = RINGS - 1))]
    pub ring: u8,
    /// The FEN on its ring.
    #[schemars(range(max = FENS - 1))]
    pub fen: u8,
    /// The hybrid on its FEN: half the VMM number.
    #[schemars(range(max = HYBRIDS - 1))]
    pub hybrid: u8,
    /// The panel, counted from 0.
    #[serde(default)]
    #[schemars(range(max = 15))]
    pub panel: u16,
    /// The sector, counted from 0, of a detector with sectors.
    #[serde(default)]
    #[schemars(range(max = 15))]
    pub sector: u16,
    /// The plane.
    pub plane: Plane,
    /// Its lowest strip: strips count up from it through the channels of both VMMs.
    pub offset: u16,
    /// Strips count down through its channels: channel 63 of the odd VMM has the lowest one.
    #[serde(default)]
    pub reversed: bool,
    /// Least amplitude, instead of that of its plane.
    pub adc_threshold: Option<u16>,
    /// Its identity, by which a calibration file knows it.
    pub hybrid_id: Option<HybridId>,
    /// The strips of the even and then of the odd VMM, in the place of `offset` and `reversed`: in files with the
    /// wiring only.
    #[serde(skip)]
    pub listed: Option<Box<[Option<u16>; HYBRID_CHANNELS]>>,
}

impl StripHybrid {
    /// The strip of a channel (0..=63) of the even (`vmm` 0) or the odd VMM (`vmm` 1), or none if it is not wired.
    pub fn strip(&self, vmm: u8, channel: u8) -> Option<u16> {
        let place = u16::from(vmm & 1) * CHANNELS + u16::from(channel & 63);
        match &self.listed {
            Some(listed) => listed.get(usize::from(place)).copied().flatten(),
            None => {
                let step = if self.reversed { HYBRID_CHANNELS as u16 - 1 - place } else { place };
                // Beyond all planes, and refused as such.
                Some(self.offset.saturating_add(step))
            }
        }
    }

    /// What its channels are: those of the even VMM, then those of the odd one.
    pub(super) fn channels(&self) -> impl Iterator<Item = Option<u16>> {
        (0..2).flat_map(move |vmm| (0..CHANNELS as u8).map(move |channel| self.strip(vmm, channel)))
    }

    /// The strips that it reads.
    pub(super) fn strips(&self) -> impl Iterator<Item = u16> {
        self.channels().flatten()
    }

    /// The channels of the hybrid, 0..=127, to which strips are wired.
    pub(super) fn wired(&self) -> impl Iterator<Item = u8> {
        let numbered = self.channels().zip(0..HYBRID_CHANNELS as u8);
        numbered.filter_map(|(strip, channel)| strip.map(|_| channel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ESS readout formats, section 3, "NMX": offset + 64 · ASIC + channel, or offset + 64 · (1 − ASIC) + 63 −
    /// channel.
    #[test]
    fn section_3_nmx_strips_follow_the_channels_or_run_against_them() {
        let hybrid = |reversed| StripHybrid {
            ring: 0,
            fen: 0,
            hybrid: 0,
            panel: 0,
            sector: 0,
            plane: Plane::X,
            offset: 256,
            reversed,
            adc_threshold: None,
            hybrid_id: None,
            listed: None,
        };
        for (vmm, channel) in [(0, 0), (0, 63), (1, 0), (1, 63), (1, 20)] {
            let (asic, place) = (u16::from(vmm), u16::from(channel));
            assert_eq!(hybrid(false).strip(vmm, channel), Some(256 + 64 * asic + place));
            assert_eq!(hybrid(true).strip(vmm, channel), Some(256 + 64 * (1 - asic) + 63 - place));
        }
    }
}

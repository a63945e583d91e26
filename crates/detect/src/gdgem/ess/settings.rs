//! Settings of a Gd-GEM in the ESS readout, and which strip a channel is.

use crate::ess::settings::HYBRID_CHANNELS;
use crate::ess::{
    CalibratedVmm, EssSettings, HybridSettings, MaskedVmmChannels, PlaceRequest, VmmSettings, ticks,
};
use crate::gdgem::settings::Plane;
use crate::gdgem::track_settings::{
    ClusteringSettings, MatchingSettings, PositionSettings, SpanSettings, TrackSettings,
};
use crate::hit::{ADC_LIMIT, STRIP_LIMIT};
use crate::plane_matching::MatchBy;
use crate::settings::table::defaults;
use crate::settings::{SettingsError, panel_geometry};
use evforge_core::geometry::LogicalGeometry;
use serde::Deserialize;

/// Channels of a VMM.
const CHANNELS: u16 = 64;

/// A hybrid: 128 strips of a plane that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StripHybrid {
    /// The ring: half the fibre number.
    pub ring: u8,
    /// The FEN on its ring.
    pub fen: u8,
    /// The hybrid on its FEN.
    pub hybrid: u8,
    /// The panel, counted from 0.
    #[serde(default)]
    pub panel: u16,
    /// The sector, counted from 0, of a detector with sectors.
    #[serde(default)]
    pub sector: u16,
    /// The plane.
    pub plane: Plane,
    /// Its lowest strip.
    pub offset: u16,
    /// Whether strips count down through its channels: channel 63 of the odd VMM has the lowest one.
    #[serde(default)]
    pub reversed: bool,
    /// Least amplitude, instead of that of its plane.
    pub adc_threshold: Option<u16>,
}

impl StripHybrid {
    /// The strip of a channel (0..=63) of the even (`vmm` 0) or the odd VMM (`vmm` 1).
    pub fn strip(&self, vmm: u8, channel: u8) -> u16 {
        let place = u16::from(vmm & 1) * CHANNELS + u16::from(channel & 63);
        self.offset + if self.reversed { HYBRID_CHANNELS as u16 - 1 - place } else { place }
    }

    /// The strips that it reads.
    fn strips(&self) -> std::ops::Range<u32> {
        let first = u32::from(self.offset);
        first..first + HYBRID_CHANNELS as u32
    }
}

defaults! {
    clustering: [ClusteringSettings; 2] =
        [ClusteringSettings { adc_threshold: 50, max_time_gap: 500_000, max_strip_gap: 2, min_hits: 1 }; 2];
    matching: MatchingSettings =
        MatchingSettings { by: MatchBy::Gap, max_difference: 500_000, max_amplitude_permille: None };
    position: PositionSettings = PositionSettings {
        weighted: false,
        time_bins: 3,
        lower_uncertainty_limit: None,
        upper_uncertainty_limit: None,
        minimum_hits: None,
        spans: Some(SpanSettings { max_strips: [10; 2], min_strips: [1; 2], max_time: 500_000 }),
    };
}

/// All settings: the section `[ess_gdgem]`. Keys that are left out are as in the reference (ESS readout formats,
/// section 3, "NMX").
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EssGdGemSettings {
    /// Header, pulses and order: the table `[ess]`.
    #[serde(skip)]
    pub ess: EssSettings,
    /// The digital geometry.
    #[serde(default, rename = "hybrid")]
    pub hybrids: Vec<StripHybrid>,
    /// Channels to leave out.
    #[serde(default)]
    pub mask: Vec<MaskedVmmChannels>,
    /// Calibration of VMMs; channels of others stay as they are.
    #[serde(default)]
    pub calibration: Vec<CalibratedVmm>,
    /// Whether the fine time of the VMM corrects the time stamp.
    #[serde(default)]
    pub fine_time: bool,
    /// Clusters of x and of y.
    #[serde(default = "clustering::default", with = "clustering")]
    pub clustering: [ClusteringSettings; 2],
    /// When clusters of both planes make an event: by their ends, overlaps or gaps.
    #[serde(default = "matching::default", with = "matching")]
    pub matching: MatchingSettings,
    /// Positions.
    #[serde(default = "position::default", with = "position")]
    pub position: PositionSettings,
    /// Parts of the detector that never share a neutron and are clustered by themselves, while their strips are
    /// numbered together: all have the pixels of the one panel.
    #[serde(default = "one")]
    pub sectors: u16,
    /// The logical geometry: flat, of one or several panels.
    #[serde(deserialize_with = "panel_geometry")]
    pub geometry: LogicalGeometry,
}

fn one() -> u16 {
    1
}

impl EssGdGemSettings {
    /// Checks every setting, alone and with the others.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.ess.check()?;
        let tracks = self.tracks();
        tracks.check()?;
        tracks.check_group_span(ticks::in_duration)?;
        if matches!(self.matching.by, MatchBy::Start | MatchBy::Centre) {
            let problem = "must be end, overlap or gap, so that events come in the order of their times";
            return SettingsError::refuse("matching.by", problem);
        }
        self.check_hybrids()?;
        self.vmm()?.check()
    }

    fn check_hybrids(&self) -> Result<(), SettingsError> {
        for (index, entry) in self.hybrids.iter().enumerate() {
            let refuse =
                |key: &str, problem: String| SettingsError::refuse(format!("hybrid[{index}].{key}"), problem);
            if u32::from(entry.panel) >= self.geometry.panels() {
                let problem =
                    format!("panel {} of a detector of {} panels", entry.panel, self.geometry.panels());
                return refuse("panel", problem);
            }
            if entry.sector >= self.sectors {
                let problem = format!("sector {} of a detector of {} (sectors)", entry.sector, self.sectors);
                return refuse("sector", problem);
            }
            let side = match entry.plane {
                Plane::X => self.geometry.nx(),
                Plane::Y => self.geometry.ny(),
            };
            let side = side.min(u32::from(STRIP_LIMIT));
            if entry.strips().end > side {
                let problem = format!("strips up to {} of a plane of {side}", entry.strips().end - 1);
                return refuse("offset", problem);
            }
            if entry.adc_threshold.is_some_and(|threshold| threshold >= ADC_LIMIT) {
                return refuse("adc_threshold", format!("is above the largest amplitude {}", ADC_LIMIT - 1));
            }
            let shares_strips = |other: &&StripHybrid| {
                (other.panel, other.sector, other.plane) == (entry.panel, entry.sector, entry.plane)
                    && other.strips().start < entry.strips().end
                    && entry.strips().start < other.strips().end
            };
            if let Some(other) = self.hybrids[..index].iter().find(shares_strips) {
                let problem = format!(
                    "has strips that hybrid {} of ring {}, FEN {} has already",
                    other.hybrid, other.ring, other.fen
                );
                return refuse("offset", problem);
            }
        }
        Ok(())
    }

    /// The settings of tracks: what becomes of hits.
    pub fn tracks(&self) -> TrackSettings {
        TrackSettings {
            sectors: self.sectors,
            sorting: self.ess.sorting,
            clustering: self.clustering,
            matching: self.matching,
            position: self.position,
            geometry: self.geometry,
            partition: None,
        }
    }

    /// The channels.
    pub fn vmm(&self) -> Result<VmmSettings, SettingsError> {
        let hybrid = |entry: &StripHybrid| {
            let plane = entry.plane.index();
            let threshold = entry.adc_threshold.unwrap_or(self.clustering[plane].adc_threshold);
            let place = |vmm: u8, channel: u8| PlaceRequest {
                // One of them is 0: a detector has panels or sectors.
                target: 2 * (entry.panel + entry.sector) + plane as u16,
                plane: plane as u8,
                coordinate: entry.strip(vmm, channel),
                threshold,
            };
            let channels =
                (0..2).flat_map(|vmm| (0..CHANNELS as u8).map(move |channel| Some(place(vmm, channel))));
            HybridSettings {
                ring: entry.ring,
                fen: entry.fen,
                hybrid: entry.hybrid,
                channels: channels.collect(),
                calibration: Vec::new(),
            }
        };
        let mut hybrids: Vec<_> = self.hybrids.iter().map(hybrid).collect();
        CalibratedVmm::apply(&self.calibration, &mut hybrids)?;
        Ok(VmmSettings {
            hybrids,
            mask: self.mask.clone(),
            fine_time: self.fine_time,
            over_threshold_counts: false,
            planes: ["x", "y"],
        })
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
        };
        for (vmm, channel) in [(0, 0), (0, 63), (1, 0), (1, 63), (1, 20)] {
            let (asic, place) = (u16::from(vmm), u16::from(channel));
            assert_eq!(hybrid(false).strip(vmm, channel), 256 + 64 * asic + place);
            assert_eq!(hybrid(true).strip(vmm, channel), 256 + 64 * (1 - asic) + 63 - place);
        }
    }
}

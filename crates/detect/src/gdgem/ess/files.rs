//! The wiring and the calibration of a Gd-GEM in the ESS readout from JSON files: of the event formation unit (EFU) for
//! NMX, or of vmm-essdat.

use super::settings::EssGdGemSettings;
use super::strips::StripHybrid;
use crate::ess::files::HybridId;
use crate::ess::files::calibration::{WiredHybrids, calibration};
use crate::ess::files::efu::{EfuHybrid, EfuSettings, HYBRID_KEYS, HybridAddress, hybrids};
use crate::ess::settings::HYBRID_CHANNELS;
use crate::gdgem::settings::Plane;
use crate::gdgem::track_settings::LARGEST_PANEL_COUNT;
use crate::settings::Picoseconds;
use crate::vmm_files::content::{FileContent, Unused};
use crate::vmm_files::geometry::{FrontEnd, FrontEnds, VmmStrips, geometry};
use crate::vmm_files::json::{Document, Table};
use crate::vmm_files::lines::CHANNELS;

/// The name of the detector in files of the EFU.
const DETECTOR: &str = "NMX";
/// Most clustering units that a file can have.
const MOST_UNITS: i64 = 64;

/// Hybrids as a file has them, each with its place in the file and its clustering unit.
struct FileWiring {
    hybrids: Vec<(String, u16, StripHybrid)>,
    notes: Vec<String>,
}

impl EssGdGemSettings {
    /// Takes the hybrids from a file: `Config` of the EFU or `vmm_geometry` of vmm-essdat. Its clustering units
    /// (`Panel`, `detector`) become panels if the geometry has several, else sectors. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_wiring(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let document = Document::parse(text)?;
        let file = document.table()?;
        let wiring = match (file.optional("Config"), file.optional("vmm_geometry")) {
            (Some(_), None) => self.of_efu(&file)?,
            (None, Some(_)) => of_vmm_essdat(&file)?,
            (Some(_), Some(_)) => {
                return Err("found both Config and vmm_geometry, expected one of them".into());
            }
            (None, None) if file.optional("srs_mappings").is_some() => {
                return Err(
                    "found srs_mappings of the SRS, expected Config or vmm_geometry: such a file is for \
                            [gdgem]"
                        .into(),
                );
            }
            (None, None) => return Err("found neither Config nor vmm_geometry, expected one of them".into()),
        };
        let units = wiring.hybrids.iter().map(|(_, unit, _)| unit + 1).max().unwrap_or(1);
        let are_panels = self.geometry.panels() > 1;
        if !are_panels && self.sectors == 1 {
            // What no detector has is wrong in the file, and said with its place there.
            let beyond = |(_, unit, _): &&(String, u16, StripHybrid)| u32::from(*unit) >= LARGEST_PANEL_COUNT;
            if let Some((place, unit, _)) = wiring.hybrids.iter().find(beyond) {
                return Err(format!(
                    "{place}: found clustering unit {unit}, expected 0 to {}: a detector has no more sectors",
                    LARGEST_PANEL_COUNT - 1
                ));
            }
            self.sectors = units;
        }
        let mut places = Vec::with_capacity(wiring.hybrids.len());
        self.hybrids.clear();
        for (place, unit, mut hybrid) in wiring.hybrids {
            if are_panels {
                hybrid.panel = unit;
            } else {
                hybrid.sector = unit;
            }
            places.push(place);
            self.hybrids.push(hybrid);
        }
        self.check_hybrids().map_err(|error| {
            let index = error.key.strip_prefix("hybrid[").and_then(|rest| rest.split(']').next());
            let place = index.and_then(|index| places.get(index.parse::<usize>().ok()?));
            place.map_or_else(|| error.to_string(), |place| format!("{place}: {}", error.problem))
        })?;
        Ok(FileContent { content: (), notes: wiring.notes })
    }

    /// Takes the calibration from a file: `Calibrations` of the EFU or `vmm_calibration` of vmm-essdat. The hybrids
    /// must be there. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_calibration(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let hybrid = |entry: &StripHybrid| {
            let StripHybrid { ring, fen, hybrid, .. } = *entry;
            (HybridAddress { ring, fen, hybrid }, entry.hybrid_id.clone())
        };
        let mut hybrids: Vec<(HybridAddress, Option<HybridId>)> = self.hybrids.iter().map(hybrid).collect();
        hybrids.sort_unstable();
        hybrids.dedup();
        let wired = WiredHybrids {
            detector: DETECTOR,
            times_unused: (!self.fine_time).then_some("fine_time is false"),
            hybrids,
        };
        let FileContent { content, notes } = calibration(text, &wired)?;
        self.calibration = content;
        Ok(FileContent { content: (), notes })
    }

    fn of_efu(&self, file: &Table<'_>) -> Result<FileWiring, String> {
        let mut unused = Unused::default();
        let found = hybrids(file, DETECTOR)?;
        let hybrids = found.iter().map(|found| of_config(found, &mut unused));
        let hybrids = hybrids.collect::<Result<Vec<_>, _>>()?;
        let mut settings = EfuSettings::new(file);
        let nanoseconds = |time: Picoseconds| time as f64 / 1000.0;
        let [x, y] = &self.clustering;
        settings.number("SizeX", "geometry.nx", self.geometry.nx().into())?;
        settings.number("SizeY", "geometry.ny", self.geometry.ny().into())?;
        settings.number("DefaultMinADC", "clustering.x.adc_threshold", x.adc_threshold.into())?;
        if x.adc_threshold != y.adc_threshold {
            settings.number("DefaultMinADC", "clustering.y.adc_threshold", y.adc_threshold.into())?;
        }
        settings.other("MaxGapX", "clustering.x.max_strip_gap says which strips may be missing");
        settings.other("MaxGapY", "clustering.y.max_strip_gap says which strips may be missing");
        let gap = nanoseconds(x.max_time_gap);
        settings.number("MaxClusteringTimeGap", "clustering.x.max_time_gap in ns", gap)?;
        let difference = nanoseconds(self.matching.max_difference);
        settings.number("MaxMatchingTimeGap", "matching.max_difference in ns", difference)?;
        if let Some(spans) = &self.position.spans {
            settings.number("MaxSpanX", "position.spans.max_x", spans.max_strips[0].into())?;
            settings.number("MaxSpanY", "position.spans.max_y", spans.max_strips[1].into())?;
            settings.number("MinXSpan", "position.spans.min_x", spans.min_strips[0].into())?;
            settings.number("MinYSpan", "position.spans.min_y", spans.min_strips[1].into())?;
            settings.number("MaxXTimeSpan", "position.spans.max_time in ns", nanoseconds(spans.max_time))?;
            settings.number("MaxYTimeSpan", "position.spans.max_time in ns", nanoseconds(spans.max_time))?;
        }
        let longest = nanoseconds(self.ess.max_time_of_flight);
        settings.number("MaxPulseTimeNS", "ess.max_time_of_flight in ns", longest)?;
        if file.optional("SplitMultiEvents").is_some_and(|value| value.flag() != Ok(false)) {
            settings.other("SplitMultiEvents", "position.spans tells a track from two neutrons");
        }
        unused.look(file, "", &[settings.known(), &["SplitMultiEvents"]].concat());
        let mut notes = settings.notes;
        notes.extend(unused.note());
        Ok(FileWiring { hybrids, notes })
    }
}

/// An entry of `Config`.
fn of_config(found: &EfuHybrid<'_>, unused: &mut Unused) -> Result<(String, u16, StripHybrid), String> {
    let EfuHybrid { address, id, entry } = found;
    let own = ["Plane", "Offset", "ReversedChannels", "Panel", "MinADC"];
    unused.look(entry, "Config[].", &[&HYBRID_KEYS[..], &own].concat());
    let plane = entry.required("Plane")?;
    let plane = match plane.whole(0..=1) {
        Ok(number) => plane_of(number as u8),
        Err(_) => return plane.refuse("0 (x) or 1 (y)"),
    };
    let strip = i64::from(u16::MAX) - HYBRID_CHANNELS as i64;
    let offset = entry.required("Offset")?.whole(0..=strip)? as u16;
    let reversed = entry.required("ReversedChannels")?.flag()?;
    let unit = entry.required("Panel")?.whole(0..=MOST_UNITS - 1)? as u16;
    let threshold = entry.optional("MinADC").map(|value| value.whole(0..=1023)).transpose()?;
    let hybrid = StripHybrid {
        ring: address.ring,
        fen: address.fen,
        hybrid: address.hybrid,
        panel: 0,
        sector: 0,
        plane,
        offset,
        reversed,
        adc_threshold: threshold.map(|threshold| threshold as u16),
        hybrid_id: id.clone(),
        listed: None,
    };
    Ok((format!("{} ({address})", entry.path()), unit, hybrid))
}

fn plane_of(number: u8) -> Plane {
    if number == 0 { Plane::X } else { Plane::Y }
}

/// `vmm_geometry`: an entry for each VMM. Both VMMs of a hybrid can have planes and units of their own.
fn of_vmm_essdat(file: &Table<'_>) -> Result<FileWiring, String> {
    let FileContent { content, notes } = geometry(file, FrontEnds::Ess)?;
    let mut hybrids: Vec<(String, u16, StripHybrid)> = Vec::new();
    for VmmStrips { place, front_end, vmm, detector, plane, strips, .. } in content {
        let FrontEnd::Fen { ring, fen } = front_end else { continue };
        if i64::from(detector) >= MOST_UNITS {
            return Err(format!("{place}: found more than {MOST_UNITS} detectors, expected at most as many"));
        }
        let (hybrid, plane) = (vmm / 2, plane_of(plane));
        let same = |(_, unit, other): &&mut (String, u16, StripHybrid)| {
            (other.ring, other.fen, other.hybrid, other.plane, *unit) == (ring, fen, hybrid, plane, detector)
        };
        let own = match hybrids.iter_mut().find(same) {
            Some((_, _, own)) => own,
            None => {
                let own = StripHybrid {
                    ring,
                    fen,
                    hybrid,
                    panel: 0,
                    sector: 0,
                    plane,
                    offset: 0,
                    reversed: false,
                    adc_threshold: None,
                    hybrid_id: None,
                    listed: Some(Box::new([None; HYBRID_CHANNELS])),
                };
                hybrids.push((place, detector, own));
                match hybrids.last_mut() {
                    Some((_, _, own)) => own,
                    None => continue,
                }
            }
        };
        let first = usize::from(vmm % 2) * CHANNELS;
        if let Some(listed) = own.listed.as_mut().and_then(|listed| listed.get_mut(first..first + CHANNELS)) {
            listed.copy_from_slice(&strips);
        }
    }
    Ok(FileWiring { hybrids, notes })
}

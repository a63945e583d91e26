//! The wiring and the calibration of a Multi-Blade in the ESS readout from JSON files, above all of the event formation
//! unit (EFU), whose detector is "Freia" for all of them.

use super::layout::CassetteLayout;
use super::settings::{CassetteHybrid, EssMultiBladeSettings};
use crate::ess::files::calibration::{WiredHybrids, calibration};
use crate::ess::files::efu::{EfuHybrid, EfuSettings, HYBRID_KEYS, HybridAddress, hybrids};
use crate::ess::ticks;
use crate::multiblade::settings::Plane;
use crate::vmm_files::content::{FileContent, Unused};
use crate::vmm_files::json::{Document, Table};

/// The name of the detector in files of the EFU.
const DETECTOR: &str = "Freia";

impl EssMultiBladeSettings {
    /// Takes the cassettes from `Config` of a file of the EFU; what it does not say is as the section says. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_wiring(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let document = Document::parse(text)?;
        let file = document.table()?;
        if file.optional("vmm_geometry").is_some() {
            return Err(
                "found vmm_geometry, expected Config of the EFU: vmm_geometry does not say which cassette a \
                        strip or a wire belongs to"
                    .into(),
            );
        }
        let found = hybrids(&file, DETECTOR)?;
        self.check_instrument(&file)?;
        let mut unused = Unused::default();
        let cassettes = found.iter().map(|found| self.cassette(found, &mut unused));
        self.cassettes = cassettes.collect::<Result<_, _>>()?;
        self.check_cassettes().map_err(|error| {
            let index = error.key.strip_prefix("cassettes[").and_then(|rest| rest.split(']').next());
            let place = index.and_then(|index| found.get(index.parse::<usize>().ok()?));
            let place = place.map(|found| format!("{} ({})", found.entry.path(), found.address));
            place.map_or_else(|| error.to_string(), |place| format!("{place}: {}", error.problem))
        })?;
        let notes = self.notes(&file, unused)?;
        Ok(FileContent { content: (), notes })
    }

    /// Takes the calibration from a file: `Calibrations` of the EFU or `vmm_calibration` of vmm-essdat. The cassettes
    /// must be there. Gives notes.
    ///
    /// # Errors
    /// What in the file is wrong, where, and what is expected.
    pub fn take_calibration(&mut self, text: &str) -> Result<FileContent<()>, String> {
        let hybrid = |entry: &CassetteHybrid| {
            let CassetteHybrid { ring, fen, hybrid, .. } = *entry;
            (HybridAddress { ring, fen, hybrid }, entry.hybrid_id.clone())
        };
        let hybrids = self.cassettes.iter().map(hybrid).collect();
        let wired = WiredHybrids { detector: DETECTOR, times_unused: None, hybrids };
        let FileContent { content, notes } = calibration(text, &wired)?;
        self.calibration = content;
        Ok(FileContent { content: (), notes })
    }

    /// Refuses a file of another instrument than that of the layout.
    fn check_instrument(&self, file: &Table<'_>) -> Result<(), String> {
        let Some(name) = file.optional("InstrumentGeometry") else { return Ok(()) };
        let layout = match name.text()?.to_ascii_lowercase().as_str() {
            "freia" => CassetteLayout::Freia,
            "amor" | "tblmb" => CassetteLayout::Amor,
            "estia" => CassetteLayout::Estia,
            _ => return name.refuse("Freia, AMOR, TBLMB or Estia"),
        };
        // AMOR differs from FREIA in its size alone, which the section says.
        if (layout == CassetteLayout::Estia) == (self.layout == CassetteLayout::Estia) {
            return Ok(());
        }
        let expected = if self.layout == CassetteLayout::Estia { "Estia" } else { "Freia, AMOR or TBLMB" };
        name.refuse(&format!("{expected}, as layout says"))
    }

    fn cassette(&self, found: &EfuHybrid<'_>, unused: &mut Unused) -> Result<CassetteHybrid, String> {
        let EfuHybrid { address, id, entry } = found;
        unused.look(entry, "Config[].", &[&HYBRID_KEYS[..], &["CassetteNumber", "Thresholds"]].concat());
        let cassette = entry.required("CassetteNumber")?.whole(0..=i64::from(u16::MAX))? as u16;
        let mut own = CassetteHybrid {
            cassette,
            ring: address.ring,
            fen: address.fen,
            hybrid: address.hybrid,
            wiring: self.defaults.wiring,
            wire_threshold: self.defaults.wire_threshold,
            strip_threshold: self.defaults.strip_threshold,
            hybrid_id: id.clone(),
        };
        let Some(thresholds) = entry.optional("Thresholds") else { return Ok(own) };
        let vmms = thresholds.list()?;
        if vmms.len() != 2 {
            return thresholds.refuse("[[a], [b]]: a threshold for each VMM");
        }
        for (odd, value) in vmms.iter().enumerate() {
            let [threshold] = &value.list()?[..] else {
                return value.refuse("a list of 1: a threshold for the VMM");
            };
            let threshold = threshold.whole(0..=i64::from(u16::MAX))? as u16;
            match own.wiring.plane(odd == 1) {
                Plane::Wires => own.wire_threshold = threshold,
                Plane::Strips => own.strip_threshold = threshold,
            }
        }
        Ok(own)
    }

    /// What of the file has no effect.
    fn notes(&self, file: &Table<'_>, mut unused: Unused) -> Result<Vec<String>, String> {
        let mut settings = EfuSettings::new(file);
        let longest = self.ess.max_time_of_flight as f64 / 1000.0;
        settings.number("MaxPulseTimeNS", "ess.max_time_of_flight in ns", longest)?;
        settings.number("MaxGapWire", "window.max_gap_wires", self.window.max_gap_wires.into())?;
        settings.number("MaxGapStrip", "window.max_gap_strips", self.window.max_gap_strips.into())?;
        settings.flag("SplitMultiEvents", "window.separate", self.window.separate)?;
        // As windows are closed: a hit that comes exactly so much later still belongs to it.
        let ticks = |nanoseconds: f64| ticks::in_duration((nanoseconds * 1000.0) as u64).saturating_add(1);
        for key in ["MaxMatchingTimeGap", "MaxClusteringTimeGap"] {
            let value = file.optional(key).map(|value| value.number()).transpose()?;
            if value.is_some_and(|value| ticks(value) != u64::from(self.window.ticks)) {
                settings.other(key, "window.max_time_gap is another one");
            } else {
                settings.agrees(key);
            }
        }
        unused.look(file, "", settings.known());
        let mut notes = settings.notes;
        notes.extend(unused.note());
        Ok(notes)
    }
}

//! Calibrations of the channels of VMMs: `Calibrations` of the EFU, by the identity of a hybrid, and
//! `vmm_calibration` of vmm-essdat, by ring, FEN and VMM, or of vmm-sdat, by identity.

use super::HybridId;
use super::efu::{HybridAddress, check_detector};
use crate::calibration::{ChannelCalibration, Line};
use crate::ess::settings::{CalibratedVmm, FENS, HYBRIDS, RINGS};
use crate::vmm_files::content::{FileContent, Unused, some_of};
use crate::vmm_files::json::{Document, Table, Value};
use crate::vmm_files::lines::{CHANNELS, lines};
use std::collections::BTreeMap;

/// The hybrids of a detector, with their identities where they are known.
#[derive(Clone, Debug, Default)]
pub struct WiredHybrids {
    /// What `Detector` in a file of the EFU must be.
    pub detector: &'static str,
    /// Why times are not corrected, if they are not.
    pub times_unused: Option<&'static str>,
    /// The hybrids.
    pub hybrids: Vec<(HybridAddress, Option<HybridId>)>,
}

impl WiredHybrids {
    /// Where the hybrid of this identity is.
    ///
    /// # Errors
    /// If it is wired twice.
    fn of_id(&self, id: &HybridId) -> Result<Option<HybridAddress>, String> {
        let mut wired = self.hybrids.iter().filter(|(_, other)| other.as_ref() == Some(id));
        let first = wired.next().map(|(address, _)| *address);
        if let (Some(first), Some((second, _))) = (first, wired.next()) {
            return Err(format!("hybrid {id} is wired twice, as {first} and as {second}"));
        }
        Ok(first)
    }

    fn has(&self, address: HybridAddress) -> bool {
        self.hybrids.iter().any(|(other, _)| *other == address)
    }
}

/// VMMs that a file calibrates, by hybrid and VMM on it, and what is found on the way.
#[derive(Default)]
struct Found {
    vmms: BTreeMap<(HybridAddress, u8), (String, Vec<ChannelCalibration>)>,
    not_wired: Vec<String>,
    times: bool,
    unused: Unused,
    notes: Vec<String>,
}

impl Found {
    /// Takes over the lines of a VMM.
    fn add(&mut self, place: &str, vmm: (HybridAddress, u8), found: Lines) -> Result<(), String> {
        self.times |= found.time.iter().flatten().any(|line| *line != Line::IDENTITY);
        let unchanged = || vec![Line::IDENTITY; CHANNELS];
        let (amplitude, time) =
            (found.amplitude.unwrap_or_else(unchanged), found.time.unwrap_or_else(unchanged));
        let channel = |(amplitude, time)| ChannelCalibration { amplitude, time };
        let channels = amplitude.into_iter().zip(time).map(channel).collect();
        match self.vmms.insert(vmm, (place.to_owned(), channels)) {
            None => Ok(()),
            Some((first, _)) => {
                let (address, vmm) = vmm;
                Err(format!("{place}: VMM {vmm} of {address} is calibrated twice: {first} does it already"))
            }
        }
    }
}

/// The lines of a VMM, as far as there are any.
struct Lines {
    amplitude: Option<Vec<Line>>,
    time: Option<Vec<Line>>,
}

/// Reads a calibration of hybrids that are wired.
///
/// # Errors
/// Which entry is wrong, what was found and what is expected; if nothing in the file belongs to a wired hybrid.
pub fn calibration(text: &str, wired: &WiredHybrids) -> Result<FileContent<Vec<CalibratedVmm>>, String> {
    let document = Document::parse(text)?;
    let file = document.table()?;
    let mut found = Found::default();
    match (file.optional("Calibrations"), file.optional("vmm_calibration")) {
        (Some(list), None) => of_efu(&file, &list, wired, &mut found)?,
        (None, Some(list)) => of_vmm_essdat(&file, &list, wired, &mut found)?,
        (Some(_), Some(_)) => {
            return Err("found both Calibrations and vmm_calibration, expected one of them".into());
        }
        (None, None) => {
            return Err("found neither Calibrations nor vmm_calibration, expected one of them".into());
        }
    }
    if found.vmms.is_empty() {
        let hybrids = some_of(&found.not_wired);
        let hybrids = if hybrids.is_empty() { "none at all".to_owned() } else { hybrids };
        return Err(format!("calibrates no hybrid that is wired: found {hybrids}"));
    }
    let notes = notes(&found, wired);
    let vmm = |((address, vmm), (_, lines)): ((HybridAddress, u8), (String, Vec<ChannelCalibration>))| {
        let HybridAddress { ring, fen, hybrid } = address;
        CalibratedVmm { ring, fen, vmm: 2 * hybrid + vmm, lines }
    };
    Ok(FileContent { content: found.vmms.into_iter().map(vmm).collect(), notes })
}

fn notes(found: &Found, wired: &WiredHybrids) -> Vec<String> {
    let mut notes = found.notes.clone();
    if !found.not_wired.is_empty() {
        notes.push(format!("calibrates hybrids that are not wired: {}", some_of(&found.not_wired)));
    }
    let calibrated = |address: HybridAddress| (0..2).any(|vmm| found.vmms.contains_key(&(address, vmm)));
    let missing: Vec<String> = wired
        .hybrids
        .iter()
        .filter(|(address, _)| !calibrated(*address))
        .map(|(address, _)| address.to_string())
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "has no calibration of {} of the wired hybrids: {}",
            missing.len(),
            some_of(&missing)
        ));
    }
    if let Some(reason) = wired.times_unused.filter(|_| found.times) {
        notes.push(format!("its times have no effect: {reason}"));
    }
    notes.extend(found.unused.note());
    notes
}

/// `Calibrations` of the EFU.
fn of_efu(file: &Table<'_>, list: &Value<'_>, wired: &WiredHybrids, found: &mut Found) -> Result<(), String> {
    check_detector(file, wired.detector)?;
    let version = file.required("Version")?;
    if version.whole(1..=1).is_err() {
        return version.refuse("1, the only version there is");
    }
    found.unused.look(file, "", &["Calibrations", "Detector", "Version", "Hybrids"]);
    let entries = list.list()?;
    for value in &entries {
        let entry = value.table()?.required("VMMHybridCalibration")?.table()?;
        let keys = ["HybridId", "HybridIndex", "CalibrationDate", "vmm0", "vmm1"];
        found.unused.look(&entry, "Calibrations[].VMMHybridCalibration.", &keys);
        let id = entry.required("HybridId")?;
        let id = HybridId::new(id.text()?).map_or_else(|| id.refuse(HybridId::EXPECTED), Ok)?;
        let place = format!("{} (hybrid {id})", entry.path());
        let address = wired.of_id(&id).map_err(|problem| format!("{place}: {problem}"))?;
        for (vmm, key) in ["vmm0", "vmm1"].into_iter().enumerate() {
            let table = entry.required(key)?.table()?;
            let keys = ["Settings", "tdc_offset", "tdc_slope", "adc_offset", "adc_slope"];
            found.unused.look(&table, "Calibrations[].VMMHybridCalibration.vmm.", &keys);
            let place = format!("{}.{key} (hybrid {id})", entry.path());
            let own = Lines {
                amplitude: lines(&table, &place, "adc_offset", "adc_slope")?,
                time: lines(&table, &place, "tdc_offset", "tdc_slope")?,
            };
            if let Some(address) = address {
                found.add(&place, (address, vmm as u8), own)?;
            }
        }
        if address.is_none() {
            found.not_wired.push(id.to_string());
        }
    }
    if let Some(count) = file.optional("Hybrids")
        && count.whole(0..=i64::MAX)? != entries.len() as i64
    {
        found.notes.push(format!("Hybrids is {}, but Calibrations has {}", count.shown(), entries.len()));
    }
    Ok(())
}

/// `vmm_calibration`: keys in the singular with ring, FEN and VMM (vmm-essdat), or in the plural with the identity of
/// the hybrid and the VMM on its front end (vmm-sdat, and the slow control that writes both).
fn of_vmm_essdat(
    file: &Table<'_>,
    list: &Value<'_>,
    wired: &WiredHybrids,
    found: &mut Found,
) -> Result<(), String> {
    const KEYS: [&str; 14] = [
        "ring",
        "fen",
        "vmm",
        "fecID",
        "vmmID",
        "hybridID",
        "adc_offset",
        "adc_slope",
        "time_offset",
        "time_slope",
        "adc_offsets",
        "adc_slopes",
        "time_offsets",
        "time_slopes",
    ];
    found.unused.look(file, "", &["vmm_calibration"]);
    for value in &list.list()? {
        let entry = value.table()?;
        found.unused.look(&entry, "vmm_calibration[].", &KEYS);
        let (address, vmm, name) = vmm_of(&entry, wired)?;
        let place = format!("{} ({name})", entry.path());
        let pair = |quantity: &str| {
            let plural = ["offsets", "slopes"].map(|list| format!("{quantity}_{list}"));
            let singular = ["offset", "slope"].map(|list| format!("{quantity}_{list}"));
            let has = |keys: &[String; 2]| keys.iter().any(|key| entry.optional(key).is_some());
            let [offsets, slopes] = match (has(&singular), has(&plural)) {
                (true, true) => {
                    let both = format!("found {} and {}", singular[0], plural[0]);
                    return Err(format!("{place}: {both}, expected one of them"));
                }
                (_, true) => plural,
                _ => singular,
            };
            lines(&entry, &place, &offsets, &slopes)
        };
        let own = Lines { amplitude: pair("adc")?, time: pair("time")? };
        match address.filter(|address| wired.has(*address)) {
            Some(address) => found.add(&place, (address, vmm), own)?,
            None => found.not_wired.push(name),
        }
    }
    Ok(())
}

/// The hybrid and the VMM on it that an entry is about, and its name.
fn vmm_of(entry: &Table<'_>, wired: &WiredHybrids) -> Result<(Option<HybridAddress>, u8, String), String> {
    let number = |key: &str, limit: u8| {
        entry.required(key)?.whole(0..=i64::from(limit) - 1).map(|number| number as u8)
    };
    if entry.optional("ring").is_some() || entry.optional("fen").is_some() {
        let (ring, fen, vmm) = (number("ring", RINGS)?, number("fen", FENS)?, number("vmm", 2 * HYBRIDS)?);
        let address = HybridAddress { ring, fen, hybrid: vmm / 2 };
        return Ok((Some(address), vmm % 2, format!("ring {ring}, FEN {fen}, VMM {vmm}")));
    }
    let Some(value) = entry.optional("hybridID") else {
        return Err(format!(
            "{}: found neither ring and fen nor hybridID, expected one of them: fecID does not say the ring",
            entry.path()
        ));
    };
    let id = HybridId::new(value.text()?).map_or_else(|| value.refuse(HybridId::EXPECTED), Ok)?;
    let vmm = number("vmmID", 2 * HYBRIDS)?;
    let address = wired.of_id(&id).map_err(|problem| format!("{}: {problem}", value.path()))?;
    Ok((address, vmm % 2, format!("hybrid {id}, VMM {vmm}")))
}

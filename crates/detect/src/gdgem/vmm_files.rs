//! JSON files that describe the chips of a Gd-GEM: its wiring, in the form of the EFU of 2018 or of vmm-sdat,
//! and its calibration in the form of vmm-sdat (EFU formats of 2018, sections 4.3 and 4.5).
//!
//! Keys that are not named here are left alone: these files say more than the chips.

use super::settings::{ChipCalibration, ChipMapping, ChipStrips, Plane, UNWIRED};
use crate::calibration::{ChannelCalibration, Line};
use serde::Deserialize;

/// Channels of a chip.
const CHANNELS: usize = 64;

/// An entry of `vmm_calibration`.
#[derive(Deserialize)]
struct CalibrationEntry {
    #[serde(rename = "fecID")]
    fec: u16,
    #[serde(rename = "vmmID")]
    chip: u8,
    adc_offsets: Option<Vec<f64>>,
    adc_slopes: Option<Vec<f64>>,
    time_offsets: Option<Vec<f64>>,
    time_slopes: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct CalibrationFile {
    vmm_calibration: Vec<CalibrationEntry>,
}

/// Reads a calibration: the list `vmm_calibration` with `fecID`, `vmmID`, and 64 `adc_offsets`, `adc_slopes`,
/// `time_offsets` (in nanoseconds) and `time_slopes`. Where both lists of a pair are missing, nothing is
/// corrected.
///
/// # Errors
/// Which entry is wrong, what was found and what is expected.
pub fn calibration(text: &str) -> Result<Vec<ChipCalibration>, String> {
    let file: CalibrationFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if file.vmm_calibration.is_empty() {
        return Err("vmm_calibration is empty, expected an entry for each chip".into());
    }
    file.vmm_calibration.iter().enumerate().map(|(index, entry)| chip_calibration(index, entry)).collect()
}

fn chip_calibration(index: usize, entry: &CalibrationEntry) -> Result<ChipCalibration, String> {
    let place = format!("vmm_calibration[{index}] (FEC {}, VMM {})", entry.fec, entry.chip);
    let amplitude = lines(&place, "adc", &entry.adc_offsets, &entry.adc_slopes)?;
    let time = lines(&place, "time", &entry.time_offsets, &entry.time_slopes)?;
    let channel = |(amplitude, time)| ChannelCalibration { amplitude, time };
    let channels = amplitude.into_iter().zip(time).map(channel).collect();
    Ok(ChipCalibration { fec: entry.fec, chip: entry.chip, channels })
}

/// The lines of a chip's channels from the lists `<name>_offsets` and `<name>_slopes`.
fn lines(
    place: &str,
    name: &str,
    offsets: &Option<Vec<f64>>,
    slopes: &Option<Vec<f64>>,
) -> Result<Vec<Line>, String> {
    let (offsets, slopes) = match (offsets, slopes) {
        (Some(offsets), Some(slopes)) => (offsets, slopes),
        (None, None) => return Ok(vec![Line::IDENTITY; CHANNELS]),
        (Some(_), None) => return Err(format!("{place}: {name}_offsets, but no {name}_slopes")),
        (None, Some(_)) => return Err(format!("{place}: {name}_slopes, but no {name}_offsets")),
    };
    for (list, values) in [("offsets", offsets), ("slopes", slopes)] {
        if values.len() != CHANNELS {
            return Err(format!(
                "{place}: found {} {name}_{list}, expected {CHANNELS}, one for each channel",
                values.len()
            ));
        }
    }
    let line = |(channel, (&offset, &slope))| {
        Line::new(offset, slope)
            .map_err(|error| format!("{place}: {name}_offsets and {name}_slopes, channel {channel}: {error}"))
    };
    offsets.iter().zip(slopes).enumerate().map(line).collect()
}

/// An entry of `srs_mappings` (EFU of 2018).
#[derive(Deserialize)]
struct SrsMapping {
    #[serde(rename = "fecID")]
    fec: u16,
    #[serde(rename = "vmmID")]
    chip: u8,
    #[serde(rename = "planeID")]
    plane: u32,
    strip_offset: u16,
}

/// An entry of `vmm_geometry` (vmm-sdat).
#[derive(Deserialize)]
struct VmmGeometry {
    detector: u32,
    plane: u32,
    fec: u16,
    vmm: u8,
    id0: Vec<i64>,
}

#[derive(Deserialize)]
struct WiringFile {
    srs_mappings: Option<Vec<SrsMapping>>,
    vmm_geometry: Option<Vec<VmmGeometry>>,
}

/// Reads a wiring: a configuration of the EFU of 2018 (its list `srs_mappings` with `fecID`, `vmmID`, `planeID`
/// and `strip_offset`) or a geometry of vmm-sdat (its list `vmm_geometry` with `detector`, `plane`, `fec`,
/// `vmm` and 64 strips in `id0`, of which a negative one is not wired). Plane 0 is x, plane 1 is y. The
/// detectors of a geometry become panels in the order of their numbers.
///
/// # Errors
/// Which entry is wrong, what was found and what is expected.
pub fn wiring(text: &str) -> Result<Vec<ChipMapping>, String> {
    let file: WiringFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match (file.srs_mappings, file.vmm_geometry) {
        (Some(entries), None) => {
            entries.iter().enumerate().map(|(index, entry)| of_2018(index, entry)).collect()
        }
        (None, Some(entries)) => of_vmm_sdat(&entries),
        (Some(_), Some(_)) => Err("found both srs_mappings and vmm_geometry, expected one of them".into()),
        (None, None) => Err("found neither srs_mappings nor vmm_geometry, expected one of them".into()),
    }
}

fn of_2018(index: usize, entry: &SrsMapping) -> Result<ChipMapping, String> {
    let place = format!("srs_mappings[{index}] (FEC {}, VMM {})", entry.fec, entry.chip);
    let plane = plane(entry.plane).map_err(|problem| format!("{place}: planeID: {problem}"))?;
    Ok(ChipMapping::following(entry.fec, entry.chip, plane, entry.strip_offset))
}

fn of_vmm_sdat(entries: &[VmmGeometry]) -> Result<Vec<ChipMapping>, String> {
    let mut detectors: Vec<u32> = entries.iter().map(|entry| entry.detector).collect();
    detectors.sort_unstable();
    detectors.dedup();
    let chip = |(index, entry): (usize, &VmmGeometry)| {
        let place = format!("vmm_geometry[{index}] (FEC {}, VMM {})", entry.fec, entry.vmm);
        let plane = plane(entry.plane).map_err(|problem| format!("{place}: plane: {problem}"))?;
        let panel = detectors.iter().position(|&detector| detector == entry.detector);
        let strips = strips(&entry.id0).map_err(|problem| format!("{place}: id0: {problem}"))?;
        Ok(ChipMapping {
            fec: entry.fec,
            chip: entry.vmm,
            panel: panel.and_then(|panel| u16::try_from(panel).ok()).unwrap_or(u16::MAX),
            plane,
            strips,
        })
    };
    entries.iter().enumerate().map(chip).collect()
}

fn plane(number: u32) -> Result<Plane, String> {
    match number {
        0 => Ok(Plane::X),
        1 => Ok(Plane::Y),
        _ => Err(format!("found {number}, expected 0 (x) or 1 (y)")),
    }
}

/// The strips of a chip's channels.
fn strips(listed: &[i64]) -> Result<ChipStrips, String> {
    let mut strips = [UNWIRED; CHANNELS];
    if listed.len() != CHANNELS {
        return Err(format!("found {} strips, expected {CHANNELS}, one for each channel", listed.len()));
    }
    for (channel, (place, &strip)) in strips.iter_mut().zip(listed).enumerate() {
        if strip >= 0 {
            let in_range = u16::try_from(strip).ok().filter(|&strip| strip != UNWIRED);
            *place = in_range.ok_or_else(|| format!("found strip {strip} for channel {channel}"))?;
        }
    }
    let first = strips[0];
    let in_order = first.checked_add(CHANNELS as u16).is_some_and(|end| (first..end).eq(strips));
    Ok(if in_order { ChipStrips::From(first) } else { ChipStrips::Listed(strips) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: f64, length: usize) -> String {
        format!("{:?}", vec![value; length])
    }

    #[test]
    fn a_calibration_without_times_leaves_times_as_they_are() {
        let text = format!(
            r#"{{"vmm_calibration": [{{"fecID": 2, "vmmID": 9, "hybridID": "x",
                "adc_offsets": {}, "adc_slopes": {}}}]}}"#,
            numbers(-1.171, 64),
            numbers(1.152, 64)
        );
        let chips = calibration(&text).unwrap();
        assert_eq!((chips[0].fec, chips[0].chip, chips[0].channels.len()), (2, 9, 64));
        let amplitude = Line::new(-1.171, 1.152).unwrap();
        assert_eq!(chips[0].channels[63], ChannelCalibration { amplitude, time: Line::IDENTITY });
    }

    #[test]
    fn errors_of_calibrations_name_the_entry_and_what_was_found_and_expected() {
        let entry = |rest: String| format!(r#"{{"vmm_calibration": [{{"fecID": 1, "vmmID": 3, {rest}}}]}}"#);
        for (text, expected) in [
            ("{}".to_owned(), "missing field `vmm_calibration` at line 1 column 2"),
            (r#"{"vmm_calibration": []}"#.to_owned(), "vmm_calibration is empty"),
            (
                entry(format!(r#""adc_offsets": {}"#, numbers(0.0, 64))),
                "vmm_calibration[0] (FEC 1, VMM 3): adc_offsets, but no adc_slopes",
            ),
            (
                entry(format!(
                    r#""time_offsets": {}, "time_slopes": {}"#,
                    numbers(0.0, 64),
                    numbers(1.0, 63)
                )),
                "vmm_calibration[0] (FEC 1, VMM 3): found 63 time_slopes, expected 64, one for each channel",
            ),
            (
                entry(format!(r#""adc_offsets": {}, "adc_slopes": {}"#, numbers(0.0, 64), numbers(-2.0, 64))),
                "vmm_calibration[0] (FEC 1, VMM 3): adc_offsets and adc_slopes, channel 0: found the slope -2, \
                 expected one of 0 to 20",
            ),
            (
                entry(r#""adc_offsets": ["a"]"#.to_owned()),
                "invalid type: string \"a\", expected f64 at line 1",
            ),
        ] {
            let error = calibration(&text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn both_forms_of_wiring_say_the_same() {
        let strips: Vec<i64> = (64..128).collect();
        let sdat = format!(
            r#"{{"vmm_geometry": [{{"detector": 1, "plane": 1, "fec": 2, "vmm": 1, "id0": {strips:?}}}]}}"#
        );
        let efu = r#"{"builder_type": "VMM3", "srs_mappings":
            [{"fecID": 2, "vmmID": 1, "planeID": 1, "strip_offset": 64}]}"#;
        assert_eq!(wiring(&sdat).unwrap(), wiring(efu).unwrap());
        assert_eq!(wiring(efu).unwrap(), [ChipMapping::following(2, 1, Plane::Y, 64)]);
    }

    #[test]
    fn detectors_become_panels_and_channels_can_be_in_any_order() {
        let mut strips: Vec<i64> = (0..64).rev().collect();
        strips[5] = -1;
        let entry = |detector: u32, vmm: u8| {
            format!(r#"{{"detector": {detector}, "plane": 0, "fec": 2, "vmm": {vmm}, "id0": {strips:?}}}"#)
        };
        let wiring = wiring(&format!(r#"{{"vmm_geometry": [{}, {}]}}"#, entry(7, 0), entry(3, 1))).unwrap();
        assert_eq!((wiring[0].panel, wiring[1].panel), (1, 0));
        assert_eq!(
            (wiring[0].strip(0), wiring[0].strip(5), wiring[0].channel(2)),
            (Some(63), None, Some(61))
        );
    }

    #[test]
    fn errors_of_wirings_name_the_entry_and_what_was_found_and_expected() {
        for (text, expected) in [
            ("{}", "found neither srs_mappings nor vmm_geometry"),
            (r#"{"srs_mappings": [], "vmm_geometry": []}"#, "found both"),
            (
                r#"{"srs_mappings": [{"fecID": 1, "vmmID": 0, "planeID": 2, "strip_offset": 0}]}"#,
                "srs_mappings[0] (FEC 1, VMM 0): planeID: found 2, expected 0 (x) or 1 (y)",
            ),
            (
                r#"{"vmm_geometry": [{"detector": 1, "plane": 0, "fec": 1, "vmm": 4, "id0": [1, 2]}]}"#,
                "vmm_geometry[0] (FEC 1, VMM 4): id0: found 2 strips, expected 64",
            ),
            ("[]", "invalid length 0"),
            ("{", "EOF while parsing an object at line 1"),
        ] {
            let error = wiring(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\n  expected {expected}");
        }
    }
}

//! JSON files that describe the chips of a Gd-GEM with the SRS: its wiring, in the form of the EFU of 2018 or of
//! vmm-sdat, and its calibration in the form of vmm-sdat (EFU formats of 2018, sections 4.3 and 4.5).

use super::settings::{ChipCalibration, ChipMapping, ChipPlane, ChipStrips, Plane, UNWIRED};
use crate::calibration::{ChannelCalibration, Line};
use crate::vmm_files::content::{FileContent, Unused, some_of};
use crate::vmm_files::geometry::{
    FrontEnd, FrontEnds, THIRD_PLANE, VmmStrips, detectors_of_one_plane, geometry,
};
use crate::vmm_files::json::{Document, Table, Value};
use crate::vmm_files::lines::{CHANNELS, lines};

/// Keys of `vmm_calibration` that are understood, or say nothing about readouts.
const CALIBRATION_KEYS: [&str; 7] =
    ["fecID", "vmmID", "hybridID", "adc_offsets", "adc_slopes", "time_offsets", "time_slopes"];

/// Reads a calibration: the list `vmm_calibration` with `fecID`, `vmmID`, and 64 `adc_offsets`, `adc_slopes`,
/// `time_offsets` (in nanoseconds) and `time_slopes`. Where both lists of a pair are missing, nothing is
/// corrected.
///
/// # Errors
/// Which entry is wrong, what was found and what is expected.
pub fn calibration(text: &str) -> Result<FileContent<Vec<ChipCalibration>>, String> {
    let document = Document::parse(text)?;
    let file = document.table()?;
    let list = file.required("vmm_calibration")?.list()?;
    if list.is_empty() {
        return Err("vmm_calibration is empty, expected an entry for each chip".into());
    }
    let mut unused = Unused::default();
    unused.look(&file, "", &["vmm_calibration"]);
    let content = list.iter().map(|value| chip_calibration(&value.table()?, &mut unused));
    let content = content.collect::<Result<_, _>>()?;
    Ok(FileContent { content, notes: unused.note().into_iter().collect() })
}

fn chip_calibration(table: &Table<'_>, unused: &mut Unused) -> Result<ChipCalibration, String> {
    unused.look(table, "vmm_calibration[].", &CALIBRATION_KEYS);
    let fec = number(table, "fecID", u16::MAX)?;
    let chip = number(table, "vmmID", u8::MAX.into())? as u8;
    let place = format!("{} (FEC {fec}, VMM {chip})", table.path());
    let unchanged = || vec![Line::IDENTITY; CHANNELS];
    let amplitude = lines(table, &place, "adc_offsets", "adc_slopes")?.unwrap_or_else(unchanged);
    let time = lines(table, &place, "time_offsets", "time_slopes")?.unwrap_or_else(unchanged);
    let channel = |(amplitude, time)| ChannelCalibration { amplitude, time };
    Ok(ChipCalibration { fec, chip, channels: amplitude.into_iter().zip(time).map(channel).collect() })
}

fn number(table: &Table<'_>, key: &str, largest: u16) -> Result<u16, String> {
    table.required(key)?.whole(0..=largest.into()).map(|number| number as u16)
}

/// What a wiring says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// The chips.
    pub chips: Vec<ChipMapping>,
    /// Panels with strips of one plane only, if the file lists whole detectors: vmm-sdat.
    pub one_plane: Vec<u16>,
}

impl Wiring {
    /// Leaves out the chips of a third plane, if there are any, and says so.
    pub fn leave_out_third_plane(&mut self) -> Option<String> {
        let is_third = |chip: &&ChipMapping| chip.plane == ChipPlane::U;
        let name = |chip: &ChipMapping| format!("FEC {}, VMM {}", chip.fec, chip.chip);
        let third: Vec<String> = self.chips.iter().filter(is_third).map(name).collect();
        self.chips.retain(|chip| chip.plane != ChipPlane::U);
        let what = "a third plane (plane 2) takes no part in events without [gdgem.third_plane], its readouts count as \
                    unmapped";
        (!third.is_empty()).then(|| format!("{what}: {}", some_of(&third)))
    }
}

/// Reads a wiring: a configuration of the EFU of 2018 (its list `srs_mappings` with `fecID`, `vmmID`, `planeID`
/// and `strip_offset`) or a geometry of vmm-sdat (its list `vmm_geometry` with `detector`, `plane`, `fec`,
/// `vmm` and 64 strips in `id0`, of which a negative one is not wired). Plane 0 is x, plane 1 is y, plane 2 is u. With
/// `id1` as well they are pads: columns in `id0`, rows in `id1`. The
/// detectors of a geometry become panels in the order of their numbers.
///
/// # Errors
/// Which entry is wrong, what was found and what is expected.
pub fn wiring(text: &str) -> Result<FileContent<Wiring>, String> {
    let document = Document::parse(text)?;
    let file = document.table()?;
    match (file.optional("srs_mappings"), file.optional("vmm_geometry")) {
        (Some(list), None) => {
            let mut unused = Unused::default();
            unused.look(&file, "", &["srs_mappings"]);
            let chips = list.list()?.iter().map(|value| of_2018(value, &mut unused)).collect::<Result<_, _>>();
            let content = Wiring { chips: chips?, one_plane: Vec::new() };
            Ok(FileContent { content, notes: unused.note().into_iter().collect() })
        }
        (None, Some(_)) => {
            let FileContent { content, notes } = geometry(&file, FrontEnds::Srs)?;
            let chips = content.iter().map(of_vmm_sdat).collect();
            let content = Wiring { chips, one_plane: detectors_of_one_plane(&content) };
            Ok(FileContent { content, notes })
        }
        (Some(_), Some(_)) => Err("found both srs_mappings and vmm_geometry, expected one of them".into()),
        (None, None) if file.optional("Config").is_some() => {
            Err("found the list Config of an EFU of today, expected srs_mappings or vmm_geometry: such a file is \
                 for [ess_gdgem]"
                .into())
        }
        (None, None) => Err("found neither srs_mappings nor vmm_geometry, expected one of them".into()),
    }
}

fn of_2018(value: &Value<'_>, unused: &mut Unused) -> Result<ChipMapping, String> {
    let table = value.table()?;
    unused.look(&table, "srs_mappings[].", &["fecID", "vmmID", "planeID", "strip_offset"]);
    let fec = number(&table, "fecID", u16::MAX)?;
    let chip = number(&table, "vmmID", u8::MAX.into())? as u8;
    let plane = table.required("planeID")?;
    let plane = match plane.whole(0..=1) {
        Ok(number) => plane_of(number as u8),
        Err(_) => return plane.refuse("0 (x) or 1 (y)"),
    };
    Ok(ChipMapping::following(fec, chip, plane, number(&table, "strip_offset", u16::MAX)?))
}

fn plane_of(number: u8) -> Plane {
    if number == 0 { Plane::X } else { Plane::Y }
}

fn of_vmm_sdat(vmm: &VmmStrips) -> ChipMapping {
    let fec = match vmm.front_end {
        FrontEnd::Fec(fec) => fec,
        FrontEnd::Fen { .. } => u16::MAX,
    };
    let (chip, panel) = (vmm.vmm, vmm.detector);
    let plane = match vmm.plane {
        _ if vmm.rows.is_some() => ChipPlane::Pads,
        THIRD_PLANE => ChipPlane::U,
        plane => plane_of(plane).into(),
    };
    let of_channels = |list: [Option<u16>; CHANNELS]| list.map(|number| number.unwrap_or(UNWIRED));
    let strips = of_channels(vmm.strips);
    if let Some(rows) = vmm.rows.map(of_channels) {
        return ChipMapping { fec, chip, panel, plane, strips: ChipStrips::Pads { columns: strips, rows } };
    }
    let first = strips[0];
    let in_order = first.checked_add(CHANNELS as u16).is_some_and(|end| (first..end).eq(strips));
    let strips = if in_order { ChipStrips::From(first) } else { ChipStrips::Listed(strips) };
    ChipMapping { fec, chip, panel, plane, strips }
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
        let chips = calibration(&text).unwrap().content;
        assert_eq!((chips[0].fec, chips[0].chip, chips[0].channels.len()), (2, 9, 64));
        let amplitude = Line::new(-1.171, 1.152).unwrap();
        assert_eq!(chips[0].channels[63], ChannelCalibration { amplitude, time: Line::IDENTITY });
    }

    #[test]
    fn errors_of_calibrations_name_the_entry_and_what_was_found_and_expected() {
        let entry = |rest: String| format!(r#"{{"vmm_calibration": [{{"fecID": 1, "vmmID": 3, {rest}}}]}}"#);
        for (text, expected) in [
            ("{}".to_owned(), "the key vmm_calibration is missing: found an empty table"),
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
                "vmm_calibration[0].adc_offsets[0]: found \"a\", expected a number",
            ),
        ] {
            let error = calibration(&text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\n  expected {expected}");
        }
    }

    /// An entry for each plane of a detector: on VMMs `vmm` and `vmm + 1`.
    fn detector(detector: u32, vmm: u8, strips: &[i64]) -> String {
        let entry = |plane: u8| {
            let vmm = vmm + plane;
            format!(
                r#"{{"detector": {detector}, "plane": {plane}, "fec": 2, "vmm": {vmm}, "id0": {strips:?}}}"#
            )
        };
        format!("{}, {}", entry(0), entry(1))
    }

    #[test]
    fn both_forms_of_wiring_say_the_same() {
        let strips: Vec<i64> = (64..128).collect();
        let sdat = format!(r#"{{"vmm_geometry": [{}]}}"#, detector(1, 0, &strips));
        let efu = r#"{"srs_mappings":
            [{"fecID": 2, "vmmID": 0, "planeID": 0, "strip_offset": 64},
             {"fecID": 2, "vmmID": 1, "planeID": 1, "strip_offset": 64}]}"#;
        assert_eq!(wiring(&sdat).unwrap(), wiring(efu).unwrap());
        let chips = [ChipMapping::following(2, 0, Plane::X, 64), ChipMapping::following(2, 1, Plane::Y, 64)];
        assert_eq!(wiring(efu).unwrap().content.chips, chips);
    }

    #[test]
    fn keys_without_effect_are_named() {
        let efu = r#"{"builder_type": "VMM3", "Comment": "a remark", "srs_mappings":
            [{"fecID": 2, "vmmID": 1, "planeID": 1, "strip_offset": 64, "gain": 3}]}"#;
        assert_eq!(wiring(efu).unwrap().notes, ["without effect: builder_type; srs_mappings[].gain"]);
    }

    #[test]
    fn detectors_become_panels_and_channels_can_be_in_any_order() {
        let mut strips: Vec<i64> = (0..64).rev().collect();
        strips[5] = -1;
        let text =
            format!(r#"{{"vmm_geometry": [{}, {}]}}"#, detector(7, 0, &strips), detector(3, 2, &strips));
        let wiring = wiring(&text).unwrap();
        let chips = &wiring.content.chips;
        assert_eq!(chips.iter().map(|chip| chip.panel).collect::<Vec<_>>(), [1, 1, 0, 0]);
        assert_eq!((chips[0].strip(0), chips[0].strip(5), chips[0].channel(2)), (Some(63), None, Some(61)));
        assert_eq!(
            wiring.notes,
            [
                "channels that are not connected (-1): 1 of FEC 2, VMM 0; 1 of FEC 2, VMM 1; 1 of FEC 2, VMM 2; \
              1 of FEC 2, VMM 3"
            ]
        );
    }

    #[test]
    fn errors_of_wirings_name_the_entry_and_what_was_found_and_expected() {
        for (text, expected) in [
            ("{}", "found neither srs_mappings nor vmm_geometry"),
            (r#"{"srs_mappings": [], "vmm_geometry": []}"#, "found both"),
            (
                r#"{"srs_mappings": [{"fecID": 1, "vmmID": 0, "planeID": 2, "strip_offset": 0}]}"#,
                "srs_mappings[0].planeID: found 2, expected 0 (x) or 1 (y)",
            ),
            (
                r#"{"vmm_geometry": [{"detector": 1, "plane": 0, "fec": 1, "vmm": 4, "id0": [1, 2]}]}"#,
                "vmm_geometry[0] (FEC 1, VMM 4): id0: found 2 strips, expected 64",
            ),
            ("[]", "found a list of 0, expected a table"),
            ("{", "is no valid JSON: EOF while parsing an object at line 1 column 1"),
            (r#"{"Config": []}"#, "found the list Config of an EFU of today"),
        ] {
            let error = wiring(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\n  expected {expected}");
        }
    }
}

//! Wirings and calibrations of every style, with every key that a style has.

use super::Seed;
use serde_json::{Map, Value, json};

/// A list of 64 values.
fn each(value: impl Fn(u16) -> Value) -> Value {
    (0..64).map(value).collect()
}

fn strips(first: u16) -> Value {
    each(|channel| json!(first + channel))
}

/// Some of the channels are not wired, the others count down.
fn sparse(first: u16) -> Value {
    each(|channel| if channel % 4 == 3 { json!(-1) } else { json!(first + 63 - channel) })
}

/// A line with another offset and slope for each channel.
fn lines(offset: &str, slope: &str, into: &mut Map<String, Value>) {
    into.insert(offset.to_owned(), each(|channel| json!(f64::from(channel) / 8.0 - 3.0)));
    into.insert(slope.to_owned(), each(|channel| json!(0.75 + f64::from(channel) / 128.0)));
}

fn object(entries: Value) -> Map<String, Value> {
    entries.as_object().cloned().unwrap_or_default()
}

/// An entry of `vmm_geometry` for the plane of a chip.
fn geometry(plane: u8, chip: &Value, vmm: u8, ids: &Value) -> Value {
    let mut entry = object(json!({"detector": 0, "plane": plane, "vmm": vmm}));
    entry.extend(object(chip.clone()));
    entry.extend(object(ids.clone()));
    entry.into()
}

/// `vmm_geometry` of the SRS and of the ESS readout: strips in each plane, in their order and not, pads, angles.
fn geometries() -> Vec<(String, Value)> {
    let mut files = Vec::new();
    for (readout, chip) in [("srs", json!({"fec": 2})), ("ess", json!({"ring": 0, "fen": 0}))] {
        let other = if readout == "srs" { json!({"fec": 3}) } else { json!({"ring": 0, "fen": 1}) };
        let two = |x: &Value, y: &Value| json!({"vmm_geometry": [geometry(0, &chip, 0, x), geometry(1, &other, 1, y)]});
        let in_order = two(&json!({"id0": strips(0)}), &json!({"id0": strips(64)}));
        let by_id = two(&json!({"id": strips(0), "id0": []}), &json!({"id": sparse(64), "id0": []}));
        let some = two(&json!({"id0": sparse(0)}), &json!({"id0": sparse(0), "angle": 90.0}));
        let pads = json!({"id0": each(|n| json!(n % 8)), "id1": each(|n| json!(n / 8))});
        let pads = json!({"vmm_geometry": [geometry(0, &chip, 0, &pads)]});
        let three = json!({"vmm_geometry": [
            geometry(0, &chip, 0, &json!({"id0": strips(0)})),
            geometry(1, &chip, 1, &json!({"id0": strips(0)})),
            geometry(2, &other, 0, &json!({"id0": strips(0), "angle": 45})),
        ]});
        for (name, file) in
            [("strips", in_order), ("ids", by_id), ("sparse", some), ("pads", pads), ("three", three)]
        {
            files.push((format!("{readout}-{name}"), file));
        }
    }
    files
}

/// `vmm_calibration` by the numbers of FEC or of ring and FEN, by identity, in both spellings of its keys.
fn calibrations() -> Vec<(String, Value)> {
    let mut files = Vec::new();
    for (name, chip) in [
        ("fec", json!({"fecID": 2, "vmmID": 0})),
        ("fen", json!({"ring": 0, "fen": 0, "vmm": 0})),
        ("identity", json!({"hybridID": "aa", "vmmID": 1})),
        ("both", json!({"fecID": 2, "vmmID": 1, "hybridID": "bb"})),
    ] {
        for (spelling, s) in [("one", ""), ("several", "s")] {
            let mut entry = object(chip.clone());
            lines(&format!("adc_offset{s}"), &format!("adc_slope{s}"), &mut entry);
            lines(&format!("time_offset{s}"), &format!("time_slope{s}"), &mut entry);
            files.push((format!("{name}-{spelling}"), json!({"vmm_calibration": [entry]})));
        }
    }
    files
}

/// The files of the event formation unit: configurations of its detectors, and calibrations of their hybrids.
fn of_the_efu() -> Vec<(String, Value)> {
    let hybrid = |fen: u8, id: &str| object(json!({"Ring": 0, "FEN": fen, "Hybrid": 0, "HybridId": id}));
    let nmx = |fen: u8, id: &str, plane: u8| {
        let mut entry = hybrid(fen, id);
        entry.extend(object(json!({
            "Plane": plane, "Offset": 0, "ReversedChannels": plane == 1, "Panel": 0, "MinADC": 5
        })));
        entry
    };
    let blade = |fen: u8, id: &str, cassette: u16| {
        let mut entry = hybrid(fen, id);
        entry.extend(object(json!({"CassetteNumber": cassette, "Thresholds": [[1], [2]]})));
        entry
    };
    let spans = json!({
        "Detector": "NMX", "SizeX": 1280, "SizeY": 1280, "DefaultMinADC": 50, "MaxGapX": 1, "MaxGapY": 1,
        "MaxClusteringTimeGap": 300.0, "MaxMatchingTimeGap": 500.0, "MaxSpanX": 18, "MaxSpanY": 18, "MinXSpan": 2,
        "MinYSpan": 2, "MaxXTimeSpan": 500, "MaxYTimeSpan": 500, "MaxPulseTimeNS": 71_428_571, "SplitMultiEvents": false,
        "SplitMultiEventsCoefficientLow": 0.9, "SplitMultiEventsCoefficientHigh": 1.1,
    });
    let mut nmx_file = object(spans);
    nmx_file.insert("Config".to_owned(), json!([nmx(0, "aa", 0), nmx(1, "bb", 1)]));
    let blades = |detector: &str, geometry: &str| {
        json!({
            "Detector": detector, "InstrumentGeometry": geometry, "MaxPulseTimeNS": 500_000_000, "TimeBoxNs": 2010,
            "MaxGapWire": 0, "MaxGapStrip": 0, "DefaultMinADC": 4, "Config": [blade(0, "aa", 1), blade(1, "bb", 2)]
        })
    };
    let lines_of = |kind: &str| {
        let mut vmm = Map::new();
        lines(&format!("{kind}_offset"), &format!("{kind}_slope"), &mut vmm);
        vmm
    };
    let calibration = |detector: &str| {
        let mut both = lines_of("adc");
        both.extend(lines_of("tdc"));
        let hybrid =
            json!({"VMMHybridCalibration": {"HybridId": "aa", "vmm0": both, "vmm1": lines_of("tdc")}});
        json!({"Detector": detector, "Version": 1, "Comment": "made up", "Date": "2026-11-26", "Calibrations": [hybrid]})
    };
    let of_2018 = json!({"builder_type": "VMM3", "srs_mappings": [
        {"fecID": 1, "vmmID": 0, "planeID": 0, "strip_offset": 0}, {"fecID": 1, "vmmID": 6, "planeID": 1, "strip_offset": 128}
    ]});
    vec![
        ("nmx".to_owned(), nmx_file.into()),
        ("freia".to_owned(), blades("Freia", "Freia")),
        ("amor".to_owned(), blades("AMOR", "AMOR")),
        ("tblmb".to_owned(), blades("TBLMB", "TBLMB")),
        ("estia".to_owned(), blades("Estia", "Estia")),
        ("calibration-nmx".to_owned(), calibration("NMX")),
        ("calibration-freia".to_owned(), calibration("Freia")),
        ("calibration-trex".to_owned(), calibration("TREX")),
        ("of-2018".to_owned(), of_2018),
    ]
}

/// All of them.
pub fn seeds() -> Vec<Seed> {
    let of = |style: &str, files: Vec<(String, Value)>| -> Vec<Seed> {
        files.into_iter().map(|(name, file)| Seed::new(format!("{style}-{name}"), file.to_string())).collect()
    };
    [of("geometry", geometries()), of("calibration-of", calibrations()), of("made-efu", of_the_efu())]
        .concat()
}

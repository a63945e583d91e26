//! `mapping_file` and `calibration_file` of detectors of the ESS readout.

use crate::{Config, DetectorSettings};
use evforge_detect::ess::VmmSettings;
use evforge_detect::gdgem::ess::EssGdGemSettings;
use evforge_testkit::{shared_file, shared_folder};
use std::path::Path;

const NMX: &str = r#"
name = "nmx"
[ess]
type = "nmx"
[ess_gdgem]
geometry = { nx = 1280, ny = 1280 }
"#;

const FREIA: &str = r#"
name = "freia"
[ess]
type = "freia"
[ess_multiblade]
layout = "freia"
geometry = { nx = 64, ny = 1024 }
"#;

const TREX: &str = r#"
name = "trex"
[ess]
type = "trex"
[ess_multigrid]
wiring = "trex"
columns = 12
vessels = [{ rings = [0], fens = [0, 1] }]
"#;

/// The configuration at the end of whose text some keys stand.
fn config(base: &str, keys: &str, folder: &Path) -> Result<Config, String> {
    Config::parse(&folder.join("test.toml"), &format!("{base}{keys}"), &[]).map_err(|error| error.to_string())
}

fn gdgem(config: &Config) -> &EssGdGemSettings {
    match &config.detector {
        DetectorSettings::EssGdGem(settings) => settings,
        _ => panic!("another detector"),
    }
}

fn vmm(config: &Config) -> VmmSettings {
    gdgem(config).vmm().expect("checked settings")
}

/// With these files written into a folder: the error without the folder's name, or the configuration.
fn with_files(base: &str, keys: &str, files: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    config(base, keys, folder.path())
        .map_err(|error| error.replace(&format!("{}/", folder.path().display()), ""))
}

/// The captures of the ESS readout, if they are there.
fn captures(test: &str) -> Option<std::path::PathBuf> {
    shared_file(test, "captures/ess/nmx_efu_config.json").map(|_| shared_folder().join("captures/ess"))
}

/// Every file of a user as the wiring of a detector of the ESS readout, with the exact outcome.
#[test]
fn wirings_of_users() {
    let Some(folder) = captures("wirings_of_users") else { return };
    let srs = "what fec says of the two differs between programs; a geometry of the SRS is for [gdgem]";
    let efu = [
        "MaxGapX = 1 is not taken over: clustering.x.max_strip_gap says which strips may be missing",
        "MaxGapY = 1 is not taken over: clustering.y.max_strip_gap says which strips may be missing",
    ];
    let limits = [
        "DefaultMinADC = 48 is not taken over: clustering.x.adc_threshold is 50",
        "MaxSpanX = 64 is not taken over: position.spans.max_x is 10",
        "MaxSpanY = 64 is not taken over: position.spans.max_y is 10",
    ];
    let table = [
        ("nmx_efu_config.json", Ok(vec![limits[0], efu[0], efu[1], limits[1], limits[2]])),
        ("nmx_vmmessdat_config.json", Ok(vec![])),
        ("LET_geometry.json", Err(format!("vmm_geometry[0]: found fec 0, expected ring and fen: {srs}"))),
        (
            "../gdgem/example_rpc.json",
            Err(format!("vmm_geometry[0]: found fec 5, expected ring and fen: {srs}")),
        ),
        ("nmx_efu_calib.json", Err("found neither Config nor vmm_geometry, expected one of them".to_owned())),
    ];
    for (name, expected) in table {
        let found = config(NMX, &format!("mapping_file = {name:?}"), &folder);
        match expected {
            Ok(notes) => {
                let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                let notes: Vec<_> = notes.iter().map(|note| format!("{name}: {note}")).collect();
                assert_eq!(found.notes, notes, "{name}");
                assert_eq!((gdgem(&found).hybrids.len(), gdgem(&found).sectors), (40, 4), "{name}");
            }
            Err(expected) => {
                let error = found.expect_err(name);
                let problem = format!("ess_gdgem.mapping_file: {}: {expected}", folder.join(name).display());
                assert!(error.ends_with(&problem), "{name}: {error}\n  expected {problem}");
            }
        }
    }
}

/// The same detector in the form of the EFU and of vmm-essdat: every channel has the same place.
#[test]
fn both_forms_of_the_wiring_of_nmx_say_the_same() {
    let Some(folder) = captures("both_forms_of_the_wiring_of_nmx_say_the_same") else { return };
    let hybrids = |name: &str| {
        let config = config(NMX, &format!("mapping_file = {name:?}"), &folder).unwrap();
        let mut hybrids = vmm(&config).hybrids;
        hybrids.sort_by_key(|entry| (entry.ring, entry.fen, entry.hybrid));
        hybrids
    };
    let efu = hybrids("nmx_efu_config.json");
    assert_eq!(efu, hybrids("nmx_vmmessdat_config.json"));
    assert_eq!(efu.iter().flat_map(|entry| &entry.channels).flatten().count(), 4 * 2 * 640);
    // Ring 0, FEN 0, hybrid 4: offset 0, reversed; channel 63 of the odd VMM has strip 0.
    assert_eq!(efu[4].channels[127].unwrap().coordinate, 0);
    // Panels follow one another if the geometry has several.
    let panels = NMX.replace("ny = 1280", "ny = 1280, panels = 4");
    let config = config(&panels, "mapping_file = \"nmx_efu_config.json\"", &folder).unwrap();
    assert_eq!((gdgem(&config).sectors, gdgem(&config).hybrids[39].panel), (1, 3));
}

#[test]
fn calibrations_of_users() {
    let Some(folder) = captures("calibrations_of_users") else { return };
    let keys = |name: &str, fine_time: bool| {
        format!(
            "mapping_file = \"nmx_efu_config.json\"\ncalibration_file = {name:?}\nfine_time = {fine_time}\n"
        )
    };
    for name in ["nmx_efu_calib.json", "nmx_efu_time_calib.json"] {
        let calibrated = config(NMX, &keys(name, true), &folder).unwrap();
        assert!(!calibrated.notes.iter().any(|note| note.contains(name)), "{:?}", calibrated.notes);
        assert_eq!(gdgem(&calibrated).calibration.len(), 80);
        let lines = |ring, fen, vmm| {
            let is_it = |entry: &&evforge_detect::ess::CalibratedVmm| {
                (entry.ring, entry.fen, entry.vmm) == (ring, fen, vmm)
            };
            gdgem(&calibrated).calibration.iter().find(is_it).unwrap().lines.clone()
        };
        // The first entry of the file is the hybrid a080004128ada0803410082106704410: ring 0, FEN 0, hybrid 0.
        let line = lines(0, 0, 0)[1];
        assert_eq!((line.time.offset_millionths(), line.time.slope_millionths()), (4_965_000, 2_843_000));
        assert_eq!(line.amplitude, evforge_detect::calibration::Line::IDENTITY);
        assert_eq!(lines(0, 0, 1)[0].time.offset_millionths(), 6_489_000);
        let notes = config(NMX, &keys(name, false), &folder).unwrap().notes;
        let note = format!("{name}: its times have no effect: fine_time is false");
        assert!(notes.contains(&note), "{notes:?}");
    }
    // Without identities there is nothing to go by.
    let keys = "mapping_file = \"nmx_vmmessdat_config.json\"\ncalibration_file = \"nmx_efu_calib.json\"";
    let error = config(NMX, keys, &folder).unwrap_err();
    assert!(error.contains("nmx_efu_calib.json: calibrates no hybrid that is wired: found a080"), "{error}");
}

/// Three entries of `Config` with what is in them.
fn efu(entries: [&str; 3]) -> String {
    let entries: Vec<_> = entries.iter().map(|entry| format!("{{{entry}}}")).collect();
    format!("{{\n\"Detector\": \"NMX\",\n\"Config\": [\n{}\n]\n}}", entries.join(",\n"))
}

const FIRST: &str = r#""Ring": 0, "FEN": 0, "Hybrid": 0, "Plane": 0, "Offset": 0, "ReversedChannels": false, "Panel": 0,
    "HybridId": "aa""#;
const SECOND: &str = r#""Ring": 0, "FEN": 1, "Hybrid": 0, "Plane": 1, "Offset": 0, "ReversedChannels": true, "Panel": 0,
    "HybridId": "bb""#;
const THIRD: &str = r#""Ring": 0, "FEN": 0, "Hybrid": 1, "Plane": 0, "Offset": 128, "ReversedChannels": true,
    "Panel": 0, "HybridId": "cc""#;

fn wiring_problem(text: &str) -> String {
    let found = with_files(NMX, "mapping_file = \"w.json\"", &[("w.json", text)]);
    found.map_or_else(|error| error, |config| format!("no error, {:?}", config.notes))
}

#[test]
fn a_wrong_wiring_is_refused_where_it_is_wrong() {
    assert_eq!(wiring_problem(&efu([FIRST, SECOND, THIRD])), "no error, []");
    for (from, to, expected) in [
        (
            r#""Hybrid": 1, "#,
            "",
            "Config[2]: the key Hybrid is missing: found FEN, HybridId, Offset, Panel, Plane, \
                                  ReversedChannels, Ring",
        ),
        (r#""Plane": 1"#, r#""Plane": 2"#, "Config[1].Plane: found 2, expected 0 (x) or 1 (y)"),
        (r#""Plane": 1"#, r#""Plane": "y""#, "Config[1].Plane: found \"y\", expected 0 (x) or 1 (y)"),
        (
            r#""Hybrid": 1"#,
            r#""Hybrid": 0"#,
            "Config[2]: found ring 0, FEN 0, hybrid 0, which is Config[0] already",
        ),
        ("cc", "aa", "Config[2].HybridId: found \"aa\", expected another identity than that of Config[0]"),
        (
            "\"cc\"",
            "\"c c\"",
            "Config[2].HybridId: found \"c c\", expected the identity of a hybrid: 1 to 64 letters \
                               and digits",
        ),
        (r#""FEN": 1"#, r#""FEN": 24"#, "Config[1].FEN: found 24, expected a whole number in 0..=23"),
        (r#""FEN": 1"#, r#""FEN": 1.5"#, "Config[1].FEN: found 1.5, expected a whole number in 0..=23"),
        ("128", "1e999", "is no valid JSON: number out of range at line 8"),
        ("128", "NaN", "is no valid JSON: expected value at line 8 column"),
        (
            "128",
            "64",
            "Config[2] (ring 0, FEN 0, hybrid 1): has strips that hybrid 0 of ring 0, FEN 0 has already",
        ),
        ("128", "1200", "Config[2] (ring 0, FEN 0, hybrid 1): strips up to 1327 of a plane of 1280"),
        ("128", "-1", "Config[2].Offset: found -1, expected a whole number in 0..=65407"),
        ("true", "1", "Config[1].ReversedChannels: found 1, expected true or false"),
        ("NMX", "Freia", "Detector: found \"Freia\", expected \"NMX\", for which this section is"),
        ("\"Detector\": \"NMX\",", "", "the key Detector is missing: found Config"),
        (
            "\"Plane\": 1",
            "\"Plane\": 1, \"Plane\": 0",
            "is no valid JSON: the key \"Plane\" stands twice in a table",
        ),
        ("\n]\n", "\n]\n,", "is no valid JSON: trailing comma at line 11"),
        (
            "\"Config\"",
            "\"vmm_geometry\": [], \"Config\"",
            "found both Config and vmm_geometry, expected one of them",
        ),
    ] {
        let text = efu([FIRST, SECOND, THIRD]);
        assert!(text.contains(from), "{from}");
        let found = wiring_problem(&text.replacen(from, to, 1));
        let problem = format!("ess_gdgem.mapping_file: w.json: {expected}");
        assert!(found.contains(&problem), "{from} -> {to}: {found}\n  expected {expected}");
    }
    let text = efu([FIRST, SECOND, THIRD]).replace("\"Config\"", "\"Unknown\": {}, \"Config\"");
    let text = text.replace("\"Panel\": 0", "\"Panel\": 0, \"Gain\": 3");
    let expected = "no error, [\"w.json: without effect: Config[].Gain (3 times); Unknown\"]";
    assert_eq!(wiring_problem(&text), expected);
    let keys =
        "mapping_file = \"w.json\"\nhybrid = [{ ring = 0, fen = 0, hybrid = 0, plane = \"x\", offset = 0 }]";
    let error = with_files(NMX, keys, &[("w.json", &text)]).unwrap_err();
    assert!(
        error.contains("ess_gdgem.mapping_file: there are entries of hybrid as well: keep one"),
        "{error}"
    );
    let error = with_files(NMX, "mapping_file = \"nowhere.json\"", &[]).unwrap_err();
    assert!(error.contains("nowhere.json: cannot be read: No such file"), "{error}");
}

fn list(value: &str, length: usize) -> String {
    format!("[{}]", vec![value; length].join(", "))
}

/// A calibration of the EFU of two hybrids.
fn efu_calibration() -> String {
    let pair = |name: &str, offset: &str, slope: &str| {
        let (offset, slope) = (list(offset, 64), list(slope, 64));
        format!("\"{name}_offset\": {offset}, \"{name}_slope\": {slope}")
    };
    let vmm = format!("{{{}, {}, \"Settings\": \"x\"}}", pair("adc", "1", "1.5"), pair("tdc", "2.5", "3"));
    let hybrid = |id: &str| {
        format!(
            "{{\"VMMHybridCalibration\": {{\"HybridId\": \"{id}\", \"CalibrationDate\": \"today\", \"vmm0\": {vmm}, \
             \"vmm1\": {vmm}}}}}"
        )
    };
    let entries = [hybrid("aa"), hybrid("BB"), hybrid("cc")].join(",\n");
    format!("{{\"Detector\": \"NMX\", \"Version\": 1, \"Hybrids\": 3, \"Calibrations\": [\n{entries}\n]}}")
}

fn calibration_problem(wiring: &str, text: &str) -> String {
    let keys = "mapping_file = \"w.json\"\ncalibration_file = \"c.json\"\nfine_time = true";
    let found = with_files(NMX, keys, &[("w.json", wiring), ("c.json", text)]);
    found.map_or_else(|error| error, |config| format!("no error, {:?}", config.notes))
}

#[test]
fn a_wrong_calibration_is_refused_where_it_is_wrong() {
    let wiring = efu([FIRST, SECOND, THIRD]);
    let good = efu_calibration();
    assert_eq!(calibration_problem(&wiring, &good), "no error, []");
    let place = "Calibrations[0].VMMHybridCalibration";
    let short = format!("\"adc_slope\": {}", list("1.5", 63));
    let long = format!("\"adc_slope\": {}", list("1.5", 64));
    for (from, to, expected) in [
        (&*long, &*short, format!("{place}.vmm0 (hybrid aa): found 63 adc_slope, expected 64, one for each channel")),
        ("[2.5, 2.5", "[2.5, \"a\"", format!("{place}.vmm0.tdc_offset[1]: found \"a\", expected a number")),
        ("[2.5, 2.5", "[2.5, null", format!("{place}.vmm0.tdc_offset[1]: found null, expected a number")),
        ("[2.5, 2.5", "[2.5, Infinity", "is no valid JSON: expected value at line 2".to_owned()),
        (
            "[3, 3",
            "[3, -3",
            format!(
                "{place}.vmm0 (hybrid aa): tdc_offset and tdc_slope, channel 1: found the slope -3, expected one of 0 \
                 to 20"
            ),
        ),
        ("\"adc_slope\"", "\"adc_slop\"", format!("{place}.vmm0 (hybrid aa): adc_offset, but no adc_slope")),
        ("\"vmm1\"", "\"vmm2\"", format!("{place}: the key vmm1 is missing: found CalibrationDate, HybridId, vmm0, vmm2")),
        ("\"BB\"", "\"aa\"", "Calibrations[1].VMMHybridCalibration.vmm0 (hybrid aa): VMM 0 of ring 0, FEN 0, hybrid 0 \
                              is calibrated twice: Calibrations[0].VMMHybridCalibration.vmm0 (hybrid aa) does it \
                              already".to_owned()),
        ("\"Version\": 1", "\"Version\": 2", "Version: found 2, expected 1, the only version there is".to_owned()),
        ("NMX", "Freia", "Detector: found \"Freia\", expected \"NMX\", for which this section is".to_owned()),
        ("\"Calibrations\"", "\"calibrations\"", "found neither Calibrations nor vmm_calibration".to_owned()),
    ] {
        assert!(good.contains(from), "{from}");
        let found = calibration_problem(&wiring, &good.replacen(from, to, 1));
        let problem = format!("ess_gdgem.calibration_file: c.json: {expected}");
        assert!(found.contains(&problem), "{from} -> {to}: {found}\n  expected {expected}");
    }
    let other = good.replace("\"aa\"", "\"dd\"").replace("\"Hybrids\": 3", "\"Hybrids\": 4");
    assert_eq!(
        calibration_problem(&wiring, &other),
        "no error, [\"c.json: Hybrids is 4, but Calibrations has 3\", \"c.json: calibrates hybrids that are not \
         wired: dd\", \"c.json: has no calibration of 1 of the wired hybrids: ring 0, FEN 0, hybrid 0\"]"
    );
    // In a configuration without a file the same identity can stand twice.
    let keys = "calibration_file = \"c.json\"\nhybrid = [
        { ring = 0, fen = 0, hybrid = 0, plane = \"x\", offset = 0, hybrid_id = \"aa\" },
        { ring = 0, fen = 1, hybrid = 0, plane = \"y\", offset = 0, hybrid_id = \"AA\" }]";
    let error = with_files(NMX, keys, &[("c.json", &good)]).unwrap_err();
    let expected = format!(
        "c.json: {place} (hybrid aa): hybrid aa is wired twice, as ring 0, FEN 0, hybrid 0 and as ring 0, FEN 1, \
         hybrid 0"
    );
    assert!(error.contains(&expected), "{error}");
}

/// Calibrations of vmm-essdat and of vmm-sdat with identities.
#[test]
fn calibrations_by_ring_fen_and_vmm_or_by_identity() {
    let wiring = efu([FIRST, SECOND, THIRD]);
    let lists = format!("\"adc_offset\": {}, \"adc_slope\": {}", list("1", 64), list("2", 64));
    let plural = format!("\"time_offsets\": {}, \"time_slopes\": {}", list("1", 64), list("2", 64));
    let text = format!(
        "{{\"vmm_calibration\": [{{\"ring\": 0, \"fen\": 0, \"vmm\": 3, {lists}, \"time_offset\": []}},
          {{\"fecID\": 1, \"vmmID\": 0, \"hybridID\": \"bb\", {plural}, \"timewalk_a\": []}},
          {{\"ring\": 5, \"fen\": 0, \"vmm\": 3, {lists}}}]}}"
    );
    let keys = "mapping_file = \"w.json\"\ncalibration_file = \"c.json\"";
    let config = with_files(NMX, keys, &[("w.json", &wiring), ("c.json", &text)]).unwrap();
    let found: Vec<_> =
        gdgem(&config).calibration.iter().map(|entry| (entry.ring, entry.fen, entry.vmm)).collect();
    assert_eq!(found, [(0, 0, 3), (0, 1, 0)]);
    assert_eq!(
        config.notes,
        [
            "c.json: calibrates hybrids that are not wired: ring 5, FEN 0, VMM 3",
            "c.json: has no calibration of 1 of the wired hybrids: ring 0, FEN 0, hybrid 0",
            "c.json: its times have no effect: fine_time is false",
            "c.json: without effect: vmm_calibration[].timewalk_a",
        ]
    );
    let fec = text.replace("\"hybridID\": \"bb\", ", "");
    let error = with_files(NMX, keys, &[("w.json", &wiring), ("c.json", &fec)]).unwrap_err();
    assert!(
        error.contains(
            "c.json: vmm_calibration[1]: found neither ring and fen nor hybridID, expected one of them"
        ),
        "{error}"
    );

    let multi_grid = format!("{{\"vmm_calibration\": [{{\"ring\": 0, \"fen\": 1, \"vmm\": 3, {lists}}}]}}");
    let config = with_files(TREX, "calibration_file = \"c.json\"", &[("c.json", &multi_grid)]).unwrap();
    let DetectorSettings::EssMultiGrid(settings) = &config.detector else { panic!("another detector") };
    assert_eq!((settings.calibration[0].fen, settings.calibration[0].vmm), (1, 3));
    let efu = efu_calibration().replace("NMX", "TREX");
    let error = with_files(TREX, "calibration_file = \"c.json\"", &[("c.json", &efu)]).unwrap_err();
    assert!(error.contains("c.json: calibrates no hybrid that is wired: found aa; bb; cc"), "{error}");
}

/// VMMs in any order, one for each plane of a hybrid.
#[test]
fn a_geometry_of_vmm_essdat_can_have_single_vmms() {
    let entry = |detector: u8, plane: u8, vmm: u8, ids: &str| {
        format!(
            "{{\"detector\": {detector}, \"plane\": {plane}, \"ring\": 1, \"fen\": 2, \"vmm\": {vmm}, \"id\": {ids}}}"
        )
    };
    let down: Vec<i32> = (0..64).rev().collect();
    let mut gaps: Vec<i32> = (64..128).collect();
    gaps[7] = -1;
    let (down, gaps) = (format!("{down:?}"), format!("{gaps:?}"));
    let geometry = |entries: &[String]| format!("{{\"vmm_geometry\": [{}]}}", entries.join(", "));
    let text = geometry(&[
        entry(4, 1, 1, &gaps),
        entry(4, 0, 0, &down),
        entry(4, 0, 3, &gaps),
        entry(4, 1, 3, &list("-1", 64)),
    ]);
    let found = with_files(NMX, "mapping_file = \"w.json\"", &[("w.json", &text)]).unwrap();
    let hybrids = vmm(&found).hybrids;
    assert_eq!(hybrids.len(), 2);
    let places = |hybrid: usize, channels: [usize; 3]| {
        channels.map(|channel| {
            let place = hybrids[hybrid].channels[channel]?;
            Some((place.plane, place.coordinate))
        })
    };
    assert_eq!(places(0, [0, 64, 71]), [Some((0, 63)), Some((1, 64)), None]);
    assert_eq!(places(1, [0, 64, 127]), [None, Some((0, 64)), Some((0, 127))]);
    assert_eq!(
        found.notes,
        [
            "w.json: no channel is connected (all -1): vmm_geometry[3] (ring 1, FEN 2, VMM 3)",
            "w.json: channels that are not connected (-1): 1 of ring 1, FEN 2, VMM 1; 1 of ring 1, FEN 2, VMM 3",
        ]
    );
    let (x, y) = (entry(0, 0, 0, &down), entry(0, 1, 1, &down));
    for (entries, expected) in [
        (
            vec![x.clone(), y.clone(), entry(0, 0, 0, &gaps)],
            "vmm_geometry[2] (ring 1, FEN 2, VMM 0): found strips as \
                                                             in vmm_geometry[0] already, expected each VMM once",
        ),
        (
            vec![x.clone()],
            "vmm_geometry: found strips of x (plane 0) only, expected a detector with strips of both",
        ),
        (vec![], "vmm_geometry: found no connected channel of x or y"),
        (vec![entry(0, 3, 0, &down)], "vmm_geometry[0].plane: found 3, expected 0 (x) or 1 (y)"),
        (
            vec![entry(0, 0, 0, &down).replace("\"ring\": 1", "\"ring\": 121")],
            "vmm_geometry[0].ring: found 121, expected a whole number in 0..=11",
        ),
        (
            vec![entry(0, 0, 0, &down).replace("\"fen\": 2", "\"fen\": 24")],
            "vmm_geometry[0].fen: found 24, expected a whole number in 0..=23",
        ),
        (vec![entry(0, 0, 16, &down)], "vmm_geometry[0].vmm: found 16, expected a whole number in 0..=15"),
        (
            vec![entry(0, 0, 0, "[1, 2]")],
            "vmm_geometry[0] (ring 1, FEN 2, VMM 0): id: found 2 strips, expected 64",
        ),
        (
            vec![entry(0, 0, 0, &list("0.5", 64))],
            "vmm_geometry[0].id[0]: found 0.5, expected a strip below 65535",
        ),
        (
            vec![x.clone(), entry(0, 1, 1, &list("1300", 64))],
            "vmm_geometry[1] (ring 1, FEN 2, VMM 1): strips up to \
                                                              1300 of a plane of 1280",
        ),
        (vec![x.replace("\"id\"", &format!("\"id1\": {down}, \"id\""))], "id1: the detector has pads"),
        (vec![x.replace("\"id\"", &format!("\"id0\": {down}, \"id\""))], "found both id and id0"),
        (vec![x.replace("\"id\"", "\"ids\"")], "the strips are missing: found neither id nor id0"),
        (
            vec![x, y.replace("\"id\"", "\"angle\": 45, \"id\"")],
            "vmm_geometry[1].angle: found 45, expected 0 for x \
                                                                 (plane 0) and 90 for y (plane 1)",
        ),
    ] {
        let found = wiring_problem(&geometry(&entries));
        assert!(found.contains(expected), "{found}\n  expected {expected}");
    }
}

#[test]
fn cassettes_of_the_efu() {
    let text = r#"{"Detector": "Freia", "InstrumentGeometry": "Freia", "MaxPulseTimeNS": 1000000000,
        "MaxGapWire": 1, "MaxGapStrip": 0, "MaxMatchingTimeGap": 500, "MaxClusteringTimeGap": 400,
        "SplitMultiEvents": false, "SplitMultiEventsCoefficientLow": 0.8, "Config": [
        {"CassetteNumber": 3, "Ring": 1, "FEN": 0, "Hybrid": 1, "HybridId": "00", "Thresholds": [[7], [9]]},
        {"CassetteNumber": 4, "Ring": 1, "FEN": 0, "Hybrid": 0, "HybridId": "11"}]}"#;
    let keys = "wire_threshold = 2\nwires = \"even\"\nmapping_file = \"w.json\"\n[ess_multiblade.window]\n";
    let problem = |text: &str| {
        let found = with_files(FREIA, keys, &[("w.json", text)]);
        found.map_or_else(|error| error, |_| "no error".to_owned())
    };
    let config = with_files(FREIA, keys, &[("w.json", text)]).unwrap();
    let DetectorSettings::EssMultiBlade(settings) = &config.detector else { panic!("another detector") };
    let thresholds = |index: usize| {
        let cassette = &settings.cassettes[index];
        (cassette.cassette, cassette.wire_threshold, cassette.strip_threshold)
    };
    assert_eq!([thresholds(0), thresholds(1)], [(3, 7, 9), (4, 2, 0)], "wires are on the even VMM here");
    assert_eq!(
        config.notes,
        [
            "w.json: MaxGapWire = 1 is not taken over: window.max_gap_wires is 0",
            "w.json: MaxClusteringTimeGap = 400 is not taken over: window.max_time_gap is another one",
            "w.json: without effect: SplitMultiEventsCoefficientLow",
        ]
    );
    for (from, to, expected) in [
        (
            "[[7], [9]]",
            "[[7]]",
            "Config[0].Thresholds: found a list of 1, expected [[a], [b]]: a threshold for each VMM",
        ),
        ("[[7], [9]]", "[[7], [9, 9]]", "Config[0].Thresholds[1]: found a list of 2, expected a list of 1"),
        (
            "[[7], [9]]",
            "[[7], [-9]]",
            "Config[0].Thresholds[1][0]: found -9, expected a whole number in 0..=65535",
        ),
        (
            "\"Freia\", \"Max",
            "\"Estia\", \"Max",
            "InstrumentGeometry: found \"Estia\", expected Freia, AMOR or TBLMB, as \
                                                  layout says",
        ),
        (
            "\"CassetteNumber\": 4",
            "\"CassetteNumber\": 3",
            "Config[1] (ring 1, FEN 0, hybrid 0): cassette 3 is \
                                                            configured twice",
        ),
        (
            "\"CassetteNumber\": 4",
            "\"CassetteNumber\": 32",
            "Config[1] (ring 1, FEN 0, hybrid 0): cassette 32 lies at",
        ),
        ("\"CassetteNumber\": 4, ", "", "Config[1]: the key CassetteNumber is missing"),
        ("\"Config\"", "\"vmm_geometry\"", "found vmm_geometry, expected Config of the EFU"),
    ] {
        assert!(text.contains(from), "{from}");
        let found = problem(&text.replacen(from, to, 1));
        let problem = format!("ess_multiblade.mapping_file: w.json: {expected}");
        assert!(found.contains(&problem), "{from} -> {to}: {found}\n  expected {expected}");
    }
    let calibration = efu_calibration().replace("NMX", "Freia").replace("\"aa\"", "\"11\"");
    let keys = keys.replace("mapping_file", "calibration_file = \"c.json\"\nmapping_file");
    let config = with_files(FREIA, &keys, &[("w.json", text), ("c.json", &calibration)]).unwrap();
    let DetectorSettings::EssMultiBlade(settings) = &config.detector else { panic!("another detector") };
    let vmms: Vec<_> = settings.calibration.iter().map(|entry| (entry.ring, entry.fen, entry.vmm)).collect();
    assert_eq!(vmms, [(1, 0, 0), (1, 0, 1)]);
}

//! `evforge inspect` as a user meets it: every shared capture and every shipped configuration's packets are named, and the
//! configurations that it writes place as many readouts as the shipped ones do.

pub(crate) mod made;
mod refused;
mod wrong;

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_testkit::{shared_folder, skip};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A capture of the reference data: its path, what is said of it, and the configuration of it.
const RECORDED: &[(&str, &str, &str)] = &[
    ("ess/nmx_monitoring.pcapng", "type 0x44 NMX: VMM3a records", "nmx.toml"),
    ("ess/integrating_monitors.pcapng", "type 0x10 CBM (beam monitors): beam-monitor", "beam-monitors.toml"),
    ("gdgem/vmm2_run16.pkts", "SRS with VMM2", "reference-2018/gdgem-run16.toml"),
    ("gdgem/vmm2_recorded_2018.pkts", "SRS with VMM2", "reference-2018/gdgem-recorded-vmm2.toml"),
    (
        "gdgem/vmm3_recorded_2018.pkts",
        "SRS with VMM3 (layout of 2018)",
        "reference-2018/gdgem-recorded-vmm3.toml",
    ),
    (
        "gdgem/vmm3_recorded_2018.h5",
        "SRS with VMM3 (layout of 2018)",
        "reference-2018/gdgem-recorded-vmm3.toml",
    ),
    ("gdgem/vmm3a_srs.pcapng", "SRS with VMM3a", "gdgem-srs.toml"),
    ("multigrid/recorded_ws1to4.pkts", "Mesytec VMMR behind an SIS3153", "reference-2018/multigrid.toml"),
    ("multigrid/generated_jumbo.pkts", "Mesytec VMMR behind an SIS3153", "multigrid.toml"),
    ("multiblade/recorded_2018.pkts", "CAEN records of 8 bytes (2018)", "multiblade.toml"),
    ("multiblade/recorded_2018.h5", "CAEN jadaq 1.3", "multiblade.toml"),
    ("multiblade/generated.pkts", "CAEN records of 8 bytes (2018)", "multiblade.toml"),
    ("sonde/generated_255.pkts", "SoNDe (IDEAS ROSMAP)", "reference-2018/sonde.toml"),
];

/// A shipped configuration that is simulated, and what is said of the packets.
const SIMULATED: &[(&str, &str)] = &[
    ("gdgem-srs", "SRS with VMM3a"),
    ("gdgem-nmx", "SRS with VMM3a"),
    ("nmx", "type 0x44 NMX: VMM3a records"),
    ("multigrid", "Mesytec VMMR behind an SIS3153"),
    ("multigrid-cncs", "Multi-Grid demonstrator at CNCS (2016)"),
    ("trex", "type 0x40 TREX: VMM3a records"),
    ("let", "type 0x30 LOKI: VMM3a records"),
    ("multiblade", "CAEN records of 8 bytes (2018)"),
    ("multiblade-50", "CAEN jadaq 1.3"),
    ("freia", "type 0x48 FREIA (AMOR sends it too): VMM3a records"),
    ("estia", "type 0x4c ESTIA: VMM3a records"),
    ("amor-ess", "type 0x48 FREIA (AMOR sends it too): VMM3a records"),
    ("tblmb", "type 0x49 TBLMB: VMM3a records"),
    ("loki", "type 0x30 LOKI: CAEN R5560 records of 24 bytes"),
    ("bifrost", "type 0x34 BIFROST: CAEN R5560 records of 24 bytes"),
    ("tbl3he", "type 0x32 TBL3HE: CAEN R5560 records of 24 bytes"),
    ("miracles", "type 0x38 MIRACLES: CAEN R5560 records of 24 bytes"),
    ("cspec", "type 0x3c CSPEC: CAEN R5560 records of 24 bytes"),
    ("sonde", "SoNDe (IDEAS ROSMAP)"),
    ("sonde-module", "SoNDe (IDEAS ROSMAP)"),
    ("beam-monitors", "type 0x10 CBM (beam monitors): beam-monitor records"),
    ("adc-readout", "adc_readout (sampled channels of 2018)"),
    ("isis-v2", "streaming readout of ISIS"),
];

/// Shipped configurations that need a wiring table: they are tried in `program/isis.rs`.
const WITH_WIRING_TABLE: [&str; 4] = ["isis-wlsf", "isis-madc", "isis-lvds", "isis-large"];

/// Formats whose packets do not tell the geometry: only their skeletons may plead that something is unknown.
const GEOMETRY_UNKNOWN: &[&str] = &[
    "ESS readout",
    "SRS with VMM2",
    "SRS with VMM3 (layout of 2018)",
    "SRS with VMM3a",
    "Mesytec VMMR behind an SIS3153",
    "Multi-Grid demonstrator at CNCS (2016)",
    "CAEN records of 8 bytes (2018)",
    "CAEN jadaq 1.3",
    "SoNDe (IDEAS ROSMAP)",
];

/// A path as the program is given it.
fn in_text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs the program, whatever becomes of it.
fn evforge_any(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// What `inspect` says, for programs.
fn inspected(capture: &Path) -> Value {
    // Of what nobody knows the status is not 0.
    let output = evforge_any(&["inspect", "--json", in_text(capture)]);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A report's counts of readouts placed: hits, and what went into histograms of beam monitors.
fn placed(configuration: &Path, capture: &Path, folder: &Path) -> (u64, u64) {
    let report = folder.join("report.json");
    let output = evforge_any(&[
        "run",
        "--overwrite",
        "--quiet",
        "--config",
        in_text(configuration),
        "--input",
        in_text(capture),
        "--report",
        in_text(&report),
    ]);
    // A recording of noise alone gives no event, and its readouts are placed all the same.
    let said = text(&output.stderr);
    let no_event = output.status.code() == Some(4) && said.contains("no event was formed");
    assert!(output.status.success() || no_event, "{said}");
    let bytes = std::fs::read(&report).expect("a report");
    let report: Value = serde_json::from_slice(&bytes).expect("JSON");
    let stream = &report["streams"][0];
    let monitored = stream["counters"]["integrated"].as_u64().unwrap_or(0);
    (stream["hits"].as_u64().expect("hits"), monitored)
}

/// Names, streams and the skeleton of a capture against the configuration that belongs to it.
fn is_named_and_wired(capture: &Path, named: &str, configuration: &Path, folder: &Path) {
    let what = format!("{}", capture.display());
    let found = inspected(capture);
    let streams = found["streams"].as_array().expect("streams");
    for stream in streams {
        assert!(
            stream["title"].as_str().is_some_and(|title| title.contains(named)),
            "{what}: {}",
            stream["title"]
        );
    }
    assert!(!streams.is_empty(), "{what}: no stream");
    let for_people = text(&evforge(&["inspect", in_text(capture)]).stdout);
    assert!(for_people.contains(named), "{what}: {for_people}");

    let skeleton = folder.join("skeleton.toml");
    let _of_the_capture_before = std::fs::remove_file(&skeleton);
    evforge(&["inspect", in_text(capture), "--config-skeleton", in_text(&skeleton)]);
    let written = std::fs::read_to_string(&skeleton).expect("a skeleton");
    let format = streams[0]["format"].as_str().unwrap_or_default();
    let may_plead = GEOMETRY_UNKNOWN.contains(&format);
    assert_eq!(written.contains("UNKNOWN:"), may_plead, "{what}: {written}");
    let mut expected = placed(configuration, capture, folder);
    // What it says of the shipped configuration is what a run then places.
    let file = configuration.strip_prefix(workspace()).expect("a shipped configuration");
    for stream in streams {
        let tried = stream["tried"].as_array().expect("a list");
        let tried = tried.iter().find(|tried| tried["configuration"] == in_text(file));
        let is_tried = tried.is_some();
        let is_part_of_program = !file.starts_with("configs/reference-2018");
        let needs_more = matches!(in_text(capture).rsplit('.').next(), Some("h5"));
        assert_eq!(is_tried, is_part_of_program && !needs_more, "{what}: {stream:#}");
        if let Some(tried) = tried {
            assert_eq!(tried["placed"].as_u64(), Some(expected.0 + expected.1), "{what}: {tried:#}");
        }
    }
    if named.contains("CBM") && expected.0 == 0 {
        // The shipped configuration is an example with one integrating monitor; the recording has three.
        assert_eq!(expected.1, 3874);
        expected.1 *= 3;
    }
    assert!(expected.0 + expected.1 > 0, "{what}: {} places nothing", configuration.display());
    assert_eq!(placed(&skeleton, capture, folder), expected, "{what}: {written}");
}

#[test]
fn every_recorded_capture_is_named_and_its_skeleton_places_as_much_as_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    for (path, named, configuration) in RECORDED {
        let capture = shared_folder().join("captures").join(path);
        if !capture.is_file() {
            skip("every_recorded_capture_is_named…", &format!("{} is not there", capture.display()));
            continue;
        }
        is_named_and_wired(&capture, named, &workspace().join("configs").join(configuration), folder.path());
    }
}

/// The table above has every capture there is.
#[test]
fn no_shared_capture_is_left_out() {
    let captures = shared_folder().join("captures");
    let Ok(folders) = std::fs::read_dir(&captures) else {
        return skip("no_shared_capture_is_left_out", "there are no shared captures");
    };
    let mut found = 0;
    // What once showed a fault is no recording: the test of its repair names it.
    let is_recorded = |path: &std::path::PathBuf| path.is_dir() && !path.ends_with("cases");
    for folder in folders.map(|entry| entry.unwrap().path()).filter(is_recorded) {
        for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_capture = file.extension().is_some_and(|extension| {
                ["pkts", "pcapng", "pcap", "h5"].iter().any(|known| extension == *known)
            });
            if is_capture {
                let path = file.strip_prefix(&captures).unwrap().to_str().unwrap().to_owned();
                assert!(RECORDED.iter().any(|(known, ..)| *known == path), "{path} is in no table");
                found += 1;
            }
        }
    }
    assert_eq!(found, RECORDED.len());
}

#[test]
fn packets_of_every_shipped_configuration_are_named_and_wired() {
    let folder = tempfile::tempdir().unwrap();
    for (name, named) in SIMULATED {
        let capture = folder.path().join(format!("{name}.pcapng"));
        evforge(&["simulate", name, "--pulses", "2", "--output", in_text(&capture)]);
        let configuration = workspace().join(format!("configs/{name}.toml"));
        is_named_and_wired(&capture, named, &configuration, folder.path());
        std::fs::remove_file(&capture).unwrap();
    }
}

/// Packets by hand.
#[test]
fn packets_by_hand_are_named_and_wired() {
    let folder = tempfile::tempdir().unwrap();
    for (name, named, packets) in [
        ("adc-readout", "adc_readout (sampled channels of 2018)", made::sampled_channels()),
        ("beam-monitors", "type 0x10 CBM (beam monitors): beam-monitor records", made::beam_monitors()),
    ] {
        let capture = made::pkts(folder.path(), name, &packets);
        is_named_and_wired(&capture, named, &workspace().join(format!("configs/{name}.toml")), folder.path());
    }
    let configured = std::fs::read_dir(workspace().join("configs")).unwrap();
    let names = configured
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    for path in names {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let simulated =
            SIMULATED.iter().any(|(known, _)| *known == name) || WITH_WIRING_TABLE.contains(&name);
        assert!(simulated, "{name} is tried nowhere");
    }
}

#[test]
fn the_words_of_a_recording_say_what_is_in_it() {
    let capture = shared_folder().join("captures/ess/nmx_monitoring.pcapng");
    if !capture.is_file() {
        return skip("the_words_of_a_recording_say_what_is_in_it", "nmx_monitoring.pcapng is not there");
    }
    let said = text(&evforge(&["inspect", in_text(&capture)]).stdout);
    for words in [
        "192.168.12.100 to port 9000",
        "header version 1",
        "a single pulse time",
        "0x0b in 100 packets: time source, sync source, timing status",
        "1 with an impossible fraction of a second",
        "ring 0 FEN 0 hybrid 1 VMM 3",
        "690 readouts, channels 35-37 (3 of them)",
        "configs/nmx.toml",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let found = inspected(&capture);
    assert_eq!(found["streams"][0]["content"]["readouts"]["count"], 44_700);
    assert_eq!(found["capture"]["frames"], 100);
}

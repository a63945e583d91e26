//! A configuration to which the input does not belong never ends with status 0 and an empty result: the error names what came
//! and which shipped configuration fits.

use super::made::{beam_monitors, ess, freia, pkts};
use super::{RECORDED, evforge_any, in_text, text, workspace};
use crate::common::LiveProgram;
use evforge_testkit::{shared_folder, skip};
use evforge_wire::ess::Vmm3aFields;
use std::path::{Path, PathBuf};

/// Shared captures with the shipped configuration that an error about them has to name.
const FITS: &[(&str, &str)] = &[
    ("ess/nmx_monitoring.pcapng", "configs/nmx.toml"),
    ("ess/integrating_monitors.pcapng", "configs/beam-monitors.toml"),
    ("gdgem/vmm2_run16.pkts", "configs/reference-2018/gdgem-run16.toml"),
    ("gdgem/vmm2_recorded_2018.pkts", "configs/reference-2018/gdgem-run16.toml"),
    ("gdgem/vmm3_recorded_2018.pkts", "configs/reference-2018/gdgem-recorded-vmm3.toml"),
    ("gdgem/vmm3a_srs.pcapng", "configs/gdgem-srs.toml"),
    ("multigrid/recorded_ws1to4.pkts", "configs/multigrid.toml"),
    ("multigrid/generated_jumbo.pkts", "configs/multigrid.toml"),
    ("multiblade/recorded_2018.pkts", "configs/multiblade.toml"),
    ("multiblade/generated.pkts", "configs/multiblade.toml"),
    ("sonde/generated_255.pkts", "configs/sonde.toml"),
];

/// Captures of formats that one above has as well: one wrong configuration is enough for them.
const AGAIN: [&str; 3] =
    ["gdgem/vmm2_recorded_2018.pkts", "multigrid/generated_jumbo.pkts", "multiblade/generated.pkts"];

/// Pairs that do belong together.
const RIGHT: &[(&str, &str)] = &[
    ("nmx", "ess/nmx_monitoring.pcapng"),
    ("beam-monitors", "ess/integrating_monitors.pcapng"),
    ("gdgem-srs", "gdgem/vmm3a_srs.pcapng"),
    ("gdgem-nmx", "gdgem/vmm3a_srs.pcapng"),
    ("multigrid", "multigrid/recorded_ws1to4.pkts"),
    ("multigrid", "multigrid/generated_jumbo.pkts"),
    ("multiblade", "multiblade/recorded_2018.pkts"),
    ("multiblade", "multiblade/generated.pkts"),
    ("sonde-module", "sonde/generated_255.pkts"),
];

fn shipped() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(workspace().join("configs")).expect("the configurations");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

/// Exit status and all that is said.
fn run(configuration: &Path, capture: &Path, further: &[&str]) -> (Option<i32>, String) {
    let arguments = ["run", "--config", in_text(configuration), "--input", in_text(capture)];
    let output = evforge_any(&[&arguments, further].concat());
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn every_shipped_configuration_refuses_every_capture_of_another_format_and_names_what_fits() {
    let mut pairs = 0;
    for configuration in shipped() {
        let name = configuration.file_stem().unwrap().to_str().unwrap().to_owned();
        for (path, fits) in FITS {
            let capture = shared_folder().join("captures").join(path);
            if !capture.is_file() {
                skip("every_shipped_configuration_refuses…", &format!("{path} is not there"));
                continue;
            }
            let (status, said) = run(&configuration, &capture, &[]);
            if RIGHT.contains(&(name.as_str(), *path)) {
                // A recording of noise alone belongs to its configuration, and no event comes of it.
                let no_event = status == Some(4) && said.contains("no event was formed");
                let belongs = !said.contains("does not belong") && !said.contains("could be");
                assert!((status == Some(0) || no_event) && belongs, "{name} with {path}: {said}");
                continue;
            }
            if AGAIN.contains(path) && name != "beam-monitors" {
                continue;
            }
            pairs += 1;
            // Groups and boards are told apart by addresses, which such files do not hold: refused before anything is read.
            let has_addresses = name == "sonde" || name.starts_with("isis-");
            let needs_addresses = has_addresses && path.ends_with(".pkts");
            assert_eq!(status, Some(if needs_addresses { 1 } else { 4 }), "{name} with {path}: {said}");
            let named =
                if needs_addresses { "a .pkts file holds neither addresses nor ports" } else { *fits };
            assert!(said.contains(named), "{name} with {path}: {said}");
            assert!(needs_addresses || said.contains("ALARM"), "{name} with {path}: {said}");
        }
    }
    assert!(pairs > 100 || !shared_folder().is_dir(), "only {pairs} pairs");
    let with_fits = RECORDED.iter().filter(|(path, ..)| !path.ends_with(".h5"));
    for (path, ..) in with_fits {
        assert!(FITS.iter().any(|(known, _)| known == path), "{path} is not tried with wrong configurations");
    }
}

/// The right format and type, but other front ends: they are named.
#[test]
fn front_ends_that_are_not_wired_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let record = Vmm3aFields { fibre: 22, fen: 17, vmm: 9, channel: 20, adc: 100, ..Default::default() };
    let packets: Vec<_> = (0..9).map(|n| ess(0x48, 0, n, n, &record.encode().repeat(3))).collect();
    let capture = pkts(folder.path(), "elsewhere", &packets);
    let (status, said) = run(&workspace().join("configs/freia.toml"), &capture, &[]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("27 unmapped_ring") && said.contains("ring 11 FEN 17 hybrid 4"), "{said}");
}

#[test]
fn a_port_that_nothing_was_sent_to_is_said_with_those_that_came() {
    let capture = shared_folder().join("captures/gdgem/vmm3a_srs.pcapng");
    if !capture.is_file() {
        return skip("a_port_that_nothing_was_sent_to…", "vmm3a_srs.pcapng is not there");
    }
    let (status, said) = run(&workspace().join("configs/gdgem-srs.toml"), &capture, &["--port", "9000"]);
    assert_eq!(status, Some(4), "{said}");
    assert!(said.contains("100: Frames skipped: UDP to a port that was not asked for"), "{said}");
    assert!(said.contains("nothing in the capture was sent to port 9000"), "{said}");
    assert!(said.contains("SRS with VMM3a (10.0.0.1 to port 6006)"), "{said}");
}

/// Nothing comes of these, which is of no use to whoever forms the events of a file; but they belong to the configuration.
#[test]
fn heartbeats_and_readouts_below_the_threshold_belong_and_are_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let freia_config = workspace().join("configs/freia.toml");
    let heartbeats: Vec<_> = (0..20).map(|n| ess(0x48, 0, n, n, &[])).collect();
    let capture = pkts(folder.path(), "heartbeats", &heartbeats);
    let (status, said) = run(&freia_config, &capture, &[]);
    assert!(status == Some(4) && !said.contains("does not belong"), "{said}");
    assert!(said.contains("the 20 packets have no readouts, only heartbeats or pulses"), "{said}");

    let low: Vec<_> = (0..20).map(|n| ess(0x48, 0, n, n, &freia(n, 20))).collect();
    let capture = pkts(folder.path(), "low", &low);
    let threshold =
        ["--set", "ess_multiblade.wire_threshold=900", "--set", "ess_multiblade.strip_threshold=900"];
    let (status, said) = run(&freia_config, &capture, &threshold);
    assert!(status == Some(4) && said.contains("below threshold"), "{said}");
    assert!(said.contains("no event was formed of") && !said.contains("could be placed"), "{said}");
    let (status, said) = run(&freia_config, &capture, &[]);
    assert!(status == Some(0) && !said.contains("could be placed"), "{said}");
}

/// Two types on one port: that of the configuration is enough.
#[test]
fn packets_of_another_type_beside_the_right_ones_are_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    // Many packets of the other type come first.
    let mut packets: Vec<_> = (0..20).flat_map(|_| beam_monitors()).collect();
    packets.extend((0..10).map(|n| ess(0x48, 1, n, n, &freia(n, 20))));
    let capture = pkts(folder.path(), "both", &packets);
    let (status, said) = run(&workspace().join("configs/freia.toml"), &capture, &[]);
    assert!(status == Some(0) && !said.contains("does not belong"), "{said}");
}

/// Live, the same is an alarm of the report, as it is one of the terminal and of the page.
#[test]
fn a_live_run_says_that_the_input_does_not_belong_to_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let config = workspace().join("configs/nmx.toml");
    let program = LiveProgram::start(&config, folder.path(), &[]);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..20 {
        socket.send_to(&ess(0x48, 0, n, n, &freia(n, 20)), &program.address).unwrap();
    }
    let (succeeded, stream, _) = program.outcome();
    let alarms = stream["alarms"].to_string();
    assert!(!succeeded, "{alarms}");
    assert!(alarms.contains("type 0x48 FREIA") && alarms.contains("configs/freia.toml"), "{alarms}");
}

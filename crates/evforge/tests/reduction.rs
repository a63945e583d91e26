//! Every shipped configuration, simulated, in a NeXus file that the field's programs reduce without a patch: scippnexus,
//! scippneutron and ess.reduce, through `tests/python`. So are recordings, as far as there are some with events.

mod common;

use common::{evforge, python, text, workspace};
use evforge_testkit::{shared_folder, skip};
use std::path::Path;
use std::process::Command;

/// Configurations of which nothing can be reduced: sampled channels, which have no place, and beam monitors alone, whose places are
/// checked with `amor-ess.toml`, where they stand alongside.
const NOT_REDUCED: [&str; 2] = ["adc-readout", "beam-monitors"];

/// Those whose columns run into the depth of the detector, so that the mask lies across layers and rows.
const DEEP_COLUMNS: [&str; 1] = ["multigrid-cncs"];

const RECORDINGS: [(&str, &str); 3] = [
    ("gdgem-srs", "gdgem/vmm3a_srs.pcapng"),
    ("multigrid", "multigrid/recorded_ws1to4.pkts"),
    ("multiblade", "multiblade/recorded_2018.pkts"),
];

fn reduce(python: &Path, nexus: &str, config: &str, events: &str, option: Option<&str>) {
    let mut command = Command::new(python);
    command
        .arg(workspace().join("tests/python/test_reduction.py"))
        .args([nexus, config, events])
        .args(option);
    let output = command.output().expect("Python starts");
    assert!(output.status.success(), "{config}: {}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn every_configuration_writes_a_file_that_reduces_without_a_patch() {
    let Some(python) = python("every_configuration_writes_a_file_that_reduces_without_a_patch") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let configs = std::fs::read_dir(workspace().join("configs")).expect("the shipped configurations");
    let mut reduced = 0;
    for config in configs.map(|entry| entry.expect("an entry").path()) {
        let Some(name) = config.file_stem().and_then(|name| name.to_str()) else { continue };
        if config.extension().is_none_or(|extension| extension != "toml") || NOT_REDUCED.contains(&name) {
            continue;
        }
        let path = |ending: &str| folder.path().join(format!("{name}.{ending}")).display().to_string();
        let (config, nexus, events) = (config.display().to_string(), path("nxs"), path("csv"));
        let simulate = ["simulate", "--config", &config, "--form", "--pulses", "20"];
        evforge(&[&simulate[..], &["--nexus", &nexus, "--events", &events]].concat());
        let option = DEEP_COLUMNS.contains(&name).then_some("--mask-across-layers");
        reduce(&python, &nexus, &config, &events, option);
        reduced += 1;
    }
    assert!(reduced >= 15, "{reduced} configurations");
}

#[test]
fn recordings_reduce_without_a_patch() {
    let test = "recordings_reduce_without_a_patch";
    let Some(python) = python(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, recording) in RECORDINGS {
        let input = shared_folder().join("captures").join(recording);
        if !input.is_file() {
            skip(test, &format!("{} is not there", input.display()));
            continue;
        }
        let path = |ending: &str| folder.path().join(format!("{name}.{ending}")).display().to_string();
        let config = workspace().join("configs").join(format!("{name}.toml")).display().to_string();
        let (input, nexus, events) = (input.display().to_string(), path("nxs"), path("csv"));
        let run = ["run", "--config", &config, "--input", &input, "--quiet"];
        evforge(&[&run[..], &["--nexus", &nexus, "--events", &events]].concat());
        reduce(&python, &nexus, &config, &events, Some("--no-mask"));
    }
}

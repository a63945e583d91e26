//! Every shipped configuration, simulated, in a NeXus file that the field's programs reduce without a patch: scippnexus,
//! scippneutron and ess.reduce, through `tests/python`. So are recordings, as far as there are some with events.

use crate::common::{evforge, python, text, workspace};
use evforge_testkit::{shared_folder, skip};
use std::path::Path;
use std::process::Command;

/// Configurations of which nothing can be reduced: sampled channels, which have no place, and beam monitors alone, whose places are
/// checked with `amor-ess.toml`, where they stand alongside. Those of ISIS have no places.
const NOT_REDUCED: [&str; 7] =
    ["adc-readout", "beam-monitors", "isis-large", "isis-lvds", "isis-madc", "isis-v2", "isis-wlsf"];

/// Those whose columns run into the depth of the detector, so that the mask lies across layers and rows.
const DEEP_COLUMNS: [&str; 1] = ["multigrid-cncs"];

const RECORDINGS: [(&str, &str); 3] = [
    ("gdgem-srs", "gdgem/vmm3a_srs.pcapng"),
    ("multigrid", "multigrid/recorded_ws1to4.pkts"),
    ("multiblade", "multiblade/recorded_2018.pkts"),
];

/// Files to be reduced by one Python: its packages take seconds to import.
#[derive(Debug, Default)]
struct Files(Vec<[String; 4]>);

impl Files {
    fn add(&mut self, nexus: String, config: String, events: String, option: &str) {
        self.0.push([nexus, config, events, option.to_owned()]);
    }

    fn reduce(&self, python: &Path) {
        let mut command = Command::new(python);
        command.arg(workspace().join("tests/python/test_reduction.py"));
        for file in &self.0 {
            command.args(file.iter().filter(|argument| !argument.is_empty())).arg("--");
        }
        let output = command.output().expect("Python starts");
        let (said, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{said}{error}");
        assert_eq!(said.lines().count(), self.0.len(), "one line for each file: {said}{error}");
    }
}

#[test]
fn every_configuration_writes_a_file_that_reduces_without_a_patch() {
    let Some(python) = python("every_configuration_writes_a_file_that_reduces_without_a_patch") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let configs = std::fs::read_dir(workspace().join("configs")).expect("the shipped configurations");
    let mut files = Files::default();
    for config in configs.map(|entry| entry.expect("an entry").path()) {
        let Some(name) = config.file_stem().and_then(|name| name.to_str()) else { continue };
        if config.extension().is_none_or(|extension| extension != "toml") || NOT_REDUCED.contains(&name) {
            continue;
        }
        let path = |ending: &str| folder.path().join(format!("{name}.{ending}")).display().to_string();
        let (config, nexus, events) = (config.display().to_string(), path("nxs"), path("csv"));
        let simulate = ["simulate", "--config", &config, "--form", "--pulses", "20"];
        evforge(&[&simulate[..], &["--nexus", &nexus, "--events", &events]].concat());
        let option = if DEEP_COLUMNS.contains(&name) { "--mask-across-layers" } else { "" };
        files.add(nexus, config, events, option);
    }
    assert!(files.0.len() >= 15, "{} configurations", files.0.len());
    files.reduce(&python);
}

#[test]
fn recordings_reduce_without_a_patch() {
    let test = "recordings_reduce_without_a_patch";
    let Some(python) = python(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Files::default();
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
        files.add(nexus, config, events, "--no-mask");
    }
    files.reduce(&python);
}

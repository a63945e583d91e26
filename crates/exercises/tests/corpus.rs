//! Every committed input of every target is replayed, and the encoders' part of the corpus is up to date.

use evforge_exercises::{TARGETS, Target, corpus};
use std::collections::HashSet;
use std::path::PathBuf;

/// The committed inputs of a target.
fn committed(target: &Target) -> Vec<PathBuf> {
    let folder = corpus::folder().join(target.name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| {
        panic!("the target {} has no corpus ({}: {error})", target.name, folder.display())
    });
    let files: Vec<_> = entries.map(|entry| entry.expect("a folder that can be listed").path()).collect();
    assert!(!files.is_empty(), "the corpus of the target {} is empty", target.name);
    files
}

/// Replays the corpus of a target; the name of an input that fails stands before the reason.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    for file in committed(target) {
        let bytes = std::fs::read(&file).expect("a file that can be read");
        let outcome = std::panic::catch_unwind(|| (target.exercise)(&bytes));
        assert!(outcome.is_ok(), "{name}: {} breaks the exercise, see above", file.display());
    }
}

#[test]
fn srs_vmm_replays_its_corpus() {
    replay("srs_vmm");
}

#[test]
fn mesytec_replays_its_corpus() {
    replay("mesytec");
}

#[test]
fn cncs_replays_its_corpus() {
    replay("cncs");
}

#[test]
fn drop_replays_its_corpus() {
    replay("drop");
}

#[test]
fn numbered_replays_its_corpus() {
    replay("numbered");
}

#[test]
fn caen_replays_its_corpus() {
    replay("caen");
}

#[test]
fn adc_readout_replays_its_corpus() {
    replay("adc_readout");
}

#[test]
fn adc_readout_stream_replays_its_corpus() {
    replay("adc_readout_stream");
}

#[test]
fn ess_header_vmm3a_replays_its_corpus() {
    replay("ess_header_vmm3a");
}

#[test]
fn ess_beam_monitor_replays_its_corpus() {
    replay("ess_beam_monitor");
}

#[test]
fn ess_stream_replays_its_corpus() {
    replay("ess_stream");
}

#[test]
fn all_settings_of_the_ess_stream_exercise_are_sound() {
    for choice in 0..=255 {
        evforge_exercises::ess_stream::ess_stream(&[choice]);
    }
}

#[test]
fn multiblade_replays_its_corpus() {
    replay("multiblade");
}

#[test]
fn all_settings_of_the_multiblade_exercise_are_sound() {
    for choice in 0..=255 {
        evforge_exercises::multiblade::multiblade(&[choice]);
    }
}

#[test]
fn sonde_replays_its_corpus() {
    replay("sonde");
}

#[test]
fn sonde_stream_replays_its_corpus() {
    replay("sonde_stream");
}

#[test]
fn multigrid_replays_its_corpus() {
    replay("multigrid");
}

#[test]
fn all_settings_of_the_multigrid_exercise_are_sound() {
    for choice in 0..=255 {
        evforge_exercises::multigrid::multigrid(&[choice]);
    }
}

#[test]
fn gdgem_replays_its_corpus() {
    replay("gdgem");
}

#[test]
fn helper_replays_its_corpus() {
    replay("helper");
}

#[test]
fn vmm_files_replays_its_corpus() {
    replay("vmm_files");
}

#[test]
fn capture_replays_its_corpus() {
    replay("capture");
}

#[test]
fn configuration_replays_its_corpus() {
    replay("configuration");
}

#[test]
fn all_settings_of_the_gdgem_exercise_are_sound() {
    for choice in 0..=255 {
        evforge_exercises::gdgem::gdgem(&[choice]);
    }
}

#[test]
fn every_target_is_replayed_and_every_corpus_has_a_target() {
    let names: HashSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let replayed = [
        "srs_vmm",
        "mesytec",
        "cncs",
        "drop",
        "numbered",
        "caen",
        "adc_readout",
        "adc_readout_stream",
        "ess_header_vmm3a",
        "ess_beam_monitor",
        "ess_stream",
        "multiblade",
        "sonde",
        "sonde_stream",
        "multigrid",
        "gdgem",
        "helper",
        "vmm_files",
        "capture",
        "configuration",
    ]
    .map(str::to_owned);
    assert_eq!(names, HashSet::from(replayed));
    let entries = std::fs::read_dir(corpus::folder()).unwrap();
    let folders: HashSet<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, folders);
    for name in names {
        let program = corpus::folder().join(format!("../fuzz_targets/{name}.rs"));
        assert!(program.is_file(), "the fuzz target {} is missing", program.display());
    }
}

#[test]
fn the_committed_corpus_is_what_the_encoders_make_today() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        let names: HashSet<_> = seeds.iter().map(|seed| &seed.name).collect();
        assert_eq!(names.len(), seeds.len(), "{}: two inputs have the same name", target.name);
        for seed in &seeds {
            let file = corpus::folder().join(target.name).join(&seed.name);
            let same = std::fs::read(&file).is_ok_and(|bytes| bytes == seed.bytes);
            let mend = "cargo run -p evforge-exercises --example write_corpus";
            assert!(same, "{} is not what the encoders make today: {mend}", file.display());
        }
    }
}

/// What the encoders do not make was found by fuzzing and says so by its name.
#[test]
fn no_input_is_left_over_from_older_encoders() {
    for target in TARGETS {
        let seeds: HashSet<_> = (target.seeds)().into_iter().map(|seed| seed.name).collect();
        for file in committed(&target) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let known = seeds.contains(name) || name.starts_with("found-");
            assert!(known, "{}: nobody makes it and it is not called found-...", file.display());
        }
    }
}

//! Every committed input of every target is replayed, and the encoders' part of the corpus is up to date.

use evforge_fuzz_harness::adc_readout::adc_readout_stream;
use evforge_fuzz_harness::dictionaries::{self, dictionaries};
use evforge_fuzz_harness::ess_stream::ess_stream;
use evforge_fuzz_harness::found_keys::found_keys;
use evforge_fuzz_harness::gdgem::{gdgem, gdgem_panels};
use evforge_fuzz_harness::multiblade::multiblade;
use evforge_fuzz_harness::multigrid::multigrid;
use evforge_fuzz_harness::sonde::sonde_stream;
use evforge_fuzz_harness::{TARGETS, Target, corpus};
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

/// A test for each target, and the list of all.
macro_rules! replays {
    ($($target:ident)*) => {
        pub(super) const ALL: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                replay(stringify!($target));
            }
        )*
    };
}

mod replays_its_corpus {
    use super::replay;

    replays!(
        srs_vmm mesytec cncs drop train messages numbered caen adc_readout adc_readout_stream ess_header_vmm3a ess_beam_monitor
        ess_r5560 ess_stream multiblade isis sonde sonde_stream multigrid gdgem gdgem_panels helper vmm_files capture configuration
        recognise structure kernel_texts commands later command_port http kafka_events kafka_aggregate writer_modules templates
        small_texts shipped_detectors
    );
}

#[test]
fn all_settings_of_the_exercises_of_streams_are_sound() {
    for choice in 0..=255 {
        ess_stream(&[choice]);
        multiblade(&[choice]);
        multigrid(&[choice]);
        gdgem(&[choice]);
        gdgem_panels(&[choice]);
        sonde_stream(&[choice]);
        adc_readout_stream(&[choice]);
    }
}

#[test]
fn every_target_is_replayed_and_every_corpus_has_a_target() {
    let names: HashSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let replayed = replays_its_corpus::ALL.iter().map(|&name| name.to_owned());
    assert_eq!(names, replayed.collect());
    let entries = std::fs::read_dir(corpus::folder()).unwrap();
    let folders: HashSet<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, folders);
    assert_eq!(programs(), names.iter().cloned().chain(NO_FUZZER.map(str::to_owned)).collect());
    for name in names {
        let program = corpus::folder().join(format!("../fuzz_targets/{name}.rs"));
        assert!(program.is_file(), "the fuzz target {} is missing", program.display());
    }
}

/// What the encoders do not make was found by fuzzing, or is kept, and says so by its name.
#[test]
fn the_committed_corpus_is_what_the_encoders_make_today() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        let names: HashSet<_> = seeds.iter().map(|seed| &seed.name).collect();
        assert_eq!(names.len(), seeds.len(), "{}: two inputs have the same name", target.name);
        for seed in &seeds {
            let file = corpus::folder().join(target.name).join(&seed.name);
            let same = std::fs::read(&file).is_ok_and(|bytes| bytes == seed.bytes);
            let mend = "cargo run -p evforge-fuzz-harness --example write_corpus";
            assert!(same, "{} is not what the encoders make today: {mend}", file.display());
        }
        if seeds.is_empty() {
            continue; // kept by hand
        }
        for file in committed(&target) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let known = names.iter().any(|known| *known == name)
                || name.starts_with("found-")
                || name.starts_with("kept-");
            assert!(
                known,
                "{}: nobody makes it and it is called neither found-... nor kept-...",
                file.display()
            );
        }
    }
}

/// Programs that are no target of libFuzzer.
const NO_FUZZER: [&str; 1] = ["hdf5_files"];

/// The names of the programs that `make fuzz` runs.
fn programs() -> HashSet<String> {
    let entries = std::fs::read_dir(corpus::folder().join("../fuzz_targets")).expect("the fuzz targets");
    let stem = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("a fuzz target").path();
        path.file_stem().expect("its name").to_string_lossy().into_owned()
    };
    entries.map(stem).collect()
}

#[test]
fn the_dictionaries_are_what_is_declared_today() {
    let made = dictionaries();
    let mut files: HashSet<String> = HashSet::new();
    for dictionary in &made {
        let file = dictionaries::folder().join(format!("{}.dict", dictionary.target));
        let same = std::fs::read_to_string(&file).is_ok_and(|text| text == dictionary.text());
        let mend = "cargo run -p evforge-fuzz-harness --example write_corpus";
        assert!(same, "{} is not what is declared today: {mend}", file.display());
        assert!(TARGETS.iter().any(|target| target.name == dictionary.target), "{}", dictionary.target);
        files.insert(format!("{}.dict", dictionary.target));
    }
    let there = std::fs::read_dir(dictionaries::folder()).expect("the dictionaries");
    let there: HashSet<String> =
        there.map(|entry| entry.expect("one of them").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(there, files);
}

/// A name that no section has declared would not be found: `window` is one of all detectors that sort.
#[test]
fn keys_of_tables_in_tables_are_found() {
    let found = found_keys(corpus::configuration::SMALLEST);
    for key in
        ["gdgem", "sorting", "window", "convention", "signed-offset", "packets_per_slab", "command_port"]
    {
        assert!(found.words.contains(key), "{key} is not among {:?}", found.words);
    }
    assert!(found.taken > 40, "only {} keys took a value; refused: {:?}", found.taken, found.refused);
}

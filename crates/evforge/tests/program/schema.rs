//! The JSON Schema of configurations: it is what the program prints, it takes all configurations that the program takes, and it
//! refuses wrong ones at the key that the program names.

use crate::common::{PROGRAM, evforge, python, text, workspace};
use evforge_config::Config;
use evforge_sim::simulation::SimulationSettings;
use std::path::{Path, PathBuf};
use std::process::Command;

fn schema_path() -> PathBuf {
    workspace().join("configs/evforge.schema.json")
}

#[test]
fn the_schema_is_up_to_date_and_named_by_every_shipped_configuration() {
    let printed = evforge(&["run", "--schema"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(schema_path(), &printed.stdout).expect("configs/evforge.schema.json can be written");
    }
    let found = std::fs::read(schema_path()).expect("configs/evforge.schema.json");
    assert!(
        found == printed.stdout,
        "configs/evforge.schema.json is out of date: regenerate it with `make schema`"
    );
    for (folder, schema) in [("configs", "./"), ("configs/reference-2018", "../")] {
        for path in configurations(&workspace().join(folder)) {
            let text = std::fs::read_to_string(&path).expect("a configuration");
            assert!(
                text.starts_with(&format!("#:schema {schema}evforge.schema.json\n")),
                "{}",
                path.display()
            );
        }
    }
}

/// What a validator says of each of these files: the keys that are wrong.
fn refused_by_schema(test: &str, files: &[PathBuf]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new(python(test)?);
    command.arg(workspace().join("tests/python/check_configurations.py")).arg(schema_path()).args(files);
    let output = command.output().expect("Python");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("a list of keys")).collect())
}

fn configurations(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

/// Whether evforge takes all tables of a configuration.
fn is_accepted(path: &Path, text: &str) -> bool {
    Config::parse(path, text, &[]).is_ok_and(|config| {
        let simulation = config.table::<SimulationSettings>("simulation");
        simulation.is_ok() && evforge::shipped_outputs().read(&config.outputs).is_ok()
    })
}

#[test]
fn what_evforge_takes_the_schema_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    let corpus = std::fs::read_dir(workspace().join("fuzz/corpus/configuration")).expect("the corpus");
    let seeds = corpus.map(|entry| entry.expect("an entry").path());
    let shipped = [workspace().join("configs"), workspace().join("configs/reference-2018")];
    for path in shipped.iter().flat_map(|folder| configurations(folder)).chain(seeds) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if path.extension().is_some() || is_accepted(&path, &text) {
            let copy = folder.path().join(format!("{}.toml", files.len()));
            std::fs::write(&copy, text).expect("a copy");
            files.push(copy);
        }
    }
    let name = "what_evforge_takes_the_schema_takes";
    let Some(refused) = refused_by_schema(name, &files) else { return };
    assert!(refused.len() > 50, "{}", refused.len());
    for (file, keys) in files.iter().zip(refused) {
        let text = std::fs::read_to_string(file).expect("a copy");
        assert!(keys.is_empty(), "{keys:?} in {text}");
    }
}

/// A mistake: the configuration, what is replaced in it and by what, and the key that is wrong.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    // Unknown keys and tables.
    ("gdgem-srs", "tac_range =", "tac_rang =", "gdgem.time.tac_rang"),
    ("gdgem-srs", "[gdgem.time]", "[gdgem.tine]", "gdgem.tine"),
    ("gdgem-srs", "name = ", "[inputs]\nthreads = 1\n[run]\ntitle = ", "inputs"),
    ("nmx", "hybrid = 0, ", "hybrd = 0, ", "ess_gdgem.hybrid[4].hybrd"),
    // Values of another type, or with no unit, or out of their range.
    ("gdgem-srs", "nx = 128", "nx = \"128\"", "gdgem.geometry.nx"),
    ("gdgem-srs", "\"22.5ns\"\ntac", "\"22.5\"\ntac", "gdgem.time.bunch_crossing"),
    ("gdgem-srs", "max_held_hits = 262_144", "max_held_hits = 100", "gdgem.sorting.max_held_hits"),
    ("gdgem-srs", "vmm = 0", "vmm = 16", "gdgem.mapping[0].vmm"),
    ("gdgem-srs", "[gdgem.time]", "partition = { regions = 17 }\n[gdgem.time]", "gdgem.partition.regions"),
    ("freia", "name = \"freia\"", "name = \"freia\"\ninput.threads = 3", "input.threads"),
    ("freia", "name = \"freia\"", "name = \"freia\"\nreceive.buffer = \"16 megs\"", "receive.buffer"),
    ("freia", "ring = 0", "ring = 300", "ess_multiblade.cassettes[0].ring"),
    // Words.
    ("gdgem-srs", "readout = \"vmm3a\"", "readout = \"vmm4\"", "gdgem.readout"),
    ("gdgem-srs", "ambiguous = \"drop\"", "ambiguous = \"fall\"", "gdgem.matching.ambiguous"),
    ("freia", "type = \"freia\"", "type = \"fraia\"", "ess.type"),
    ("sonde", "order = \"time\"", "order = \"tine\"", "sonde.order"),
    ("gdgem-srs", "name = ", "log.levels.parse = \"loud\"\nname = ", "log.levels.parse"),
    // What is missing, and what does not go together.
    ("gdgem-srs", "convention = \"signed-offset\"\n", "", "gdgem.time.convention"),
    ("gdgem-srs", "[gdgem]", "[multigrid]\nreadout = \"mesytec\"\ntick = \"raw\"\n[gdgem]", "multigrid"),
    ("gdgem-srs", "name = ", "pulses = { channel = 3, frequency = \"14Hz\" }\nname = ", "pulses.threshold"),
];

/// The line, from 1, in which `line` begins in the text.
fn line_of(text: &str, line: &str) -> usize {
    let before = text.find(line).expect("what was put in");
    text.get(..before).unwrap_or_default().matches('\n').count() + 1
}

#[test]
fn what_the_schema_refuses_evforge_refuses_at_the_same_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = |(name, from, to, _): &Mistake| {
        let text = std::fs::read_to_string(workspace().join(format!("configs/{name}.toml")))
            .expect("a configuration");
        assert!(text.contains(from), "{name}: {from}");
        text.replacen(from, to, 1)
    };
    let texts: Vec<String> = MISTAKES.iter().map(wrong).collect();
    let place = |index: usize| folder.path().join(format!("{index}.toml"));
    let files: Vec<PathBuf> = (0..texts.len()).map(place).collect();
    for (file, text) in files.iter().zip(&texts) {
        std::fs::write(file, text).expect("a wrong configuration");
    }
    let name = "what_the_schema_refuses_evforge_refuses_at_the_same_key";
    let Some(refused) = refused_by_schema(name, &files) else { return };
    for ((mistake, file), (text_, keys)) in MISTAKES.iter().zip(&files).zip(texts.iter().zip(refused)) {
        let (_, _, to, key) = mistake;
        assert!(keys.iter().any(|refused| refused == key), "{mistake:?}: {keys:?}");
        let checked =
            Command::new(PROGRAM).args(["run", "--check", "--config"]).arg(file).output().expect("evforge");
        assert!(!checked.status.success(), "{mistake:?}");
        let said = text(&checked.stderr);
        // The key in words, or the place of it.
        let (_, last) = key.rsplit_once('.').unwrap_or(("", key));
        let is_missing = said.contains(&format!("missing field `{last}`"));
        let is_at = |line: usize| said.contains(&format!("{}:{line}:", file.display()));
        let lines = to.lines().count().max(1);
        let first = if to.is_empty() { 0 } else { line_of(text_, to) };
        let is_placed = (first..first + lines).any(is_at);
        assert!(said.contains(key) || is_missing || is_placed, "{mistake:?}: {said}");
    }
}

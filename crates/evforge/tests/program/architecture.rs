//! `docs/development/architecture.md` says which crate uses which, and draws them in layers: as cargo knows it.

use crate::common::workspace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What a crate uses of ours, but for its tests.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// By the manifests.
fn real() -> Uses {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .expect("cargo starts");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let short = |name: &Value| name.as_str().expect("a name").trim_start_matches("evforge-").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let uses = |package: &Value| {
        let own = list(&package["dependencies"]).into_iter().filter(|dependency| {
            dependency["kind"].is_null()
                && dependency["name"].as_str().is_some_and(|name| name.starts_with("evforge"))
        });
        (short(&package["name"]), own.map(|dependency| short(&dependency["name"])).collect())
    };
    list(&metadata["packages"]).iter().map(uses).collect()
}

fn document() -> String {
    std::fs::read_to_string(workspace().join("docs/development/architecture.md")).expect("the document")
}

/// Crates that are never part of a program, or a program's example.
const NOT_LAYERED: [&str; 5] = ["testkit", "simulated-host", "fuzz-harness", "example-plugin", "json-lines"];

#[test]
fn the_table_of_crates_says_what_each_uses() {
    let (document, real) = (document(), real());
    let mut told = BTreeSet::new();
    let rows = document.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (name, uses) = (cells[0].trim_matches('`'), cells[cells.len() - 1]);
        told.insert(name.replace('/', "-"));
        if uses.starts_with("what ") {
            // The command line, and the harness.
            continue;
        }
        let uses: BTreeSet<String> =
            uses.split(',').map(|name| name.trim().to_owned()).filter(|name| name != "–").collect();
        assert_eq!(Some(&uses), real.get(name), "the row of {name}");
    }
    let examples = ["example-plugin", "json-lines"];
    let missing: Vec<_> =
        real.keys().filter(|name| !told.contains(*name) && !examples.contains(&name.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new(), "crates without a row");
}

#[test]
fn crates_use_only_what_is_drawn_below_them() {
    let (document, real) = (document(), real());
    let drawing =
        document.split("```").find(|block| block.contains("the command line\n")).expect("the drawing");
    let layers = drawing.lines().filter(|line| !line.contains('─'));
    let mut layer_of = BTreeMap::new();
    for (layer, line) in layers.enumerate() {
        // What is in it is said behind more than three blanks.
        let names = line.split_whitespace().take_while(|word| real.contains_key(*word));
        layer_of.extend(names.map(|name| (name.to_owned(), layer)));
    }
    for (name, uses) in real.iter().filter(|(name, _)| !NOT_LAYERED.contains(&name.as_str())) {
        let own = layer_of.get(name).unwrap_or_else(|| panic!("{name} is not drawn"));
        for used in uses.iter().filter(|used| !NOT_LAYERED.contains(&used.as_str())) {
            let below = layer_of.get(used).unwrap_or_else(|| panic!("{used} is not drawn"));
            assert!(below > own, "{name} uses {used}, which is not drawn below it");
        }
    }
}

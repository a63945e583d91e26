//! The figures in README.md: each is where it comes from, so that one that has changed there is changed here.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What README.md says, the file that it is from, and the words there.
const FIGURES: &[(&str, &str, &[&str])] = &[
    ("at least 99.5 %", "scripts/accuracy.sh", &["--min-efficiency 99.5%"]),
    ("less than 0.1 % ghosts", "scripts/accuracy.sh", &["--max-ghosts 0.1%"]),
    ("1.6 to 9 times", "docs/performance.md", &["| 1.6 to 2.1 |", "| 9.1 | 9 |", "2026-11-23"]),
    ("0.5 to 3.6 times", "docs/performance.md", &["| 1/35 | 0.45 |", "| 0.86 | 3.6 |"]),
    ("6.6 times the packets", "docs/performance.md", &["| 1472 | 165 s |", "1096 s; **6.63**"]),
    ("2026-11-25", "docs/measurements/README.md", &["| [rate](rate/report.html) | 2026-11-25 |"]),
    ("at 1472 bytes", "docs/performance.md", &["| 1472 |"]),
    ("on two cores", "docs/performance.md", &["a virtual machine with two cores"]),
    (
        "5.1 bytes per event of NMX",
        "docs/performance.md",
        &["`nmx.toml` at 20 kHz | deflate (default)", "| 5.11 |"],
    ),
    ("below 10 MB", "crates/evforge/tests/program/nexus_size.rs", &["10_000_000"]),
    ("all but the last two seconds", "docs/outputs.md", &["2 s"]),
    (
        "3 packets lost, 3 duplicated and 3 reordered",
        "data/counters/gdgem-srs-faults.csv",
        &["lost,3", "duplicated,3", "reordered,3"],
    ),
];

#[test]
fn every_figure_is_that_of_the_place_where_it_is_made() {
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for (said, path, words) in FIGURES {
        assert!(readme.contains(said), "README.md does not say `{said}`");
        let source = read(path);
        let missing: Vec<_> = words.iter().filter(|words| !source.contains(**words)).collect();
        assert!(missing.is_empty(), "README.md says `{said}`, but {path} has not {missing:?}");
    }
    let tables = read("docs/accuracy.md").matches("<!-- accuracy of ").count() - 1;
    assert!(tables == 17 && readme.contains("[Seventeen detectors against their rate]"), "{tables} tables");
    let configs = std::fs::read_dir(repository().join("configs")).expect("configs/");
    let configs =
        configs.flatten().filter(|entry| entry.path().extension().is_some_and(|ending| ending == "toml"));
    let names: Vec<String> = configs
        .map(|entry| entry.path().file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    assert!(readme.contains(&format!("{} configurations", names.len())), "there are {}", names.len());
    for name in names {
        assert!(readme.contains(&format!("[{name}](configs/{name}.toml)")), "{name} is not in README.md");
    }
}

/// A figure in the reasons that nobody checks is one that will be wrong.
#[test]
fn the_reasons_have_no_other_figures() {
    let readme = read("README.md");
    let (_, why) = readme.split_once("\n## Why\n").expect("the reasons");
    let (why, _) = why.split_once("\n## ").expect("what follows");
    let mut rest = why.split_whitespace().collect::<Vec<_>>().join(" ");
    for (said, ..) in FIGURES {
        rest = rest.replace(said, "");
    }
    // Names, and dates, which say themselves when they were.
    for name in [
        "h5py",
        "unaccounted 0",
        "10 Gb/s",
        "VMM2",
        "(2026-11-22)",
        "(2026-11-23)",
        "2026-11-22",
        "2026-11-21",
        "2018",
    ] {
        rest = rest.replace(name, "");
    }
    let left: Vec<&str> =
        rest.split(' ').filter(|word| word.contains(|letter: char| letter.is_ascii_digit())).collect();
    assert!(left.is_empty(), "figures that no test checks: {left:?}");
}

//! The pictures of the documents: each is in a document, and those that do not depend on time are what the program makes.
//!
//! With EVFORGE_UPDATE=1 they are made again, which `make pictures` does. The plots have their test in
//! `crates/lab/tests/verification/plots.rs`; scripts/pictures.mjs makes those of the page.

use crate::common::{PROGRAM, evforge, workspace};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compares a picture with the one in docs/pictures, or puts it there.
fn compare(name: &str, made: &Path) {
    let committed = workspace().join("docs/pictures").join(name);
    let made = std::fs::read(made).expect("a picture");
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&committed, &made).expect("docs/pictures can be written");
    }
    let there = std::fs::read(&committed).expect("a picture in docs/pictures");
    assert!(there == made, "{} is not what the program makes: run `make pictures`", committed.display());
}

#[test]
fn the_detector_image_is_what_a_run_makes() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.png");
    let neutrons = "simulation.beam.neutrons=50kHz";
    evforge(&[
        "simulate",
        "trex",
        "--pulses",
        "280",
        "--form",
        "--start",
        "fixed",
        "--set",
        neutrons,
        "--image",
        image.to_str().unwrap(),
    ]);
    compare("image.png", &image);
}

#[test]
fn the_histogram_of_words_is_what_a_damaged_transfer_makes() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args([
        "drop",
        "receive",
        "--address",
        "127.0.0.1",
        "--port",
        "0",
        "--idle",
        "1s",
        "--for",
        "60s",
    ]);
    command.arg("--image").arg(folder.path().join("words.png"));
    let mut receiver =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(receiver.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| line.strip_prefix("receiving at UDP ").map(str::to_owned))
        .expect("the program says where it receives");
    // Somebody must go on reading, or the program could stop at a full pipe.
    let reading = std::thread::spawn(move || lines.for_each(std::mem::drop));
    let faults = ["lose:packet=20", "lose:packet=330", "lose:packet=425", "flip:packet=145,bit=65"];
    let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
    let sending = ["drop", "send", "--to", &address, "--bytes", "1100kB", "--rate", "2kpps"];
    evforge(&sending.into_iter().chain(faults).collect::<Vec<_>>());
    assert_eq!(receiver.wait().expect("it ends").code(), Some(1), "faults are failures");
    reading.join().expect("it ends with the program");
    let port = address.rsplit(':').next().expect("a port");
    compare("drop-words.png", &folder.path().join(format!("words-{port}.png")));
}

/// All documents: README.md and those in docs.
fn documents() -> Vec<PathBuf> {
    let mut found = evforge_testkit::documents::documents(&workspace().join("docs"));
    found.push(workspace().join("README.md"));
    found
}

/// The names of the pictures that a text names by `pictures/NAME`.
fn named(text: &str) -> BTreeSet<String> {
    let names = text.split("pictures/").skip(1).map(|behind| {
        let end = behind.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(behind.len());
        behind[..end].trim_end_matches('.').to_owned()
    });
    names.filter(|name| [".svg", ".png", ".csv", ".json"].iter().any(|end| name.ends_with(end))).collect()
}

#[test]
fn pictures_and_documents_belong_together() {
    let texts = documents().into_iter().map(|path| std::fs::read_to_string(path).expect("a document"));
    let named: BTreeSet<String> = texts.flat_map(|text| named(&text)).collect();
    let there = std::fs::read_dir(workspace().join("docs/pictures")).expect("docs/pictures");
    let there: BTreeSet<String> =
        there.map(|entry| entry.expect("a picture").file_name().into_string().expect("a name")).collect();
    let missing: Vec<_> =
        named.difference(&there).filter(|name| !name.starts_with("accuracy-NAME")).collect();
    assert!(missing.is_empty(), "documents name pictures that are not in docs/pictures: {missing:?}");
    // Figures belong to the plot beside them.
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let stems: BTreeSet<String> = named.iter().map(|name| stem(name)).collect();
    let unused: Vec<_> = there
        .difference(&named)
        .filter(|name| !(name.ends_with(".json") || name.ends_with(".csv")) || !stems.contains(&stem(name)))
        .collect();
    assert!(unused.is_empty(), "no document shows these of docs/pictures: {unused:?}");
}

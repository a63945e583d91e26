//! What the tests of outputs have in common.

pub(crate) use crate::common::program::Program;
pub(crate) use crate::common::{PROGRAM, text, wait_until};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

/// The program with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

pub(crate) fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// A configuration that is shipped.
pub(crate) fn config(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    path_text(&path).to_owned()
}

/// A simulated capture of so many pulses.
pub(crate) fn simulated(folder: &Path, name: &str, pulses: &str) -> PathBuf {
    let path = folder.join(name);
    let config = config("gdgem-srs.toml");
    let output = run(&["simulate", "--config", &config, "--pulses", pulses, "--output", path_text(&path)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

/// Sends a capture to an address.
pub(crate) fn replay(capture: &Path, address: &str) {
    let output = run(&["replay", path_text(capture), "--to", address, "--rate", "5kpps"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The first file of a folder whose name begins so.
pub(crate) fn find(folder: &Path, beginning: &str) -> Option<PathBuf> {
    names(folder).into_iter().find(|name| name.starts_with(beginning)).map(|name| folder.join(name))
}

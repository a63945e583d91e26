//! The commands of the program, as its help lists them.

use super::{PROGRAM, text};
use std::process::Command;

/// What a command prints for `-h` or `--help`.
pub(crate) fn help(command: &str, option: &str) -> String {
    let output = Command::new(PROGRAM)
        .args(command.split_whitespace())
        .arg(option)
        // However wide the terminal of whoever tests is.
        .env("COLUMNS", "100")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{command} {option}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The commands in the help of the program, and those of them that have subcommands with these.
pub(crate) fn commands() -> Vec<String> {
    let listed = |help: &str, titles: &dyn Fn(&str) -> bool| -> Vec<String> {
        let mut found = Vec::new();
        let mut is_inside = false;
        for line in help.lines() {
            if !line.starts_with(' ') {
                is_inside = line.ends_with(':') && titles(line.trim_end_matches(':'));
            } else if is_inside && line.starts_with("  ") && !line.starts_with("   ") {
                found.extend(line.split_whitespace().next().map(str::to_owned));
            }
        }
        found
    };
    let names = listed(&help("", "--help"), &|title| !["Options", "Usage", "Exit status"].contains(&title));
    assert!(names.len() >= 18, "{names:?}");
    let inner = |name: String| {
        let inner = listed(&help(&name, "--help"), &|title| title == "Commands");
        let inner: Vec<String> = inner
            .into_iter()
            .filter(|inner| inner != "help")
            .map(|inner| format!("{name} {inner}"))
            .collect();
        if inner.is_empty() { vec![name] } else { inner }
    };
    names.into_iter().flat_map(inner).collect()
}

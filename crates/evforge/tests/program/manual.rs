//! The manual pages: those who format manual pages find nothing to warn of, and readers find the examples.

use crate::common::{PROGRAM, text};
use evforge_testkit::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pages(folder: &Path) -> Vec<PathBuf> {
    let output = Command::new(PROGRAM).arg("man").arg(folder).output().expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let pages = std::fs::read_dir(folder).expect("the pages").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = pages.collect();
    pages.sort();
    assert!(pages.len() >= 22, "{pages:?}");
    assert!(text(&output.stdout).starts_with(&format!("{} manual pages in ", pages.len())));
    pages
}

fn formatted(program: &str, arguments: &[&str], page: &Path) -> Option<Output> {
    Command::new(program)
        .args(arguments)
        .arg(page)
        .env("MANWIDTH", "100")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .ok()
}

#[test]
fn formatters_have_nothing_to_warn_of() {
    let folder = tempfile::tempdir().expect("a folder");
    for page in pages(folder.path()) {
        let Some(output) = formatted("groff", &["-man", "-ww", "-Tutf8"], &page) else {
            return skip("formatters_have_nothing_to_warn_of", "groff is not installed");
        };
        assert_eq!(
            (text(&output.stderr).as_str(), output.status.code()),
            ("", Some(0)),
            "{}",
            page.display()
        );
    }
    // That groff would have said something.
    let broken = folder.path().join("broken.1");
    std::fs::write(&broken, ".TH X 1\n.SH NAME\n.nonsense\n").expect("a page");
    let output = formatted("groff", &["-man", "-ww", "-Tutf8"], &broken).expect("groff");
    assert!(text(&output.stderr).contains("nonsense"), "{}", text(&output.stderr));
}

#[test]
fn a_reader_sees_name_synopsis_examples_options_and_exit_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = pages(folder.path());
    let page = |name: &str| pages.iter().find(|page| page.ends_with(name)).expect("a page of this name");
    let Some(output) = formatted("man", &["--local-file"], page("evforge-drop-send.1")) else {
        return skip("a_reader_sees_name_synopsis_examples_options_and_exit_status", "man is not installed");
    };
    let shown = text(&output.stdout);
    for part in [
        "EVFORGE-DROP-SEND(1)",
        "evforge-drop-send - Send ",
        "evforge drop send [OPTIONS]",
        "evforge drop send --to localhost:9100 --streams 4 --for 60 --report sent.json",
        "--to <HOST:PORT>",
        "EXIT STATUS",
        "the command line is wrong",
        "evforge-drop(1)",
    ] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let all = text(&formatted("man", &["--local-file"], page("evforge.1")).expect("man").stdout);
    assert!(all.contains("evforge-run(1)") && all.contains("evforge-drop(1)"), "{all}");
    assert!(!all.contains("evforge-man(1)"), "a command that is not shown:\n{all}");
}

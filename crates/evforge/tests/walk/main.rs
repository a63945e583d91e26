//! A visitor's walk through the documents: every command is typed as it stands, in a folder that looks like a fresh clone,
//! and what a document says it prints is compared with what it prints.
//!
//! | fence | what it is |
//! |---|---|
//! | `sh` | commands, which must succeed |
//! | `sh fails` | commands, the last of which must fail |
//! | `sh live` | commands in a terminal of their own, which receive packets while those after them run |
//! | `text recorded` | what was printed for a recording that is not part of the repository: not compared |
//! | `text` | what the commands before it have printed; `text live` what those in the other terminal have, at their end |
//!
//! A line `…` stands for lines left out, and `…` within a line for anything. What depends on time and machine is made equal by
//! the rules in `compare`; commands that no test can run are in `exceptions`, with what runs them instead. Sockets are
//! real ones, in a network namespace of the test.

mod blocks;
mod compare;
mod exceptions;
mod grammar;
mod terminal;

use blocks::{Block, Kind, blocks};
use compare::difference;
use exceptions::{EXCEPTIONS, Exception};
use std::path::{Path, PathBuf};
use std::process::Command;
use terminal::Terminal;

/// Set in the process that is in a namespace of its own.
const INSIDE: &str = "EVFORGE_WALK_INSIDE";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// What a block is expected to do.
fn exception(document: &str, block: &Block) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|one| one.document == document && block.text.starts_with(one.begins))
}

/// Walks through a document, and counts the blocks of commands and those of output that were compared.
fn walk(test: &str, document: &str) -> (usize, usize) {
    walk_in(&mut Terminal::in_a_clone(), test, document)
}

/// As [`walk`], in a folder that has what other documents have left.
fn walk_in(terminal: &mut Terminal, test: &str, document: &str) -> (usize, usize) {
    let text = std::fs::read_to_string(workspace().join(document)).expect("a document");
    let (mut commands, mut compared, mut printed) = (0, 0, None);
    for block in blocks(&text) {
        let place = format!("{document}:{}", block.line);
        match block.kind {
            Kind::Commands | Kind::Failing => {
                let excepted = exception(document, &block);
                if let Some(lack) = excepted.and_then(|one| terminal.lacks(one)) {
                    evforge_testkit::skip(&format!("{test} ({place})"), &lack);
                    printed = None;
                    continue;
                }
                let Some(typed) = excepted.map_or(Some(block.text.as_str()), |one| one.instead) else {
                    printed = None;
                    continue;
                };
                let (success, said) = terminal.run(typed);
                assert_eq!(success, block.kind == Kind::Commands, "{place}:\n{typed}\nprinted\n{said}");
                printed = Some(said);
                commands += 1;
            }
            Kind::Live => {
                terminal
                    .start(&block.text)
                    .unwrap_or_else(|said| panic!("{place} receives nothing:\n{said}"));
                commands += 1;
            }
            Kind::Output | Kind::LiveOutput => {
                let found = match block.kind {
                    Kind::LiveOutput => Some(terminal.end()),
                    // That of an excepted block is not compared.
                    _ => printed.clone(),
                };
                if let Some(difference) = found.and_then(|found| difference(&found, &block.text)) {
                    panic!("{place}: {difference}");
                }
                compared += 1;
            }
            Kind::Other => {}
        }
    }
    (commands, compared)
}

/// Runs the rest of `test` in a network namespace of its own, so that no port is taken and nobody else hears. True inside.
fn is_inside(test: &str) -> bool {
    let lay = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if std::env::var_os(INSIDE).is_some() {
        assert!(lay(Command::new("ip").args(["link", "set", "lo", "up"])), "the loopback cannot be set up");
        return true;
    }
    let namespace: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    let Some(namespace) =
        namespace.into_iter().find(|how| lay(Command::new("unshare").args(*how).args(["ip", "link"])))
    else {
        evforge_testkit::skip(
            test,
            "network namespaces need root, or unshare (util-linux) and ip (iproute2)",
        );
        return false;
    };
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("unshare");
    command.args(namespace).arg(program).args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    let output = command.output().expect("unshare starts");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

#[test]
fn the_readme_and_then_the_first_hour_can_be_typed_as_they_stand() {
    let test = "the_readme_and_then_the_first_hour_can_be_typed_as_they_stand";
    if is_inside(test) {
        let mut terminal = Terminal::in_a_clone();
        for (document, least) in [("README.md", (2, 1)), ("docs/first-hour.md", (12, 12))] {
            let (commands, compared) = walk_in(&mut terminal, test, document);
            assert!(
                commands >= least.0 && compared >= least.1,
                "{document}: {commands} commands, {compared} outputs"
            );
        }
    }
    // Whoever has not begun to read by then will not.
    let text = std::fs::read_to_string(workspace().join("README.md")).expect("the README");
    assert!(text.lines().count() <= 90, "README.md has {} lines", text.lines().count());
}

#[test]
fn the_readme_of_the_captures_can_be_typed_as_it_stands() {
    let test = "the_readme_of_the_captures_can_be_typed_as_it_stands";
    if is_inside(test) {
        assert!(walk(test, "data/README.md").0 >= 1);
    }
}

#[test]
fn examples_with_captures_of_the_repository_can_be_typed_as_they_stand() {
    let test = "examples_with_captures_of_the_repository_can_be_typed_as_they_stand";
    if is_inside(test) {
        for document in ["docs/inspect.md", "docs/dumps.md"] {
            let (commands, _) = walk(test, document);
            assert!(commands >= 1, "{document}");
        }
    }
}

#[test]
fn every_exception_is_of_a_command_that_is_there_and_run_elsewhere() {
    for Exception { document, begins, why, covered_by, .. } in EXCEPTIONS {
        let text = std::fs::read_to_string(workspace().join(document)).expect("a document");
        let is_there = |block: &Block| block.kind == Kind::Commands && block.text.starts_with(begins);
        assert!(blocks(&text).iter().any(is_there), "{document} has no commands beginning with {begins:?}");
        assert!(why.len() > 20, "{document}: {begins}: why?");
        let (file, words) = covered_by;
        let text = std::fs::read_to_string(workspace().join(file)).unwrap_or_default();
        assert!(text.contains(words), "{document}: {begins}: {file} has no {words:?}");
    }
}

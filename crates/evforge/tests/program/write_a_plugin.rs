//! `docs/write-a-plugin.md` is typed as it stands: its files are saved, its commands run, and what it says they print is
//! looked for in what they print.

use crate::common::{PROGRAM, text, workspace};
use evforge_testkit::documents::is_as_documented;
use std::path::Path;
use std::process::Command;

/// A block of the document: what stands behind its fence, and its lines.
struct Block {
    kind: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block { kind: kind.to_owned(), text: text.join("\n") + "\n" });
    }
    blocks
}

/// Saves a file under the name in the comment on its first line.
fn save(block: &Block, folder: &Path) {
    let first = block.text.lines().next().unwrap_or_default();
    let name = first.trim_start_matches(['#', '/', '*', ' ']).trim_end_matches(['*', '/', ' ']);
    assert!(!name.is_empty() && !name.contains(' '), "no name of a file in the first line: {first}");
    std::fs::write(folder.join(name), &block.text).expect("a file");
}

/// Runs commands with this program first in the path, and gives back what they print.
fn run(commands: &str, folder: &Path) -> String {
    let program = Path::new(PROGRAM).parent().expect("a folder");
    // The cargo that runs this test, so that no other one is needed.
    let cargo = option_env!("CARGO").and_then(|cargo| Path::new(cargo).parent()).unwrap_or(program);
    let before = std::env::var_os("PATH").unwrap_or_default();
    let folders = [program, cargo].into_iter().map(Path::to_owned).chain(std::env::split_paths(&before));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", commands])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(folders).expect("a path"))
        .env("EVFORGE", workspace().canonicalize().expect("the workspace"))
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("bash starts");
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{commands}\n{printed}");
    printed
}

#[test]
fn the_document_can_be_typed_as_it_stands() {
    let document = std::fs::read_to_string(workspace().join("docs/write-a-plugin.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut printed, mut commands, mut compared) = (String::new(), 0, 0);
    for block in blocks(&document) {
        match block.kind.as_str() {
            // Done by this test in its own way.
            "sh setup" => {}
            "c" | "toml" => save(&block, folder.path()),
            "sh" => {
                printed = run(&block.text, folder.path());
                commands += 1;
            }
            "text" => {
                for documented in block.text.lines() {
                    let found = printed.lines().any(|line| is_as_documented(line, documented));
                    assert!(found, "the document says: {documented}\nbut what is printed is\n{printed}");
                    compared += 1;
                }
            }
            other => panic!("a block of an unknown kind: {other}"),
        }
    }
    assert!(
        commands >= 8 && compared >= 30,
        "{commands} commands, {compared} lines: the document is not read"
    );
}

#[test]
fn a_line_that_differs_is_noticed() {
    for (printed, documented, expected) in [
        ("events 3 (12 k/s)", "events 3 (…/s)", true),
        ("events 4 (12 k/s)", "events 3 (…/s)", false),
        ("events 3 (12 k/h)", "events 3 (…/s)", false),
        ("events 3", "events 3", true),
        ("events 33", "events 3", false),
        ("anything", "…", true),
        ("sent 3 in 5 s: 12/s", "sent 3 in … s: …", true),
    ] {
        assert_eq!(is_as_documented(printed, documented), expected, "{printed} against {documented}");
    }
}

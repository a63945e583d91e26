//! Every command of every document is one that the program knows, with options that it has, spelled as they are now.

use super::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Spellings of before, which the program still takes for one release and documents do not use: of which command, what, and
/// what it is now.
const FORMER: [(&str, &str, &str); 4] = [
    ("", "--picture", "--image"),
    ("bench", "--seconds", "--for"),
    ("score", "--json", "--report"),
    ("accuracy", "--json", "--report"),
];

/// The documents of the repository for users.
fn documents() -> Vec<PathBuf> {
    let others = ["README.md", "CONTRIBUTING.md", "data/README.md"];
    let mut documents = evforge_testkit::documents::documents(&workspace().join("docs"));
    documents.extend(others.map(|name| workspace().join(name)));
    documents.sort();
    documents
}

/// The commands `evforge …` in the blocks of a document, each with the number of its last line.
fn commands(text: &str) -> Vec<(usize, String)> {
    let (mut commands, mut is_block, mut begun) = (Vec::new(), false, String::new());
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_block = !is_block;
            begun.clear();
            continue;
        }
        if !is_block {
            continue;
        }
        if let Some(first) = line.trim_end().strip_suffix('\\') {
            begun.push_str(first);
            continue;
        }
        let whole = std::mem::take(&mut begun) + line;
        if whole.starts_with("evforge ") {
            commands.push((number + 1, whole));
        }
    }
    commands
}

/// What is wrong with a command, if anything is. Its words are those of a shell; what it prints goes nowhere.
fn fault(command: &str) -> Option<String> {
    // `--help` behind all others: they are read before.
    let script = format!("evforge() {{ command evforge \"$@\" --help; }}\n{command}");
    let folder = Path::new(env!("CARGO_BIN_EXE_evforge")).parent().expect("a folder");
    let before = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("PATH", format!("{}:{before}", folder.display()))
        .current_dir(std::env::temp_dir())
        .output()
        .expect("bash starts");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Some(said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it fails").to_owned());
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let former = FORMER.iter().find(|(of, former, _)| {
        (of.is_empty() || words.get(1) == Some(of))
            && words.iter().any(|word| word.split('=').next() == Some(former))
    });
    former.map(|(_, former, now)| format!("{former} is {now} now"))
}

#[test]
fn every_command_of_every_document_is_one_of_the_program() {
    let (mut checked, mut faults) = (0, Vec::new());
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document");
        let name =
            document.strip_prefix(workspace()).expect("a document of the repository").display().to_string();
        for (line, command) in commands(&text) {
            checked += 1;
            faults.extend(fault(&command).map(|fault| format!("{name}:{line}: {command}\n    {fault}")));
        }
    }
    assert!(checked > 60, "only {checked} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_that_the_program_does_not_know_are_noticed() {
    let text = "evforge no\n```sh\nevforge run \\\n    --bogus\n# evforge\nevforge score x # y\n```\n";
    let expected = [(4, "evforge run     --bogus".to_owned()), (6, "evforge score x # y".to_owned())];
    assert_eq!(commands(text), expected);
    assert_eq!(fault("evforge run --config a.toml --for 7200 'b c.pcapng'  # comment").as_deref(), None);
    for wrong in
        ["evforge run --bogus", "evforge fly", "evforge run --for never", "evforge score --json a.json"]
    {
        assert!(fault(wrong).is_some(), "{wrong}");
    }
}

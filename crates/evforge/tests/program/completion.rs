//! What shells make of `evforge completion`, asked of the shells themselves.

use crate::common::{PROGRAM, text};
use evforge_testkit::skip;
use std::path::Path;
use std::process::Command;

/// What is typed, and a word that it is completed to.
const TYPED: [(&str, &str); 7] = [
    ("evforge ru", "run"),
    ("evforge run --ne", "--nexus"),
    ("evforge demo --detector be", "beam-monitors"),
    ("evforge simulate am", "amor-ess"),
    ("evforge drop receive --st", "--streams"),
    ("evforge run --config some-f", "some-file.toml"),
    ("evforge completion zs", "zsh"),
];

/// A folder with the script of `shell`, and something to be completed.
fn folder(shell: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(PROGRAM).args(["completion", shell]).output().expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // zsh looks for a function of this name.
    std::fs::write(folder.path().join("_evforge"), output.stdout).expect("the script");
    std::fs::write(folder.path().join("some-file.toml"), "").expect("a file");
    folder
}

fn run(command: &mut Command, folder: &Path) -> Option<String> {
    let output = command.current_dir(folder).output().ok()?;
    Some(text(&output.stdout) + &text(&output.stderr))
}

/// The words that bash offers, as `complete` has registered the function.
const BASH: &str = r#"
source ./_evforge || exit 1
spec=$(complete -p evforge) || exit 1
[[ $spec == *"-F _evforge "* ]] || { echo "not registered: $spec"; exit 1; }
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
# Only a shell that reads from a terminal may set options of a completion that is under way.
compopt() { :; }
_evforge evforge "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes_commands_options_detectors_and_files() {
    let folder = folder("bash");
    for (typed, wanted) in TYPED {
        let mut bash = Command::new("bash");
        let said = run(bash.args(["--noprofile", "--norc", "-c", BASH, "bash", typed]), folder.path());
        let said = said.expect("bash starts");
        assert!(said.lines().any(|word| word == wanted), "{typed}: expected {wanted}: {said}");
    }
    let mut bash = Command::new("bash");
    let said = run(
        bash.args(["--noprofile", "--norc", "-c", BASH, "bash", "evforge run --nonsense"]),
        folder.path(),
    );
    assert_eq!(said.expect("bash starts").trim(), "", "nothing is offered for what there is not");
}

/// A shell at a terminal of its own, which is typed to.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty -b shell zsh -f -i
sees() {
  local all= piece; local -i tries=0
  while (( tries++ < 200 )); do
    if zpty -r -t shell piece; then all+=$piece; [[ $all == *$1* ]] && return 0; else sleep 0.05; fi
  done
  print -r -- "expected $1, found $all"; return 1
}
zpty -w shell 'PS1=; unsetopt beep; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo it is re""ady'
sees 'it is ready' || exit 1
# Control-U empties the line before.
zpty -w -n shell $'\x15'"$1"$'\t'
sees "$2"
"#;

#[test]
fn zsh_completes_commands_options_detectors_and_files() {
    let test = "zsh_completes_commands_options_detectors_and_files";
    if Command::new("zsh").arg("--version").output().is_err() {
        return skip(test, "zsh is not installed");
    }
    let folder = folder("zsh");
    for (typed, wanted) in TYPED {
        let mut zsh = Command::new("zsh");
        // The line as it is then: what was typed, completed.
        let kept = typed.rsplit_once(' ').map_or("", |(kept, _)| kept);
        let said = run(zsh.args(["-f", "-c", ZSH, "zsh", typed, &format!("{kept} {wanted}")]), folder.path());
        assert_eq!(said.as_deref(), Some(""), "{typed}");
    }
}

#[test]
fn a_shell_that_is_not_known_is_refused_with_those_that_are() {
    let output = Command::new(PROGRAM).args(["completion", "csh"]).output().expect("the program starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("bash") && said.contains("zsh") && said.contains("fish"), "{said}");
}

//! `-`: packets from standard input, data to standard output and nothing else there.

use crate::common::{PROGRAM, text, workspace};
use std::path::Path;
use std::process::{Command, Output};

/// Types a line into a shell in `folder`, with the program as `evforge`.
fn typed(folder: &Path, line: &str) -> Output {
    let program = Path::new(PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.args(["30", "bash", "-o", "pipefail", "-c", line]).current_dir(folder).env("PATH", path);
    command.output().expect("timeout and bash start")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["configs", "data"] {
        let target = workspace().join(name).canonicalize().expect("a folder of the workspace");
        std::os::unix::fs::symlink(target, folder.path().join(name)).expect("a link");
    }
    folder
}

/// The events that the repository has for its capture, by every way that `-` can take.
#[test]
fn packets_and_events_go_through_pipes_unchanged() {
    let folder = folder();
    let expected = std::fs::read(workspace().join("data/events/gdgem-srs.csv")).unwrap();
    let run = "evforge run --config configs/gdgem-srs.toml";
    for line in [
        format!("{run} data/gdgem-srs.pcapng --events -"),
        format!("{run} - --events - < data/gdgem-srs.pcapng"),
        format!("cat data/gdgem-srs.pcapng | {run} - --events - --quiet"),
        format!("cat data/gdgem-srs.pcapng | {run} --input - --events - | cat"),
        format!("EVFORGE_INPUT=none.pcapng {run} data/gdgem-srs.pcapng --events -"),
        format!("EVFORGE_INPUT=data/gdgem-srs.pcapng {run} --events -"),
    ] {
        let output = typed(folder.path(), &line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        assert!(
            output.stdout == expected,
            "{line}: {}",
            text(&output.stdout).lines().take(3).collect::<String>()
        );
        let has_report = text(&output.stderr).contains("unaccounted   0");
        assert!(has_report != line.contains("--quiet"), "{line}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("-").exists(), "a file called -");
}

#[test]
fn what_is_simulated_overlaid_and_reported_goes_to_standard_output_alone() {
    let folder = folder();
    let gem = "configs/gdgem-srs.toml";
    for (line, expected) in [
        (
            format!(
                "evforge simulate gdgem --pulses 2 --start fixed -o - | evforge run -f {gem} - | grep unaccounted"
            ),
            "unaccounted   0\n",
        ),
        ("evforge simulate gdgem --pulses 2 -o - | head -c 4 | xxd -p".to_owned(), "0a0d0d0a\n"),
        (
            format!(
                "evforge overlay -f {gem} data/gdgem-srs.pcapng --copies 2 -o - --truth t.csv | head -c 4 | xxd -p"
            ),
            "0a0d0d0a\n",
        ),
        (format!("evforge run -f {gem} data/gdgem-srs.pcapng --image - | head -c 4 | xxd -p"), "89504e47\n"),
        (format!("evforge run -f {gem} data/gdgem-srs.pcapng --report - | tail -c 2 | xxd -p"), "7d0a\n"),
    ] {
        // A reader that has seen enough closes the pipe: what the writer says to that is no matter here.
        let output = typed(folder.path(), &format!("set +o pipefail; {line}"));
        assert_eq!(text(&output.stdout), expected, "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn two_outputs_do_not_share_standard_output_and_a_full_one_is_reported() {
    let folder = folder();
    let twice = "evforge run -f configs/gdgem-srs.toml data/gdgem-srs.pcapng --events - --report -";
    let output = typed(folder.path(), twice);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(text(&output.stderr).contains("--events writes, too"), "{}", text(&output.stderr));
    for line in [
        "evforge simulate gdgem --pulses 2 -o - > /dev/full",
        "evforge run -f configs/gdgem-srs.toml data/gdgem-srs.pcapng --events - > /dev/full",
    ] {
        let output = typed(folder.path(), line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("standard output") && said.contains("No space left"), "{line}: {said}");
    }
}

//! Whatever a path leads to, reading it ends in bounded memory, and says what is wrong.

use crate::common::workspace;
use crate::watched::{Ended, Watched};
use std::path::Path;
use std::process::Command;

/// More than any of these commands needs, and less than what such a file would take.
const MUCH: u64 = 400 << 20;

fn ended(arguments: &[&str]) -> Ended {
    let ended = Watched::start(arguments).end();
    assert!(ended.most < MUCH, "{arguments:?}: {} bytes: {}", ended.most, ended.said);
    assert!(!ended.said.contains("panicked"), "{arguments:?}: {}", ended.said);
    ended
}

/// Commands that read a file whole, with it at the end.
fn commands(good: &str) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    [
        "run --check --config",
        "serve",
        "view --until-end --for 1 --view 127.0.0.1:0 --views",
        "ctl state --token-file",
        "write --all --output none.nxs --config",
        "accuracy --rates 1kHz --neutrons 10 -f",
        "measure compare",
        "measure placement --topology",
        "score --config GOOD --events GOOD --truth",
        "kafka topics --brokers 127.0.0.1:1 --kafka-config",
        "kafka topics --brokers 127.0.0.1:1 --option sasl.username=x --password-file",
    ]
    .into_iter()
    .map(|command| words(&command.replace("GOOD", good)))
    .collect()
}

#[test]
fn a_file_without_end_or_of_any_size_is_refused_with_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = workspace().join("configs/gdgem-srs.toml");
    let good = good.to_str().expect("text");
    let large = folder.path().join("large");
    std::fs::File::create(&large).expect("a file").set_len(10 << 30).expect("a sparse file");
    let large = large.to_str().expect("text");
    let mut refused = 0;
    for (path, found) in [("/dev/zero", "has more"), (large, "has 10737418240 bytes")] {
        for mut command in commands(good) {
            command.push(path.to_owned());
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            let ended = ended(&arguments);
            assert_ne!(ended.code, 0, "{command:?}");
            refused += usize::from(
                ended.said.contains(found) && ended.said.contains("bytes are read of such a file"),
            );
        }
        let views = format!("outputs.view.views={path:?}");
        let authorities = format!("ssl.ca.location={path}");
        let view = ["--view", "127.0.0.1:0", "--set", &views];
        for command in [
            &[&["run", "--check", "--config", good][..], &view].concat()[..],
            &["kafka", "topics", "--brokers", "127.0.0.1:1", "--option", &authorities],
        ] {
            let ended = ended(command);
            assert_ne!(ended.code, 0, "{command:?}");
            assert!(ended.said.contains(found), "{command:?}: {}", ended.said);
        }
        // What is read in pieces.
        for command in [
            &["inspect", path][..],
            &["run", "--config", good, path],
            &["view", "--until-end", "--view", "127.0.0.1:0", path],
        ] {
            let ended = ended(command);
            assert!(![0, 101].contains(&ended.code), "{command:?}: {}", ended.said);
        }
    }
    assert!(refused >= 8, "only {refused} were refused for their size");
}

#[test]
fn a_folder_and_a_pipe_that_nobody_writes_into_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let said = |path: &Path| {
        let ended = ended(&["run", "--check", "--config", path.to_str().expect("text")]);
        assert_eq!(ended.code, 1);
        ended.said
    };
    assert!(said(folder.path()).contains("it is a folder"));
    let silent = said(&pipe);
    assert!(silent.contains("nobody has written into this pipe for 10 s"), "{silent}");
    // What a shell makes of <(…) is read.
    let good = workspace().join("configs/sonde.toml");
    let script = format!("{} run --check --config <(cat {})", crate::common::PROGRAM, good.display());
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash");
    assert!(output.status.success(), "{}", crate::common::text(&output.stderr));
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let good = workspace().join("configs/gdgem-srs.toml");
    let good = good.to_str().expect("text");
    let deep = format!("gdgem.sorting={}1{}", "[".repeat(60_000), "]".repeat(60_000));
    let ended_by = |arguments: &[&str]| {
        let ended = ended(arguments);
        assert!(![0, 101].contains(&ended.code), "{}", ended.code);
    };
    ended_by(&["run", "--check", "--config", good, "--set", &deep]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("deep");
    for text in [format!("a = {}", "[".repeat(1 << 20)), "{\"a\":".repeat(1 << 18), "[".repeat(1 << 20)] {
        std::fs::write(&file, text).expect("a file");
        let path = file.to_str().expect("text");
        ended_by(&["run", "--check", "--config", path]);
        ended_by(&["measure", "compare", path, path]);
        ended_by(&["write", "--output", "none.nxs", path]);
    }
}

//! An output that is an input, or another output, is refused before anything is opened.

use crate::outputs::program::{config, names, path_text, run, simulated, text};
use std::fs;
use std::path::Path;

/// Everything in a folder.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    names(folder)
        .into_iter()
        .map(|name| (name.clone(), fs::read(folder.join(name)).unwrap_or_default()))
        .collect()
}

#[test]
fn a_capture_is_never_overwritten_by_what_is_made_of_it_however_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let input = simulated(folder.path(), "run.pkts", "1");
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("sub")).unwrap();
    fs::hard_link(&input, path("second.pkts")).unwrap();
    std::os::unix::fs::symlink("run.pkts", path("link.pkts")).unwrap();
    let before = content(folder.path());
    let config = config("gdgem-srs.toml");
    for option in ["--events", "--nexus", "--report", "--image", "--monitor"] {
        for name in ["run.pkts", "sub/../run.pkts", "second.pkts", "link.pkts"] {
            let output = path(name);
            let arguments =
                ["run", "--config", &config, "--input", path_text(&input), option, path_text(&output)];
            let output = run(&[&arguments[..], &["--if-exists", "overwrite"]].concat());
            let error = text(&output.stderr);
            assert!(
                !output.status.success() && error.contains("would replace it"),
                "{option} {name}: {error}"
            );
            assert!(error.contains(option) && error.contains("INPUT"), "{error}");
            assert!(content(folder.path()) == before, "{option} {name}: something has changed");
        }
    }
}

#[test]
fn every_command_refuses_outputs_that_are_its_inputs_or_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let input = simulated(folder.path(), "run.pkts", "1");
    let input = path_text(&input);
    let path = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let shipped = config("gdgem-srs.toml");
    let (config, new, json, csv) = (path("config.toml"), path("./new"), path("sent.json"), path("some.csv"));
    let (again, document) = (path("new"), path("document.md"));
    fs::copy(shipped, &config).unwrap();
    fs::write(&json, "{}").unwrap();
    fs::write(&csv, "some lines\n").unwrap();
    fs::write(&document, "<!-- accuracy of gdgem -->\n<!-- end -->\n").unwrap();
    let before = content(folder.path());
    for arguments in [
        &["run", "--config", &config, "--input", input, "--events", &config][..],
        &["run", "--config", &config, "--input", input, "--events", &new, "--report", &again],
        &["run", "--config", &config, "--port", "0", "--nexus", &new, "--record", &again],
        &["dump", "--config", &config, "--input", input, "--output", input],
        &["overlay", "--config", &config, "--input", input, "--output", input, "--truth", &new],
        &["overlay", "--config", &config, "--input", input, "--output", &new, "--truth", &again],
        &["score", "--config", &config, "--truth", &csv, "--events", &csv, "--json", &csv],
        &["accuracy", "--config", &config, "--json", &new, "--plot", &again],
        &["accuracy", "--config", &config, "--document", &document, "--json", &document],
        &["simulate", "--config", &config, "--output", &config],
        &["simulate", "--config", &config, "--output", &new, "--truth", &again],
        &["simulate", "--config", &config, "--form", "--events", &new, "--fault-log", &again],
        &["replay", input, "--report", input],
        &["record", "--port", "0", "--for", "10ms", "--output", &new, "--report", &again],
        &["receive", "--port", "0", "--for", "10ms", "--sent", &json, "--report", &json],
        &["drop", "receive", "--port", "0", "--for", "10ms", "--sent", &json, "--report", &json],
        &[
            "drop",
            "receive",
            "--port",
            "9137",
            "--for",
            "10ms",
            "--picture",
            &path("w.png"),
            "--report",
            &path("w-9137.png"),
        ],
    ] {
        let output = run(arguments);
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}: {error}");
        assert!(error.contains("choose another name"), "{arguments:?}: {error}");
        assert!(content(folder.path()) == before, "{arguments:?}: something has changed");
    }
}

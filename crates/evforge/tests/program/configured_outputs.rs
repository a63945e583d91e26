//! Outputs in the configuration: several of a kind, all of them in the report, and the command line as a short form.

use crate::common::{PROGRAM, evforge, text, workspace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shipped configuration with further tables, and a capture for it.
fn prepared(folder: &Path, tables: &str) -> (PathBuf, PathBuf) {
    let shipped = workspace().join("configs/gdgem-srs.toml");
    let (config, capture) = (folder.join("mine.toml"), folder.join("run.pcapng"));
    let base = std::fs::read_to_string(&shipped).expect("a shipped configuration");
    std::fs::write(&config, format!("{base}\n{tables}")).expect("a configuration");
    let shipped = shipped.display().to_string();
    evforge(&["simulate", "--config", &shipped, "--pulses", "5", "--output", &capture.display().to_string()]);
    (config, capture)
}

/// Runs the program in a folder, in which the files of its outputs are.
fn run_in(folder: &Path, arguments: &[&str]) -> std::process::Output {
    Command::new(PROGRAM).args(arguments).current_dir(folder).output().expect("the program starts")
}

#[test]
fn several_of_a_kind_have_the_same_events_and_the_command_line_wins() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tables = "[outputs.csv]\nfile = \"by-file.csv\"\n\n\
                  [outputs.copy]\nkind = \"csv\"\nfile = \"copy.csv\"\nwhen_full = \"wait\"\nqueue_events = 20_000\n\n\
                  [outputs.nexus]\nfile = \"run.nxs\"\nif_exists = \"number\"\ncompression = \"lzf\"\n\n\
                  [outputs.image]\nfile = \"image.png\"\n\n\
                  [outputs.report]\nfile = \"report.json\"\n\n\
                  [outputs.monitor]\nfile = \"monitor.json\"\n";
    let (config, capture) = prepared(folder, tables);
    let arguments =
        ["run", "--quiet", "--config", config.to_str().unwrap(), "--input", capture.to_str().unwrap()];
    let arguments = [&arguments[..], &["--events", "by-option.csv"]].concat();
    let output = run_in(folder, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // A file that exists is refused before anything begins, with the two ways to replace it.
    std::fs::write(folder.join("copy.csv"), "of somebody").unwrap();
    let output = run_in(folder, &arguments);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("[outputs.copy] copy.csv exists"), "{said}");
    assert!(
        said.contains("--overwrite") && said.contains("outputs.copy.if_exists = \"overwrite\""),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(folder.join("copy.csv")).unwrap(), "of somebody");
    assert!(!folder.join("run-1.nxs").exists(), "nothing has begun");
    // With a rule of its own the NeXus file is numbered; all others are replaced.
    let again = [&arguments[..], &["--overwrite", "--if-exists", "number"]].concat();
    let output = run_in(folder, &again);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read =
        |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let events = read("by-option.csv");
    assert!(events == read("copy.csv") && events.len() > 10_000);
    assert!(!folder.join("by-file.csv").exists(), "the option wins over the file");
    for name in ["run.nxs", "run-1.nxs", "image.png", "monitor.json"] {
        assert!(!read(name).is_empty(), "{name}");
    }
    let report: Value = serde_json::from_slice(&read("report.json")).unwrap();
    let ids: Vec<_> =
        report["outputs"].as_array().unwrap().iter().map(|output| output["id"].clone()).collect();
    assert_eq!(ids, ["copy", "csv", "image", "nexus"]);
    for output in report["outputs"].as_array().unwrap() {
        assert_eq!(output["events"]["committed"], report["streams"][0]["events"], "{output:#}");
        assert_eq!(output["unaccounted"], 0);
    }
    let check = run_in(folder, &["run", "--config", config.to_str().unwrap(), "--check"]);
    let check = text(&check.stdout);
    for line in [
        "csv: events in by-file.csv; up to 2097152 events (36.0 MB) may wait, then drop_newest",
        "copy: events in copy.csv; up to 20000 events (36.0 MB) may wait, then wait",
        "nexus: NeXus file run.nxs;",
        "image: image image.png;",
    ] {
        assert!(check.contains(line), "{line} is not in {check}");
    }
}

#[test]
fn what_is_wrong_with_an_output_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (tables, words) in [
        (
            "[outputs.csv]\nfil = \"a.csv\"\n",
            &["mine.toml:", "outputs.csv.fil", "expected one of `file`"][..],
        ),
        ("[outputs.copy]\nfile = \"a.csv\"\n", &["outputs.copy", "no kind of output `copy`", "`nexus`"]),
        ("[outputs.csv]\nfile = \"a.csv\"\nwhen_full = \"explode\"\n", &["outputs.csv", "drop_oldest"]),
        ("[outputs.report]\nfile = 3\n", &["outputs.report.file", "the name of the file"]),
        ("[outputs.report]\npath = \"a\"\n", &["outputs.report.path", "expected `file`"]),
        ("[outputs.samples]\nfile = \"a\"\n", &["[outputs.samples] needs averaged waveforms"]),
        (
            "[outputs.csv]\nfile = \"a.csv\"\n[outputs.copy]\nkind = \"csv\"\nfile = \"./a.csv\"\n",
            &["[outputs.copy]", "[outputs.csv]", "choose another name"],
        ),
        ("[outputs.csv]\nfile = \"none/a.csv\"\n", &["none/a.csv", "does the folder exist"]),
        (
            "[outputs.view]\naddress = \"127.0.0.1:0\"\nviews = \"unknown.toml\"\n",
            &["mine.toml:", "unknown.toml, line 4: ", "unknown field `picture`", "`pictures`"],
        ),
        (
            "[outputs.view]\naddress = \"127.0.0.1:0\"\nviews = \"gone.toml\"\n",
            &["gone.toml, line 4: view \"a\": pictures: there is none called \"xz\"", "xy, x-tof, y-tof"],
        ),
    ] {
        // Views lie beside the configuration, wherever the program is started.
        let view = "[[view]]\nname = \"a\"\nhint = \"b\"\n";
        std::fs::write(folder.join("unknown.toml"), format!("{view}picture = [\"xy\"]\n")).unwrap();
        std::fs::write(folder.join("gone.toml"), format!("{view}pictures = [\"xz\"]\n")).unwrap();
        let (config, capture) = prepared(folder, tables);
        let elsewhere = folder.join("elsewhere");
        std::fs::create_dir_all(&elsewhere).unwrap();
        let output = run_in(
            if tables.contains("views") { &elsewhere } else { folder },
            &["run", "--config", config.to_str().unwrap(), "--input", capture.to_str().unwrap()],
        );
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{tables}");
        for word in words {
            assert!(error.contains(word), "{tables}: {word} is not in {error}");
        }
    }
}

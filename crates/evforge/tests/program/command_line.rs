//! The program as a user meets it: what it prints, writes and returns, also when something is wrong.

use evforge_testkit::{shared_folder, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn evforge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evforge")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn config(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    path.to_str().expect("a path that is text").to_owned()
}

fn capture(test: &str) -> Option<String> {
    let path = shared_folder().join("captures/gdgem/vmm3a_srs.pcapng");
    if !path.is_file() {
        skip(test, &format!("{} is not there", path.display()));
        return None;
    }
    path.to_str().map(str::to_owned)
}

/// A simulated capture of a few pulses.
fn simulated(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let output = evforge(&[
        "simulate",
        "--config",
        &config("gdgem-srs.toml"),
        "--pulses",
        "3",
        "--output",
        path.to_str().expect("a path that is text"),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).expect("the file is there").lines().map(str::to_owned).collect()
}

/// The counts of the reference with its own settings: of Multi-Blade only the clusters with both planes.
#[test]
fn with_the_settings_of_2018_the_counts_are_those_of_the_reference() {
    let test = "with_the_settings_of_2018_the_counts_are_those_of_the_reference";
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    for (configuration, strategy, capture, events) in [
        ("sonde", None, "sonde/generated_255", 65_280),
        ("multigrid", Some("maximum"), "multigrid/recorded_ws1to4", 28),
        ("multigrid", Some("center-mass"), "multigrid/recorded_ws1to4", 28),
        ("multigrid", Some("prioritized"), "multigrid/recorded_ws1to4", 28),
        ("multigrid", Some("maximum"), "multigrid/generated_jumbo", 55_067),
        ("multigrid", Some("center-mass"), "multigrid/generated_jumbo", 55_067),
        ("multigrid", Some("prioritized"), "multigrid/generated_jumbo", 55_067),
        ("multiblade", None, "multiblade/recorded_2018", 4_181),
    ] {
        let input = shared_folder().join(format!("captures/{capture}.pkts"));
        if !input.is_file() {
            return skip(test, &format!("{} is not there", input.display()));
        }
        let config = config(&format!("reference-2018/{configuration}.toml"));
        let mut arguments =
            vec!["run", "--overwrite", "--config", &config, "--input", input.to_str().unwrap()];
        arguments.extend(["--report", report.to_str().unwrap()]);
        let strategy = strategy.map(|name| format!("detector.strategy={name}"));
        if let Some(strategy) = &strategy {
            arguments.extend(["--set", strategy]);
        }
        let output = evforge(&arguments);
        assert!(output.status.success(), "{capture}: {}", text(&output.stderr));
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        let stream = &json["streams"][0];
        assert_eq!(stream["events"], events, "{capture} {strategy:?}");
        assert_eq!(stream["unaccounted"], 0, "{capture} {strategy:?}");
    }
}

/// In a recording of 2018 a third of all readouts come from one noisy channel that nothing masked.
#[test]
fn the_hot_channel_of_a_recording_is_named_masked_and_counted() {
    let test = "the_hot_channel_of_a_recording_is_named_masked_and_counted";
    let capture = shared_folder().join("captures/multiblade/recorded_2018.pkts");
    if !capture.is_file() {
        return skip(test, &format!("{} is not there", capture.display()));
    }
    let capture = capture.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let config = config("multiblade.toml");
    let output = evforge(&["masks", "--config", &config, "--input", capture]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let proposals = text(&output.stdout);
    let first = proposals.lines().next().unwrap();
    assert!(
        first.starts_with("# hot   digitizer 143, channel 47: 39364 of 116887 readouts (33.7 %)"),
        "{proposals}"
    );

    let mask = "multiblade.mask=[{ digitizer = 143, channels = [47], reason = \"hot\" }]";
    let (report, monitor) = (file("report.json"), file("monitor.json"));
    let run = ["run", "--config", &config, "--input", capture, "--set", mask, "--report", &report];
    let output = evforge(&[&run[..], &["--monitor", &monitor]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("39 364 readouts: digitizer 143, channel 47 (hot)"));
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
    };
    let stream = json(&report)["streams"][0].clone();
    assert_eq!(stream["masked"][0]["channel"], "digitizer 143, channel 47");
    assert_eq!(stream["masked"][0]["readouts"], 39_364);
    assert_eq!((&stream["hits"], &stream["unaccounted"]), (&(116_887 - 39_364).into(), &0.into()));
    // The monitor sees what the electronics send, masked or not.
    let channels = json(&monitor)["channels"].clone();
    let hot =
        channels.as_array().unwrap().iter().find(|channel| channel["name"] == "digitizer 143, channel 47");
    assert_eq!(hot.unwrap()["readouts"], 39_364);
}

#[test]
fn the_recorded_capture_is_reported_as_it_is() {
    let Some(capture) = capture("the_recorded_capture_is_reported_as_it_is") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let output = evforge(&[
        "run",
        "--config",
        &config("gdgem-srs.toml"),
        "--input",
        &capture,
        "--events",
        &file("events.csv"),
        "--report",
        &file("report.json"),
        "--image",
        &file("image.png"),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let terminal = text(&output.stdout);
    for expected in [
        "sent 102, received 100, lost 2",
        "(missing: 11888191; location: input)",
        "(missing: 11867958; location: input)",
        "readouts      149 180",
        "28 009 readouts: no marker",
        "unaccounted   0",
    ] {
        assert!(terminal.contains(expected), "{expected} is not in\n{terminal}");
    }
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file("report.json")).unwrap()).unwrap();
    let stream = &report["streams"][0];
    for (pointer, expected) in [
        ("/readouts", 149_180),
        ("/markers", 20),
        ("/hits", 121_171),
        ("/events", 9_094),
        ("/held", 0),
        ("/unaccounted", 0),
        ("/discarded/no_marker", 28_009),
        ("/packets/sent", 102),
        ("/packets/received", 100),
        ("/packets/lost", 2),
        ("/packets/reordered", 0),
        ("/packets/duplicated", 0),
        ("/packets/unlocated", 0),
        ("/packets/places/input", 2),
        ("/sources/0/packets/lost", 1),
        ("/sources/0/gaps/0/first", 11_888_191),
        ("/sources/1/gaps/0/first", 11_867_958),
    ] {
        let found = stream.pointer(pointer).and_then(serde_json::Value::as_u64);
        assert_eq!(found, Some(expected), "{pointer}");
    }
    let events = lines(Path::new(&file("events.csv")));
    assert_eq!((events.len(), events[0].as_str()), (9_095, "time_ns,pixel_id"));
    assert!(std::fs::read(file("image.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn a_simulated_capture_is_formed_to_its_truth_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["simulated.pcapng", "simulated.pkts"] {
        let path = folder.path().join(name);
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let output = evforge(&[
            "simulate",
            "--config",
            &config("gdgem-srs.toml"),
            "--pulses",
            "4",
            "--neutrons",
            "2000",
            "--noise",
            "0",
            "--output",
            path.to_str().unwrap(),
            "--truth",
            &file("truth.csv"),
            "--overwrite",
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let output = evforge(&[
            "run",
            "--overwrite",
            "--quiet",
            "--config",
            &config("gdgem-srs.toml"),
            "--input",
            path.to_str().unwrap(),
            "--events",
            &file("events.csv"),
        ]);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
        let score = ["--truth", &file("truth.csv"), "--events", &file("events.csv")];
        // A track ends within some strips of where it began.
        let demands = ["--distance", "20", "--min-efficiency", "99%", "--max-ghosts", "1%"];
        let config = config("gdgem-srs.toml");
        let score = [&["score", "--config", &config], &score[..], &demands].concat();
        let output = evforge(&score);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}

#[test]
fn a_truncated_capture_gives_what_it_has_under_a_name_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "whole.pcapng");
    let bytes = std::fs::read(&path).unwrap();
    let cut = folder.path().join("cut.pcapng");
    std::fs::write(&cut, &bytes[..bytes.len() - 1000]).unwrap();
    let events = folder.path().join("events.csv");
    let report = folder.path().join("report.json");
    let output = evforge(&[
        "run",
        "--config",
        &config("gdgem-srs.toml"),
        "--input",
        cut.to_str().unwrap(),
        "--events",
        events.to_str().unwrap(),
        "--report",
        report.to_str().unwrap(),
    ]);
    assert!(!output.status.success());
    let terminal = text(&output.stdout);
    assert!(terminal.contains("INPUT FAILED") && terminal.contains("truncated"), "{terminal}");
    assert!(!events.exists(), "what is not whole must not look whole");
    assert!(folder.path().join("events.csv.partial").is_file());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["ending"], "input failed");
    assert_eq!(report["streams"][0]["unaccounted"], 0);
}

#[test]
fn errors_say_what_where_and_how_to_mend_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "simulated.pkts");
    let path = path.to_str().unwrap();
    let config_path = config("gdgem-srs.toml");
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, std::fs::read_to_string(&config_path).unwrap().replace("500us", "500")).unwrap();
    let bad = bad.to_str().unwrap();
    let nowhere = folder.path().join("no-such-folder/events.csv");
    let nowhere = nowhere.to_str().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (arguments, expected) in [
        (vec!["run", "--config", bad, "--input", path], vec!["bad.toml:", "found `500`", "22.5ns"]),
        (vec!["run", "--config", "none.toml", "--input", path], vec!["none.toml", "configs/"]),
        (vec!["run", "--config", &config_path, "--input", "none.pcapng"], vec!["none.pcapng"]),
        (
            vec!["run", "--config", &config_path, "--input", folder],
            vec!["is a directory", "Name a file in it"],
        ),
        (
            vec!["run", "--config", &config_path, "--input", path, "--events", nowhere],
            vec!["no-such-folder", "does the folder exist"],
        ),
        (
            vec!["run", "--config", &config_path, "--input", path, "--set", "gdgem.sortin.window=1ms"],
            vec!["sortin", "--set"],
        ),
        (
            vec!["run", "--config", &config_path, "--input", path, "--set", "input.threads=3"],
            vec!["input.threads", "must be 1 or 2"],
        ),
    ] {
        let output = evforge(&arguments);
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        for part in expected {
            assert!(error.contains(part), "{arguments:?}: {part} is not in\n{error}");
        }
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn check_prints_the_memory_bound() {
    let output = evforge(&["run", "--check", "--config", &config("gdgem-srs.toml")]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("memory bound"), "{}", text(&output.stdout));
}

#[test]
fn check_says_up_to_which_rate_the_time_order_has_room() {
    let expected = [
        (
            "freia",
            "196 608 hits per cassette: enough for 197 M hits/s in it while all sources send (window of 1ms)",
        ),
        ("freia", "and for 393 k hits/s while a silent one is waited for (source_lag of 500ms)"),
        ("sonde", "1 048 576 hits per detector: enough for 2.10 G hits/s"),
        ("gdgem-srs", "262 144 hits per plane"),
    ];
    for (name, line) in expected {
        let output = evforge(&["run", "--check", "--config", &config(&format!("{name}.toml"))]);
        assert!(text(&output.stdout).contains(line), "{name}: {}", text(&output.stdout));
    }
    for (hits, line) in [
        ("150", "highest_rate of 150 M hits/s: 150 000 wait while all sources send, enough;"),
        ("200", "200 000 wait while all sources send, NOT ENOUGH: set max_held_hits to 250 000 or more;"),
    ] {
        let rate = format!("ess.sorting.highest_rate={hits}MHz");
        let output = evforge(&["run", "--check", "--config", &config("freia.toml"), "--set", &rate]);
        assert!(text(&output.stdout).contains(line), "{}", text(&output.stdout));
    }
    // As they come: nothing waits.
    let arrival = ["run", "--check", "--config", &config("sonde.toml"), "--set", "sonde.order=\"arrival\""];
    assert!(!text(&evforge(&arrival).stdout).contains("time order"));
}

#[test]
fn inspect_counts_and_prints() {
    let folder = tempfile::tempdir().unwrap();
    let path = simulated(folder.path(), "simulated.pcapng");
    let output = evforge(&["inspect", path.to_str().unwrap()]);
    let summary = text(&output.stdout);
    assert!(output.status.success() && summary.contains("FEC 2 chip 1"), "{summary}");
    let output = evforge(&["inspect", path.to_str().unwrap(), "--readouts", "--limit", "1"]);
    assert!(text(&output.stdout).contains("over threshold"));
    let output = evforge(&["inspect", path.to_str().unwrap(), "--packets", "--limit", "2"]);
    assert_eq!(text(&output.stdout).matches("\npacket 2: ").count(), 1, "{}", text(&output.stdout));
}

#[test]
fn signals_stop_a_run_in_good_order() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let packets = std::fs::read(simulated(folder.path(), "simulated.pkts")).unwrap();
    for signal in ["INT", "TERM"] {
        let pipe = folder.path().join(format!("{signal}.pkts"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let events = folder.path().join(format!("{signal}.csv"));
        let mut program = Command::new(env!("CARGO_BIN_EXE_evforge"))
            .args(["run", "--config", &config("gdgem-srs.toml"), "--input", pipe.to_str().unwrap()])
            .args(["--events", events.to_str().unwrap()])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        let mut rounds = 0;
        // Feeds it until it stops reading; the signal comes after the first round.
        while input.write_all(&packets).is_ok() && rounds < 5000 {
            if rounds == 0 {
                let id = program.id().to_string();
                assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            }
            rounds += 1;
        }
        drop(input);
        let mut terminal = String::new();
        std::io::Read::read_to_string(program.stdout.as_mut().unwrap(), &mut terminal).unwrap();
        assert!(program.wait().unwrap().success(), "{terminal}");
        assert!(terminal.contains("stopped on request") && events.is_file(), "{terminal}");
        assert!(terminal.contains("unaccounted   0"), "{terminal}");
    }
}

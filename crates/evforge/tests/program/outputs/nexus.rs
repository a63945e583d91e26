//! A NeXus file and a CSV file of a live run: held by one run, and missed when somebody removes them.

use crate::outputs::program::{
    Program, command, config, find, names, path_text, replay, run, simulated, text, wait_until,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A live run that goes on until it is told to end, with these outputs.
fn live(outputs: &[&str]) -> Program {
    let config = config("gdgem-srs.toml");
    let arguments = ["run", "--config", &config, "--address", "127.0.0.1", "--port", "0", "--for", "10min"];
    Program::start(command(&[&arguments[..], outputs].concat()))
}

type Outputs<'a> = &'a [&'a str];

#[test]
fn a_file_that_is_removed_or_replaced_during_a_run_is_told_within_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "14");
    let path = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let (nexus, events, report) = (path("run.nxs"), path("run.csv"), path("run.json"));
    let staged = |name: &str| find(folder.path(), &format!("{name}.partial-"));
    let nexus_file = |_: &str| Some(PathBuf::from(&nexus)).filter(|path| path.exists());
    type Find<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;
    let cases: [(Outputs<'_>, &str, Find<'_>, bool); 3] = [
        (&["--nexus", &nexus], "NeXus file", &nexus_file, false),
        (&["--nexus", &nexus], "NeXus file", &nexus_file, true),
        (&["--events", &events], "events in", &staged, false),
    ];
    for (outputs, sink, find, is_replaced) in cases {
        let program = live(&[outputs, &["--report", &report, "--overwrite"]].concat());
        let address = program.address();
        replay(&capture, &address);
        let mut file = None;
        wait_until("the file is there", || {
            file = find("run.csv");
            file.is_some()
        });
        let file = file.unwrap();
        fs::remove_file(&file).unwrap();
        if is_replaced {
            fs::write(&file, "another file").unwrap();
        }
        // While the run goes on, and without any further packet.
        program.await_said(&format!("FAILED OUTPUT: {sink}"));
        let told = program.said();
        assert!(told.contains("was removed") || told.contains("was replaced"), "{told}");
        program.signal("INT");
        let (success, printed, said) = program.end();
        assert!(!success, "{said}");
        assert!(printed.contains("FAILED OUTPUT") && printed.contains("stopped on request"), "{printed}");
        let json: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert!(json["outputs"][0]["failure"].is_string(), "{json:#}");
        if is_replaced {
            assert_eq!(fs::read(&file).unwrap(), b"another file");
            fs::remove_file(&file).unwrap();
        }
    }
}

fn lock_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", path.display()))
}

#[test]
fn a_second_run_on_the_same_file_is_refused_before_its_first_packet() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "14");
    let nexus = folder.path().join("run.nxs");
    let first = live(&["--nexus", path_text(&nexus)]);
    let address = first.address();
    assert!(!nexus.exists(), "it is made with the first events");
    for existing in ["refuse", "overwrite"] {
        let second = live(&["--nexus", path_text(&nexus), "--if-exists", existing]);
        second.await_said("in use");
        let (success, _, said) = second.end();
        assert!(!success && said.contains("run.nxs"), "{said}");
    }
    // Numbers: each run has its own, before there is a file.
    let mut further = Vec::new();
    for _ in 0..2 {
        let run = live(&["--nexus", path_text(&nexus), "--if-exists", "number"]);
        let address = run.address();
        further.push((run, address));
    }
    replay(&capture, &address);
    further.iter().for_each(|(_, address)| replay(&capture, address));
    for name in ["run.nxs", "run-1.nxs", "run-2.nxs"] {
        wait_until(name, || folder.path().join(name).exists());
    }
    // While it is written it is not mended either.
    let output = run(&["write", "--recover", path_text(&nexus)]);
    assert!(!output.status.success() && text(&output.stderr).contains("in use"), "{}", text(&output.stderr));
    for program in further.into_iter().map(|(program, _)| program).chain([first]) {
        program.signal("INT");
        let (success, printed, said) = program.end();
        assert!(success && !printed.contains("FAILED"), "{printed}{said}");
    }
    assert!(!names(folder.path()).iter().any(|name| name.ends_with(".lock")), "{:?}", names(folder.path()));
    let output = run(&["write", "--recover", path_text(&nexus)]);
    assert!(text(&output.stdout).contains("is whole"), "{}", text(&output.stdout));
}

#[test]
fn what_a_killed_run_has_held_is_free_again_and_is_mended_first() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "14");
    let nexus = folder.path().join("run.nxs");
    let killed = live(&["--nexus", path_text(&nexus)]);
    let address = killed.address();
    replay(&capture, &address);
    wait_until("there is a file", || nexus.exists());
    killed.signal("KILL");
    drop(killed);
    assert!(lock_of(&nexus).exists());
    let next = live(&["--nexus", path_text(&nexus), "--if-exists", "number"]);
    next.await_said("is recovered");
    let address = next.address();
    replay(&capture, &address);
    wait_until("there is a file", || folder.path().join("run-1.nxs").exists());
    next.signal("INT");
    assert!(next.end().0);
}

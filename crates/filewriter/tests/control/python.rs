//! The Python library of the ESS as control program: a real broker between it and the service.

use crate::control_common::kafka::*;
use crate::control_common::*;
use evforge_testkit::kafka_broker::shared;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that runs the program, or none with `test` reported as skipped.
fn python(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let interpreter = root.join(".venv-messages/bin/python");
    let probe = Command::new(&interpreter).args(["-c", "import streaming_data_types"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        let missing = format!(
            "{} cannot import streaming_data_types: `make test-tools` installs it",
            interpreter.display()
        );
        evforge_testkit::skip(test, &missing);
        return None;
    }
    Some(interpreter)
}

fn program(interpreter: &Path, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/control_program.py");
    let output = Command::new(interpreter).arg(script).args(arguments).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("Python prints text")
}

#[test]
fn a_control_program_with_the_library_of_the_ess_has_a_file_written() {
    let test = "a_control_program_with_the_library_of_the_ess_has_a_file_written";
    let Some(interpreter) = python(test) else { return };
    let Some(broker) = shared(test) else { return };
    let site = Site::Shared(broker);
    let (here, [pool, own_topic, control_topic]) = (site.client(), site.topics([POOL, OWN, CONTROL]));
    let jobs = FakeJobs::default();
    jobs.with(|inner| inner.ends_by_itself = true);
    let running = Running::start(site.service(SERVICE), |_| jobs);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name");
    program(&interpreter, &["make", path, JOB, COMMAND, control_topic, "run_1.nxs"]);
    let made = |name: &str| std::fs::read(folder.path().join(name)).expect("a message");
    let mut control = Listener::open(&here, control_topic);
    send(&here, pool, &made("start"));
    control.next("answ");
    control.next_state("writing");
    send(&here, control_topic, &made("stop"));
    control.next("wrdn");
    // After the end the conversation is where it was before: what is said to a stop that nobody can follow.
    let mut own = Listener::open(&here, own_topic);
    send(&here, own_topic, &made("stop"));
    own.next("answ");
    running.end();
    control.records.append(&mut own.records);

    let answers = tempfile::tempdir().expect("a folder");
    for (number, record) in control.records.iter().enumerate() {
        std::fs::write(answers.path().join(number.to_string()), &record.payload).expect("it is written");
    }
    let read = program(&interpreter, &["read", answers.path().to_str().expect("a name")]);
    let read: Vec<Value> = read.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |schema: &str| read.iter().filter(|one| one["schema"] == schema).collect::<Vec<_>>();
    // What the program sent comes back as it was.
    assert_eq!(control.records[0].payload, made("start"));
    assert_eq!((&of("pl72")[0]["job_id"], of("pl72").len()), (&JOB.into(), 1));
    let answers = of("answ");
    let has = |place: usize, key: &str| answers[place][key].clone();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!([has(0, "status_code"), has(1, "status_code"), has(2, "status_code")], [201, 201, 400]);
    assert_eq!([has(0, "command_id"), has(1, "command_id")], [JOB, COMMAND]);
    assert_eq!([has(0, "service_id"), has(0, "job_id")], [SERVICE, JOB]);
    assert!(has(0, "message").as_str().is_some_and(|text| text.starts_with("Started write job")));
    // The end is open.
    assert!(has(0, "stop_time").as_str().is_some_and(|time| time.starts_with("2262")), "{answers:?}");
    let states = of("x5f2");
    let state: Value = serde_json::from_str(states[0]["status_json"].as_str().expect("text")).expect("JSON");
    assert_eq!((&state["job_id"], &state["file_being_written"]), (&JOB.into(), &"/data/run_1.nxs".into()));
    let end = of("wrdn")[0];
    assert_eq!((&end["error_encountered"], &end["file_name"]), (&false.into(), &"/data/run_1.nxs".into()));
    assert_eq!(end["metadata"], r#"{"events":5,"proposal":20261123}"#);
}

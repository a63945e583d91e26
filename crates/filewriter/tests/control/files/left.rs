//! Jobs that were left and cannot be taken up, or not yet.

use crate::control_common::kafka::wait;
use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::{JobPhase, JobRunner, Jobs};
use serde_json::{Value, json};
use std::path::Path;

/// 2020-09-13T12:26:40Z
const PAST: u64 = 1_600_000_000_000;

/// What a writer leaves of a job.
fn leave(folder: &Path, id: &str, file: &str, structure: &str) {
    let request = json!({
        "id": id, "file": file, "instrument": null, "run_name": "7", "start_ms": PAST, "stop_ms": null,
        "metadata": null, "control_topic": CONTROL,
    });
    let left = json!({"version": 1, "first": [[DATA, 0, 3]], "plan": {
        "id": id, "file": format!("/elsewhere/{file}"), "structure": structure, "base": "nothing",
        "window": {"start_ns": ns(PAST), "stop_ns": ns(PAST + 1000)}, "begin": {"since": PAST}, "until": "stop",
        "leeway_after_s": 1.0, "about": {"owner": SERVICE, "request": request}}});
    let path = in_files(folder, &format!("{file}.job"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, left.to_string()).unwrap();
}

#[test]
fn one_job_that_cannot_be_taken_up_does_not_stop_the_others() {
    let folder = folder();
    leave(folder.path(), JOB, "a/broken.nxs", r#"{"children": [{"module": "ev99"}]}"#);
    leave(folder.path(), JOB_2, "waits.nxs", &structure().to_string());
    leave(folder.path(), JOB_2, "waits_too.nxs", &structure().to_string());
    // Nothing listens there.
    let settings = service_at("127.0.0.1:1".parse().unwrap());
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let mut jobs = JobRunner::open(runner(&settings, folder.path()), &mut say).unwrap();
    assert!(lines.len() == 1 && lines[0].contains("waits_too.nxs"), "{lines:?}");
    let of =
        |jobs: &JobRunner, id: &str| jobs.states().into_iter().find(|state| state.request.id == id).unwrap();
    wait("an end", || of(&jobs, JOB).phase != JobPhase::Writing);
    let broken = of(&jobs, JOB);
    let JobPhase::Ended { error: Some(error), metadata } = &broken.phase else { panic!("{broken:?}") };
    assert!(error.starts_with("it cannot be taken up again: ") && error.contains("ev99"), "{error}");
    let file = in_files(folder.path(), "a/broken.nxs.writing");
    assert_eq!(serde_json::from_str::<Value>(metadata).unwrap(), json!({ "file": file }));
    assert!(jobs.set_stop(JOB, None).unwrap_err().contains("has ended"));
    jobs.forget(JOB);
    assert!(jobs.abort(JOB).unwrap_err().contains("there is no job"));

    let waits = of(&jobs, JOB_2);
    assert_eq!(waits.phase, JobPhase::Writing);
    assert_eq!(waits.file, in_files(folder.path(), "waits.nxs.writing"));
    // The stop as it was set last, and the structure of the plan.
    assert_eq!(
        (waits.request.stop_ms, &*waits.request.structure),
        (Some(PAST + 1000), &*structure().to_string())
    );
    assert_eq!(
        (waits.request.run_name.as_str(), waits.request.control_topic.as_deref()),
        ("7", Some(CONTROL))
    );
    assert!(jobs.set_stop(JOB_2, None).unwrap_err().contains("has ended at 2020-09-13T12:26:41Z"));
    jobs.abort(JOB_2).unwrap();
    let again = waits.request.clone();
    assert!(jobs.start(again).unwrap_err().contains("there is a job"));
    // What was left stays for the next time.
    assert_eq!(left(&in_files(folder.path(), "a/broken.nxs")), ["broken.nxs.job"]);
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let folder = folder();
    let settings = service_at("127.0.0.1:1".parse().unwrap());
    let files = runner(&settings, &folder.path().join("none"));
    let error = JobRunner::open(files, &mut |_| {}).err().unwrap();
    assert!(error.contains("none/files, is not there"), "{error}");
}

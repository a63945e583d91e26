//! Jobs that were left and cannot be taken up, or not yet.

use crate::control_common::*;
use crate::files::support::*;
use evforge_filewriter::control::{Action, Conversation, JobPhase, JobRunner, Jobs, Sent};
use evforge_filewriter::job::{Rehearsal, Rehearsed};
use evforge_messages::decode;
use evforge_testkit::patience::wait_until;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    let settings = service_at("127.0.0.1:1");
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let mut jobs = JobRunner::open(runner(&settings, folder.path()), &mut say).unwrap();
    assert!(lines.len() == 1 && lines[0].contains("waits_too.nxs"), "{lines:?}");
    let of =
        |jobs: &JobRunner, id: &str| jobs.states().into_iter().find(|state| state.request.id == id).unwrap();
    wait_until("an end", || of(&jobs, JOB).phase != JobPhase::Writing);
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
fn a_job_that_has_ended_its_process_twice_is_set_aside_and_the_others_go_on() {
    let folder = folder();
    for (id, name, times) in [(JOB, "ends_it.nxs", "2"), (JOB_2, "waits.nxs", "1")] {
        leave(folder.path(), id, name, &structure().to_string());
        std::fs::write(in_files(folder.path(), &format!("{name}.attempts")), times).unwrap();
    }
    let settings = service_at("127.0.0.1:1");
    let files = runner(&settings, folder.path());
    // Nobody waits for brokers.
    files.job.stop.store(true, Ordering::Relaxed);
    let mut jobs = JobRunner::open(files.clone(), &mut |line| panic!("{line}")).unwrap();
    let aside = in_files(folder.path(), "ends_it.nxs.set-aside-1");
    assert_eq!(left(&in_files(folder.path(), "ends_it.nxs")), ["ends_it.nxs.set-aside-1"]);

    let (mut lines, mut ends) = (Vec::new(), Vec::new());
    let mut act = |action| match action {
        Action::Say(line) => lines.push(line),
        Action::Send { topic, payload, kind: Sent::End } => ends.push((topic, payload)),
        _ => {}
    };
    let mut conversation = Conversation::new(settings.conversation());
    conversation.resume(PAST, &jobs, &mut act);
    conversation.tick(PAST, &mut jobs, &mut act);
    let [(topic, payload)] = &ends[..] else { panic!("{ends:?}") };
    let end = decode(payload).unwrap().to_json();
    assert_eq!(
        (topic.as_str(), &end["job_id"], &end["error_encountered"]),
        (CONTROL, &JOB.into(), &true.into())
    );
    let message = end["message"].as_str().unwrap();
    for word in
        ["ended the file writer 2 times", "not taken up again", aside.to_str().unwrap(), "ends_it.nxs.job"]
    {
        assert!(message.contains(word), "{word}: {message}");
    }
    assert!(lines.iter().any(|line| line.contains(JOB) && line.contains(message)), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains(&format!("{JOB} goes on"))), "{lines:?}");

    let running =
        |jobs: &JobRunner| jobs.states().iter().map(|state| state.request.id.clone()).collect::<Vec<_>>();
    assert_eq!(running(&jobs), [JOB_2]);
    // A writer that ends in good order was not ended by it.
    drop(jobs);
    assert_eq!(left(&in_files(folder.path(), "waits.nxs")), ["waits.nxs.job"]);
    // It is tried once more when somebody wants that.
    std::fs::rename(aside, in_files(folder.path(), "ends_it.nxs.job")).unwrap();
    let jobs = JobRunner::open(files, &mut |line| panic!("{line}")).unwrap();
    assert_eq!(running(&jobs), [JOB, JOB_2]);
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let folder = folder();
    let settings = service_at("127.0.0.1:1");
    let files = runner(&settings, &folder.path().join("none"));
    let error = JobRunner::open(files, &mut |_| {}).err().unwrap();
    assert!(error.contains("none/files, is not there"), "{error}");
}

/// No process can be started the first time; the second one crashes.
#[derive(Debug, Default)]
struct CrashesTheSecondTime(AtomicUsize);

impl Rehearsal for CrashesTheSecondTime {
    fn rehearse(&self, job: &Path, _: &AtomicBool) -> Rehearsed {
        assert!(job.ends_with("run.nxs.job"), "{}", job.display());
        // Should this process end now, the next one knows of it.
        assert_eq!(std::fs::read_to_string(job.with_extension("attempts")).unwrap(), "1");
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Rehearsed::NotDone("no process".to_owned()),
            1 => Rehearsed::Damaged("it crashed".to_owned()),
            more => panic!("tried {more} times: there is no file any more"),
        }
    }
}

#[test]
fn a_file_that_could_not_be_tried_is_tried_again_and_one_that_crashes_is_set_aside_for_good() {
    let folder = folder();
    leave(folder.path(), JOB, "run.nxs", &structure().to_string());
    std::fs::write(in_files(folder.path(), "run.nxs.writing"), "what crashes it").unwrap();
    // Nothing listens there: the job waits, also when it is to begin again.
    let settings = service_at("127.0.0.1:1");
    let mut files = runner(&settings, folder.path());
    let rehearsal = Arc::new(CrashesTheSecondTime::default());
    files.job.rehearsal = Some(rehearsal.clone());
    let mut jobs = JobRunner::open(files, &mut |line| panic!("{line}")).unwrap();
    let mut news = Vec::new();
    wait_until("a second time", || {
        news.extend(jobs.news());
        rehearsal.0.load(Ordering::Relaxed) == 2
    });
    assert_eq!(news.len(), 1, "{news:?}");
    for word in [JOB, "not taken up again yet", "run.nxs.writing", "no process"] {
        assert!(news[0].contains(word), "{word}: {news:?}");
    }
    let aside = in_files(folder.path(), "run.nxs.damaged-1");
    wait_until("a file that is set aside", || aside.exists());
    assert_eq!(std::fs::read(&aside).unwrap(), b"what crashes it");
    // Whoever takes the job up later knows of it.
    let kept = || -> Value {
        serde_json::from_slice(&std::fs::read(in_files(folder.path(), "run.nxs.job")).unwrap()).unwrap()
    };
    wait_until("what is kept", || kept()["plan"]["set_aside"] == json!([[aside, "it crashed"]]));
    assert_eq!(jobs.states()[0].phase, JobPhase::Writing);
}

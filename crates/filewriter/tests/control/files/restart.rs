//! A writer that is killed while it writes, and another one that goes on.

use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_testkit::kafka_broker::{Broker, is_possible};
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where the writer of a child process finds brokers, and its folder.
const CHILD: &str = "EVFORGE_TEST_WRITER";

/// No test of its own: the writer that is killed. It runs until then.
#[test]
fn writer_in_a_process_of_its_own() {
    let Ok(said) = std::env::var(CHILD) else { return };
    let (address, folder) = said.split_once(' ').unwrap();
    let settings = service_at(address);
    let _writer = writer(&settings, runner(&settings, Path::new(folder)));
    loop {
        std::thread::park();
    }
}

/// Starts the writer that is killed.
pub(super) fn child(broker: &str, folder: &Path) -> Killed {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::restart::writer_in_a_process_of_its_own", "--nocapture"])
        .env(CHILD, format!("{broker} {}", folder.display()))
        .stdout(Stdio::null())
        .spawn();
    Killed(child.unwrap())
}

/// It is killed when this is dropped.
pub(super) struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn files(folder: &Path) -> PathBuf {
    in_files(folder, "run_1.nxs")
}

#[test]
fn a_writer_that_was_killed_goes_on_with_its_conversation_and_its_file() {
    if !is_possible("a_writer_that_was_killed_goes_on_with_its_conversation_and_its_file") {
        return;
    }
    let (mut site, folder) = (Site::Own(Broker::start()), folder());
    site.topics([POOL, OWN, CONTROL, DATA, LOGS]);
    let (here, address) = (site.client(), site.address());
    let path = files(folder.path());
    let mut child = self::child(&address, folder.path());
    let begin_ms = now_ms();
    let time = |number: i32| ns(begin_ms) + i64::from(number) * MS;
    let data = |numbers: std::ops::Range<i32>| {
        let payload = |number| ev44(BANK, i64::from(number), time(number), &[number + 1]);
        send_all(&here, DATA, numbers.map(payload));
    };
    send(&here, LOGS, &f144(MOTOR, ns(begin_ms) - MS, 1.0));
    send(&here, POOL, &start(JOB, "run_1.nxs", &structure(), CONTROL, begin_ms));
    let mut control = Listener::open(&here, CONTROL);
    assert_eq!(control.next("answ")["status_code"], 201);
    // Killed twice: after a commit, and before one, as nothing is committed for some seconds after a restart.
    for (numbers, is_last) in [(0..40, false), (40..80, true)] {
        data(numbers);
        if !is_last {
            await_events(&in_files(folder.path(), "run_1.nxs.writing"), "entry/events", 40);
            wait_until("a commit on the disk", || !in_files(folder.path(), "run_1.nxs.attempts").exists());
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        // Only a kill before a commit counts.
        let counted = if is_last { vec!["run_1.nxs.attempts"] } else { Vec::new() };
        let others = ["run_1.nxs.job", "run_1.nxs.lock", "run_1.nxs.writing"];
        assert_eq!(left(&path), [&counted[..], &others].concat());
        if !is_last {
            child = self::child(&address, folder.path());
            control.next_of("x5f2", |json| json["process_id"] == child.0.id());
        }
    }
    // Nobody writes. The run goes on, ends, and there are messages from after its end.
    let stop_ms = begin_ms + 99;
    sleep_until(stop_ms);
    send(&here, LOGS, &f144(MOTOR, time(99), 2.0));
    data(80..150);
    send(&here, CONTROL, &stop(JOB, stop_ms));
    // Of somebody else, and of nobody.
    std::fs::write(in_files(folder.path(), "damaged.nxs.job"), "{").unwrap();
    let mut other: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.with_extension("nxs.job")).unwrap()).unwrap();
    other["plan"]["about"]["owner"] = "writer-2".into();
    std::fs::write(in_files(folder.path(), "other.nxs.job"), other.to_string()).unwrap();
    // The brokers are not there yet when the writer is.
    site.own().kill();
    let settings = site.service(SERVICE);
    let writer = writer(&settings, runner(&settings, folder.path()));
    writer.await_said("nothing listens there");
    site.own().restart();
    let answer = control.next_of("answ", |answer| answer["action"] == "SetStopTime");
    assert_eq!((&answer["status_code"], &answer["job_id"]), (&201.into(), &JOB.into()), "{answer}");
    let end = control.next("wrdn");
    assert_eq!(
        (&end["error_encountered"], &end["file_name"]),
        (&false.into(), &path.to_str().unwrap().into())
    );
    let metadata: serde_json::Value = serde_json::from_str(end["metadata"].as_str().unwrap()).unwrap();
    assert_eq!((&metadata["proposal"], &metadata["events"]), (&7.into(), &100.into()), "{metadata}");
    assert_eq!(metadata["evforge_report"]["counters"]["messages_duplicated"], 0);
    let lines = writer.lines();
    assert!(lines.iter().any(|line| line.contains("damaged.nxs.job")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("other.nxs")), "{lines:?}");

    check_complete(&path);
    let pixels: Vec<[i32; 1]> = (0..100).map(|number| [number + 1]).collect();
    let all: Vec<(i64, &[i32])> =
        (0..100).zip(&pixels).map(|(number, pixel)| (time(number), &pixel[..])).collect();
    let file = File::open(&path).unwrap();
    assert_eq!(events(&file, "entry/events"), expected(&all));
    let values: Vec<f64> = file.dataset("entry/motor/value").unwrap().read_raw().unwrap();
    assert_eq!(values, [1.0, 2.0]);
    writer.end();
    assert!(control.rest().iter().all(|json| json["schema"] == "x5f2"));
}

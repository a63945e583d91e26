//! A service that writes files, messages for it, and what is in a file.

use crate::control_common::kafka::Running;
use crate::control_common::*;
use evforge_filewriter::control::service::ServiceSettings;
use evforge_filewriter::control::{JobRunner, JobRunnerSettings};
use evforge_filewriter::file::Storage;
use evforge_filewriter::job::{JobSettings, PlainBases};
use evforge_kafka::client::{ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::{Encoder, Ev44, F144, Pl72, S6s4t};
use evforge_testkit::patience::{patience, wait_until};
use hdf5_metno::{File, OpenMode};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) const DATA: &str = "freia_detector";
pub(crate) const LOGS: &str = "freia_motion";
pub(crate) const BANK: &str = "freia";
pub(crate) const MOTOR: &str = "FREIA-Mtr:01";
pub(crate) const MS: i64 = 1_000_000;

/// A service with topics that have the usual names.
pub(crate) fn service_at(brokers: &str) -> ServiceSettings {
    ServiceSettings {
        pool_topic: Some(POOL.to_owned()),
        pool_group: WRITERS.to_owned(),
        service_id: SERVICE.to_owned(),
        status_interval: Duration::from_millis(300),
        ..ServiceSettings::new(ClientSettings::new(brokers.parse().unwrap()), OWN)
    }
}

pub(crate) fn runner(settings: &ServiceSettings, folder: &Path) -> JobRunnerSettings {
    JobRunnerSettings {
        files: folder.join("files"),
        templates: Some(folder.join("templates")),
        owner: settings.service_id.clone(),
        job: JobSettings {
            client: settings.client.clone(),
            readers: 2,
            flush_interval: Duration::from_millis(50),
            storage: Storage::default(),
            bases: Arc::new(PlainBases),
            rehearsal: None,
            budget: Arc::default(),
            stop: Arc::default(),
        },
        leeway_before: Duration::from_secs(30),
        leeway_after: Duration::from_secs(1),
    }
}

/// A folder with those for files and templates in it.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["files", "templates"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

/// A service in a thread, with files.
pub(crate) fn writer(settings: &ServiceSettings, of_files: JobRunnerSettings) -> Running {
    Running::start(settings.clone(), |say| JobRunner::open(of_files, say).unwrap())
}

/// A file of events and of a motor.
pub(crate) fn structure() -> Value {
    structure_of(DATA, LOGS)
}

/// The same of other topics.
pub(crate) fn structure_of(data: &str, logs: &str) -> Value {
    let class = |name: &str| json!([{"name": "NX_class", "dtype": "string", "values": name}]);
    json!({"children": [{"type": "group", "name": "entry", "attributes": class("NXentry"), "children": [
        {"module": "mdat", "config": {"items": ["start_time", "end_time"]}},
        {"module": "dataset", "config": {"name": "title", "dtype": "string", "values": "a run"}},
        {"type": "group", "name": "events", "attributes": class("NXevent_data"), "children": [
            {"module": "ev44", "config": {"topic": data, "source": BANK}}]},
        {"type": "group", "name": "motor", "attributes": class("NXlog"), "children": [
            {"module": "f144", "config": {"topic": logs, "source": MOTOR, "dtype": "double", "value_units": "mm"}}]},
        {"module": "link", "config": {"name": "same_events", "source": "/entry/events"}}]}]})
}

pub(crate) fn start(
    id: &'static str,
    file: &str,
    structure: &Value,
    control: &'static str,
    start_ms: u64,
) -> Vec<u8> {
    let structure = structure.to_string();
    let message = Pl72 { control_topic: Some(control), ..start_message() };
    let message =
        Pl72 { start_time: start_ms, job_id: Some(id), nexus_structure: Some(&structure), ..message };
    pl72(&Pl72 { filename: Some(file), ..message })
}

pub(crate) fn stop(id: &str, stop_ms: u64) -> Vec<u8> {
    s6s4t(&S6s4t { job_id: Some(id), stop_time: stop_ms, ..stop_message() })
}

pub(crate) fn ev44(source: &str, number: i64, time_ns: i64, pixels: &[i32]) -> Vec<u8> {
    let offsets: Vec<i32> = pixels.iter().map(|pixel| pixel * 10).collect();
    let times = [time_ns];
    let message = Ev44 {
        source_name: source,
        message_id: number,
        reference_time: (&times).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: (&offsets).into(),
        pixel_id: pixels.into(),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

/// Sends many messages.
pub(crate) fn send_all(client: &ClientSettings, topic: &str, payloads: impl IntoIterator<Item = Vec<u8>>) {
    let (run, mut sender) =
        (AtomicBool::new(false), Sender::open(client, topic, &Deadline::from(patience())).unwrap());
    for payload in payloads {
        assert!(sender.send(&Outgoing { payload: &payload, ..Outgoing::default() }, &run).unwrap());
    }
    assert!(sender.finish(patience(), &run).is_complete());
}

pub(crate) fn f144(source: &str, time_ns: i64, value: f64) -> Vec<u8> {
    F144 { source_name: source, timestamp: time_ns, value: value.into() }.encode(&mut Encoder::new()).to_vec()
}

pub(crate) fn ns(ms: u64) -> i64 {
    i64::try_from(ms).unwrap() * MS
}

/// What the file has of the events: pixels, offsets, times of the pulses, the first event of each.
pub(crate) type Rows = (Vec<i32>, Vec<i32>, Vec<i64>, Vec<i64>);

pub(crate) fn events(file: &File, group: &str) -> Rows {
    let group = file.group(group).unwrap();
    let all = |name: &str| group.dataset(name).unwrap();
    let times: Vec<u64> = all("event_time_zero").read_raw().unwrap();
    (
        all("event_id").read_raw().unwrap(),
        all("event_time_offset").read_raw().unwrap(),
        times.into_iter().map(|time| i64::try_from(time).unwrap()).collect(),
        all("event_index").read_raw().unwrap(),
    )
}

/// What it must have: messages of one pulse each.
pub(crate) fn expected(messages: &[(i64, &[i32])]) -> Rows {
    let pixels: Vec<i32> = messages.iter().flat_map(|(_, pixels)| pixels.iter().copied()).collect();
    let offsets = pixels.iter().map(|pixel| pixel * 10).collect();
    let times = messages.iter().map(|(time, _)| *time).collect();
    let mut first = 0;
    let first_of = |(_, pixels): &(i64, &[i32])| {
        let own = first;
        first += i64::try_from(pixels.len()).unwrap();
        own
    };
    let index = messages.iter().map(first_of).collect();
    (pixels, offsets, times, index)
}

/// A file that is complete: read-only, with its checksum, and nothing else left of it.
pub(crate) fn check_complete(path: &Path) {
    let mode = std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444, "{}", path.display());
    let name = path.file_name().unwrap().to_str().unwrap();
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", &format!("{name}.sha256")]).current_dir(path.parent().unwrap());
    let said = check.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(left(path), [format!("{name}.sha256")]);
}

/// Names next to a file that begin with its name.
pub(crate) fn left(path: &Path) -> Vec<String> {
    let name = format!("{}.", path.file_name().unwrap().to_str().unwrap());
    let mut names: Vec<String> = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|other| other.starts_with(&name))
        .collect();
    names.sort();
    names
}

pub(crate) fn in_files(folder: &Path, name: &str) -> PathBuf {
    folder.join("files").join(name)
}

/// Waits for a time of day, which is what a run ends at.
pub(crate) fn sleep_until(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms.saturating_sub(now_ms())));
}

/// Which file the test below looks into, and in which group.
const LOOK: &str = "EVFORGE_TEST_LOOK";

/// No test of its own: what another process sees of a file that is being written.
#[test]
fn events_that_another_process_sees() {
    let Ok(said) = std::env::var(LOOK) else { return };
    let (group, path) = said.split_once(' ').unwrap();
    let file = File::open_as(path, OpenMode::ReadSWMR).unwrap();
    println!("events {}", file.dataset(&format!("{group}/event_id")).unwrap().size());
}

/// Waits until a file that is being written has this many events, as others see it.
pub(crate) fn await_events(path: &Path, group: &str, events: usize) {
    wait_until(format_args!("{events} events in {}", path.display()), || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::support::events_that_another_process_sees", "--nocapture"])
            .env(LOOK, format!("{group} {}", path.display()))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains(&format!("events {events}\n"))
    });
}

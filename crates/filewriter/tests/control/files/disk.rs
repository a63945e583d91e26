//! A full disk: nothing is written, nothing is read, nothing is lost.

use super::support::*;
use crate::control_common::*;
use evforge_filewriter::file::Storage;
use evforge_filewriter::job::{Begin, Job, JobPlan, JobSettings, Phase, PlainBases, Until, Window};
use evforge_kafka::client::ClientSettings;
use evforge_stream::nexus::{DiskSpace, FileSystemSpace, Shortage};
use evforge_testkit::kafka_broker::{self, Broker};
use hdf5_metno::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A disk that is full when it is told to be.
#[derive(Debug, Default)]
struct Disk {
    is_full: AtomicBool,
}

impl DiskSpace for Disk {
    fn reserve(&self, file: &std::fs::File, range: std::ops::Range<u64>) -> Result<(), Shortage> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(Shortage { missing: 1000, free: 0 });
        }
        FileSystemSpace.reserve(file, range)
    }

    fn has_room(&self, folder: &Path, bytes: u64) -> Result<(), Shortage> {
        FileSystemSpace.has_room(folder, bytes)
    }
}

#[test]
fn a_full_disk_is_waited_for_and_nothing_is_lost() {
    if !kafka_broker::is_possible("a_full_disk_is_waited_for_and_nothing_is_lost") {
        return;
    }
    let broker = Broker::start();
    let folder = folder();
    topics(&broker, &[DATA, LOGS]);
    let client = ClientSettings::new(broker.address().parse().unwrap());
    let disk = Arc::new(Disk::default());
    let settings = JobSettings {
        client: client.clone(),
        readers: 1,
        flush_interval: Duration::from_millis(50),
        storage: Storage { space: Arc::clone(&disk) as Arc<dyn DiskSpace>, ..Storage::default() },
        bases: Arc::new(PlainBases),
        rehearsal: None,
        stop: Arc::default(),
    };
    let path = in_files(folder.path(), "full.nxs");
    let plan = JobPlan {
        id: "full".to_owned(),
        file: path.clone(),
        structure: structure().to_string(),
        base: serde_json::Value::Null,
        window: Window { start_ns: 1, stop_ns: None },
        begin: Begin::Oldest,
        until: Until::Stop,
        leeway_after_s: 0.5,
        about: serde_json::Value::Null,
        set_aside: Vec::new(),
    };
    let job = Job::start(plan, settings).unwrap();
    let now = ns(now_ms());
    let times: Vec<i64> = (0..60).map(|number| now + number * MS).collect();
    let send = |from: usize, to: usize| {
        let message = |number: usize| ev44(BANK, number as i64 + 1, times[number], &[1, 2, 3]);
        send_all(&client, DATA, (from..to).map(message));
    };
    send(0, 20);
    wait(&job, "the first rows are committed", |job| job.progress().counters.commits > 0);

    disk.is_full.store(true, Ordering::Relaxed);
    send(20, 40);
    wait(&job, "it waits for the disk", |job| matches!(job.progress().phase, Phase::WaitsForDisk(_)));
    let read = job.progress().counters.messages_read;
    send(40, 60);
    std::thread::sleep(Duration::from_secs(2));
    let progress = job.progress();
    assert!(matches!(progress.phase, Phase::WaitsForDisk(_)));
    assert_eq!(progress.counters.messages_read, read, "nothing more is read meanwhile");

    disk.is_full.store(false, Ordering::Relaxed);
    wait(&job, "all is read", |job| job.progress().counters.messages_read == 60);
    job.set_stop(None);
    let end = job.wait();
    assert_eq!(end.progress.phase, Phase::Complete);
    assert_eq!((end.progress.counters.disk_waits, end.to_json()["unaccounted"].as_i64()), (1, Some(0)));
    let pixels: &[i32] = &[1, 2, 3];
    let messages: Vec<(i64, &[i32])> = times.iter().map(|time| (*time, pixels)).collect();
    assert_eq!(events(&File::open(&path).unwrap(), "entry/events"), expected(&messages));
    check_complete(&path);
}

fn wait(job: &Job, what: &str, is_so: impl Fn(&Job) -> bool) {
    let begun = Instant::now();
    while !is_so(job) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: {:?}", job.progress());
        std::thread::sleep(Duration::from_millis(20));
    }
}

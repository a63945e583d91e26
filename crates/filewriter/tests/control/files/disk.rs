//! A full disk: nothing is written, nothing is read, nothing is lost.

use super::support::*;
use crate::control_common::kafka::Site;
use crate::control_common::*;
use evforge_filewriter::file::Storage;
use evforge_filewriter::job::{Begin, Job, JobPlan, JobSettings, Phase, PlainBases, Until, Window};
use evforge_stream::nexus::{DiskSpace, FileSystemSpace, Shortage};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::wait_until;
use hdf5_metno::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A disk that is full when it is told to be.
#[derive(Debug, Default)]
struct Disk {
    is_full: AtomicBool,
    /// How often it has said so.
    said: AtomicUsize,
}

impl DiskSpace for Disk {
    fn reserve(&self, file: &std::fs::File, range: std::ops::Range<u64>) -> Result<(), Shortage> {
        if self.is_full.load(Ordering::Relaxed) {
            self.said.fetch_add(1, Ordering::Relaxed);
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
    let Some(broker) = shared("a_full_disk_is_waited_for_and_nothing_is_lost") else { return };
    let (site, folder) = (Site::Shared(broker), folder());
    let (client, [data, logs]) = (site.client(), site.topics([DATA, LOGS]));
    let disk = Arc::new(Disk::default());
    let settings = JobSettings {
        client: client.clone(),
        readers: 1,
        flush_interval: Duration::from_millis(50),
        storage: Storage { space: Arc::clone(&disk) as Arc<dyn DiskSpace>, ..Storage::default() },
        bases: Arc::new(PlainBases),
        rehearsal: None,
        budget: Arc::default(),
        stop: Arc::default(),
    };
    let path = in_files(folder.path(), "full.nxs");
    let plan = JobPlan {
        id: "full".to_owned(),
        file: path.clone(),
        structure: structure_of(data, logs).to_string(),
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
        send_all(&client, data, (from..to).map(message));
    };
    send(0, 20);
    wait_until("the first rows are committed", || job.progress().counters.commits > 0);

    disk.is_full.store(true, Ordering::Relaxed);
    send(20, 40);
    wait_until("it waits for the disk", || matches!(job.progress().phase, Phase::WaitsForDisk(_)));
    let read = job.progress().counters.messages_read;
    send(40, 60);
    let said = disk.said.load(Ordering::Relaxed);
    wait_until("the disk is asked again, twice", || disk.said.load(Ordering::Relaxed) >= said + 2);
    let progress = job.progress();
    assert!(matches!(progress.phase, Phase::WaitsForDisk(_)));
    assert_eq!(progress.counters.messages_read, read, "nothing more is read meanwhile");

    disk.is_full.store(false, Ordering::Relaxed);
    wait_until("all is read", || job.progress().counters.messages_read == 60);
    job.set_stop(None);
    let end = job.wait();
    assert_eq!(end.progress.phase, Phase::Complete);
    assert_eq!((end.progress.counters.disk_waits, end.to_json()["unaccounted"].as_i64()), (1, Some(0)));
    let pixels: &[i32] = &[1, 2, 3];
    let messages: Vec<(i64, &[i32])> = times.iter().map(|time| (*time, pixels)).collect();
    assert_eq!(events(&File::open(&path).unwrap(), "entry/events"), expected(&messages));
    check_complete(&path);
}

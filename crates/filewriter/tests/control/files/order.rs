//! Events of several sources in several partitions: in the order of pulses, whoever is slower, over a restart, and what comes too late.

use super::restart::child;
use crate::control_common::kafka::*;
use crate::control_common::*;
use crate::files::support::*;
use evforge_messages::{Encoder, Ev44};
use evforge_testkit::kafka_broker::{Broker, is_possible, shared};
use evforge_testkit::patience::patience;
use hdf5_metno::File;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A message of some pulses, each with one event, whose pixel is the source's.
fn pulses(source: &str, number: i64, times: &[i64]) -> Vec<u8> {
    let index: Vec<i32> = (0..).take(times.len()).collect();
    let pixels = vec![i32::from(source.as_bytes()[0]); times.len()];
    let offsets = vec![10 * pixels[0]; times.len()];
    let message = Ev44 {
        source_name: source,
        message_id: number,
        reference_time: times.into(),
        reference_time_index: (&index).into(),
        time_of_flight: (&offsets).into(),
        pixel_id: (&pixels).into(),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

/// Checks that scippnexus slices the events of a file: what the script says.
fn slices(test: &str, path: &Path) -> Option<String> {
    let Some(interpreter) = std::env::var_os("EVFORGE_PYTHON").map(PathBuf::from) else {
        evforge_testkit::skip(test, "no EVFORGE_PYTHON");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/test_pulse_slices.py");
    let output = Command::new(interpreter).arg(script).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Two sources in two partitions of a topic, which fill one group in each layout, and a third one with a topic and a group of its own.
struct Sources {
    site: Site,
    folder: tempfile::TempDir,
    producer: ThreadedProducer<DefaultProducerContext>,
    topic: &'static str,
    pool: &'static str,
    control: &'static str,
    of_single: &'static str,
    begin_ms: u64,
}

impl Sources {
    fn new(site: Site) -> Self {
        let topic = site.topic_of(DATA, 2);
        let [pool, _, control, of_single] = site.topics([POOL, OWN, CONTROL, LOGS]);
        let producer = ClientConfig::new().set("bootstrap.servers", site.address()).create().unwrap();
        let (folder, begin_ms) = (folder(), now_ms());
        Self { site, folder, producer, topic, pool, control, of_single, begin_ms }
    }

    fn time(&self, pulse: i64) -> i64 {
        ns(self.begin_ms) + pulse * MS
    }

    fn send(&self, partition: i32, payload: &[u8]) {
        let record: BaseRecord<'_, (), [u8]> =
            BaseRecord::to(self.topic).partition(partition).payload(payload);
        self.producer.send(record).map_err(|(error, _)| error).unwrap();
        self.producer.flush(patience()).unwrap();
    }

    /// 40 pulses from this one on, every second one, in messages of so many.
    fn send_every_second(&self, source: &str, partition: i32, first: i64, of_message: usize) {
        let times: Vec<i64> = (0..40).map(|number| self.time(2 * number + first)).collect();
        for (number, times) in (1..).zip(times.chunks(of_message)) {
            self.send(partition, &pulses(source, number, times));
        }
    }

    fn start_job(&self) {
        let class = |name: &str| json!([{"name": "NX_class", "dtype": "string", "values": name}]);
        let group = |name: &str, config: Value| {
            json!({"type": "group", "name": name, "attributes": class("NXevent_data"),
                "children": [{"module": "ev44", "config": config}]})
        };
        let sources = json!(["a", "b"]);
        let structure = json!({"children": [{"type": "group", "name": "entry", "attributes": class("NXentry"),
            "children": [
                group("events", json!({"topic": self.topic, "source": sources})),
                group("own", json!({"topic": self.topic, "source": sources, "layout": "evforge"})),
                group("single", json!({"topic": self.of_single, "source": BANK}))]}]});
        let start = start(JOB, "run_1.nxs", &structure, self.control, self.begin_ms);
        send(&self.site.client(), self.pool, &start);
    }

    fn writer(&self) -> Running {
        let settings = self.site.service(SERVICE);
        writer(&settings, runner(&settings, self.folder.path()))
    }

    fn in_folder(&self, name: &str) -> PathBuf {
        in_files(self.folder.path(), name)
    }
}

#[test]
fn events_of_several_sources_are_in_the_order_of_pulses() {
    let test = "events_of_several_sources_are_in_the_order_of_pulses";
    let Some(broker) = shared(test) else { return };
    let sources = Sources::new(Site::Shared(broker));
    // The odd pulses come when all of the even ones are there: whichever partition is read first, it waits for the other.
    sources.send_every_second("a", 0, 0, 5);
    sources.send_every_second("b", 1, 1, 8);
    let writer = sources.writer();
    sources.start_job();
    let here = sources.site.client();
    let mut control = Listener::open(&here, sources.control);
    assert_eq!(control.next("answ")["status_code"], 201);
    let writing = sources.in_folder("run_1.nxs.writing");
    await_events(&writing, "entry/events", 80);
    await_events(&writing, "entry/own", 80);
    // Long after its turn.
    sources.send(0, &pulses("a", 100, &[sources.time(3), sources.time(79)]));
    send(&here, sources.control, &stop(JOB, now_ms() + 100));
    let end = control.next("wrdn");
    writer.end();

    let report: Value = serde_json::from_str(end["metadata"].as_str().unwrap()).unwrap();
    let counters = &report["evforge_report"]["counters"];
    let events_of = ["events_written", "events_late"].map(|name| counters[name].as_u64());
    assert_eq!(events_of, [Some(164), Some(2)], "{report:#}");
    let path = sources.in_folder("run_1.nxs");
    let file = File::open(&path).unwrap();
    let in_order: Vec<i64> = (0..80).map(|pulse| sources.time(pulse)).collect();
    let pixels_in_order: Vec<i32> = (0..80).map(|pulse| i32::from([b'a', b'b'][pulse % 2])).collect();
    // The last pulse comes once more: in the layout of the reference each message has records of its own.
    for (group, last_pulses) in [("entry/events", 2), ("entry/own", 1)] {
        let (pixels, _, times, index) = events(&file, group);
        assert_eq!(times[..80], in_order, "{group}");
        assert_eq!((times.len(), pixels.len(), index.len()), (79 + last_pulses, 81, 79 + last_pulses));
        assert_eq!(pixels[..80], pixels_in_order, "{group}");
        let (pixels, _, times, index) = events(&file, &format!("{group}/events_late"));
        assert_eq!(
            (pixels, times, index),
            (vec![i32::from(b'a')], vec![sources.time(3)], vec![0]),
            "{group}"
        );
    }
    file.close().unwrap();
    let said = slices(test, &path);
    assert!(said.is_none_or(|said| said.ends_with("162 events in order, 2 late\n")));
}

/// What waits for another source is in no commit: it is read once more.
#[test]
fn what_waits_when_the_writer_is_killed_is_neither_lost_nor_there_twice() {
    if !is_possible("what_waits_when_the_writer_is_killed_is_neither_lost_nor_there_twice") {
        return;
    }
    let sources = Sources::new(Site::Own(Broker::start()));
    sources.send_every_second("a", 0, 0, 5);
    let first = child(&sources.site.address(), sources.folder.path());
    sources.start_job();
    let here = sources.site.client();
    let mut control = Listener::open(&here, sources.control);
    assert_eq!(control.next("answ")["status_code"], 201);
    // The second one is seen behind a commit of the first, with what waits then.
    let writing = sources.in_folder("run_1.nxs.writing");
    for number in 1..=2 {
        send(&here, sources.of_single, &ev44(BANK, number, sources.time(number), &[1]));
        await_events(&writing, "entry/single", number as usize);
    }
    drop(first);
    sources.send_every_second("b", 1, 1, 8);
    let second = sources.writer();
    send(&here, sources.control, &stop(JOB, now_ms() + 100));
    let end = control.next("wrdn");
    second.end();

    let report: Value = serde_json::from_str(end["metadata"].as_str().unwrap()).unwrap();
    let counters = &report["evforge_report"]["counters"];
    assert_eq!(counters["restarts"].as_u64(), Some(1), "{report:#}");
    assert_eq!(counters["events_written"].as_u64(), Some(2 * 80 + 2), "{report:#}");
    assert_eq!(report["evforge_report"]["unaccounted"], 0);
    let file = File::open(sources.in_folder("run_1.nxs")).unwrap();
    for group in ["entry/events", "entry/own"] {
        // On a busy machine the second source may be too late.
        let (mut pixels, _, mut times, _) = events(&file, group);
        assert!(times.is_sorted(), "{group}: {times:?}");
        let (late_pixels, _, late_times, _) = events(&file, &format!("{group}/events_late"));
        pixels.extend(late_pixels);
        times.extend(late_times);
        times.sort_unstable();
        assert_eq!(times, (0..80).map(|pulse| sources.time(pulse)).collect::<Vec<_>>(), "{group}");
        assert_eq!(pixels.iter().filter(|pixel| **pixel == i32::from(b'a')).count(), 40, "{group}");
        assert_eq!(pixels.len(), 80, "{group}");
    }
}

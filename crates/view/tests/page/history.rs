//! The history over HTTP, with the data of a run.
#![allow(clippy::unwrap_used)]

use crate::common::{get, options, start};
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::output::Output;
use evforge_core::run_state::{OutputCounters, OutputState, RunState};
use evforge_core::sequence::SequenceTracker;
use evforge_testkit::patience::patience;
use evforge_view::{LiveSink, ViewOptions};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const COMMITTED: &str = "evforge_output_committed_events_total";
const LOST: &str = "evforge_source_lost_packets";
const EVENTS: &str = "evforge_view_events_total";

/// Tells a state every half a second, of which each second is as the last one but for that of the spike.
struct Run {
    sink: LiveSink,
    committed: u64,
    tracker: SequenceTracker,
    number: u64,
}

impl Run {
    fn new(sink: LiveSink) -> Self {
        Self { sink, committed: 0, tracker: SequenceTracker::new(32), number: 0 }
    }

    fn tell(&mut self, more: u64, lost: u64) {
        self.committed += more;
        for _ in 0..10 {
            self.number += 1;
            self.tracker.observe(self.number);
        }
        self.number += lost;
        let ledger = DetectorLedger {
            sources: vec![SourceLedger::of_sequence("FEC 1".into(), &self.tracker)],
            ..DetectorLedger::default()
        };
        let counters = OutputCounters { committed: self.committed, ..OutputCounters::default() };
        let output = OutputState { id: "csv".into(), counters, ..OutputState::default() };
        let state = RunState { ledger, outputs: vec![output], ..RunState::default() };
        self.sink.observe(&Arc::new(state)).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn asked(address: SocketAddr, what: &str) -> Value {
    let answer = get(address, what);
    assert_eq!(answer.status, 200, "{what}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// As usual in addresses.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || byte == b'_' {
                (byte as char).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// The largest value of a series over the last minute, in `points` points.
fn peak(address: SocketAddr, id: &str, points: u64) -> Option<f64> {
    let answer =
        asked(address, &format!("/api/history.json?series={}&from=-60000&points={points}", encoded(id)));
    let values = answer["series"][0]["points"].as_array().unwrap().clone();
    assert!(values.len() as u64 <= points, "{} points of {points}", values.len());
    for point in &values {
        let [min, mean, max] = ["min", "mean", "max"].map(|which| point[which].as_f64().unwrap());
        assert!(min <= mean && mean <= max, "{point}");
        assert_eq!(point["at_ms"].as_u64().unwrap() % answer["step_ms"].as_u64().unwrap(), 0, "{point}");
    }
    values.iter().map(|point| point["max"].as_f64().unwrap()).reduce(f64::max)
}

#[test]
fn a_run_has_a_history_and_the_next_one_has_its_own() {
    let (view, sink) = start(options(2, 2));
    let address = view.address();
    let mut run = Run::new(sink);
    let begun = Instant::now();
    let csv = "output=\"csv\"";
    let (committed, lost) = (format!("{COMMITTED}{{{csv}}}"), format!("{LOST}{{source=\"FEC 1\"}}"));
    let mut seconds = 0;
    // A spike in the middle of what is even, until one is in the history: it begins with a sample that may come behind the first.
    while seconds < 4 || peak(address, &committed, 600).is_none_or(|peak| peak < 5e4) {
        let is_spike = seconds % 10 == 1;
        run.tell(if is_spike { 1_000_000 } else { 50 }, u64::from(is_spike) * 7);
        run.tell(50, 0);
        seconds += 1;
        assert!(begun.elapsed() < patience(), "the spike never came: {:?}", peak(address, &committed, 600));
    }
    // As high in few points as in many; and there are seconds without it.
    let all = peak(address, &committed, 600).unwrap();
    for points in [2, 3, 5, 17] {
        assert_eq!(peak(address, &committed, points), Some(all), "in {points} points");
    }
    assert!(peak(address, &lost, 600).unwrap() > 0.0);
    assert_eq!(
        peak(address, LOST, 600),
        peak(address, &lost, 600),
        "a name is enough if only one series has it"
    );
    assert_eq!(peak(address, EVENTS, 600), Some(0.0), "no events have reached the view");

    let list = asked(address, "/api/series.json");
    let series = list["series"].as_array().unwrap();
    let told = series.iter().find(|series| series["id"] == committed).unwrap();
    assert_eq!((&told["name"], &told["labels"]), (&json!(COMMITTED), &json!({"output": "csv"})));
    assert_eq!(
        (&told["unit"], &told["kind"], &told["group"]),
        (&json!("events/s"), &json!("rate"), &json!("output"))
    );
    assert_eq!(told["help"], "Events that are where they belong.");
    let thread = series.iter().filter(|series| series["group"] == "thread" && series["unit"] == "s/s");
    assert!(thread.count() > 0, "{list}");
    // What is called as in /metrics is called as in /metrics.
    let metrics = get(address, "/metrics");
    for name in series.iter().map(|series| series["name"].as_str().unwrap()) {
        let is_there =
            metrics.text().contains(&format!("\n{name}{{")) || metrics.text().contains(&format!("\n{name} "));
        assert!(is_there || name.starts_with("evforge_view_"), "{name} is not in /metrics");
    }

    let table = get(address, &format!("/api/history.csv?series={}&series={}", encoded(&committed), EVENTS));
    let text = table.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("time_ms,\"evforge_output_committed_events_total{output=\"\"csv\"\"} min\","),
        "{}",
        lines[0]
    );
    assert!(lines.len() > 3 && lines[1..].iter().all(|line| line.split(',').count() == 7), "{text}");

    // The next run knows nothing of it.
    view.show(ViewOptions::new(
        "Next",
        evforge_core::geometry::LogicalGeometry::flat(2, 2).unwrap(),
        evforge_core::pulse::PulseTrain::ess(),
    ))
    .unwrap();
    let list = asked(address, "/api/series.json");
    assert!(list["series"].as_array().unwrap().iter().all(|series| series["group"] != "output"), "{list}");
    assert_eq!(get(address, &format!("/api/history.json?series={}", encoded(&committed))).status, 404);
    run.tell(1, 0);
    assert_eq!(peak(address, EVENTS, 600).unwrap_or(0.0), 0.0);
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let (view, _sink) = start(options(2, 2));
    let said = |what: &str| {
        let answer = get(view.address(), &format!("/api/history.json?{what}"));
        (answer.status, answer.text().trim_end().to_owned())
    };
    let (status, text) = said("");
    assert!(status == 400 && text.starts_with("series is missing"), "{status} {text}");
    let (status, text) = said("series=evforge_view_events_total&points=0");
    assert_eq!((status, text.as_str()), (400, "points is \"0\"; it must be a whole number from 2 to 4000"));
    let (status, text) = said("series=evforge_view_events_total&from=5&to=5");
    assert_eq!((status, text.as_str()), (400, "from is 5 and to is 5: the one must be before the other"));
    let (status, text) = said("series=nothing");
    assert!(
        status == 404 && text.contains("\"nothing\"") && text.contains("/api/series.json"),
        "{status} {text}"
    );
    let (status, text) = said("series=a&form=5");
    assert!(status == 400 && text.contains("it has: series, from, to, points"), "{status} {text}");
}

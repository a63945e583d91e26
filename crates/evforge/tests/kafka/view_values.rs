//! `evforge view --kafka`: what topics have besides events. Values are in the state, in the history and on the page; spectra are
//! as they were sent; charge is that of the window; whatever is hostile is bounded and counted.

use crate::common::{PROGRAM, send_signal, text, workspace};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::da00::Variable;
use evforge_messages::hs01::{Counts, Dimension};
use evforge_messages::{Da00, Encoder, Ev44, F144, Hs01, Pu00, Tdct, Un00, f142};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::{patience, wait_until};
use evforge_testkit::{shared_folder, skip};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

static RUN: AtomicBool = AtomicBool::new(false);

/// A page of these topics.
struct Viewed {
    child: Child,
    page: SocketAddr,
}

impl Viewed {
    fn start(brokers: &str, [events, monitors, logs, ledger]: &[String; 4], report: &Path) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["view", "--view", "127.0.0.1:0", "--kafka", brokers, "--oldest"])
            .args([
                "--events",
                events,
                "--monitors",
                monitors,
                "--logs",
                logs,
                "--ledger",
                ledger,
                "--config",
            ])
            .arg(workspace().join("configs/freia.toml"))
            .arg("--report")
            .arg(report)
            .env_remove("EVFORGE_VIEW")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let page = loop {
            let line = lines.next().expect("it says where the page is").expect("text");
            if let Some((_, address)) = line.split_once("live view at http://") {
                break address.trim().parse().expect("an address");
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, page }
    }

    fn raw(&self, path: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect_timeout(&self.page, patience()).expect("a connection");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.page);
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let status = text(&answer[..end]).split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), answer.split_off(end))
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.raw(path);
        assert_eq!(status, 200, "{path}: {}", text(&body));
        serde_json::from_slice(&body).expect("JSON")
    }

    /// A value by its name.
    fn value(&self, name: &str) -> Option<Value> {
        let known = self.get("/api/beam.json");
        known["values"].as_array()?.iter().find(|value| value["name"] == name).cloned()
    }

    /// Ends it; gives its report.
    fn end(mut self, report: &Path) -> Value {
        send_signal(self.child.id(), "INT");
        self.child.wait().expect("it ends");
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON")
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends messages to topics.
struct Topics {
    settings: ClientSettings,
}

impl Topics {
    fn send(&self, topic: &str, payloads: &[Vec<u8>]) {
        let mut sender = Sender::open(&self.settings, topic, &Deadline::from(patience())).expect("a sender");
        for payload in payloads {
            assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &RUN).expect("sent"));
        }
        let delivery = sender.finish(patience(), &RUN);
        assert!(delivery.is_complete(), "{delivery:?}");
    }
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(now.as_nanos()).expect("before 2262")
}

fn f144(name: &str, time: i64, value: f64) -> Vec<u8> {
    F144 { source_name: name, timestamp: time, value: value.into() }.encode(&mut Encoder::new()).to_vec()
}

fn pu00(id: i64, charge: f32, vetoes: u32) -> Vec<u8> {
    let message = Pu00 {
        source_name: "isis",
        message_id: id,
        reference_time: now_ns(),
        vetos: Some(vetoes),
        period_number: Some(2),
        proton_charge: Some(charge),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

fn events(id: i64) -> Vec<u8> {
    let pulse = [now_ns()];
    let message = Ev44 {
        source_name: "freia",
        message_id: id,
        reference_time: (&pulse).into(),
        reference_time_index: (&[0]).into(),
        time_of_flight: (&[1_000_000, 2_000_000, 3_000_000]).into(),
        pixel_id: (&[1, 2, 3]).into(),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

fn da00(name: &str, signal: &[i32], edges: &[f64]) -> Vec<u8> {
    let (bins, points) = ([signal.len() as i64], [edges.len() as i64]);
    let data = vec![
        Variable::new("signal", Some("counts"), vec!["frame_time"], &bins[..], signal),
        Variable::new("frame_time", Some("ns"), vec!["frame_time"], &points[..], edges),
    ];
    Da00 { source_name: name, timestamp: now_ns(), data }.encode(&mut Encoder::new()).to_vec()
}

fn hs01(name: &str, counts: &[i64]) -> Vec<u8> {
    let (shape, edges) = ([counts.len() as i32], [0.0, 10.0, 20.0, 30.0]);
    let dimension = Dimension {
        length: counts.len() as i32,
        unit: Some("us"),
        label: Some("time of flight"),
        bin_boundaries: Some(Counts::Float64((&edges).into())),
    };
    let message = Hs01 {
        source: Some(name),
        timestamp: now_ns(),
        dim_metadata: vec![dimension],
        current_shape: (&shape).into(),
        data: Some(Counts::Int64(counts.into())),
        ..Hs01::default()
    };
    message.encode(&mut Encoder::new()).to_vec()
}

/// A row of a ledger, as `docs/kafka.md` describes it.
fn ledger(source: &str, values: &[(&str, i64)]) -> Vec<u8> {
    let values: Vec<(&str, [i64; 1])> = values.iter().map(|&(name, value)| (name, [value])).collect();
    let data = values.iter().map(|(name, value)| Variable::single(name, Some("packets"), value)).collect();
    Da00 { source_name: source, timestamp: now_ns(), data }.encode(&mut Encoder::new()).to_vec()
}

/// Everything that can be noted, one of it each, and what is hostile.
fn logs() -> Vec<Vec<u8>> {
    let now = now_ns();
    let mut encoder = Encoder::new();
    let unit = Un00 { source_name: "temperature", timestamp: now, units: Some("K") };
    let pressure = evforge_messages::F142 {
        source_name: Some("pressure"),
        value: f142::Value::Scalar(1.5.into()),
        timestamp: now as u64,
        status: f142::AlarmStatus::NoChange,
        severity: f142::AlarmSeverity::NoChange,
    };
    let stamps: Vec<u64> = (0..15).map(|turn| now as u64 - turn * 71_428_571).collect();
    let disc = Tdct { name: "disc", timestamps: (&stamps[..]).into(), sequence_counter: 5 };
    let mut messages = vec![
        unit.encode(&mut encoder).to_vec(),
        f144("temperature", now - 2, 9.0),
        f144("temperature", now, 4.5),
        f144("temperature", now - 1, 7.0),
        pressure.encode(&mut encoder).to_vec(),
        disc.encode(&mut encoder).to_vec(),
        pu00(1, 0.25, 0),
        pu00(2, 0.5, 4),
        pu00(3, f32::NAN, 0),
        // Hostile from here on.
        f144(&"n".repeat(1000), now, 1.0),
        f144("temperature", now, f64::NAN),
        f144("temperature", now + 400 * 86_400_000_000_000, -1.0),
        b"no message at all".to_vec(),
    ];
    messages.extend((0..3000).map(|number| f144(&format!("spam {number}"), 1, 1.0)));
    messages
}

#[test]
fn what_topics_have_besides_events_is_on_the_page() {
    const NAME: &str = "what_topics_have_besides_events_is_on_the_page";
    let Some(broker) = shared(NAME) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("view.json");
    let brokers = broker.address();
    let all = ["ev", "mon", "log", "led"].map(|topic| broker.create_topic(topic, 1));
    let [event_topic, monitor_topic, log_topic, ledger_topic] = &all;
    let settings = ClientSettings {
        brokers: Some(brokers.parse::<Brokers>().expect("brokers")),
        ..ClientSettings::default()
    };
    let topics = Topics { settings };
    let viewed = Viewed::start(brokers, &all, &report);
    topics.send(event_topic, &[events(1), events(2)]);
    let mut monitors = vec![
        da00("cave", &[1, 2, 3], &[0.0, 10.0, 20.0, 30.0]),
        da00("cave", &[4, 0, 1], &[0.0, 10.0, 20.0, 30.0]),
        hs01("beam", &[1, 1, 1]),
        hs01("beam", &[7, 8, 9]),
    ];
    // As others make them, where they are at hand: three bins with 1, 2 and 3.
    let golden =
        ["da00", "hs00", "hs01"].map(|name| shared_folder().join(format!("vectors/kafka/{name}.bin")));
    monitors.extend(golden.iter().filter_map(|path| std::fs::read(path).ok()));
    let ones = vec![1_i32; 100_000];
    let edges: Vec<f64> = (0..=100_000).map(f64::from).collect();
    monitors.push(da00("long", &ones[..], &[]));
    monitors.extend((0..40).map(|number| da00(&format!("many {number}"), &[1, 1], &edges[..3])));
    topics.send(monitor_topic, &monitors);
    let module = [("packets_received", 93), ("packets_sent", 100), ("packets_lost", 7)];
    let source =
        [&[("message_id", 9), ("complete", 0), ("events_formed", 6), ("events_dropped", 2)], &module[..]];
    topics.send(ledger_topic, &[ledger("freia", &source.concat()), ledger("freia/ring 0", &module)]);
    let logs = logs();
    topics.send(log_topic, &logs);
    wait_until("all messages are noted", || {
        let state = viewed.get("/api/state.json");
        state["streams"][0]["counters"]["messages_read"]
            .as_u64()
            .is_some_and(|read| read == (2 + 2 + monitors.len() + logs.len()) as u64)
    });

    let known = viewed.get("/api/state.json")["known"].clone();
    let values = known["values"].as_array().expect("values");
    assert_eq!(values.len(), 256, "thousands of names are bounded");
    assert!(known["left_out"].as_u64() > Some(2000), "and counted: {}", known["left_out"]);
    let temperature = viewed.value("temperature").expect("a value");
    assert_eq!((&temperature["value"], &temperature["unit"]), (&4.5.into(), &"K".into()), "{temperature}");
    assert_eq!(viewed.value("pressure").expect("a value")["value"], 1.5);
    let disc = viewed.value("disc").expect("a value");
    assert!((disc["value"].as_f64().expect("a rate") - 14.0).abs() < 1e-6, "{disc}");
    let pulses = &known["pulses"][0];
    let told = (&pulses["pulses"], &pulses["pulses_good"], &pulses["charge_uah"], &pulses["charge_good_uah"]);
    assert_eq!(told, (&3.into(), &2.into(), &0.75.into(), &0.25.into()), "{pulses}");
    assert_eq!(pulses["period"], 2);
    let run = &known["runs"][0];
    assert_eq!(
        (&run["source"], &run["packets_lost"], &run["events_lost"]),
        (&"freia".into(), &7.into(), &2.into())
    );
    assert_eq!(
        viewed.get("/api/state.json")["ledger"]["packets"]["lost"],
        0,
        "it is not mixed with what came here"
    );
    assert!(
        viewed.get("/api/state.json")["alarms"].to_string().contains("7 packets of the readout are lost")
    );

    let cave = viewed.get("/api/monitor-spectrum.json?name=cave");
    assert_eq!(
        (&cave["counts"], &cave["edges"]),
        (&serde_json::json!([5.0, 2.0, 4.0]), &serde_json::json!([0.0, 10.0, 20.0, 30.0]))
    );
    assert_eq!(
        (&cave["kind"], &cave["axis_unit"], &cave["unit"]),
        (&"sum".into(), &"ns".into(), &"counts".into())
    );
    let beam = viewed.get("/api/monitor-spectrum.json?name=beam");
    assert_eq!((&beam["counts"], &beam["kind"]), (&serde_json::json!([7.0, 8.0, 9.0]), &"newest".into()));
    let long = viewed.get("/api/monitor-spectrum.json?name=long");
    assert_eq!(
        (&long["bins"], &long["block"], &long["counts"][9999]),
        (&10_000.into(), &10.into(), &10.0.into())
    );
    assert_eq!(known["spectra"].as_array().map(Vec::len), Some(32));

    let charge = |window: &str| {
        viewed.get(&format!("/api/image.json?points=16,16&window={window}"))["charge_uah"].as_f64()
    };
    assert_eq!(charge("all"), Some(0.75));
    let series = temperature["series"].as_str().expect("a series");
    assert_eq!(series, "evforge_view_value{value=\"temperature\"}");
    let points = || {
        let (status, body) =
            viewed.raw("/api/history.json?series=evforge_view_value%7Bvalue%3D%22temperature%22%7D");
        let answer: Value =
            if status == 200 { serde_json::from_slice(&body).expect("JSON") } else { Value::Null };
        answer["series"][0]["points"].as_array().cloned().unwrap_or_default()
    };
    let has = |value: f64| points().iter().any(|point| point["min"] == value);
    wait_until("the history has the first values", || has(4.5));
    let begin_ms = viewed.get("/api/state.json")["time_ms"].as_u64().expect("a time");
    let since = format!("since:{begin_ms}");
    // What comes now is not put to what came before: that is closed after a tenth of a second.
    wait_until("what came before is closed", || {
        viewed.get("/api/state.json")["time_ms"].as_u64() > Some(begin_ms + 200)
    });
    topics.send(log_topic, &[pu00(4, 0.125, 0), f144("temperature", now_ns(), 3.0)]);
    topics.send(event_topic, &[events(3)]);
    wait_until("the window has its charge", || charge(&since) == Some(0.125));
    assert_eq!((charge("all"), charge("last:600")), (Some(0.875), Some(0.875)));
    wait_until("the history has the new one", || has(3.0));
    assert!(points().iter().any(|point| point["max"] == 9.0), "the peak of its second: {:?}", points());

    in_a_browser(NAME, &viewed);
    let report = viewed.end(&report);
    let counters = &report["counters"];
    let count = |name: &str| counters[name].as_u64().unwrap_or_default();
    assert_eq!((report["unaccounted"].as_u64(), count("messages_refused")), (Some(0), 1), "{report}");
    assert_eq!((count("messages_of_ledgers"), count("charges_refused")), (2, 1));
    assert_eq!((count("messages_with_long_names"), count("messages_of_the_future")), (1, 1), "{counters}");
    assert_eq!(count("messages_without_numbers"), 1);
    assert_eq!(report["told_by_runs"][0]["packets_lost"], 7);
    assert!(count("spectra_left_out") > 0 && count("messages_of_too_many_names") > 2000, "{counters}");
}

/// The page itself, where a browser is to be had.
fn in_a_browser(test: &str, viewed: &Viewed) {
    let folder = workspace().join("tests/browser");
    if !["playwright-core", "axe-core"].iter().all(|name| folder.join("node_modules").join(name).is_dir()) {
        return skip(test, "playwright-core and axe-core are not installed: run npm ci in tests/browser");
    }
    let mut node = Command::new("node");
    node.arg("values_test.mjs").arg(format!("http://{}", viewed.page));
    node.args(std::env::var_os("EVFORGE_VALUES_SCREENSHOTS")).current_dir(folder);
    match node.output() {
        Err(error) => skip(test, &format!("node cannot be started: {error}")),
        Ok(page) => {
            let (out, error) = (text(&page.stdout), text(&page.stderr));
            assert!(page.status.success(), "{out}\n{error}");
            println!("{out}");
        }
    }
}

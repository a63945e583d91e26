//! Report, page and NeXus ledger are made from one account: they say the same of every detector, also of one from outside
//! that calls its counters what it likes; and every counter of every output is in all three.

use crate::common::{evforge, workspace};
use evforge_config::Config;
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::output::Output;
use evforge_core::run_state::OutputCounters;
use evforge_core::time::Clock;
use evforge_net::capture::CaptureReader;
use evforge_net::clock::SystemClock;
use evforge_outputs::QueueSettings;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::ledger_at_start;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_stream::nexus::{NexusCounters, NexusOptions, NexusOutput};
use evforge_testkit::outside::{c_compiler, c_library, succeed};
use evforge_view::{LiveView, ViewCounters, ViewOptions};
use hdf5_metno::types::FixedUnicode;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The shipped configurations that can be simulated.
const SHIPPED: [&str; 18] = [
    "gdgem-srs",
    "gdgem-nmx",
    "multiblade",
    "multigrid",
    "multigrid-cncs",
    "sonde",
    "bifrost",
    "nmx",
    "freia",
    "estia",
    "trex",
    "let",
    "tblmb",
    "multiblade-50",
    "amor-ess",
    "sonde-module",
    "beam-monitors",
    "adc-readout",
];

/// `/api/state.json` of a page.
fn page(address: SocketAddr) -> Value {
    let mut stream = std::net::TcpStream::connect(address).expect("the page is there");
    let request = format!("GET /api/state.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// The counters of an output with these of its own.
fn infos(own: &[CounterInfo]) -> Vec<CounterInfo> {
    OutputCounters::infos().iter().chain(own).copied().collect()
}

/// The last row of a table of counters, by name.
fn last_values(file: &hdf5_metno::File, table: &str) -> Vec<(String, i64)> {
    let dataset = |name: &str| {
        file.dataset(&format!("{table}/{name}")).unwrap_or_else(|error| panic!("{table}: {error}"))
    };
    let names = dataset("counter").read_raw::<FixedUnicode<256>>().expect("names");
    let counts = dataset("counts").read_2d::<i64>().expect("values");
    let last = counts.rows().into_iter().next_back().expect("a row");
    names.iter().map(|name| name.to_string()).zip(last.iter().copied()).collect()
}

fn check(name: &str, config: &Config, capture: &Path, folder: &Path) {
    let detector = config.build_detector().expect("a configuration that was read");
    let ledger = ledger_at_start(detector.as_ref());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let view = LiveView::start(ViewOptions {
        address: "127.0.0.1:0".parse().expect("an address"),
        ..ViewOptions::new(name, detector.geometry(), config.pulses)
    })
    .expect("a page");
    let path = folder.join(format!("{name}.nxs"));
    let outputs = [
        ("nexus".to_owned(), infos(NexusCounters::infos())),
        ("view".to_owned(), infos(ViewCounters::infos())),
    ];
    let options = NexusOptions::new(&path, name, detector.geometry())
        .with_counters(&ledger.counters)
        .with_beam_monitors(&ledger.beam_monitors)
        .with_outputs(&outputs);
    let nexus = NexusOutput::new(options, Arc::clone(&clock)).expect("a file");
    let run = CaptureRun {
        config,
        input: Box::new(CaptureReader::open(capture).expect("a capture")),
        outputs: vec![
            ("nexus".to_owned(), Box::new(nexus) as Box<dyn Output>, QueueSettings::COMPLETE),
            ("view".to_owned(), Box::new(view.sink()), QueueSettings::PICTURE),
        ],
        samples: None,
        stop: &AtomicBool::new(false),
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        clock,
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    let report = run.run(|_| {}).expect("a run");
    assert!(report.is_success(), "{name}: {}", report.to_text());
    let report = report.to_json();
    let stream = &report["streams"][0];
    let page = page(view.address());
    let ledger = &page["ledger"];

    // The sums.
    assert!(stream["events"].as_u64() > Some(20), "{name}: {stream:#}");
    for key in ["readouts", "hits", "events", "held", "unaccounted"] {
        assert_eq!(stream[key], ledger[key], "{name}: {key} in report and page");
    }
    assert_eq!(stream["packets"]["handed_over"], ledger["handed_over"], "{name}");
    for key in ["received", "lost", "reordered", "duplicated", "unconfirmed", "restarts"] {
        assert_eq!(stream["packets"][key], ledger["packets"][key], "{name}: {key} in report and page");
    }
    let discarded = |reason: &str| {
        let of_packets = &stream["packets"]["discarded"][reason];
        if of_packets.is_null() { &stream["discarded"][reason] } else { of_packets }
    };
    for reason in ledger["discarded"].as_array().expect("a list") {
        let reported = discarded(reason["name"].as_str().expect("a name"));
        assert_eq!(reported, &reason["count"], "{name}: {reason} in report and page");
    }
    // Every counter of the ledger.
    let mut counters = stream["counters"].as_object().expect("counters").clone();
    // Reports have these as well until release 0.3.
    for former in ["leaps", "unconfirmed_leap", "idle_packets", "packets_no_idle_time", "mean_values"] {
        counters.remove(former);
    }
    assert_eq!(page["streams"][0]["counters"].as_object(), Some(&counters), "{name}");
    let file = hdf5_metno::File::open(&path).expect("the file");
    let series = last_values(&file, "/entry/ledger/counters");
    for (counter, value) in &counters {
        let written = series.iter().find(|(name, _)| name == counter).map(|(_, value)| *value);
        assert_eq!(written, value.as_i64(), "{name}: {counter} in report and file");
    }
    // Every counter of every output, in all three; the values of the outputs go on until the last of them has ended.
    for (id, infos) in &outputs {
        let reported =
            report["outputs"].as_array().expect("a list").iter().find(|output| output["id"] == **id);
        let shown = page["outputs"].as_array().expect("a list").iter().find(|output| output["id"] == **id);
        let written = last_values(&file, &format!("/entry/outputs/{id}"));
        let (reported, shown) = (reported.expect("in the report"), shown.expect("on the page"));
        assert_eq!(reported["events"]["committed"], stream["events"], "{name}: {id}");
        for info in infos {
            for (place, output) in [("report", reported), ("page", shown)] {
                let is_there = ["events", "counters"].iter().any(|key| output[key].get(info.name).is_some());
                assert!(is_there, "{name}: {} of {id} is not in the {place}", info.name);
            }
            assert!(
                written.iter().any(|(name, _)| name == info.name),
                "{name}: {} of {id} is not in the file",
                info.name
            );
        }
    }
}

#[test]
fn report_page_and_file_say_the_same_of_every_detector() {
    let folder = tempfile::tempdir().unwrap();
    for name in SHIPPED {
        let config = workspace().join(format!("configs/{name}.toml"));
        let capture = folder.path().join(format!("{name}.pcapng"));
        let (config_text, capture_text) = (config.display().to_string(), capture.display().to_string());
        evforge(&["simulate", "--config", &config_text, "--pulses", "5", "--output", &capture_text]);
        let config = Config::read(&config, &[]).unwrap_or_else(|error| panic!("{error}"));
        check(name, &config, &capture, folder.path());
    }
}

#[test]
fn they_say_the_same_of_a_detector_from_outside_that_has_names_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let example = workspace().join("examples/plugin-c");
    let mut source = std::fs::read_to_string(example.join("detector.c")).unwrap();
    for (name, own) in [
        ("packets_used", "frames_used"),
        ("readouts", "samples"),
        ("hits", "strikes"),
        ("hits_in_events", "strikes_used"),
    ] {
        let (before, after) = (format!("{{\"{name}\""), format!("{{\"{own}\""));
        assert!(source.contains(&before), "{name}");
        source = source.replace(&before, &after);
    }
    std::fs::write(folder.join("own_names.c"), source).unwrap();
    let library = c_library(&folder.join("own_names.c"), folder, "own_names", &["-lm"]);
    let (program, packets) = (folder.join("make_packets"), folder.join("packets.pkts"));
    succeed(c_compiler().arg(example.join("make_packets.c")).arg("-o").arg(&program).arg("-lm"));
    let made = std::process::Command::new(program).arg("100").output().unwrap();
    std::fs::write(&packets, made.stdout).unwrap();
    let config = Config::read_with_library(None, &library, &[]).unwrap_or_else(|error| panic!("{error}"));
    check("own_names", &config, &packets, folder);
    let ledger = ledger_at_start(config.build_detector().unwrap().as_ref());
    assert!(ledger.counters.value("strikes").is_some() && ledger.counters.value("hits").is_none());
}

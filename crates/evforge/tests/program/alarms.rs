//! Every alarm is in everything that shows alarms.

use evforge_control::named_counters::named_counters;
use evforge_core::alarm::states_with_every_alarm;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::Output as _;
use evforge_core::pulse::PulseTrain;
use evforge_metrics::{Value, run_metrics};
use evforge_pipeline::report::{Ending, RunReport};
use evforge_testkit::patience::wait_until;
use evforge_view::{LiveView, ViewOptions};
use std::io::{Read as _, Write as _};
use std::sync::Arc;

/// `/api/state.json` of a page.
fn page(view: &LiveView) -> serde_json::Value {
    let address = view.address();
    let mut stream = std::net::TcpStream::connect(address).expect("the page is there");
    let request = format!("GET /api/state.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
}

#[test]
fn every_alarm_is_on_page_and_port_in_metrics_and_report() {
    let geometry = LogicalGeometry::flat(2, 2).expect("a geometry");
    for state in states_with_every_alarm() {
        let alarms = state.alarms();
        assert!(alarms.len() > 10, "{alarms:?}");
        let view = LiveView::start(ViewOptions {
            address: "127.0.0.1:0".parse().expect("an address"),
            ..ViewOptions::new("toy", geometry, PulseTrain::ess())
        })
        .expect("a page");
        let mut sink = view.sink();
        sink.observe(&Arc::new(state.clone())).expect("a page takes every state");
        let (counters, metrics) = (named_counters(&state), run_metrics(&state));
        let report = RunReport {
            stream: "toy".into(),
            identity: Default::default(),
            input: "nothing".into(),
            ending: Ending::Stopped,
            state,
            recording: None,
            latency: None,
            series: Default::default(),
            alarms: Default::default(),
            output_latencies: Vec::new(),
            clock: None,
        };
        let reported = report.to_json()["streams"][0]["alarms"].clone();
        for alarm in alarms {
            let name = alarm.kind.name();
            let has_sign =
                || page(&view)["signs"].as_array().expect("a list").iter().any(|sign| sign["sign"] == name);
            // The feed of a page grows old by itself: silence is what it says of a run that says nothing.
            if !matches!(name, "rejecting" | "input_failed") {
                wait_until(name, has_sign);
            }
            let counter = format!("alarms.{name}");
            assert!(counters.iter().any(|known| known.name == counter && known.value > 0), "{counter}");
            let is_raised = metrics.iter().any(|reading| {
                reading.name == "alarms"
                    && reading.labels == [("alarm", name.to_owned())]
                    && reading.value != Value::Whole(0)
            });
            assert!(is_raised, "{name} in the metrics");
            assert!(reported.as_array().expect("a list").iter().any(|text| *text == alarm.text), "{name}");
        }
        sink.abandon();
        view.shutdown();
    }
}

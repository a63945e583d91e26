//! What is known besides the events: over HTTP, and charge in windows.
#![allow(clippy::unwrap_used)]

use crate::common::{ask, feed, options, start};
use evforge_testkit::patience::wait_for;
use evforge_view::{BeamState, BeamTold, MonitorSpectrum, MonitorSpectrumState, Seen, ValueState};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn get(address: SocketAddr, path: &str) -> Value {
    let answer = ask("GET", address, path, &address.to_string(), "");
    assert_eq!(answer.status, 200, "{path}: {}", answer.head);
    answer.json()
}

/// In units of 1e-12 µAh.
fn charge(uah: f64) -> u128 {
    (uah * 1e12).round() as u128
}

#[test]
fn charge_is_that_of_the_window() {
    let (view, mut sink) = start(options(2, 2));
    let address = view.address();
    feed(&mut sink, &[(50_000, 1)]);
    let of = |window: &str| get(address, &format!("/api/image.json?window={window}"))["charge_uah"].clone();
    assert_eq!(of("all"), Value::Null, "nobody has told any");
    sink.add_charge(charge(2.5));
    feed(&mut sink, &[(250_000, 2)]);
    // The chunk that is open is closed, and what comes then is later.
    std::thread::sleep(Duration::from_millis(120));
    feed(&mut sink, &[(350_000, 2)]);
    std::thread::sleep(Duration::from_millis(1100));
    let now = get(address, "/api/state.json")["time_ms"].as_u64().unwrap();
    let since = format!("since:{now}");
    assert_eq!((of("all"), of(&since)), (2.5.into(), 0.0.into()));
    feed(&mut sink, &[(550_000, 2)]);
    let told = Instant::now();
    sink.add_charge(charge(0.1));
    std::thread::sleep(Duration::from_millis(120));
    feed(&mut sink, &[(650_000, 2)]);
    assert_eq!((of("all"), of(&since), of("last:60")), (2.6.into(), 0.1.into(), 2.6.into()));
    // What has left the window is taken out of it: all, where the test is held up for longer than the window.
    let last = of("last:1");
    assert!(last == 0.1 || (last == 0.0 && told.elapsed() > Duration::from_secs(1)), "{last}");
    assert_eq!(get(address, "/api/spectrum.json")["charge_uah"], 2.6);
}

#[test]
fn values_are_in_the_state_and_in_the_history_and_spectra_are_as_they_were_told() {
    let (view, _sink) = start(options(2, 2));
    let address = view.address();
    assert_eq!(get(address, "/api/state.json")["beam"], false);
    let name = "temperature";
    let tell = |value: f64| {
        let state = ValueState {
            name: name.into(),
            kind: "value",
            value: Some(value),
            unit: "K".into(),
            messages: 1,
            ..ValueState::default()
        };
        let spectrum = MonitorSpectrum {
            state: MonitorSpectrumState { name: "m".into(), bins: 2, ..MonitorSpectrumState::default() },
            edges: vec![0.0, 1.5, 2.0],
            counts: vec![3.0, 4.5],
        };
        view.tell_beam(BeamTold {
            state: BeamState { values: vec![state], ..BeamState::default() },
            seen: vec![Some(Seen::of(value))],
            spectra: vec![Arc::new(spectrum)],
        });
    };
    tell(9.0);
    tell(3.0);
    let state = get(address, "/api/state.json");
    assert_eq!((&state["beam"], &state["known"]["values"][0]["value"]), (&true.into(), &3.0.into()));
    let series = state["known"]["values"][0]["series"].as_str().unwrap().to_owned();
    let encoded: String = form_urlencoded::byte_serialize(series.as_bytes()).collect();
    let point = wait_for(format!("a point of {series}"), || {
        let path = format!("/api/history.json?series={encoded}");
        let answer = ask("GET", address, &path, &address.to_string(), "");
        (answer.status == 200).then(|| answer.json()["series"][0]["points"].as_array()?.first().cloned())?
    });
    assert_eq!((&point["min"], &point["max"]), (&3.0.into(), &9.0.into()), "{point}");
    let spectrum = get(address, "/api/monitor-spectrum.json?name=m");
    assert_eq!((&spectrum["counts"][1], &spectrum["edges"][1]), (&4.5.into(), &1.5.into()));
    let csv = ask("GET", address, "/api/monitor-spectrum.csv", &address.to_string(), "");
    assert_eq!(String::from_utf8(csv.body).unwrap(), "from,to,counts\n0,1.5,3\n1.5,2,4.5\n");
    let npy = ask("GET", address, "/api/monitor-spectrum.npy", &address.to_string(), "").body;
    assert!(npy.ends_with(&4.5_f64.to_le_bytes()) && npy.len() == 128 + 32);
}

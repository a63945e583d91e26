//! What scripts get, and who gets nothing.
#![allow(clippy::unwrap_used)]

use crate::common::{Browser, ask, feed, get, hand_on, options, start};
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_view::frame::Picture;
use evforge_view::{LiveView, ViewError, ViewOptions};
use serde_json::json;

#[test]
fn scripts_get_state_and_counts() {
    let (view, mut sink) = start(options(3, 2));
    feed(&mut sink, &[(50_000, 1), (250_000, 6), (250_000, 6)]);
    let address = view.address();
    assert_eq!(get(address, "/api/health").json()["status"], "ok");
    let state = get(address, "/api/state.json").json();
    assert_eq!((&state["events"], &state["title"]), (&3.into(), &"Test detector".into()));
    assert_eq!((&state["streams"][0]["events"], &state["browsers"]["connected"]), (&3.into(), &0.into()));
    let image = get(address, "/api/image.json").json();
    let found =
        ["number", "picture", "nx", "ny", "counts", "events", "pulses", "missed"].map(|name| &image[name]);
    assert_eq!(json!(found), json!([3, "xy", 3, 2, [1, 0, 0, 0, 0, 2], 3, 1, 0]));
    let frame = Picture::decode(&get(address, "/api/image.bin").body).unwrap();
    assert_eq!(frame.images[0].counts, [1, 0, 0, 0, 0, 2]);
    let spectrum = get(address, "/api/spectrum.json").json();
    assert_eq!((&spectrum["bin_ns"], &spectrum["counts"][2]), (&100_000.into(), &2.into()));
}

#[test]
fn depth_is_seen_from_three_sides_and_monitors_have_pictures_of_their_own() {
    let geometry = LogicalGeometry::new(2, 3, 4, 2).unwrap();
    let monitor = BeamMonitorPlan {
        name: "monitor_1".into(),
        kind: BeamMonitorKind::Event2D,
        first_pixel: 49,
        nx: 2,
        ny: 2,
        histogram: TimeOfFlightBins::new(0, 100, 10).unwrap(),
        alongside: true,
    };
    let view = ViewOptions { geometry, beam_monitors: vec![monitor], ..options(1, 1) };
    let (view, mut sink) = start(view);
    // The last pixel of panel 0, the last of the monitor, and one beyond.
    feed(&mut sink, &[(1, 24), (2, 52), (3, 52), (4, 53), (5, 0)]);
    let pictures = get(view.address(), "/api/pictures.json").json();
    let told: Vec<_> =
        pictures.as_array().unwrap().iter().map(|p| (&p["name"], &p["first"], &p["sum"])).collect();
    assert_eq!(
        json!(told),
        json!([["xy", true, 1], ["xz", false, 1], ["yz", false, 1], ["monitor_1", true, 2]])
    );
    assert_eq!(pictures[1]["across"]["label"], "x (column)");
    assert_eq!(
        pictures[2]["up"],
        json!({"label": "z (layer)", "unit": "layer", "pixels": 4, "first": 0.0, "step": 1.0})
    );
    let lit = |name: &str| {
        let image = get(view.address(), &format!("/api/image.json?picture={name}")).json();
        let at = image["counts"].as_array().unwrap().iter().position(|count| count != 0).unwrap() as u64;
        let nx = image["nx"].as_u64().unwrap();
        (at % nx, at / nx)
    };
    assert_eq!([lit("xy"), lit("xz"), lit("yz"), lit("monitor_1")], [(1, 2), (1, 3), (2, 3), (1, 1)]);
    let unknown = get(view.address(), "/api/image.json?picture=zx");
    assert!(unknown.status == 404 && unknown.text().contains("xy, xz, yz, monitor_1"));
    assert_eq!(get(view.address(), "/api/state.json").json()["outside_geometry"], 2);
    let frame = Picture::decode(&get(view.address(), "/api/image.bin").body).unwrap();
    assert_eq!(frame.images.iter().map(|image| image.total()).collect::<Vec<_>>(), [1, 1, 1, 2]);
}

#[test]
fn several_streams_add_up() {
    let view = LiveView::start(options(2, 1)).unwrap();
    let (mut left, mut right) = (view.sink_for("left"), view.sink_for("right"));
    feed(&mut left, &[(1, 1)]);
    feed(&mut right, &[(1, 1), (1, 2)]);
    assert_eq!(get(view.address(), "/api/image.json").json()["counts"], json!([2, 1]));
    let state = get(view.address(), "/api/state.json").json();
    assert_eq!((&state["events"], &state["streams"][1]["name"]), (&3.into(), &"right".into()));
}

#[test]
fn the_page_is_served_from_the_program() {
    let (view, _sink) = start(options(2, 2));
    let page = get(view.address(), "/");
    assert!(page.status == 200 && page.head.contains("content-type: text/html"));
    assert!(page.text().contains("evforge"));
    // Every file that the page names is there, with its type.
    for name in page.text().split('"').filter(|part| part.starts_with('/')) {
        let file = get(view.address(), name);
        assert_eq!(file.status, 200, "{name}");
        assert!(!file.head.contains("text/plain"), "{name}: {}", file.head);
    }
    let tag = page.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let host = view.address().to_string();
    let again = ask("GET", view.address(), "/", &host, &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len()), (304, 0));
    let missing = get(view.address(), "/nonsense");
    assert!(missing.status == 404 && missing.text().contains("no page /nonsense"));
}

#[test]
fn foreign_names_and_pages_are_refused() {
    let (view, _sink) = start(ViewOptions { host_names: vec!["view.example.org".into()], ..options(2, 2) });
    let address = view.address();
    let refused = ask("GET", address, "/api/state.json", "evil.example:8080", "");
    assert!(refused.status == 403 && refused.text().contains("not called evil.example"));
    for remedy in ["--view-name evil.example,", "host_names = [\"evil.example\"] in the output"] {
        assert!(refused.text().contains(remedy), "{}", refused.text());
    }
    assert_eq!(ask("GET", address, "/api/health", "view.example.org", "").status, 200);
    let handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nOrigin: http://evil.example\r\n";
    assert_eq!(ask("GET", address, "/api/live", &address.to_string(), handshake).status, 403);
}

#[test]
fn a_view_that_others_can_reach_says_so() {
    let (view, _sink) = start(options(2, 2));
    assert_eq!(view.warning(), None);
    let open = ViewOptions {
        address: "0.0.0.0:0".parse().unwrap(),
        host_names: vec!["view.example.org".into()],
        ..options(2, 2)
    };
    let (view, _sink) = start(open);
    let warning = view.warning().unwrap();
    let everybody = format!("everybody who can reach 0.0.0.0:{} may look", view.address().port());
    for part in [
        &everybody,
        "view.example.org, localhost",
        "--view-name NAME, or host_names = [\"NAME\"]",
        "127.0.0.1",
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert!(!warning.contains("switch"), "there is nothing to switch: {warning}");
}

#[tokio::test]
async fn one_browser_too_many_is_turned_away() {
    let (view, _sink) = start(ViewOptions { most_clients: 1, ..options(2, 2) });
    let _first = Browser::open(view.address()).await;
    let url = format!("ws://{}/api/live", view.address());
    let error = tokio_tungstenite::connect_async(url).await.unwrap_err().to_string();
    assert!(error.contains("503"), "{error}");
    assert_eq!((view.clients().connected, view.clients().refused), (1, 1));
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let (view, _sink) = start(options(2, 2));
    let error = LiveView::start(ViewOptions { address: view.address(), ..options(2, 2) }).unwrap_err();
    assert!(matches!(error, ViewError::Listen { .. }));
    let (text, port) = (error.to_string(), view.address().port());
    assert!(text.contains(&format!("another program has TCP port {port}")) && text.contains("ss -ltnp"));
    let elsewhere = ViewOptions { address: "192.0.2.1:0".parse().unwrap(), ..options(2, 2) };
    let text = LiveView::start(elsewhere).unwrap_err().to_string();
    assert!(text.contains("this host has no address 192.0.2.1"), "{text}");
}

#[test]
fn times_of_flight_count_from_the_pulses_that_the_readout_tells() {
    let (view, mut sink) = start(options(4, 2));
    let mut batch = EventBatch::new(8);
    // 100 µs per bin; the pulses are not those of the configured train.
    let second = 1_000_000_000;
    for (pulse, times) in [
        (second + 7, &[second + 7, second + 150_007, second + 500_000_000][..]),
        (2 * second + 9, &[2 * second + 8, 2 * second + 150_009]),
        (3 * second, &[]),
    ] {
        assert!(batch.begin_pulse(pulse));
        for &time_ns in times {
            assert!(batch.push(Event { time_ns, pixel_id: 1 }));
        }
    }
    hand_on(&mut sink, &batch);
    let picture = Picture::decode(&get(view.address(), "/api/image.bin").body).unwrap();
    assert_eq!((picture.spectrum[0], picture.spectrum[1]), (1, 2));
    assert_eq!(picture.spectrum.iter().sum::<u64>(), 3);
    let state = get(view.address(), "/api/state.json").json();
    assert_eq!((&state["events"], &state["before_first_pulse"]), (&json!(5), &json!(1)));
    assert_eq!(state["beyond_spectrum"], json!(1));
}

//! What scripts get, and who gets nothing.
#![allow(clippy::unwrap_used)]

use crate::common::{BEARER, Browser, access, ask, feed, get, hand_on, options, start};
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_testkit::patience::{patience, wait_until};
use evforge_view::frame::Picture;
use evforge_view::{LiveView, ViewError, ViewOptions, http_api};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

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
}

/// What a browser asks a WebSocket with.
const HANDSHAKE: &str =
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

#[test]
fn only_the_page_itself_may_watch_and_change_and_no_page_of_another_port_or_scheme() {
    let origins = vec!["https://lab.example.org".into()];
    let (view, _sink) = start(ViewOptions { origins, control: Some(access()), ..options(2, 2) });
    let (address, port) = (view.address(), view.address().port());
    let other = if port == u16::MAX { port - 1 } else { port + 1 };
    let asked = |method: &str, path: &str, host: &str, origin: &str| {
        let more = match method {
            "POST" => format!("{BEARER}Origin: {origin}\r\n"),
            _ => format!("Origin: {origin}\r\n"),
        };
        ask(method, address, path, host, &more).status
    };
    let watched = |host: &str, origin: &str| {
        let headers = format!("Host: {host}\r\nConnection: Upgrade\r\n{HANDSHAKE}Origin: {origin}\r\n");
        head_of(address, &format!("GET /api/live HTTP/1.1\r\n{headers}\r\n")).0
    };
    let (numbers, name) = (format!("127.0.0.1:{port}"), format!("localhost:{port}"));
    for (host, origin) in [
        (&numbers, format!("http://{numbers}")),
        (&name, format!("http://{name}")),
        (&name, "https://lab.example.org".into()),
    ] {
        assert_eq!(watched(host, &origin), 101, "{host} {origin}");
        assert_eq!(asked("GET", "/api/state.json", host, &origin), 200, "{host} {origin}");
        assert_eq!(asked("POST", "/api/control/clear", host, &origin), 200, "{host} {origin}");
    }
    for origin in [
        format!("http://127.0.0.1:{other}"),
        format!("http://localhost:{other}"),
        "http://localhost".into(),
        // The same host by another name is another page.
        format!("http://{numbers}"),
        format!("https://{name}"),
        "https://lab.example.org:8443".into(),
        "http://lab.example.org".into(),
        format!("http://{name}.evil.example"),
        "http://evil.example".into(),
        "null".into(),
    ] {
        assert_eq!(watched(&name, &origin), 403, "{origin}");
        assert_eq!(asked("GET", "/api/state.json", &name, &origin), 403, "{origin}");
        // The right token does not help.
        assert_eq!(asked("POST", "/api/control/clear", &name, &origin), 403, "{origin}");
        assert_eq!(asked("POST", "/monitor/on", &name, &origin), 403, "{origin}");
    }
    // A name of somebody else's that means this host.
    assert_eq!(watched("evil.example", "http://evil.example"), 403);
    // Programs that are no browsers say nothing of a page.
    assert_eq!(ask("POST", address, "/api/control/clear", &name, BEARER).status, 200);
    // What a page of another port can have without an origin.
    let picture = "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n";
    assert_eq!(ask("GET", address, "/api/image.json", &name, picture).status, 403);
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(ask("GET", address, "/", &name, link).status, 200);
}

/// Status and head of the answer to these bytes, whatever comes behind.
fn head_of(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head)
}

#[test]
fn every_answer_says_that_no_page_may_have_it_inside() {
    let (view, _sink) = start(ViewOptions { control: Some(access()), ..options(2, 2) });
    let (address, host) = (view.address(), view.address().to_string());
    let mut asked = 0;
    for (status, method, target, more) in [
        (200, "GET", "/", ""),
        (200, "HEAD", "/", ""),
        (404, "GET", "/nothing", ""),
        (200, "GET", "/api/state.json", ""),
        (200, "GET", "/api/image.bin", ""),
        (200, "GET", "/metrics", ""),
        (400, "GET", "/api/state.json?x=1", ""),
        (400, "GET", "/api/live", ""),
        (101, "GET", "/api/live", &format!("Connection: Upgrade\r\n{HANDSHAKE}")),
        (403, "GET", "/api/state.json", "Origin: http://evil.example\r\n"),
        (405, "DELETE", "/api/state.json", ""),
        (401, "POST", "/api/control/clear", ""),
        (404, "GET", "/api/control/nothing", ""),
    ] {
        let (found, head) =
            head_of(address, &format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"));
        assert_eq!(found, status, "{method} {target}: {head}");
        for line in [
            "x-frame-options: deny",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert_eq!(
                head.lines().filter(|found| *found == line).count(),
                1,
                "{line} in {method} {target}: {head}"
            );
        }
        let policy = head.lines().find_map(|line| line.strip_prefix("content-security-policy: "));
        assert!(policy.is_some_and(|policy| policy.contains("frame-ancestors 'none'")), "{target}: {head}");
        asked += 1;
    }
    assert_eq!(asked, 13);
}

#[test]
fn beyond_loopback_nothing_is_changed_without_the_token() {
    let open =
        ViewOptions { address: "0.0.0.0:0".parse().unwrap(), control: Some(access()), ..options(2, 2) };
    let (view, _sink) = start(open);
    let address = SocketAddr::from(([127, 0, 0, 1], view.address().port()));
    let host = address.to_string();
    let paths = http_api::openapi()["paths"].as_object().unwrap().clone();
    let mut changing = 0;
    for (path, operations) in &paths {
        for (method, operation) in operations.as_object().unwrap() {
            // What is not a question changes something, whatever is declared of it.
            if method == "get" && operation.get("security").is_none() {
                continue;
            }
            let (method, path) = (method.to_uppercase(), path.replace("{group}", "input"));
            for wrong in [
                "",
                "Authorization: Bearer 0123456789abcdef-tes\r\n",
                "Cookie: token=0123456789abcdef-test\r\n",
            ] {
                let answer = ask(&method, address, &path, &host, wrong);
                assert!([401, 429].contains(&answer.status), "{method} {path} {wrong}: {}", answer.head);
            }
            changing += 1;
        }
    }
    assert!(changing >= 9, "only {changing} of {} paths change something", paths.len());
    let warning = view.warning().unwrap();
    for part in ["whoever has the token of the run", "nothing is encrypted", "--view 127.0.0.1:", "ssh -L "] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
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
    assert!(!warning.contains("token"), "there is nothing to change: {warning}");
}

#[tokio::test]
async fn the_browsers_of_one_address_leave_seats_for_others() {
    let limits = ViewOptions { most_clients: 3, most_clients_of_one_address: 2, ..options(2, 2) };
    let (view, _sink) = start(limits);
    let url = format!("ws://{}/api/live", view.address());
    let mut first = Browser::open(view.address()).await;
    let _second = Browser::open(view.address()).await;
    let error = tokio_tungstenite::connect_async(&url).await.unwrap_err();
    let tokio_tungstenite::tungstenite::Error::Http(refused) = error else { panic!("{error}") };
    let body = String::from_utf8(refused.body().clone().unwrap_or_default()).unwrap();
    assert_eq!(refused.status(), 503);
    assert!(
        body.contains("2 browsers of this address") && body.contains("max_browsers_per_address"),
        "{body}"
    );
    // Somebody else finds the seat that is left.
    let watch_from_elsewhere = || async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 2], 0))).unwrap();
        let stream = socket.connect(view.address()).await.unwrap();
        tokio_tungstenite::client_async(&url, stream).await
    };
    let other = watch_from_elsewhere().await.unwrap();
    assert!(watch_from_elsewhere().await.unwrap_err().to_string().contains("503"));
    assert_eq!((view.clients().connected, view.clients().refused), (3, 2));
    // A seat that is left is free again.
    first.socket.close(None).await.unwrap();
    drop((first, other));
    wait_until("the seats are free", || view.clients().connected == 1);
    let _again = Browser::open(view.address()).await;
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

//! Conversations with the page's server.

use super::Seed;
use super::pieces::joined;
use crate::http::TOKEN;
use evforge_view::http_api::{Sample, samples};

/// A request of HTTP/1.1 with these further headers.
fn request(method: &str, address: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = match body.len() {
        0 => String::new(),
        length => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    format!("{method} {address} HTTP/1.1\r\nhost: localhost\r\n{headers}{length}\r\n{body}").into_bytes()
}

/// The request with which a page opens its WebSocket.
fn upgrade() -> Vec<u8> {
    let headers = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\norigin: http://localhost\r\n";
    request("GET", "/api/live", headers, "")
}

/// A frame as browsers send them, with a mask of zeros.
fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match content.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0x80 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(content);
    bytes
}

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;

/// What a page says of what it wants to see.
const LOOKS: &str = r#"{"type": "looks", "number": 3, "looks": [{"picture": "xy", "part": [0, 0, 8, 6], "points": [16, 16],
 "slice_ns": [0, 1000000], "window": {"kind": "last", "seconds": 10}, "bins": {"from_ns": 0, "width_ns": 1000, "count": 50},
 "vetoed": "accepted", "period": 1, "frames": "good", "complete": true,
 "regions": [{"name": "beam", "shape": "rectangle", "points": [[1, 1], [3, 3]]}]}]}"#;

/// A request to every path, all in one connection, requests with something wrong, and what browsers say at the WebSocket.
pub fn seeds() -> Vec<Seed> {
    let token = format!("authorization: Bearer {TOKEN}\r\n");
    let of_sample = |sample: &Sample| {
        let headers = if sample.changes { token.as_str() } else { "" };
        request(sample.method, &sample.address, headers, sample.body)
    };
    let all = samples();
    let mut seeds: Vec<Seed> = all
        .iter()
        .enumerate()
        .map(|(number, sample)| {
            let path = sample.address.split('?').next().unwrap_or_default();
            let name: String =
                path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let name = format!("{number:02}-{}{name}", sample.method.to_ascii_lowercase());
            Seed::new(name.trim_end_matches('-'), joined(Vec::new(), &[of_sample(sample)]))
        })
        .collect();
    let pipelined: Vec<Vec<u8>> = all.iter().take(8).map(of_sample).collect();
    let get = |address: &str, headers: &str| request("GET", address, headers, "");
    let changes = |body: &str| request("POST", "/api/control/changes", &token, body);
    let talk = |said: &[Vec<u8>]| [&[upgrade()][..], said].concat();
    let long = "x".repeat(60_000);
    let chunked = format!("transfer-encoding: chunked\r\n{token}");
    let chunks =
        |chunks: &[u8]| [request("POST", "/api/control/changes", &chunked, ""), chunks.to_vec()].concat();
    for (name, pieces) in [
        ("pipelined", vec![pipelined.concat()]),
        ("one-after-the-other", pipelined),
        ("byte-by-byte", get("/", "").chunks(1).map(<[u8]>::to_vec).take(60).collect()),
        ("wrong-host", vec![b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n".to_vec()]),
        ("no-host", vec![b"GET / HTTP/1.1\r\n\r\n".to_vec()]),
        ("wrong-origin", vec![get("/api/state.json", "origin: http://evil.example\r\n")]),
        ("http-1-0", vec![b"GET /api/health HTTP/1.0\r\nhost: localhost\r\n\r\n".to_vec()]),
        ("http-2", vec![b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()]),
        ("no-http", vec![b"\x16\x03\x01\x02\0\x01\0".to_vec()]),
        ("other-method", vec![request("DELETE", "/api/state.json", "", ""), request("OPTIONS", "*", "", "")]),
        ("out-of-the-folder", vec![get("/../../etc/passwd", ""), get("/%2e%2e/%2e%2e/x", "")]),
        ("no-token", vec![request("POST", "/api/control/clear", "", "")]),
        ("wrong-token", vec![request("POST", "/api/control/clear", "authorization: Bearer wrong\r\n", "")]),
        (
            "change-many",
            vec![changes(r#"[{"key": "detector.min_adc", "value": 1}, {"key": "x", "value": 2}]"#)],
        ),
        ("change-not-json", vec![changes("{")]),
        ("change-too-large", vec![changes(&long)]),
        ("body-that-does-not-come", vec![request("POST", "/api/control/clear", &token, "{}")[..60].to_vec()]),
        ("chunks", vec![chunks(b"2\r\n[]\r\n0\r\n\r\n")]),
        ("chunks-without-end", vec![chunks(b"ffffffffffffffff\r\n[]")]),
        ("two-lengths", vec![get("/", "content-length: 1\r\ncontent-length: 2\r\n")]),
        ("long-header", vec![get("/", &format!("x: {long}\r\n"))]),
        ("metrics-for-prometheus", vec![get("/metrics", "accept: application/openmetrics-text\r\n")]),
        (
            "compressed",
            vec![get("/", "accept-encoding: gzip, br;q=0\r\nif-none-match: \"x\"\r\nrange: bytes=0-1\r\n")],
        ),
        ("look", vec![get("/api/look.bin?look=%7B%22picture%22%3A%22xy%22%7D", "")]),
        (
            "polygon",
            vec![get("/api/spectrum.json?region=a;polygon;0,0;4,0;2,5&bins=0,1000,50&part=0,0,4,4", "")],
        ),
        ("live-acknowledged", talk(&[frame(TEXT, b"ack 1")])),
        (
            "live-looks",
            talk(&[frame(TEXT, LOOKS.as_bytes()), frame(TEXT, b"ack 1"), frame(CLOSE, &[3, 232])]),
        ),
        ("live-refused-looks", talk(&[frame(TEXT, br#"{"type": "looks", "looks": [{"picture": "none"}]}"#)])),
        ("live-nonsense", talk(&[frame(TEXT, b"ack 18446744073709551615")])),
        ("live-binary", talk(&[frame(BINARY, b"x")])),
        ("live-ping", talk(&[frame(PING, b"x"), frame(0x8A, b"y")])),
        ("live-in-fragments", talk(&[frame(1, b"ac"), frame(PING, b""), frame(0, b"k "), frame(0x80, b"1")])),
        ("live-not-utf-8", talk(&[frame(TEXT, b"\xFF\xFE")])),
        ("live-unmasked", talk(&[vec![TEXT, 1, b'a']])),
        ("live-huge-frame", talk(&[vec![TEXT, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'a']])),
        ("live-reserved-bits", talk(&[frame(0xF1, b"a")])),
        (
            "live-old-version",
            vec![get(
                "/api/live",
                "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 8\r\nsec-websocket-key: x\r\n",
            )],
        ),
    ] {
        seeds.push(Seed::new(name, joined(Vec::new(), &pieces)));
    }
    seeds
}

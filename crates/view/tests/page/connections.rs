//! Connections that do nothing, ask slowly or do not read: they are limited, cut, counted, and cost nobody the page.
#![allow(clippy::unwrap_used)]

use crate::common::{Browser, get, options, start};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_testkit::patience::{patience, wait_for, wait_until};
use evforge_view::{LiveView, ViewOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// As short as may be.
const SHORT: Duration = Duration::from_millis(300);

fn limited() -> ViewOptions {
    ViewOptions { request_timeout: SHORT, write_timeout: SHORT, ..options(2, 2) }
}

/// Connections that say nothing.
fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// What comes until the server closes; it must close.
fn until_closed(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(patience())).unwrap();
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        // It was closed before it had read what we sent.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection stays open: {error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the page answers a script.
fn is_healthy(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let request = format!("GET /api/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).is_ok() && until_closed(&mut stream).starts_with("HTTP/1.1 200")
}

#[test]
fn a_flood_of_idle_connections_is_limited_and_cut_and_the_page_comes_back() {
    let (view, _sink) = start(ViewOptions { most_connections_of_one_address: 8, ..limited() });
    let address = view.address();
    let mut flood = idle(address, 40);
    let gone = || view.clients().connections_refused + view.clients().connections_timed_out;
    wait_until("the flood is accepted", || gone() >= 32 && view.clients().connections <= 8);
    let refused = view.clients().connections_refused;
    // The flood is still there, and its connections are cut.
    wait_until("the page comes back", || is_healthy(address));
    let told: Vec<String> = flood.iter_mut().map(until_closed).collect();
    let told =
        told.iter().filter(|told| told.starts_with("HTTP/1.1 503") && told.contains("too many connections"));
    assert!(told.count() as u64 >= refused, "{refused} gave way");
    wait_until("all are counted, and all places are free", || {
        gone() >= 40 && view.clients().connections == 0
    });
    // Where the other counts of browsers are.
    let state = get(address, "/api/state.json").json();
    assert!(state["browsers"]["connections_refused"].as_u64().unwrap() >= refused, "{state}");
}

#[tokio::test]
async fn there_is_a_limit_for_all_addresses_together_and_one_address_leaves_room_for_others() {
    let limits = ViewOptions {
        most_connections: 6,
        most_connections_of_one_address: 4,
        request_timeout: patience(),
        ..limited()
    };
    let (view, _sink) = start(limits);
    let address = view.address();
    let from = |last: u8| async move {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        socket.connect(address).await.unwrap()
    };
    let mut flood = Vec::new();
    for _ in 0..10 {
        flood.push(from(2).await);
    }
    let is_so = |refused, open| {
        let counts = view.clients();
        (counts.connections_refused, counts.connections) == (refused, open)
    };
    wait_until("the flood is accepted", || is_so(6, 4));
    // One of another address is served, with a browser beside.
    assert!(tokio::task::spawn_blocking(move || is_healthy(address)).await.unwrap());
    let mut browser = Browser::open(address).await;
    let status = browser.update().await;
    browser.acknowledge(&status).await;
    let other = [from(3).await, from(3).await, from(3).await];
    wait_until("the limit of all is reached", || is_so(8, 6));
    // A browser that watches has asked.
    let status = browser.update().await;
    browser.acknowledge(&status).await;
    drop((flood, other));
}

#[test]
fn whoever_says_nothing_gives_way_to_whoever_asks() {
    let (view, _sink) = start(ViewOptions { request_timeout: 2 * patience(), ..options(2, 2) });
    let (address, most) = (view.address(), 64);
    let flood = idle(address, 600);
    wait_until("the others have gone", || view.clients().connections_refused == 600 - most);
    assert!(is_healthy(address));
    assert_eq!(view.clients().connections_timed_out, 0);
    drop(flood);
}

#[test]
fn headers_byte_by_byte_are_cut() {
    let (view, _sink) = start(limited());
    let mut stream = TcpStream::connect(view.address()).unwrap();
    let begin = Instant::now();
    // It goes on for as long as it is let.
    for byte in b"GET /api/state.json HTTP/1.1\r\nX-Slow: ".iter().chain([b'a'; 10_000].iter()) {
        if stream.write_all(&[*byte]).is_err() {
            break;
        }
        assert!(begin.elapsed() < patience(), "it is never cut");
        std::thread::sleep(Duration::from_millis(10));
    }
    wait_until("it is counted", || view.clients().connections_timed_out == 1);
    assert_eq!(view.clients().connections, 0);
}

#[test]
fn a_connection_is_kept_for_further_requests_but_not_for_ever() {
    let (view, _sink) = start(limited());
    let address = view.address();
    let ask_twice = || -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        for _ in 0..2 {
            write!(stream, "GET /api/health HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
            let mut begin = [0; 15];
            stream.read_exact(&mut begin)?;
            assert_eq!(&begin, b"HTTP/1.1 200 OK");
            // Its rest, which ends with the brace of the answer.
            while begin[0] != b'}' {
                stream.read_exact(&mut begin[..1])?;
            }
        }
        Ok(stream)
    };
    // It fails where the test is held up for so long that its connection is cut.
    let mut stream = wait_for("two answers over one connection", || ask_twice().ok());
    assert_eq!(until_closed(&mut stream), "");
    wait_until("it is counted", || view.clients().connections_timed_out >= 1);
}

#[test]
fn a_client_that_never_reads_is_cut() {
    // A picture of 32 MB, which no buffer of the kernel holds.
    let geometry = LogicalGeometry::flat(2000, 2000).unwrap();
    let big = ViewOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        write_timeout: SHORT,
        ..ViewOptions::new("Large detector", geometry, PulseTrain::ess())
    };
    let view = LiveView::start(big).unwrap();
    let _sink = view.sink();
    let address = view.address();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /api/image.json HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    write!(stream, "GET /api/image.bin HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    wait_until("it is cut", || view.clients().connections_timed_out == 1 && view.clients().connections == 0);
    assert!(is_healthy(address));
}

#[test]
fn large_answers_that_nobody_takes_have_a_bounded_room_and_small_ones_go_on() {
    let geometry = LogicalGeometry::flat(2000, 2000).unwrap();
    let big = ViewOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        ..ViewOptions::new("Large detector", geometry, PulseTrain::ess())
    };
    let view = LiveView::start(big).unwrap();
    let _sink = view.sink();
    let address = view.address();
    // 32 MB each, of which nobody takes more than the first line.
    let ask = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(patience())).unwrap();
        write!(stream, "GET /api/image.npy HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (String::from_utf8_lossy(&status[9..]).into_owned(), stream)
    };
    let (first, other) = (ask(), ask());
    assert_eq!([&first.0, &other.0], ["200", "200"]);
    let (status, mut later) = ask();
    assert_eq!(status, "503");
    later.shutdown(std::net::Shutdown::Write).unwrap();
    let text = until_closed(&mut later).to_lowercase();
    assert!(text.contains("retry-after: 1") && text.contains("too many large answers"), "{text}");
    assert!(is_healthy(address));
    drop(first);
    wait_until("there is room again", || ask().0 == "200");
}

#[tokio::test]
async fn a_watching_browser_outlives_the_time_for_requests() {
    let request_timeout = Duration::from_secs(1);
    let (view, _sink) = start(ViewOptions { request_timeout, ..options(2, 2) });
    let mut browser = Browser::open(view.address()).await;
    let begin = Instant::now();
    // Nothing shows that the time is over.
    while begin.elapsed() < request_timeout + SHORT {
        let status = browser.update().await;
        browser.acknowledge(&status).await;
    }
    let counts = view.clients();
    assert_eq!((counts.connected, counts.connections, counts.connections_timed_out), (1, 1, 0));
}

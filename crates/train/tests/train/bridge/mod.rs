//! The bridge, asked by the karabo-bridge client, unchanged and from PyPI, and by others that mean no good.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use super::files::common::{ARRIVAL, parsed, reader, train_bytes};
use evforge_core::counter::{CounterSet, Law};
use evforge_testkit::patience::{patience, wait_until};
use evforge_train::bridge::{Bridge, BridgeCounters, BridgeOptions};
use evforge_train::file::ArrivedTrain;
use evforge_wire::train::TrainDetector;

const LPD: TrainDetector = TrainDetector::Lpd;
const SCRIPT: &str = "test_bridge_client.py";

fn options(modules: u8) -> BridgeOptions {
    let mut options = BridgeOptions::new(LPD);
    (options.listen, options.modules) = (SocketAddr::from(([127, 0, 0, 1], 0)), modules);
    options
}

fn offer(bridge: &mut Bridge, module: u8, number: u64, not_whole: &[usize]) {
    let bytes = train_bytes(LPD, module, number, (number % 4) as u32);
    let arrival_ns = ARRIVAL + number * 100_000_000;
    bridge.offer(&ArrivedTrain { module, train: parsed(&bytes, LPD), not_whole, rejected: &[], arrival_ns });
}

/// Waits until the counters are as they should be.
fn wait_for(bridge: &Bridge, what: &str, is_so: impl Fn(&BridgeCounters) -> bool) {
    wait_until(what, || is_so(&bridge.counters()));
}

/// A client that runs, and what it says.
struct Running {
    child: Child,
    asks: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut reader: std::process::Command, bridge: &Bridge, arguments: &[&str]) -> Self {
        reader.arg(bridge.address().to_string()).args(arguments);
        let mut child = reader.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asks = child.stdin.take().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, asks, said };
        assert_eq!(running.line(), "ready");
        running
    }

    /// Has it ask for the next train.
    fn ask(&mut self) {
        self.asks.write_all(b"\n").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn end(mut self) {
        drop(self.asks);
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success() && rest.is_empty(), "{rest}");
    }
}

#[test]
fn the_client_gets_every_value_of_whole_trains() {
    let _alone = crate::alone();
    let Some(reader) = reader("the_client_gets_every_value_of_whole_trains", SCRIPT) else { return };
    let mut bridge = Bridge::start(options(2)).unwrap();
    let mut client = Running::start(reader, &bridge, &["values", "2", "1003", "1004", "1006"]);
    wait_for(&bridge, "a client", |counters| counters.clients == 1);
    for number in [1003, 1004, 1005, 1006] {
        offer(&mut bridge, 0, number, &[]);
        // Module 1 of train 1005 is not whole.
        let missing: &[usize] = if number == 1005 { &[0] } else { &[] };
        offer(&mut bridge, 1, number, missing);
        if number != 1005 {
            assert_eq!(client.line(), number.to_string());
        }
    }
    client.end();
    let counters = bridge.counters();
    assert_eq!((counters.trains_offered, counters.trains_shown, counters.whole_trains), (8, 6, 3));
    assert_eq!((counters.trains_not_whole, counters.trains_alone, counters.trains_held), (1, 1, 0));
    assert_eq!((counters.replies, counters.trains_skipped), (3, 0));
    assert_eq!(counters.imbalance(Law::Outputs), 0);
    wait_for(&bridge, "the client has gone", |counters| counters.clients_now == 0);
}

#[test]
fn a_slow_client_gets_fewer_trains_and_holds_nobody_up() {
    let _alone = crate::alone();
    let test = "a_slow_client_gets_fewer_trains_and_holds_nobody_up";
    let (Some(fast), Some(slow)) = (reader(test, SCRIPT), reader(test, SCRIPT)) else { return };
    let mut bridge = Bridge::start(options(1)).unwrap();
    let mut fast = Running::start(fast, &bridge, &["asks"]);
    let mut slow = Running::start(slow, &bridge, &["asks"]);
    wait_for(&bridge, "two clients", |counters| counters.clients == 2);
    let mut numbers = Vec::new();
    for number in 1..=40 {
        // The fast one gets each of them, the slow one asks for one in ten.
        let is_asked = number % 10 == 1;
        fast.ask();
        if is_asked {
            slow.ask();
        }
        offer(&mut bridge, 0, number, &[]);
        assert_eq!(fast.line(), number.to_string());
        if is_asked {
            numbers.push(slow.line().parse::<u64>().unwrap());
        }
    }
    fast.end();
    slow.end();
    assert!(numbers.len() == 4 && numbers.is_sorted(), "{numbers:?}");
    let skipped = numbers[3] - numbers[0] - 3;
    assert!(skipped >= 26, "{numbers:?}");
    let counters = bridge.counters();
    assert_eq!((counters.replies, counters.trains_skipped), (44, skipped), "{numbers:?}");
}

/// What the bridge says to these bytes until it closes the connection.
fn answer_to(bridge: &Bridge, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(bridge.address()).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A connection that is reset has been closed, too.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The greeting of a client, and its READY command with this type of socket.
fn greeting(kind: &str) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[0], bytes[9], bytes[10]) = (0xff, 0x7f, 3);
    bytes[12..16].copy_from_slice(b"NULL");
    bytes.extend([4, (6 + 12 + 4 + kind.len()) as u8]);
    bytes.extend(b"\x05READY\x0bSocket-Type\0\0\0");
    bytes.push(kind.len() as u8);
    bytes.extend(kind.as_bytes());
    bytes
}

#[test]
fn clients_of_other_kinds_are_let_go_and_counted() {
    let _alone = crate::alone();
    let mut few = options(1);
    (few.patience, few.most_clients) = (patience(), 2);
    let bridge = Bridge::start(few).unwrap();
    assert_eq!(answer_to(&bridge, b"GET / HTTP/1.1\r\n\r\n")[..1], [0xff]);
    let mut other_mechanism = greeting("REQ");
    other_mechanism[12..17].copy_from_slice(b"CURVE");
    answer_to(&bridge, &other_mechanism);
    answer_to(&bridge, &greeting("SUB"));
    wait_for(&bridge, "other protocols", |counters| counters.clients_of_other_protocol == 3);
    let asking = |frame: &[u8]| [greeting("REQ").as_slice(), &[1, 0], frame].concat();
    answer_to(&bridge, &asking(b"\0\x04past"));
    let huge = answer_to(&bridge, &asking(b"\x02\xff\xff\xff\xff\xff\xff\xff\xff"));
    assert!(huge.ends_with(b"REP"), "{huge:?}");
    wait_for(&bridge, "other requests", |counters| counters.clients_with_other_requests == 2);

    wait_for(&bridge, "none", |counters| counters.clients_now == 0);
    let connect = || TcpStream::connect(bridge.address()).unwrap();
    let before = bridge.counters().clients;
    // Those that say nothing give way, and those that have said what they are keep their places.
    let idle: Vec<_> = (0..20).map(|_| connect()).collect();
    let mut held = [connect(), connect()];
    for stream in &mut held {
        stream.write_all(&greeting("REQ")).unwrap();
    }
    wait_for(&bridge, "two", |counters| counters.clients == before + 2);
    assert_eq!(answer_to(&bridge, b""), b"");
    wait_for(&bridge, "too many", |counters| counters.clients_too_many == 21);
    drop((bridge, held, idle));
    // One that says nothing.
    let mut impatient = options(1);
    impatient.patience = Duration::from_millis(200);
    let bridge = Bridge::start(impatient).unwrap();
    answer_to(&bridge, &greeting("REQ")[..40]);
    wait_for(&bridge, "one that is slow", |counters| counters.clients_too_slow == 1);
}

#[test]
fn a_client_that_takes_nothing_is_let_go_and_the_bridge_ends_at_once() {
    let _alone = crate::alone();
    let mut impatient = options(1);
    impatient.patience = Duration::from_millis(300);
    let mut bridge = Bridge::start(impatient).unwrap();
    let ask = || -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(bridge.address())?;
        let mut answer = [0; 64];
        stream.write_all(&greeting("REQ"))?;
        stream.read_exact(&mut answer)?;
        stream.write_all(b"\x01\0\0\x04next")?;
        Ok(stream)
    };
    // It fails where the test is held up for so long that it is let go.
    let stuck = evforge_testkit::patience::wait_for("a client", || ask().ok());
    wait_for(&bridge, "a client", |counters| counters.clients_now == 1);
    // More than the buffers of two sockets.
    let bytes = train_bytes(LPD, 0, 5, 200);
    bridge.offer(&ArrivedTrain {
        module: 0,
        train: parsed(&bytes, LPD),
        not_whole: &[],
        rejected: &[],
        arrival_ns: 1,
    });
    wait_for(&bridge, "stuck", |counters| counters.clients_too_slow >= 1 && counters.clients_now == 0);
    drop((bridge, stuck));
    // One that waits for a train.
    let bridge = Bridge::start(BridgeOptions { patience: patience(), ..options(1) }).unwrap();
    let mut waiting = TcpStream::connect(bridge.address()).unwrap();
    waiting.write_all(&greeting("DEALER")).unwrap();
    wait_for(&bridge, "another", |counters| counters.clients == 1);
    let begin = Instant::now();
    drop(bridge);
    assert!(begin.elapsed() < patience(), "it waits for its client");
    let mut rest = Vec::new();
    let _ = waiting.read_to_end(&mut rest);
}

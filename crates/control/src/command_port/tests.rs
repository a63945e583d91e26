//! Clients that ask for nothing, or too fast.

use super::*;
use crate::slot::ControlSlot;
use evforge_testkit::patience::{patience, wait_until};

/// A port of a service without a run, with so long for a first command.
fn port(first: Duration) -> (CommandPort, Arc<ControlDesk>) {
    let desk = ControlDesk::of_slot(ControlSlot::default(), Arc::default(), Arc::new(|_| {}));
    let desk = Arc::new(desk);
    let port = BoundCommandPort::open(([127, 0, 0, 1], 0).into()).unwrap();
    let patience = Patience { first, idle: 2 * patience(), reply: patience() };
    (port.serve(Arc::clone(&desk), Generation::Of2026, patience).unwrap(), desk)
}

fn connect(port: &CommandPort) -> TcpStream {
    let stream = TcpStream::connect(port.address()).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    stream
}

/// What is replied; nothing if the connection is closed.
fn reply_to(mut stream: &TcpStream, request: &str) -> String {
    let mut reply = [0; 100];
    // It may be closed already.
    let _ = stream.write_all(request.as_bytes());
    let read = match stream.read(&mut reply) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
        read => read.unwrap(),
    };
    String::from_utf8_lossy(&reply[..read]).into_owned()
}

#[test]
fn those_that_ask_for_nothing_give_way_and_those_that_have_asked_stay() {
    let (port, desk) = port(2 * patience());
    let counts = || desk.counts().snapshot();
    let _idle: Vec<_> = (0..600).map(|_| connect(&port)).collect();
    wait_until("the others have gone", || counts().connections_refused == 600 - SEATS.most_of_one as u64);
    let nonsense = connect(&port);
    assert_eq!(reply_to(&nonsense, "NONSENSE"), CommandError::Command.reply());
    let asking: Vec<_> = (0..SEATS.most_of_one).map(|_| connect(&port)).collect();
    let all_are_served =
        || asking.iter().all(|stream| reply_to(stream, "CMD_GET_COUNT").starts_with("CMD_GET_COUNT "));
    assert!(all_are_served());
    assert_eq!(reply_to(&nonsense, "CMD_GET_COUNT"), "", "it has given way");
    assert_eq!(reply_to(&connect(&port), "CMD_GET_COUNT"), "", "there are as many as may be");
    assert!(all_are_served());
    let counts = counts();
    assert_eq!((counts.connections, counts.connections_refused), (617, 602));
}

#[test]
fn a_client_that_asks_for_nothing_in_time_is_closed_and_counted() {
    let (port, desk) = port(Duration::ZERO);
    assert_eq!(connect(&port).read(&mut [0]).unwrap(), 0);
    assert_eq!(desk.counts().snapshot().connections_timed_out, 1);
}

#[test]
fn a_client_that_asks_too_fast_waits_and_one_that_does_not_never_does() {
    let start = Instant::now();
    let mut pace = Pace::new(start);
    let waits: Vec<_> = (0..BURST + 3).map(|_| pace.next(start)).collect();
    assert!(waits[..BURST as usize].iter().all(Option::is_none));
    assert_eq!(waits[BURST as usize..], [1, 2, 3].map(|steps| Some(steps * PACE)));
    let mut slow = Pace::new(start);
    assert!((0..10_000_u32).all(|step| slow.next(start + step * PACE).is_none()));
}

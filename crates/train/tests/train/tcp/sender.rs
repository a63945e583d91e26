//! Sending the trains of a module: a connection that is lost is made again, and nothing waits for ever.

use super::common::{Came, Keeps, received, settings, train};
use evforge_testkit::patience::{patience, wait_until};
use evforge_train::node::TrainSink;
use evforge_train::tcp::{Sending, TrainStream};
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

fn loopback() -> TcpListener {
    TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port")
}

/// Sends trains until one is sent: their outcomes.
fn until_sent(stream: &mut TrainStream, place: &mut u64) -> Vec<Sending> {
    let mut outcomes = Vec::new();
    wait_until("a train that is sent", || {
        outcomes.push(stream.send(1000 + *place, &train(*place), patience(), |_| {}));
        *place += 1;
        outcomes.last() == Some(&Sending::Sent)
    });
    outcomes
}

#[test]
fn what_is_sent_comes_and_what_is_not_sent_is_missing_in_the_sequence() {
    let came = Came::default();
    let mut sinks: [Box<dyn TrainSink>; 1] = [Box::new(Keeps(came.clone()))];
    let (_, assembly, streams) = received(&settings(1), &mut sinks, |node| {
        let mut stream = TrainStream::new(node.address, 5, 3);
        let mut paced = 0;
        for place in 0..4 {
            let sent = stream.send(1000 + place, &train(place), patience(), |bytes| paced += bytes);
            assert_eq!(sent, Sending::Sent);
        }
        assert_eq!(paced, 4 * (48 + train(0).len()));
        assert_eq!(stream.totals(), [paced as u64, 1, 0]);
        node.until("all trains", |assembly| assembly.trains_good == 4);
    });
    assert_eq!((assembly.trains_good, streams.connections_ended), (4, 1));
    let expected: Vec<_> = (0..4).map(|place| (3, train(place))).collect();
    assert!(*came.lock().expect("nobody has panicked") == expected);
}

#[test]
fn a_receiver_that_goes_and_comes_back_gets_trains_again() {
    let listener = loopback();
    let address = listener.local_addr().expect("an address");
    let mut stream = TrainStream::new(address, 5, 3);
    let mut place = 0;
    assert_eq!(until_sent(&mut stream, &mut place), [Sending::Sent]);
    // It takes the train, and goes.
    let (mut taken, _) = listener.accept().expect("a connection");
    taken.read_exact(&mut vec![0; 48 + train(0).len()]).expect("the train");
    drop((taken, listener));
    let begun = Instant::now();
    wait_until("a connection that cannot be made", || {
        let outcome = stream.send(1000 + place, &train(place), patience(), |_| {});
        assert_eq!(outcome, Sending::NotConnected);
        place += 1;
        stream.totals()[2] > 0
    });
    assert!(begun.elapsed() < patience(), "it is waited for");
    let not_sent = place - 1;
    let listener = TcpListener::bind(address).expect("the port again");
    let outcomes = until_sent(&mut stream, &mut place);
    let (mut taken, _) = listener.accept().expect("a connection");
    let mut header = [0; 48];
    taken.read_exact(&mut header).expect("a header");
    let header = evforge_wire::train::StreamHeader::parse(&header).expect("a header");
    // The first one, those that were not sent, and this one.
    assert_eq!((header.sequence, header.train), (place - 1, 1000 + place - 1));
    assert_eq!(place, 1 + not_sent + outcomes.len() as u64);
    assert_eq!((header.sender, header.module), (5, 3));
    let [_, made, failed] = stream.totals();
    assert!(made == 2 && (1..place).contains(&failed), "{made} {failed}");
}

#[test]
fn a_receiver_that_takes_nothing_is_given_up_in_time() {
    let listener = loopback();
    let mut stream = TrainStream::new(listener.local_addr().expect("an address"), 5, 3);
    // More than the kernel keeps for both sides.
    let large = vec![0; 64 << 20];
    let mut times = Vec::new();
    wait_until("three trains that are given up", || {
        let begun = Instant::now();
        match stream.send(1, &large, Duration::from_millis(200), |_| {}) {
            Sending::TimedOut => times.push(begun.elapsed()),
            Sending::NotConnected => {}
            other => panic!("nobody reads: {other:?}"),
        }
        times.len() == 3
    });
    assert!(times[0] >= Duration::from_millis(180), "it is waited for at first: {times:?}");
}

#[test]
fn a_receiver_that_goes_inside_a_train_breaks_it_off() {
    let listener = loopback();
    let address = listener.local_addr().expect("an address");
    let large = vec![0; 64 << 20];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut taken, _) = listener.accept().expect("a connection");
            taken.read_exact(&mut [0; 100_000]).expect("the beginning of it");
        });
        let mut stream = TrainStream::new(address, 5, 3);
        assert_eq!(stream.send(1, &large, patience(), |_| {}), Sending::BrokenOff);
    });
}

#[test]
fn a_receiver_that_says_something_is_none_of_ours() {
    use std::io::Write;
    let listener = loopback();
    let mut stream = TrainStream::new(listener.local_addr().expect("an address"), 5, 3);
    assert_eq!(stream.send(1, &train(0), patience(), |_| {}), Sending::Sent);
    let (mut taken, _) = listener.accept().expect("a connection");
    taken.write_all(b"220 mail.example.org ESMTP\r\n").expect("it is sent");
    wait_until("no train goes to a server of something else", || {
        stream.send(2, &train(1), patience(), |_| {}) != Sending::Sent
    });
}

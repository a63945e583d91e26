//! Streams that are not as they should be: each counted by its reason and closed, and no other is harmed.

use super::common::{Came, Keeps, header, received, settings, streamed, train};
use evforge_core::counter::CounterSnapshot;
use evforge_train::assembly::{AssemblyCounters, AssemblySettings, IncompleteCause, TrainOutcome};
use evforge_train::node::{NodeSettings, TrainSink};
use evforge_train::tcp::StreamCounters;
use evforge_wire::train::StreamHeader;
use std::io::Write;
use std::time::Duration;

/// Runs a node to which a good connection sends trains before and after each of these streams, which the node is to close by itself.
/// All trains of the good one come.
fn next_to_a_good_one(
    settings: &NodeSettings,
    streams: &[Vec<u8>],
) -> (Vec<TrainOutcome>, AssemblyCounters, StreamCounters) {
    let came = Came::default();
    let mut sinks: [Box<dyn TrainSink>; 1] = [Box::new(Keeps(came.clone()))];
    let (received, assembly, counters) = received(settings, &mut sinks, |node| {
        let mut good = node.connect();
        let mut send = |place| good.write_all(&streamed(200, place)).expect("it is taken");
        send(0);
        for (stream, place) in streams.iter().zip(1..) {
            node.is_closed_after(stream);
            send(place);
        }
        let of_good = streams.len() as u64 + 1;
        let bytes = of_good * streamed(200, 0).len() as u64;
        node.until("all bytes", |assembly| assembly.bytes_received >= bytes);
    });
    let came = came.lock().expect("nobody has panicked");
    let of_good: Vec<_> = came.iter().filter(|(module, _)| *module == 200).map(|(_, train)| train).collect();
    let expected: Vec<_> = (0..=streams.len() as u64).map(train).collect();
    assert!(of_good == expected.iter().collect::<Vec<_>>(), "trains of the good connection are missing");
    assert_eq!(counters.connections_ended, 1, "{counters:?}");
    let irregular = received.threads[0].irregular.iter().map(|report| report.outcome).collect();
    (irregular, assembly, counters)
}

/// The counters that are not zero, of those that count faults of connections.
fn faults(counters: &StreamCounters) -> Vec<(&'static str, u64)> {
    let usual = ["connections_accepted", "connections_ended"];
    let snapshot = CounterSnapshot::of(counters);
    let faults = snapshot.iter().filter(|(info, value)| *value > 0 && !usual.contains(&info.name));
    faults.map(|(info, value)| (info.name, value)).collect()
}

/// A train of another header.
fn with(changed: impl FnOnce(&mut StreamHeader)) -> Vec<u8> {
    let train = train(0);
    let mut header = header(1, 0, 1000, &train);
    changed(&mut header);
    [&header.write()[..], &train].concat()
}

/// A good train whose bytes from `at` on are others.
fn spoilt(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut stream = streamed(1, 0);
    stream[at..at + bytes.len()].copy_from_slice(bytes);
    stream
}

#[test]
fn every_wrong_announcement_closes_its_connection_and_is_counted_as_itself() {
    let largest = settings(1).assembly.largest_train as u64;
    let cases: [(&str, Vec<u8>); 10] = [
        ("connections_wrong_magic", spoilt(0, b"e")),
        ("connections_wrong_magic", b"GET / HTTP/1.1\r\nHost: a node of trains\r\n\r\n         ".to_vec()),
        ("connections_other_version", spoilt(8, &[2])),
        ("connections_wrong_module", spoilt(13, &[1])),
        ("connections_wrong_size", with(|header| header.bytes = 0)),
        ("connections_wrong_size", with(|header| header.bytes = largest + 1)),
        ("connections_wrong_size", with(|header| header.bytes = u64::MAX)),
        ("connections_other_source", [streamed(1, 0), streamed(2, 1)].concat()),
        ("connections_other_source", [streamed(1, 0), with(|header| header.sender = 78)].concat()),
        ("connections_sequence_back", [streamed(1, 7), streamed(1, 7)].concat()),
    ];
    for (name, stream) in cases {
        let (irregular, assembly, counters) = next_to_a_good_one(&settings(2), &[stream]);
        let skipped = if name == "connections_sequence_back" {
            vec![(name, 1), ("trains_before", 7)]
        } else {
            vec![(name, 1)]
        };
        assert_eq!(faults(&counters), skipped);
        // What came before it is good.
        let is_second = ["connections_other_source", "connections_sequence_back"].contains(&name);
        assert_eq!((assembly.trains_good, irregular.len()), (2 + u64::from(is_second), 0), "{name}");
    }
}

#[test]
fn a_connection_that_ends_inside_is_cut_off_wherever_that_is() {
    let whole = streamed(1, 0);
    let cuts = [1, 47, 48, 49, 2000, whole.len() - 1];
    for cut in cuts {
        let (_, assembly, counters) = received(&settings(1), &mut [], |node| {
            let mut stream = node.connect();
            stream.write_all(&[&streamed(1, 0), &streamed(1, 1)[..cut]].concat()).expect("it is taken");
            let bytes = (whole.len() + cut) as u64;
            node.until("all bytes", |assembly| assembly.bytes_received == bytes);
        });
        assert_eq!(faults(&counters), [("connections_cut_off", 1)], "{cut}");
        assert_eq!((assembly.trains_good, assembly.trains_cut_off), (1, u64::from(cut >= 48)), "{cut}");
    }
}

#[test]
fn silence_inside_closes_a_connection_and_between_trains_it_does_not() {
    let settings = settings(4);
    let assembly = AssemblySettings { time_out: Duration::from_millis(300), ..settings.assembly };
    let settings = NodeSettings { assembly, ..settings };
    let whole = streamed(1, 0);
    let streams = [whole[..20].to_vec(), whole[..48].to_vec(), whole[..whole.len() - 1].to_vec()];
    let (irregular, assembly, counters) = next_to_a_good_one(&settings, &streams);
    assert_eq!(faults(&counters), [("connections_silent", 3)]);
    assert_eq!((assembly.trains_timed_out, assembly.trains_good), (2, 4));
    assert_eq!(irregular, [TrainOutcome::Incomplete(IncompleteCause::TimeOut); 2]);
}

/// A stream of trains whose number, place in the sequence and bytes are others.
fn trains(all: &[(u64, u64, Vec<u8>)]) -> Vec<u8> {
    let streams = all
        .iter()
        .map(|(place, announced, train)| [&header(1, *place, *announced, train).write()[..], train].concat());
    streams.collect::<Vec<_>>().concat()
}

/// A train with other bytes at a place.
fn other(place: u64, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut train = train(place);
    train[at..at + bytes.len()].copy_from_slice(bytes);
    train
}

#[test]
fn a_train_of_wrong_content_or_number_is_rejected_as_over_udp_and_its_stream_goes_on() {
    let end = train(0).len();
    let cases = [
        ("trains_wrong_begin", 1001, other(1, 0, &[0])),
        ("trains_wrong_end", 1001, other(1, end - 1, &[0])),
        ("trains_wrong_size", 1001, other(1, 40, &[9])),
        ("trains_too_short", 1001, train(1)[..30].to_vec()),
        ("trains_number_repeated", 1000, train(0)),
        ("trains_number_back", 400, other(1, 16, &400_u64.to_le_bytes())),
        ("trains_number_far_ahead", 1 << 40, other(1, 16, &(1_u64 << 40).to_le_bytes())),
        ("trains_number_not_announced", 1002, train(1)),
    ];
    for (name, announced, wrong) in cases {
        let stream = trains(&[(0, 1000, train(0)), (1, announced, wrong), (2, 1002, train(2))]);
        let (received, assembly, counters) = received(&settings(1), &mut [], |node| node.has_all_of(&stream));
        assert_eq!(faults(&counters), [], "{name}");
        let snapshot = CounterSnapshot::of(&assembly);
        assert_eq!((snapshot.value(name), assembly.trains_good), (Some(1), 2), "{name}: {assembly:?}");
        assert_eq!(received.threads[0].irregular.len(), 1, "{name}");
    }
}

#[test]
fn numbers_that_are_not_of_the_stride_are_rejected() {
    let mut settings = settings(1);
    if let evforge_train::assembly::TrainContent::Images(images) = &mut settings.assembly.content {
        images.stride = Some(2);
    }
    let stream = trains(&[0, 1, 2].map(|place| (place, 1000 + place, train(place))));
    let (_, assembly, _) = received(&settings, &mut [], |node| {
        node.connect().write_all(&stream).expect("it is taken");
        node.until("all bytes", |assembly| assembly.bytes_received == stream.len() as u64);
    });
    assert_eq!((assembly.trains_good, assembly.trains_number_off_stride), (2, 1));
}

//! Streams of good trains: whole, bounded, and held back where the node is behind.

use super::common::{Came, Keeps, header, received, settings, streamed, train};
use crate::assembly::common::{IMAGES, train as with_images};
use evforge_testkit::patience::wait_until;
use evforge_train::assembly::{AssemblySettings, IncompletePolicy, TrainContent, TrainOutcome};
use evforge_train::node::{NodeSettings, NodeTrain, SinkError, TrainSink};
use evforge_wire::train::StreamHeader;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn trains_of_several_modules_come_byte_by_byte_as_they_were_sent() {
    let came = Came::default();
    let mut sinks: [Box<dyn TrainSink>; 1] = [Box::new(Keeps(came.clone()))];
    let (received, assembly, streams) = received(&settings(3), &mut sinks, |node| {
        std::thread::scope(|scope| {
            for module in 0..3_u8 {
                scope.spawn(move || {
                    let mut stream = node.connect();
                    let all: Vec<u8> = (0..20).flat_map(|place| streamed(module, place)).collect();
                    // In pieces that end anywhere.
                    let mut rest = &all[..];
                    let mut size = usize::from(module) + 1;
                    while !rest.is_empty() {
                        let (piece, behind) = rest.split_at(size.min(rest.len()));
                        stream.write_all(piece).expect("it is taken");
                        (rest, size) = (behind, size * 7 % 9973 + 1);
                    }
                });
            }
        });
        node.until("all trains", |assembly| assembly.trains_good == 60);
    });
    let mut came = came.lock().expect("nobody has panicked").clone();
    came.sort_by_key(|(module, _)| *module);
    let expected: Vec<_> =
        (0..3).flat_map(|module| (0..20).map(move |place| (module, train(place)))).collect();
    assert!(came == expected, "trains changed on the way");
    let bytes = (60 * (48 + train(0).len())) as u64;
    assert_eq!((assembly.bytes_received, assembly.bytes_used), (bytes, bytes - 60 * 48));
    assert_eq!((assembly.trains_opened, assembly.train_number_gaps, assembly.sources_known), (60, 0, 3));
    assert_eq!((streams.connections_accepted, streams.connections_ended), (3, 3));
    assert_eq!((streams.trains_before, streams.trains_skipped), (0, 0));
    assert_eq!((received.counters.trains_worked_on, received.threads[0].irregular.len()), (60, 0));
}

/// Takes no train before it is let go.
struct Held(Arc<AtomicBool>);

impl TrainSink for Held {
    fn take(&mut self, _train: &mut NodeTrain) -> Result<(), SinkError> {
        wait_until("the worker may go on", || self.0.load(Ordering::Relaxed));
        Ok(())
    }
}

#[test]
fn where_the_worker_is_behind_senders_are_held_back_and_no_train_is_lost() {
    let settings = settings(2);
    let settings =
        NodeSettings { assembly: AssemblySettings { buffers: 2, ..settings.assembly }, ..settings };
    let is_let_go = Arc::new(AtomicBool::new(false));
    let held = Held(Arc::clone(&is_let_go));
    let (received, assembly, streams) = received(&settings, &mut [Box::new(held)], |node| {
        let mut connections = [node.connect(), node.connect()];
        for place in 0..10 {
            for (module, stream) in (0..).zip(&mut connections) {
                stream.write_all(&streamed(module, place)).expect("it is taken");
            }
        }
        // Both have read what stands before their second train.
        let bytes = 2 * (streamed(0, 0).len() + StreamHeader::BYTES) as u64;
        node.until("two trains and two headers", |assembly| assembly.bytes_received == bytes);
        is_let_go.store(true, Ordering::Relaxed);
        node.until("all trains", |assembly| assembly.trains_good == 20);
    });
    assert_eq!((assembly.trains_good, assembly.trains_without_buffer), (20, 0));
    let waited = received.streams.expect("streams").waited;
    assert!(streams.waits_for_buffer >= 2 && waited > Duration::ZERO, "{streams:?} {waited:?}");
}

#[test]
fn what_is_missing_in_a_sequence_is_counted_also_over_several_connections() {
    let (_, assembly, streams) = received(&settings(1), &mut [], |node| {
        // Three trains before the first, one missing between two, two missing between two connections.
        for (places, good) in [(&[3, 4, 6][..], 3), (&[9, 10], 5)] {
            let mut stream = node.connect_when_there_is_room(&streamed(1, places[0]));
            for &place in &places[1..] {
                stream.write_all(&streamed(1, place)).expect("it is taken");
            }
            node.until("all trains", |assembly| assembly.trains_good == good);
        }
    });
    assert_eq!((streams.trains_before, streams.trains_skipped), (3, 3));
    assert_eq!((assembly.train_number_gaps, assembly.trains_number_back), (2, 0));
    assert_eq!((streams.connections_ended, assembly.sources_known), (2, 1));
}

#[test]
fn connections_beyond_the_number_are_refused_and_harm_none() {
    let (_, assembly, streams) = received(&settings(2), &mut [], |node| {
        let mut connections = [node.connect(), node.connect()];
        let mut send = |place| {
            for (module, stream) in (0..).zip(&mut connections) {
                stream.write_all(&streamed(module, place)).expect("it is taken");
            }
        };
        send(0);
        node.until("the first trains", |assembly| assembly.trains_good == 2);
        for _ in 0..50 {
            let mut refused = node.connect();
            assert!(!matches!(refused.read(&mut [0]), Ok(1..)));
        }
        send(1);
        node.until("all trains", |assembly| assembly.trains_good == 4);
    });
    assert_eq!((streams.connections_accepted, streams.connections_refused), (52, 50));
    assert_eq!((streams.connections_ended, assembly.trains_good), (2, 4));
}

#[test]
fn a_train_that_is_cut_off_is_kept_as_far_as_it_came_if_that_is_asked_for() {
    let settings = settings(1);
    let assembly = AssemblySettings { incomplete: IncompletePolicy::Mark, ..settings.assembly };
    let settings = NodeSettings { assembly, ..settings };
    struct Looks;
    impl TrainSink for Looks {
        fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
            // What is said of images is at the end, so that none is there as a whole.
            let images = (0..IMAGES).filter(|&image| train.train.has_image(image)).count();
            let report = train.train.report();
            assert_eq!((images, report.images, report.images_touched), (0, Some(IMAGES), IMAGES as u64));
            let bytes = train.train.bytes().expect("it is handed on");
            let there = report.packets as usize * train.train.report().bytes.min(280);
            let sent = with_images(1000, IMAGES);
            assert!(bytes[..there] == sent[..there] && bytes[there..].iter().all(|byte| *byte == 0));
            assert_eq!(bytes.len(), sent.len());
            Ok(())
        }
    }
    let (received, assembly, _) = received(&settings, &mut [Box::new(Looks)], |node| {
        node.connect().write_all(&streamed(0, 0)[..2000]).expect("it is taken");
        node.until("the train", |assembly| assembly.trains_cut_off == 1);
    });
    assert_eq!((assembly.trains_kept, received.counters.trains_worked_on), (1, 1));
    let report = received.threads[0].irregular[0];
    assert_eq!(
        (report.number, report.packets, report.has_first, report.has_last),
        (Some(1000), 6, true, false)
    );
}

#[test]
fn trains_of_anything_come_whole_and_are_not_looked_at() {
    let settings = settings(1);
    let content = TrainContent::Packets(1);
    let settings = NodeSettings { assembly: AssemblySettings { content, ..settings.assembly }, ..settings };
    let came = Came::default();
    let mut sinks: [Box<dyn TrainSink>; 1] = [Box::new(Keeps(came.clone()))];
    let (_, assembly, _) = received(&settings, &mut sinks, |node| {
        let mut stream = node.connect();
        for place in 0..3 {
            let head = header(9, place, 5, &[7; 1000]).write();
            stream.write_all(&[&head[..], &[7; 1000]].concat()).expect("it is taken");
        }
        node.until("all trains", |assembly| assembly.trains_good == 3);
    });
    assert_eq!(assembly.trains_good, 3);
    assert!(came.lock().expect("nobody has panicked").iter().all(|train| *train == (9, vec![7; 1000])));
}

#[test]
fn the_end_of_a_run_takes_what_has_come_and_reports_what_is_open() {
    let (received, assembly, streams) = received(&settings(2), &mut [], |node| {
        let [mut whole, mut half] = [node.connect(), node.connect()];
        whole.write_all(&streamed(0, 0)).expect("it is taken");
        half.write_all(&streamed(1, 0)[..3000]).expect("it is taken");
        node.until("both", |assembly| assembly.trains_good == 1 && assembly.trains_open == 1);
        node.until("half of it", |assembly| assembly.bytes_received == 3000 + streamed(0, 0).len() as u64);
        // They stay open longer than the run.
        std::mem::forget((whole, half));
    });
    assert_eq!((assembly.trains_good, assembly.trains_ended, streams.connections_stopped), (1, 1, 2));
    let outcome = received.threads[0].irregular[0].outcome;
    assert!(matches!(outcome, TrainOutcome::Incomplete(_)), "{outcome:?}");
}

//! Two connections and one buffer, in every order.

use super::*;
use crate::assembly::settings::IncompletePolicy;
use evforge_wire::train::TrainDetector;
use loom::thread;
use std::sync::Arc;

/// A connection for whose train no buffer is free goes on when one is given back, and every train is counted.
#[test]
fn who_waits_for_a_buffer_is_told() {
    loom::model(|| {
        let settings = AssemblySettings {
            data_bytes: 8,
            largest_train: 8,
            open_trains: 1,
            open_trains_of_source: 1,
            buffers: 1,
            content: TrainContent::Packets(1),
            incomplete: IncompletePolicy::Drop,
            ..AssemblySettings::new(TrainDetector::Agipd, 1)
        };
        let assembly = Arc::new(StreamAssembly::new(settings).unwrap());
        let connections: Vec<_> = (0..2)
            .map(|module| {
                let assembly = Arc::clone(&assembly);
                thread::spawn(move || {
                    let header = StreamHeader { module, sender: 1, sequence: 0, train: 7, bytes: 8 };
                    let mut train = assembly.open(&header, 0, || true).expect("it is wanted");
                    train.advance(8);
                    let closed = assembly.close(train, 0, None);
                    if let Some(buffer) = closed.buffer {
                        assert!(assembly.give_back(buffer));
                    }
                })
            })
            .collect();
        connections.into_iter().for_each(|connection| connection.join().unwrap());
        let counters = assembly.counters();
        assert_eq!((counters.trains_opened, counters.trains_open, counters.buffers_free), (2, 0, 1));
    });
}

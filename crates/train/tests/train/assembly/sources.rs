//! Several sources, time, and settings that are refused.

use super::common::{IMAGES, MODULE, Watched, datagrams, settings, train};
use evforge_train::assembly::{
    Assembly, AssemblySettings, ImageContent, PacketFate, PacketFault, TrainContent, TrainSource,
};
use evforge_wire::train::TrainDetector;
use std::net::SocketAddr;
use std::time::Duration;

#[test]
fn sources_have_trains_of_their_own() {
    let mut watched = Watched::new(settings().with_sources(16));
    // The same frame numbers, and trains of the same numbers, from all of them.
    let trains: Vec<_> = (0..16_u64).map(|module| train(50 + module % 3, IMAGES)).collect();
    let packets: Vec<_> = trains.iter().map(|train| datagrams(1, train)).collect();
    for at in 0..packets[0].len() {
        for (module, packets) in (0..16).zip(&packets) {
            watched.take(TrainSource::Module(module), &packets[at]);
        }
    }
    assert_eq!(watched.counters().trains_good, 16);
    assert_eq!(
        watched.bytes.iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(),
        trains.iter().collect::<Vec<_>>()
    );
}

#[test]
fn a_source_that_opens_too_many_trains_closes_its_own() {
    let mut watched = Watched::new(settings().with_sources(2));
    let good = datagrams(1, &train(1, IMAGES));
    let stray = datagrams(1, &train(1, IMAGES));
    watched.take(MODULE, &good[0]);
    for frame in 0..100 {
        let packet = datagrams(frame, &train(1, IMAGES));
        watched.take(TrainSource::Module(9), &packet[2]);
    }
    watched.take_all(MODULE, &stray[1..]);
    let counters = watched.counters();
    assert_eq!((counters.trains_good, counters.trains_superseded), (1, 98));
}

#[test]
fn the_oldest_of_all_trains_makes_room_where_all_sources_share_the_limit() {
    let mut watched = Watched::new(AssemblySettings { sources: 2, ..settings() });
    let other = TrainSource::Module(9);
    let packets = datagrams(1, &train(1, IMAGES));
    watched.take(MODULE, &packets[0]);
    watched.take(other, &packets[0]);
    watched.take(other, &datagrams(2, &train(2, IMAGES))[0]);
    assert_eq!((watched.closed.len(), watched.closed[0].source), (1, MODULE));
    watched.take_all(other, &packets[1..]);
    let counters = watched.counters();
    assert_eq!((counters.trains_superseded, counters.trains_good, counters.trains_open), (1, 1, 1));
}

#[test]
fn further_sources_are_rejected_until_one_has_been_silent() {
    let sender = |port: u16| TrainSource::Sender(SocketAddr::from(([10, 0, 0, 1], port)));
    let mut watched = Watched::new(settings().with_sources(2));
    for port in [1, 2] {
        watched.take_all(sender(port), &datagrams(1, &train(1, 1)));
    }
    let further = PacketFate::Rejected(PacketFault::FurtherSource);
    assert_eq!(watched.take(sender(3), &datagrams(1, &train(1, 1))[0]), further);
    watched.wait(Duration::from_secs(59));
    watched.take_all(sender(2), &datagrams(2, &train(2, 1)));
    assert_eq!(watched.take(sender(3), &datagrams(1, &train(1, 1))[0]), further);
    watched.wait(Duration::from_secs(2));
    // The first one has been silent for a minute: its place is free, and it is a new source itself when it comes again.
    watched.take_all(sender(3), &datagrams(1, &train(1, 1)));
    assert_eq!(watched.take(sender(1), &datagrams(2, &train(2, 1))[0]), further);
    let counters = watched.counters();
    assert_eq!((counters.trains_good, counters.sources_known, counters.sources_forgotten), (4, 2, 1));
    assert_eq!(counters.packets_of_further_sources, 3);
}

#[test]
fn frames_may_be_used_again_after_a_while() {
    let mut watched = Watched::new(settings());
    let packets = datagrams(1, &train(1, 1));
    watched.take_all(MODULE, &packets);
    assert_eq!(watched.take(MODULE, &packets[0]), PacketFate::Late);
    watched.wait(Duration::from_millis(1001));
    watched.take_all(MODULE, &datagrams(1, &train(2, 1)));
    assert_eq!(watched.counters().trains_good, 2);
}

#[test]
fn a_train_times_out_when_nothing_new_comes_and_not_before() {
    let mut watched = Watched::new(settings());
    let packets = datagrams(1, &train(1, IMAGES));
    for packet in &packets[..packets.len() - 1] {
        // Slower than the time-out as a whole.
        watched.wait(Duration::from_millis(150));
        assert_eq!(watched.take(MODULE, packet), PacketFate::Used);
    }
    watched.wait(Duration::from_millis(150));
    // A packet that was there does not keep it open.
    assert_eq!(watched.take(MODULE, &packets[3]), PacketFate::Repeated);
    watched.wait(Duration::from_millis(49));
    assert_eq!(watched.counters().trains_open, 1);
    watched.wait(Duration::from_millis(1));
    assert_eq!((watched.counters().trains_timed_out, watched.counters().trains_open), (1, 0));
}

#[test]
fn packets_bring_the_time_out_of_others() {
    let mut watched = Watched::new(settings().with_sources(2));
    watched.take(MODULE, &datagrams(1, &train(1, IMAGES))[0]);
    watched.now_ns += 300_000_000;
    watched.take(TrainSource::Module(9), &datagrams(1, &train(1, IMAGES))[0]);
    assert_eq!((watched.counters().trains_timed_out, watched.counters().trains_open), (1, 1));
}

#[test]
fn a_clock_that_is_set_back_does_not_put_off_the_time_out() {
    let mut watched = Watched::new(settings());
    watched.now_ns += 3_600_000_000_000;
    let packets = datagrams(1, &train(1, IMAGES));
    watched.take(MODULE, &packets[0]);
    watched.now_ns -= 3_600_000_000_000;
    watched.take(MODULE, &packets[0]);
    watched.now_ns += 300_000_000;
    watched.take(MODULE, &packets[0]);
    assert_eq!(watched.counters().trains_timed_out, 1);
}

#[test]
fn impossible_settings_are_refused_with_their_key() {
    let good = settings();
    let TrainContent::Images(images) = good.content else { panic!("images") };
    let content = |images: ImageContent| TrainContent::Images(images);
    let cases = [
        ("data_bytes", AssemblySettings { data_bytes: 0, ..good }),
        ("data_bytes", AssemblySettings { data_bytes: 65_500, ..good }),
        ("largest_train", AssemblySettings { largest_train: 0, ..good }),
        ("largest_train", AssemblySettings { data_bytes: 1, largest_train: (1 << 30) + 1, ..good }),
        ("open_trains", AssemblySettings { open_trains: 0, ..good }),
        ("open_trains_of_source", AssemblySettings { open_trains_of_source: 3, ..good }),
        ("buffers", AssemblySettings { buffers: 1, ..good }),
        ("sources", AssemblySettings { sources: 0, ..good }),
        ("remembered_trains", AssemblySettings { remembered_trains: 0, ..good }),
        ("time_out", AssemblySettings { time_out: Duration::ZERO, ..good }),
        (
            "image_bytes",
            AssemblySettings { content: content(ImageContent { image_bytes: 0, ..images }), ..good },
        ),
        ("stride", AssemblySettings { content: content(ImageContent { stride: Some(0), ..images }), ..good }),
        ("packets_per_train", AssemblySettings { content: TrainContent::Packets(0), ..good }),
        ("packets_per_train", AssemblySettings { content: TrainContent::Packets(99), ..good }),
    ];
    for (key, settings) in cases {
        let error = Assembly::new(settings).expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
    assert_eq!(AssemblySettings::new(TrainDetector::Lpd, 512).largest_packets(), 8202);
    assert_eq!(AssemblySettings::new(TrainDetector::Lpd, 512).check(), Ok(()));
}

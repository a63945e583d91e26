//! Every packet and readout of a Multi-Blade is accounted for, also when it is bad; times, masks and what is
//! shown of the inside.

use crate::multiblade_common::{form, neutron, records, settings};
use evforge_core::detector::Detector;
use evforge_detect::multiblade::MultiBlade;
use evforge_detect::multiblade::caen::settings::{
    ChannelThreshold, HitOrder, MaskedChannels, ReadoutFormat, TimeBase,
};
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record};

fn value(detector: &dyn Detector, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn bad_readouts_and_packets_have_a_counter_each_and_harm_nobody() {
    let good = neutron(7, 1000, 3, 9);
    let odd = |digitizer, channel| Record { digitizer, channel, adc: 9, time: 1001 };
    let [first, second] = [good[0], good[1]];
    let mixed = [first, odd(99, 3), odd(7, 200), odd(7, 70), Record::END_OF_RUN, odd(255, 255), second];
    let mut settings = settings(HitOrder::Time);
    settings.mask = vec![MaskedChannels { digitizer: 8, channels: vec![5, 6], reason: "hot".into() }];
    settings.channel_thresholds = vec![ChannelThreshold { digitizer: 8, channels: vec![7], adc: 500 }];
    let mut detector = MultiBlade::new(&settings).unwrap();
    let packets =
        [records(&mixed), vec![], vec![1; 15], records(&[odd(8, 5), odd(8, 5), odd(8, 7)]), vec![0; 9000]];
    let events = form(&mut detector, &packets);
    assert_eq!(events.len(), 1);
    for (name, expected) in [
        ("unmapped_digitizer", 2),
        ("unmapped_channel", 2),
        ("end_of_run_records", 1),
        ("packets_empty", 1),
        ("packets_ragged", 1),
        ("packets_oversized", 1),
        ("masked", 2),
        ("below_threshold", 1),
        ("readouts", 9),
        ("hits", 2),
    ] {
        assert_eq!(value(&detector, name), expected, "{name}");
    }
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.masked[0].readouts), (0, 2));
    assert_eq!(ledger.masked[0].channel, "digitizer 8, channel 5");
}

/// A packet of jadaq 1.3 with a neutron on wire 3 and strip 9 of digitizer 7.
fn jadaq(sequence: u32, global_time: u64, time: u64) -> Vec<u8> {
    let mut encoder = JadaqEncoder::new(ElementType::List422);
    encoder.begin(1, global_time, 7, sequence);
    for channel in [3, 41] {
        assert!(encoder.push(&Element { time, channel, charge: 100, baseline: 0 }));
    }
    encoder.packet().to_vec()
}

#[test]
fn section_3_2_jadaq_counts_lost_packets_and_its_times_count_from_the_global_time() {
    let mut settings = settings(HitOrder::Time);
    settings.format = ReadoutFormat::Jadaq1_3;
    settings.time_base = TimeBase::GlobalTime;
    let mut detector = MultiBlade::new(&settings).unwrap();
    // The times within a packet start over; a packet is missing, and one is of a digitizer of others.
    let mut foreign = jadaq(0, 1_528_800_000_000, 5);
    foreign[16] = 200;
    let mut waveform = jadaq(13, 1_528_800_000_040, 5);
    waveform[20] = 3;
    let packets = [
        jadaq(10, 1_528_800_000_000, 1_000_000),
        jadaq(12, 1_528_800_000_020, 7),
        foreign,
        waveform,
        jadaq(14, u64::MAX / 2, 7),
    ];
    let events: Vec<_> = form(&mut detector, &packets).iter().map(|event| event.time_ns).collect();
    let base = 1_528_800_000_000_000_000;
    assert_eq!(events, [base + 16_000_000, base + 20_000_000 + 112]);
    let ledger = detector.ledger();
    let packets = &ledger.sources[0].packets;
    assert_eq!((packets.sent, packets.received, packets.lost), (Some(5), 4, 1));
    assert_eq!(ledger.sources[0].name, "digitizer 7");
    assert_eq!(value(&detector, "packets_with_waveforms"), 1);
    assert_eq!(value(&detector, "packets_unmapped_digitizer"), 1);
    assert_eq!(value(&detector, "packets_impossible_time"), 1);
    assert_eq!(ledger.unaccounted(), 0);
}

/// Section 3.4: the reference holds the last cluster of a cassette until another hit of that cassette comes. In
/// order of time it leaves as soon as time has passed it; and 32 bits of time may wrap between two hits.
#[test]
fn section_3_4_a_window_closes_by_time_and_times_go_on_beyond_32_bits() {
    let mut detector = MultiBlade::new(&settings(HitOrder::Time)).unwrap();
    let mut packets = vec![records(&neutron(7, u32::MAX - 10, 3, 9))];
    packets.extend((0..100).map(|n| records(&neutron(8, n * 1_000_000, 3, 9))));
    packets.push(records(&neutron(7, 100_000_000, 3, 9)));
    let times: Vec<_> = form(&mut detector, &packets[..101]).iter().map(|event| event.time_ns).collect();
    assert_eq!(times.len(), 101);
    assert!(times.is_sorted());

    let mut settings = settings(HitOrder::Time);
    settings.raw_ticks = true;
    let mut detector = MultiBlade::new(&settings).unwrap();
    let packets = [u32::MAX - 10, 5, 300].map(|time| records(&neutron(7, time, 3, 9)));
    let times: Vec<_> = form(&mut detector, &packets).iter().map(|event| event.time_ns).collect();
    let last = u64::from(u32::MAX - 10);
    assert_eq!(times, [last, last + 311], "the hits at 5 are in the window of the first neutron");
}

#[test]
fn two_neutrons_in_a_window_are_told_apart_by_their_amplitudes() {
    let mut settings = settings(HitOrder::Arrival);
    settings.window.separate = true;
    settings.window.max_amplitude_ratio = Some(2000);
    let hit = |channel, adc| Record { digitizer: 7, channel, adc, time: 100 };
    let pixels = |hits: &[Record]| {
        let mut detector = MultiBlade::new(&settings).unwrap();
        let pixels: Vec<_> =
            form(&mut detector, &[records(hits)]).iter().map(|event| event.pixel_id).collect();
        let ambiguous = value(&detector, "ambiguous");
        assert_eq!(detector.ledger().unaccounted(), 0);
        (pixels, ambiguous)
    };
    // The strong wires 3 and 4 belong to the strong strip 20, the weak wire 9 to the weak strip 2.
    let hits = [hit(9, 100), hit(3, 500), hit(4, 500), hit(32 + 2, 90), hit(32 + 20, 900)];
    assert_eq!(pixels(&hits), (vec![4 * 32 + 20 + 1, 9 * 32 + 2 + 1], 0));
    let unlike = [hit(9, 100), hit(3, 500), hit(4, 500), hit(32 + 2, 300), hit(32 + 20, 900)];
    assert_eq!(pixels(&unlike), (vec![], 5));
    let equal = [hit(9, 100), hit(3, 100), hit(32 + 2, 90), hit(32 + 20, 100)];
    assert_eq!(pixels(&equal), (vec![], 4));
}

#[test]
fn monitoring_shows_channels_and_clusters_and_changes_no_event() {
    let packets: Vec<_> = (0..10)
        .map(|n| {
            let mut hits = neutron(7, 1000 * n, 3, 9).to_vec();
            hits.push(Record { digitizer: 8, channel: 40, adc: 77, time: 1000 * n });
            records(&hits)
        })
        .collect();
    for order in [HitOrder::Arrival, HitOrder::Time] {
        let settings = settings(order);
        let mut plain = MultiBlade::new(&settings).unwrap();
        let mut watched = MultiBlade::new(&settings).unwrap();
        assert!(watched.monitor().is_none());
        watched.set_monitoring(true);
        assert_eq!(form(&mut watched, &packets), form(&mut plain, &packets));
        let monitor = watched.monitor().expect("it was switched on");
        let channel = |digitizer: usize, channel: usize| monitor.readouts()[digitizer * 64 + channel];
        assert_eq!([channel(0, 3), channel(0, 41), channel(1, 40), channel(1, 41)], [10, 10, 10, 0]);
        assert_eq!(monitor.planes()[1].lone_multiplicity[1], 10);
        assert_eq!(monitor.correlation().iter().sum::<u64>(), 10);
    }
}

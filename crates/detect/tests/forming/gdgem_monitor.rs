//! What a watched Gd-GEM shows, and that nothing changes by watching it.

use crate::common::{form, packet, settings};
use evforge_core::detector::Detector;
use evforge_detect::gdgem::GdGem;
use evforge_detect::gdgem::settings::{ChannelThreshold, MaskedChannels};
use evforge_wire::srs_vmm::{Vmm3Encoder, Vmm3Packet, Vmm3Variant, VmmReadout, Word};

/// A neutron in each of 40 runs, with one hit more on y than on x, and a lone cluster on x after each.
fn packets() -> Vec<Vec<u8>> {
    (1..=40_u32)
        .flat_map(|number| {
            let run = 10 + u64::from(number);
            let x = [
                (run, 100, 10),
                (run, 101, 11),
                (run, 102, 12),
                (run, 900, 40),
                (run, 900, 41),
                (run, 901, 42),
            ];
            let y = [(run, 100, 20), (run, 101, 21), (run, 102, 22), (run, 103, 23)];
            [packet(2, number, &x), packet(1, number, &y)]
        })
        .collect()
}

#[test]
fn channels_clusters_pairs_lone_clusters_and_tracks_are_shown() {
    let mut detector = GdGem::new(&settings()).unwrap();
    detector.set_monitoring(true);
    let events = form(&mut detector, &packets());
    assert_eq!(events.len(), 40);
    let monitor = detector.monitor().expect("it is watched");
    let channel = |name: &str| {
        let index = (0..256).find(|&index| monitor.plan().channel_name(index).as_deref() == Some(name));
        index.expect("a channel of that name")
    };
    assert_eq!(monitor.readouts()[channel("FEC 2, VMM 0, channel 10")], 40);
    assert_eq!(monitor.readouts()[channel("FEC 1, VMM 0, channel 23")], 40);
    assert_eq!(monitor.readouts().iter().sum::<u64>(), 400);
    let spectrum = monitor.spectra()[channel("FEC 2, VMM 0, channel 41")];
    assert_eq!(spectrum[50 * 64 / 1024], 40, "an amplitude of 50");
    let [x, y] = monitor.planes() else { panic!("two planes") };
    assert_eq!((x.multiplicity[3], y.multiplicity[4]), (80, 40));
    assert_eq!((x.lone_multiplicity[3], x.lone_spectrum[0], y.lone_multiplicity[4]), (40, 40, 0));
    assert_eq!(monitor.correlation().iter().sum::<u64>(), 40, "pairs of 150 and 200");
    let tracks: Vec<_> = monitor.tracks().collect();
    assert_eq!(tracks.len(), 3, "one of sixteen events");
    assert_eq!((tracks[0].time_ns, tracks[0].pixel_id), (events[0].time_ns, events[0].pixel_id));
    let shown: Vec<_> = tracks[0].hits.iter().map(|hit| (hit.plane, hit.strip, hit.time_ns)).collect();
    let expected = [(0, 10, 0), (0, 11, 22), (0, 12, 45), (1, 20, 0), (1, 21, 22), (1, 22, 45), (1, 23, 67)];
    assert_eq!(shown, expected, "drift times: crossings of 22.5 ns");
}

#[test]
fn watching_changes_nothing() {
    let mut watched = GdGem::new(&settings()).unwrap();
    watched.set_monitoring(true);
    let mut alone = GdGem::new(&settings()).unwrap();
    assert_eq!(form(&mut watched, &packets()), form(&mut alone, &packets()));
    assert_eq!(watched.ledger().counters, alone.ledger().counters);
    assert!(alone.monitor().is_none());
    watched.set_monitoring(false);
    assert!(watched.monitor().is_none());
}

#[test]
fn masked_channels_are_counted_by_name_and_the_monitor_still_sees_them() {
    let mut masking = settings();
    let masked = |fec, chip, channels: &[u8], reason: &str| MaskedChannels {
        fec,
        chip,
        channels: channels.to_vec(),
        reason: reason.into(),
    };
    masking.mask = vec![masked(2, 0, &[42, 12], "hot"), masked(1, 0, &[23], "dead"), masked(1, 1, &[0], "")];
    let mut detector = GdGem::new(&masking).unwrap();
    detector.set_monitoring(true);
    let events = form(&mut detector, &packets());
    assert!(events.is_empty(), "x has two hits left, and a cluster needs three");
    let ledger = detector.ledger();
    let told: Vec<_> =
        ledger.masked.iter().map(|entry| (entry.channel.as_str(), entry.readouts, &*entry.reason)).collect();
    let expected = [
        ("FEC 1, VMM 0, channel 23", 40, "dead"),
        ("FEC 1, VMM 1, channel 0", 0, ""),
        ("FEC 2, VMM 0, channel 12", 40, "hot"),
        ("FEC 2, VMM 0, channel 42", 40, "hot"),
    ];
    assert_eq!(told, expected);
    assert_eq!((ledger.counters.value("masked"), ledger.unaccounted()), (Some(120), 0));
    let monitor = detector.monitor().expect("it is watched");
    assert_eq!(monitor.readouts().iter().sum::<u64>(), 400);

    masking.mask = vec![masked(1, 0, &[23], "dead")];
    let events = form(&mut GdGem::new(&masking).unwrap(), &packets());
    let whole = form(&mut GdGem::new(&settings()).unwrap(), &packets());
    let moved: Vec<_> = whole.iter().map(|event| (event.pixel_id - 128, event.time_ns)).collect();
    // The latest hit on y is one strip lower and one crossing of 22.5 ns earlier; that of x stays.
    assert!(events.iter().zip(&moved).all(|(event, (pixel, time))| {
        event.pixel_id == *pixel && (22..=23).contains(&(time - event.time_ns))
    }));
    assert_eq!(events.len(), 40);
}

#[test]
fn a_threshold_of_a_channel_replaces_that_of_its_plane() {
    let mut stricter = settings();
    for plane in &mut stricter.clustering {
        plane.adc_threshold = 60;
    }
    let threshold = |fec, channels, adc| ChannelThreshold { fec, chip: 0, channels, adc };
    stricter.channel_thresholds = vec![threshold(2, vec![10, 11, 12], 50), threshold(1, vec![20], 51)];
    let weak = |packet: Vec<u8>| weakened(&packet);
    let packets: Vec<_> = packets().into_iter().map(weak).collect();
    let mut detector = GdGem::new(&stricter).unwrap();
    form(&mut detector, &packets);
    let counters = detector.ledger().counters;
    assert_eq!(counters.value("below_threshold"), Some(40 * 7), "amplitudes of 50");
    assert_eq!(counters.value("only_x"), Some(40 * 3));
    assert_eq!(detector.ledger().unaccounted(), 0);
}

/// The same readouts, none of which crossed the chip's own threshold.
fn weakened(packet: &[u8]) -> Vec<u8> {
    let parsed = Vmm3Packet::parse(packet, Vmm3Variant::Vmm3a).expect("a packet");
    let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
    encoder.begin(parsed.frame_counter, parsed.fec, 0);
    for word in parsed.words() {
        let pushed = match word {
            Word::Marker(marker) => encoder.push_marker(&marker),
            Word::Readout(readout) => encoder.push_readout(&VmmReadout { over_threshold: false, ..readout }),
        };
        assert!(pushed);
    }
    encoder.packet().to_vec()
}

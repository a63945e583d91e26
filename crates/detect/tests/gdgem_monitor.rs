//! What a watched Gd-GEM shows, and that nothing changes by watching it.

mod common;

use common::{form, packet, settings};
use evforge_core::detector::Detector;
use evforge_detect::gdgem::GdGem;

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

//! A Gd-GEM in the ESS readout (section 3, "NMX"): positions, limits, pulses, and that everything is accounted
//! for.

mod common;

use common::{PlainHit, at, events, nanoseconds, packet, pixel, record, settings};
use evforge_core::detector::Detector;
use evforge_detect::gdgem::ess::{self, EssGdGemSettings};
use evforge_detect::gdgem::settings::Plane::{X, Y};

/// One packet with these hits, after a pulse at 0.
fn packet_of(settings: &EssGdGemSettings, hits: &[PlainHit]) -> Vec<u8> {
    let records: Vec<_> = hits.iter().map(|&hit| record(settings, hit)).collect();
    packet(0, [0, 0], &records)
}

fn value(detector: &dyn Detector, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn section_3_the_latest_hits_give_the_position_and_the_time_is_the_end() {
    let settings = settings();
    let hits = [
        // Panel 0, a track that begins at strips 12 and 30; the latest hits on x are at strips 12 and 13.
        (0, X, 10, 100, 500),
        (0, X, 11, 110, 90),
        (0, X, 12, 120, 60),
        (0, X, 13, 120, 900),
        (0, Y, 28, 101, 500),
        (0, Y, 30, 115, 60),
        // At the same time on panel 1.
        (1, X, 200, 105, 60),
        (1, Y, 3, 104, 60),
        // And later where two hybrids meet.
        (1, X, 127, 300, 60),
        (1, X, 128, 300, 60),
        (1, Y, 128, 290, 60),
        (1, Y, 127, 299, 60),
    ];
    let mut detector = ess::new(&settings).unwrap();
    let found = events(&mut detector, &[packet_of(&settings, &hits)], 64);
    // Centres are rounded half up.
    let expected = vec![
        (nanoseconds(105), pixel(1, 200, 3)),
        (nanoseconds(120), pixel(0, 13, 30)),
        (nanoseconds(300), pixel(1, 128, 127)),
    ];
    assert_eq!(found, [(at(0).nanoseconds(), expected)]);
    assert_eq!((detector.ledger().unaccounted(), value(&detector, "hits_in_events")), (0, 12));
    assert_eq!((value(&detector, "held"), value(&detector, "held_events")), (0, 0));
}

/// The order of the reasons: no coincidence; on x too wide, too narrow, too long; the same on y. 44 ticks are 499.7
/// ns, 45 are 511.
#[test]
fn section_3_nmx_each_reason_to_reject_an_event_has_its_counter() {
    let mut settings = settings();
    settings.position.spans.as_mut().unwrap().min_strips = [2, 3];
    // Strips 20 to 21 in x, 40 to 42 in y.
    let good = [(0, X, 20, 100, 60), (0, X, 21, 110, 60), (0, Y, 40, 100, 60), (0, Y, 42, 110, 60)];
    let wide = |plane, strip| vec![(0, plane, strip, 105, 60)];
    let long = |plane, strip| vec![(0, plane, strip, 140, 60), (0, plane, strip, 145, 60)];
    let [only_x, only_y] = [&good[..2], &good[2..]];
    let cases = [
        ("hits_in_events", good.to_vec()),
        ("hits_in_events", [&good[..], &wide(X, 29), &wide(Y, 49)].concat()),
        (
            "hits_in_events",
            [&good[..], &long(X, 20)[..1], &long(Y, 40)[..1], &[(0, X, 20, 144, 60)]].concat(),
        ),
        ("only_x", only_x.to_vec()),
        ("only_y", [only_y, &wide(Y, 50)].concat()),
        ("too_wide_x", [&good[..], &wide(X, 30), &wide(Y, 50), &long(X, 20)].concat()),
        ("too_narrow_x", [&good[1..], &wide(Y, 50)].concat()),
        ("too_long_x", [&good[..], &long(X, 20), &wide(Y, 50)].concat()),
        ("too_wide_y", [&good[..], &wide(Y, 50), &long(Y, 42)].concat()),
        ("too_narrow_y", [&good[..3], &long(Y, 41)].concat()),
        ("too_long_y", [&good[..], &long(Y, 41)].concat()),
    ];
    for (counter, hits) in cases {
        let mut detector = ess::new(&settings).unwrap();
        events(&mut detector, &[packet_of(&settings, &hits)], 64);
        assert_eq!(value(&detector, counter), hits.len() as u64, "{counter}: {hits:?}");
        assert_eq!(detector.ledger().unaccounted(), 0, "{counter}");
    }
}

#[test]
fn hits_that_join_an_event_are_at_most_the_gap_after_its_end_on_either_plane() {
    let mut settings = settings();
    settings.position.spans = None;
    let chain = [(0, X, 20, 100, 60), (0, Y, 40, 144, 60), (0, X, 21, 188, 60), (0, Y, 41, 232, 60)];
    let mut detector = ess::new(&settings).unwrap();
    let found = events(&mut detector, &[packet_of(&settings, &chain)], 64);
    assert_eq!(found[0].1, [(nanoseconds(232), pixel(0, 21, 41))]);
    let apart = chain.map(|(panel, plane, strip, ticks, adc)| (panel, plane, strip, ticks / 44 * 45, adc));
    let mut detector = ess::new(&settings).unwrap();
    events(&mut detector, &[packet_of(&settings, &apart)], 64);
    assert_eq!((value(&detector, "only_x"), value(&detector, "only_y")), (2, 2));
}

#[test]
fn amplitudes_below_the_threshold_of_the_plane_or_the_hybrid_are_left_out() {
    let mut settings = settings();
    settings.hybrids[0].adc_threshold = Some(300);
    let hits = [
        (0, X, 20, 100, 299),
        (0, X, 21, 100, 300),
        (0, X, 130, 100, 49),
        (0, Y, 1, 100, 50),
        (0, Y, 2, 100, 49),
    ];
    let mut detector = ess::new(&settings).unwrap();
    let found = events(&mut detector, &[packet_of(&settings, &hits)], 64);
    assert_eq!(found[0].1, [(nanoseconds(100), pixel(0, 21, 1))]);
    assert_eq!(value(&detector, "below_threshold"), 3);
}

/// A neutron on panel 0 that ends so many ticks into the second.
fn neutron(settings: &EssGdGemSettings, x: u16, y: u16, ticks: u32) -> Vec<[u8; 20]> {
    let hits = [
        (0, X, x, ticks - 9, 90),
        (0, Y, y, ticks - 6, 90),
        (0, X, x + 1, ticks - 2, 90),
        (0, Y, y + 1, ticks, 90),
    ];
    hits.iter().map(|&hit| record(settings, hit)).collect()
}

/// The events of many pulses: with every neutron cut between two packets, with one that comes after the next pulse
/// is told, and with pulses that have none.
#[test]
fn events_span_packets_and_belong_to_their_pulses_whatever_the_batches() {
    let settings = settings();
    let mut packets = Vec::new();
    let mut expected = Vec::new();
    let pulse = |number: u32| number * 50_000;
    for number in 0..30 {
        let after = pulse(number) + 49_000;
        let told = [pulse(number), pulse(number.saturating_sub(1))];
        let mut of_pulse = Vec::new();
        if number % 3 != 2 {
            let (x, y) = (number as u16, 2 * number as u16);
            let records = neutron(&settings, x, y, after);
            packets.push(packet(packets.len() as u32, told, &records[..2]));
            // The rest comes with the next pulse.
            packets.push(packet(packets.len() as u32, [pulse(number + 1), pulse(number)], &records[2..]));
            of_pulse.push((nanoseconds(after), pixel(0, u32::from(x) + 1, u32::from(y) + 1)));
        } else {
            packets.push(packet(packets.len() as u32, told, &[]));
        }
        expected.push((nanoseconds(pulse(number)), of_pulse));
    }
    for capacity in [1, 2, 3, 64] {
        let mut detector = ess::new(&settings).unwrap();
        assert_eq!(events(&mut detector, &packets, capacity), expected, "batches of {capacity}");
        assert_eq!(detector.ledger().unaccounted(), 0);
        assert_eq!((value(&detector, "events"), value(&detector, "events_filed")), (20, 20));
    }
}

#[test]
fn the_monitor_sees_channels_clusters_and_tracks_and_changes_no_event() {
    let settings = settings();
    let packets: Vec<_> = (0..20)
        .map(|number| packet(number, [0, 0], &neutron(&settings, 10, 20, 1000 + 1000 * number)))
        .collect();
    let mut unwatched = ess::new(&settings).unwrap();
    let mut watched = ess::new(&settings).unwrap();
    watched.set_monitoring(true);
    assert_eq!(events(&mut watched, &packets, 64), events(&mut unwatched, &packets, 64));
    let monitor = watched.monitor().unwrap();
    assert_eq!(monitor.readouts().iter().sum::<u64>(), 80);
    // Of every sixteenth event the track: two hits in x, 7 ticks apart, and two in y.
    let tracks: Vec<_> = monitor.tracks().collect();
    assert_eq!(tracks.len(), 2);
    assert_eq!(tracks[0].hits.iter().map(|hit| hit.time_ns).max(), Some(102));
}

#[test]
fn settings_that_cannot_be_are_refused_by_key() {
    type Spoil = fn(&mut EssGdGemSettings);
    let cases: [(&str, Spoil); 9] = [
        ("ess.max_time_of_flight", |settings| settings.ess.max_time_of_flight = 0),
        ("hybrid", |settings| settings.hybrids.clear()),
        ("hybrid[3].panel", |settings| settings.hybrids[3].panel = 2),
        ("hybrid[3].offset", |settings| settings.hybrids[3].offset = 129),
        ("hybrid[3].offset", |settings| settings.hybrids[3].offset = 1),
        ("hybrid[1].hybrid", |settings| settings.hybrids[1].hybrid = 0),
        ("hybrid[1].adc_threshold", |settings| settings.hybrids[1].adc_threshold = Some(1024)),
        ("matching.by", |settings| settings.matching.by = evforge_detect::plane_matching::MatchBy::Start),
        ("position.spans.min_y", |settings| {
            settings.position.spans.as_mut().unwrap().min_strips[1] = 11;
        }),
    ];
    settings().check().unwrap();
    for (key, spoil) in cases {
        let mut settings = settings();
        spoil(&mut settings);
        assert_eq!(settings.check().unwrap_err().key, key);
    }
}

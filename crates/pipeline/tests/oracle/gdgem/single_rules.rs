//! Single rules on small made-up inputs.

use crate::gdgem::model::analysis::Centre;
use crate::gdgem::model::clock::ExtendedClock;
use crate::gdgem::model::clock_line::ClockLine;
use crate::gdgem::model::cluster::clusters;
use crate::gdgem::model::counters::Counters;
use crate::gdgem::model::hit::{Hit, PlaneHit};
use crate::gdgem::model::rules::Rules;
use crate::gdgem::model::run;
use crate::gdgem::model::settings::{Plane, Settings, Ticks};

#[test]
fn steps_end_at_our_rules() {
    let steps = Rules::steps();
    assert_eq!(steps.len(), 9);
    assert_eq!(steps.last().map(|(_, rules)| rules.clone()), Some(Rules::ours()));
}

#[test]
fn extended_clock_takes_the_shorter_way() {
    let half = 1u64 << 31;
    let extend = |stamps: &[u64]| {
        let mut clock = ExtendedClock::new(32);
        stamps.iter().map(|&stamp| clock.extend(stamp)).collect::<Vec<u64>>()
    };
    assert_eq!(extend(&[7, 7 + half - 1]), [7, 7 + half - 1]);
    assert_eq!(extend(&[half, 2 * half - 1, 5]), [half, 2 * half - 1, 2 * half + 5]);
    assert_eq!(extend(&[2 * half - 1, 5, 2 * half - 2]), [2 * half - 1, 2 * half + 5, 2 * half - 2]);
    // Exactly half of the range is a step back, and below 0 the raw stamp counts.
    assert_eq!(extend(&[half + 3, 3]), [half + 3, 3]);
    assert_eq!(extend(&[3, half + 3]), [3, half + 3]);
    assert_eq!(extend(&[3, 2 * half - 1]), [3, 2 * half - 1]);
}

/// Plays (packet, time) pairs through a line with window 10, forward jump 100 and restart 1000: accepted (epoch,
/// time), late, refuted.
fn play(hits: &[(usize, Ticks)]) -> (Vec<(u64, Ticks)>, u64, u64) {
    let mut counters = Counters::default();
    let mut line = ClockLine::new(10, 100, 1000);
    for &(packet, time) in hits {
        let hit = Hit {
            source: 1,
            packet,
            epoch: 0,
            plane: Plane::X,
            strip: 0,
            adc: 1,
            trigger_time: time,
            chip_time: 0,
        };
        line.judge(&hit, &mut counters);
    }
    let accepted = line.finish(&mut counters).iter().map(|hit| (hit.epoch, hit.time())).collect();
    (accepted, counters.late, counters.refuted)
}

#[test]
fn clock_line_accepts_from_the_window_to_the_leap() {
    assert_eq!(play(&[(0, 500), (0, 490), (1, 600)]), (vec![(0, 500), (0, 490), (0, 600)], 0, 0));
    assert_eq!(play(&[(0, 1500), (0, 1489), (1, 500)]), (vec![(0, 1500)], 2, 0));
}

#[test]
fn clock_line_believes_a_leap_up_to_where_the_next_packet_is() {
    assert_eq!(play(&[(0, 500), (1, 900), (2, 901)]), (vec![(0, 500), (0, 900), (0, 901)], 0, 0));
    assert_eq!(play(&[(0, 500), (1, 900), (1, 905), (2, 510)]), (vec![(0, 500), (0, 510)], 0, 2));
    // A forward jump that the next packet has come close to, within the window, was right.
    assert_eq!(play(&[(0, 500), (1, 605), (2, 596)]), (vec![(0, 500), (0, 605), (0, 596)], 0, 0));
    // The packet that opens the quarantine can't decide it, and hits on the line pass meanwhile.
    assert_eq!(play(&[(0, 500), (1, 900), (1, 505), (2, 906)]).0, [(0, 500), (0, 505), (0, 900), (0, 906)]);
    // One wild stamp among true ones.
    assert_eq!(
        play(&[(0, 500), (1, 99_000), (1, 800), (1, 780), (2, 1200), (3, 1201)]),
        (vec![(0, 500), (0, 800), (0, 1200), (0, 1201)], 1, 1)
    );
}

#[test]
fn clock_line_begins_an_epoch_if_the_next_packet_is_behind_as_well() {
    assert_eq!(play(&[(0, 5000), (1, 20), (2, 21)]), (vec![(0, 5000), (1, 20), (1, 21)], 0, 0));
    // What the packet held before the restart is of the old line; what lies beyond the deciding hit is wrong.
    assert_eq!(
        play(&[(0, 5000), (1, 9000), (1, 20), (1, 700), (1, 8000), (2, 710)]),
        (vec![(0, 5000), (0, 9000), (1, 20), (1, 700), (1, 710)], 0, 1)
    );
    // A hit from long ago does not restart a clock that goes on, by a forward jump or not.
    assert_eq!(play(&[(0, 5000), (1, 20), (2, 5001)]), (vec![(0, 5000), (0, 5001)], 0, 1));
    assert_eq!(play(&[(0, 5000), (1, 20), (2, 6000)]), (vec![(0, 5000), (0, 6000)], 0, 1));
    // Nothing in the quarantine is behind, but the deciding hit is: all of it was wrong.
    assert_eq!(play(&[(0, 5000), (1, 6000), (2, 20), (3, 21)]), (vec![(0, 5000), (1, 20), (1, 21)], 0, 1));
}

#[test]
fn clock_line_releases_an_open_quarantine_at_the_end() {
    assert_eq!(play(&[(0, 5000), (1, 20), (1, 25)]), (vec![(0, 5000), (1, 20), (1, 25)], 0, 0));
    assert_eq!(play(&[(0, 500), (1, 900), (1, 9000)]), (vec![(0, 500), (0, 900), (0, 9000)], 0, 0));
}

#[test]
fn clusters_end_at_time_gaps_strip_gaps_and_epochs() {
    let settings = Settings::vmm3a_physical();
    let clusterer = &settings.clusterers.x;
    let gap = clusterer.maximum_time_gap;
    let sizes = |second: (u64, Ticks, u32)| {
        let hit = |epoch, time, strip| PlaneHit { epoch, time, strip, adc: 1 };
        let (epoch, time, strip) = second;
        let hits = [
            (0, 0, 8),
            (0, 0, 9),
            (0, 0, 10),
            (epoch, time, strip),
            (epoch, time, strip),
            (epoch, time, strip),
        ]
        .map(|(epoch, time, strip)| hit(epoch, time, strip));
        let found = clusters(Plane::X, &hits, clusterer, &mut Counters::default());
        found.iter().map(|cluster| cluster.hits.len()).collect::<Vec<usize>>()
    };
    assert_eq!(sizes((0, gap, 13)), [6]);
    assert_eq!(sizes((0, gap + 1, 13)), [3, 3]);
    assert_eq!(sizes((0, gap, 14)), [3, 3]);
    assert_eq!(sizes((1, gap, 13)), [3, 3]);
}

#[test]
fn centres_round_halves_up() {
    let rounded = |sum, weight| Centre { sum, weight }.rounded();
    assert_eq!([rounded(5, 2), rounded(7, 5), rounded(8, 5), rounded(0, 0)], [3, 1, 2, 0]);
}

/// A VMM3a packet of FEC 2 with the given entries.
fn vmm3a_packet(entries: &[[u8; 6]]) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 1, 0x56, 0x4d, 0x33, 0x20, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend(entries.concat());
    packet
}

/// A marker; `stamp` has at most 10 bits.
fn marker(vmm: u16, stamp: u16) -> [u8; 6] {
    let [high, low] = (vmm << 10 | stamp).to_be_bytes();
    [0, 0, 0, 0, high, low]
}

/// A hit of channel 0 with charge 5, bunch crossing 0 and TDC 0, not flagged as over threshold.
fn readout(vmm: u32, offset: u32) -> [u8; 6] {
    let [a, b, c, d] = (offset << 27 | vmm << 22 | 5 << 12).to_be_bytes();
    [a, b, c, d, 0x80, 0]
}

#[test]
fn every_readout_of_a_vmm3a_packet_has_one_fate() {
    let mut settings = Settings::vmm3a_physical();
    settings.clusterers.x.hit_adc_threshold = 5;
    let entries = [
        marker(17, 5),
        readout(1, 0),
        marker(0, 0),
        marker(3, 9),
        readout(0, 15),
        readout(0, 16),
        readout(0, 17),
        readout(0, 30),
        readout(0, 31),
        readout(3, 0),
    ];
    let counters = run(&[vmm3a_packet(&entries), vec![0; 21]], &settings, &Rules::ours()).counters;
    let expected = Counters {
        rejected_packets: 1,
        readouts: 7,
        markers: 3,
        markers_ignored: 1,
        no_marker: 1,
        latency_violation: 1,
        undefined_offset: 2,
        unmapped: 1,
        before_zero: 1,
        hits: 1,
        cluster_too_small: 1,
        ..Counters::default()
    };
    assert_eq!(counters, expected);
    settings.clusterers.x.hit_adc_threshold = 6;
    let counters = run(&[vmm3a_packet(&entries)], &settings, &Rules::ours()).counters;
    assert_eq!((counters.below_threshold, counters.before_zero, counters.hits), (2, 0, 0));
}

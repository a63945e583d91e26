//! The triggered mode of VMM3a (EFU formats of 2018, section 4.3, "TRG"): packets made by hand from its formula,
//! hit time = trigger time × BC + 4096 × BC × offset − relative time × BC + chip time.

use crate::common::{form, settings};
use evforge_core::detector::Detector;
use evforge_core::event::Event;
use evforge_detect::gdgem::settings::ReadoutFormat;
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_wire::srs_vmm::{TimeMarker, TriggerMarker, Vmm3Encoder, Vmm3Variant, VmmReadout};

fn triggered() -> GdGemSettings {
    GdGemSettings { format: ReadoutFormat::Vmm3aTriggered, ..settings() }
}

/// Three neighbouring hits of one crossing after the given markers.
fn packet(fec: u16, number: u32, markers: &[TriggerMarker], offset: u8, crossing: u16) -> Vec<u8> {
    let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
    encoder.begin(number, fec, 0);
    for &marker in markers {
        assert!(encoder.push_marker(&TimeMarker::from(marker)));
    }
    for channel in 10..13 {
        assert!(encoder.push_readout(&VmmReadout {
            chip: 0,
            channel,
            bunch_crossing: crossing,
            trigger_offset: offset,
            tdc: 255,
            adc: 100,
            over_threshold: true,
        }));
    }
    encoder.packet().to_vec()
}

fn trigger(stamp: u64, ticks: u16, count: u16) -> [TriggerMarker; 3] {
    [
        TriggerMarker::EventCounter { chip: 0, count },
        TriggerMarker::TriggerTime { chip: 0, stamp },
        TriggerMarker::RelativeTime { chip: 0, ticks },
    ]
}

#[test]
fn section_4_3_trg_the_time_is_that_of_the_formula() {
    let mut detector = GdGem::new(&triggered()).unwrap();
    let mut packets = Vec::new();
    // (trigger time, relative time, raw offset, crossing)
    let cases = [(1024 * 1000, 0, 0, 0), (1024 * 1100, 4095, 2, 77), (1024 * 1200, 1, 31, 4000)];
    for (number, (stamp, relative, offset, crossing)) in (1..).zip(cases) {
        for fec in [1, 2] {
            packets.push(packet(fec, number, &trigger(stamp, relative, number as u16), offset, crossing));
        }
    }
    let expected: Vec<Event> = cases
        .iter()
        .map(|&(stamp, relative, offset, crossing)| {
            let turns = if offset == 31 { -1.0 } else { f64::from(offset) };
            let crossings = stamp as f64 + 4096.0 * turns - f64::from(relative) + f64::from(crossing) + 1.5;
            // The TDC of 255 is the whole range of 60 ns. No rounding is near: 22.5 ns has one binary digit.
            Event { time_ns: (crossings * 22.5 - 60.0) as u64, pixel_id: 11 * 128 + 11 + 1 }
        })
        .collect();
    assert_eq!(form(&mut detector, &packets), expected);
    let ledger = detector.ledger();
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!((value("event_counters"), value("trigger_times"), value("relative_times")), (6, 6, 6));
    assert_eq!((value("markers"), value("event_counter_steps")), (18, 0));
    assert_eq!(ledger.unaccounted(), 0);
}

#[test]
fn section_4_3_trg_readouts_without_both_times_and_odd_markers_are_counted() {
    let mut detector = GdGem::new(&triggered()).unwrap();
    let [counter, time, relative] = trigger(1024 * 1000, 5, 9);
    let meaningless = TriggerMarker::Meaningless { chip: 0, stamp: 4096 };
    let packets = [
        packet(1, 1, &[], 0, 0),
        packet(1, 2, &[counter, time], 0, 0),
        packet(1, 3, &[meaningless], 0, 0),
        packet(1, 4, &[relative], 0, 0),
        packet(1, 5, &[TriggerMarker::EventCounter { chip: 0, count: 11 }], 0, 100),
        packet(1, 6, &[TriggerMarker::EventCounter { chip: 0, count: 12 }], 16, 100),
    ];
    form(&mut detector, &packets);
    let ledger = detector.ledger();
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!((value("readouts"), value("no_marker"), value("hits")), (18, 9, 6));
    assert_eq!((value("latency_violation"), value("markers_without_meaning")), (3, 1));
    assert_eq!((value("event_counters"), value("event_counter_steps")), (3, 1), "number 10 is missing");
    assert_eq!(ledger.unaccounted(), 0);
}

#[test]
fn other_modes_count_trigger_markers_as_those_of_unknown_chips() {
    let mut detector = GdGem::new(&settings()).unwrap();
    form(&mut detector, &[packet(1, 1, &trigger(1024 * 1000, 5, 9), 0, 100)]);
    let ledger = detector.ledger();
    let value = |name: &str| ledger.counters.value(name).unwrap();
    assert_eq!((value("markers"), value("markers_unknown_chip"), value("hits")), (3, 2, 3));
}

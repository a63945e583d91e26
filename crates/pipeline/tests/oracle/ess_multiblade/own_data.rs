//! Multi-Blades as they are shipped, on the captures of this repository: never skipped.

use crate::common::ess_records::{records, sequence};
use crate::common::form_packets;
use crate::ess_multiblade::model::{Instrument, Readout, Rules};
use crate::ess_multiblade::{cassettes, config, rules};
use evforge_testkit::own_data::{configuration_path, payloads};

/// The events of packets: of production, and of the model, which is given `used`.
fn events(name: &str, rules: &Rules, packets: &[Vec<u8>], used: &[Vec<u8>]) -> [Vec<(u64, u32)>; 2] {
    let readouts: Vec<Readout> = records(used)
        .iter()
        .map(|record| Readout {
            ticks: record.ticks,
            ring: record.ring,
            fen: record.fen,
            vmm: record.vmm,
            channel: record.channel,
            adc: record.adc,
            over_threshold: record.over_threshold,
            tdc: record.tdc,
        })
        .collect();
    let config = config(&configuration_path(name), rules);
    let (log, ledger) = form_packets(&config, packets);
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
    let found: Vec<_> = log.events().map(|event| (event.time_ns, event.pixel_id)).collect();
    [found, rules.form(&readouts, cassettes(&config))]
}

#[test]
fn the_captures_of_the_repository_give_the_model_s_events() {
    for (name, of) in [
        ("freia", Instrument::Freia),
        ("estia", Instrument::Estia),
        ("amor-ess", Instrument::Amor),
        ("tblmb", Instrument::Amor),
    ] {
        let packets = payloads(name);
        for rules in [rules(of), Rules { max_gap_wires: 1, max_gap_strips: 1, ..rules(of) }] {
            let [found, expected] = events(name, &rules, &packets, &packets);
            assert!(expected.len() > 200, "{name}: {} events", expected.len());
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// A packet that comes twice is used once. One that comes after its successor is of an earlier pulse, and too late.
#[test]
fn of_a_disturbed_capture_the_packets_in_order_give_the_model_s_events() {
    let packets = payloads("freia-faults");
    let mut latest = None;
    let mut in_order = packets.clone();
    in_order.retain(|packet| {
        let is_next = latest.is_none_or(|latest| sequence(packet) > latest);
        latest = latest.max(Some(sequence(packet)));
        is_next
    });
    assert!(in_order.len() + 5 < packets.len(), "{} of {} packets in order", in_order.len(), packets.len());
    let rules = rules(Instrument::Freia);
    let [found, expected] = events("freia-faults", &rules, &packets, &in_order);
    assert!(expected.len() > 200);
    assert_eq!(found, expected);
    let [_, of_all] = events("freia-faults", &rules, &packets, &packets);
    assert!(found != of_all, "the packets out of order make no difference");
}

#[test]
fn another_setting_is_noticed_in_the_captures_of_the_repository() {
    let packets = payloads("freia");
    let ours = rules(Instrument::Freia);
    let [expected, _] = events("freia", &ours, &packets, &packets);
    for changed in [
        Rules { max_gap: 10, ..ours },
        Rules { instrument: Instrument::Estia, ..ours },
        Rules { columns: 65, ..ours },
    ] {
        let [_, found] = events("freia", &changed, &packets, &packets);
        assert!(found != expected, "{changed:?}");
    }
}

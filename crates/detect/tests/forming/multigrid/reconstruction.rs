//! EFU formats of 2018, section 2.4: hits of a trigger to its pixel, and the external trigger.

use crate::multigrid::common::{form_all, packet, pulse, readout, settings, trigger, value};
use evforge_detect::multigrid::MultiGrid;
use evforge_detect::multigrid::settings::{BusSettings, DoubleNeutronRule, EventTime, Strategy};
use evforge_wire::mesytec::VmmrReadout;

/// Column, row, layer of the event of these readouts, by each strategy; wires and grids as they are numbered.
fn places(readouts: &[VmmrReadout]) -> [Option<(u32, u32, u32)>; 3] {
    [Strategy::Maximum, Strategy::CenterMass, Strategy::Prioritized].map(|strategy| {
        let mut settings = settings();
        settings.buses = vec![BusSettings::default()];
        settings.strategy = strategy;
        let mut detector = MultiGrid::new(&settings).expect("settings that can be");
        let events = form_all(&mut detector, &[packet(&[trigger(5, readouts)])], 1);
        events.first().map(|(_, pixel)| ((pixel - 1) % 4, (pixel - 1) / 4 % 40, (pixel - 1) / 160))
    })
}

fn wire(column: u16, layer: u16, adc: u16) -> VmmrReadout {
    readout(0, 20 * column + layer, adc)
}

fn grid(row: u16, adc: u16) -> VmmrReadout {
    readout(0, 80 + row, adc)
}

#[test]
fn section_2_4_the_largest_the_mean_and_the_mean_of_the_largest() {
    let readouts = [wire(0, 3, 100), wire(2, 9, 300), grid(10, 200), grid(20, 100), grid(12, 200)];
    // Means: columns 600 / 400, layers 3000 / 400, rows 6400 / 500; of the largest rows (10 + 12) / 2.
    assert_eq!(places(&readouts), [Some((2, 12, 9)), Some((1, 12, 7)), Some((2, 11, 9))]);
}

#[test]
fn section_2_4_of_equal_amplitudes_the_last_counts_or_their_mean() {
    let readouts = [wire(0, 0, 7), grid(4, 9), wire(3, 19, 7), grid(5, 9), wire(0, 0, 6)];
    assert_eq!(places(&readouts)[0], Some((3, 5, 19)));
    assert_eq!(places(&readouts)[2], Some((1, 4, 9)));
}

#[test]
fn section_2_4_an_amplitude_of_zero_counts_for_the_largest_only() {
    assert_eq!(places(&[wire(1, 2, 0), grid(3, 0)]), [Some((1, 3, 2)), None, None]);
    assert_eq!(places(&[wire(1, 2, 0), grid(3, 5)]), [Some((1, 3, 2)), None, None]);
}

#[test]
fn section_2_4_a_wire_and_a_grid_are_needed() {
    assert_eq!(places(&[wire(1, 2, 50)]), [None; 3]);
    assert_eq!(places(&[grid(3, 50)]), [None; 3]);
    assert_eq!(places(&[]), [None; 3]);
    let mut detector = MultiGrid::new(&settings()).unwrap();
    let packets =
        [packet(&[trigger(1, &[wire(1, 2, 9), wire(1, 3, 9)]), trigger(2, &[grid(3, 9)]), trigger(3, &[])])];
    form_all(&mut detector, &packets, 1);
    assert_eq!((value(&detector, "no_wire"), value(&detector, "no_grid")), (1, 2));
    assert_eq!((value(&detector, "triggers"), value(&detector, "triggers_without_event")), (3, 2));
}

#[test]
fn section_2_4_times_as_in_2018_count_from_the_last_external_trigger() {
    let neutron = [wire(1, 2, 9), grid(3, 9)];
    let far = (5 << 32) + 7;
    let packets = [packet(&[
        trigger(100, &neutron),
        pulse(far, &neutron),
        trigger(far + 50, &neutron),
        trigger(far - 1, &neutron),
    ])];
    let times = |event_time| {
        let mut settings = settings();
        settings.time.event_time = event_time;
        let mut detector = MultiGrid::new(&settings).unwrap();
        let times: Vec<u64> =
            form_all(&mut detector, &packets, 2).into_iter().map(|(time, _)| time).collect();
        assert_eq!(value(&detector, "external_triggers"), 1);
        times
    };
    assert_eq!(times(EventTime::Raw2018), [100, 0, 50, u64::from(u32::MAX)]);
    assert_eq!(times(EventTime::Clock), [100, far, far + 50, far - 1]);
}

#[test]
fn two_neutrons_in_a_trigger_are_counted_and_dropped_if_wanted() {
    let double = [
        [wire(0, 2, 500), wire(2, 2, 500), grid(3, 500), grid(3, 1)],
        [wire(0, 2, 500), wire(0, 5, 500), grid(3, 500), grid(4, 1)],
        [wire(0, 2, 500), wire(0, 2, 10), grid(3, 500), grid(7, 500)],
    ];
    let single = [
        [wire(0, 2, 500), wire(1, 3, 500), grid(3, 500), grid(4, 500)],
        [wire(0, 2, 500), wire(3, 9, 499), grid(3, 500), grid(9, 499)],
    ];
    let triggers: Vec<_> = double.iter().chain(&single).map(|readouts| trigger(1, readouts)).collect();
    for (drop, events) in [(false, 5), (true, 2)] {
        let mut settings = settings();
        settings.buses = vec![BusSettings::default()];
        settings.double_neutrons = Some(DoubleNeutronRule { threshold: 500, separation: 2 });
        settings.drop_double_neutrons = drop;
        let mut detector = MultiGrid::new(&settings).unwrap();
        assert_eq!(form_all(&mut detector, &[packet(&triggers)], 1).len(), events);
        assert_eq!(value(&detector, "double_neutrons"), 3);
        assert_eq!(value(&detector, "double_neutron"), if drop { 12 } else { 0 });
    }
}

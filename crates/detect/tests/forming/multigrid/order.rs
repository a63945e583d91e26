//! The order of events, and that it does not depend on batches.

use crate::multigrid::common::{form_all, packet, readout, settings, trigger, value};
use evforge_detect::multigrid::MultiGrid;
use evforge_detect::multigrid::settings::{MesytecSettings, Ordering};
use evforge_detect::settings::SortingSettings;
use proptest::prelude::*;

/// Times of the modules' clock, events in the order of time.
fn in_order() -> MesytecSettings {
    let mut settings = settings();
    settings.time.tick = Some(62_500);
    settings.time.order = Ordering::Time(SortingSettings {
        window: 500_000_000,
        forward_jump: 100_000_000_000,
        restart: 1_000_000_000_000,
        source_lag: 60_000_000_000_000,
        max_held_hits: 8192,
        max_group_hits: 1,
        decimation: 0,
        highest_rate: None,
    });
    settings
}

#[test]
fn events_leave_in_order_of_time_in_nanoseconds() {
    let neutron = |time: u64, wire| trigger(time, &[readout(0, wire, 900), readout(0, 95, 300)]);
    let packets =
        [packet(&[neutron(1001, 3), neutron(999, 4)]), packet(&[neutron(1000, 5), neutron(999, 2)])];
    let mut detector = MultiGrid::new(&in_order()).unwrap();
    let events = form_all(&mut detector, &packets, 3);
    let times: Vec<u64> = events.iter().map(|event| event.0).collect();
    assert_eq!(times, [62_437, 62_437, 62_500, 62_562]);
    assert!(events.is_sorted());
    // Far behind the window of a source that has come there with two: counted and left out.
    let mut detector = MultiGrid::new(&in_order()).unwrap();
    let late = [packet(&[neutron(1_000_000, 3), neutron(1_000_001, 3), neutron(990_000, 3)])];
    assert_eq!(form_all(&mut detector, &late, 3).len(), 2);
    assert_eq!((value(&detector, "late"), value(&detector, "events_formed")), (1, 3));
}

proptest! {
    #[test]
    fn events_do_not_depend_on_batches(
        packets in proptest::collection::vec(
            proptest::collection::vec((0..6000_u64, 0..80_u16, 80..120_u16, 0..4096_u16), 0..30), 1..30),
        batch in 1..40_usize,
    ) {
        let packets: Vec<_> = (0..).zip(&packets).map(|(number, triggers)| {
            let triggers: Vec<_> = triggers.iter().map(|&(offset, wire, grid, adc)| {
                trigger(20_000 + number * 1000 + offset, &[readout(0, wire, adc), readout(0, grid, adc)])
            }).collect();
            packet(&triggers)
        }).collect();
        for settings in [settings(), in_order()] {
            let form = |batch| form_all(&mut MultiGrid::new(&settings).unwrap(), &packets, batch);
            prop_assert_eq!(form(batch), form(10_000));
        }
    }
}

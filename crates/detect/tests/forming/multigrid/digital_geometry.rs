//! EFU formats of 2018, section 2.3: buses, swaps, flips and filters.

use crate::multigrid::common::{form_all, packet, readout, settings, trigger, value};
use evforge_detect::multigrid::MultiGrid;
use evforge_detect::multigrid::amplitude::AmplitudeFilter;
use evforge_detect::multigrid::settings::{BusSettings, MaskSettings, MesytecSettings};

/// Column, row and layer (from 0) of the event of a wire and a grid, if there is one.
fn place(settings: &MesytecSettings, bus: u8, wire: u16, grid: u16) -> Option<(u32, u32, u32)> {
    let mut detector = MultiGrid::new(settings).expect("settings that can be");
    let readouts = [readout(bus, wire, 500), readout(bus, grid, 500)];
    let events = form_all(&mut detector, &[packet(&[trigger(1, &readouts)])], 4);
    let pixel = events.first()?.1 - 1;
    let geometry = settings.geometry().expect("pixels");
    let (nx, ny) = (geometry.nx(), geometry.ny());
    Some((pixel % nx, pixel / nx % ny, pixel / (nx * ny)))
}

fn plain(change: impl Fn(&mut BusSettings)) -> MesytecSettings {
    let mut settings = settings();
    for bus in &mut settings.buses {
        *bus = BusSettings::default();
        change(bus);
    }
    settings
}

#[test]
fn section_2_3_wires_run_through_layers_and_grids_through_rows() {
    let settings = plain(|_| {});
    assert_eq!(settings.geometry().unwrap().pixel_count(), 9600);
    assert_eq!(place(&settings, 0, 0, 80), Some((0, 0, 0)));
    assert_eq!(place(&settings, 0, 19, 81), Some((0, 1, 19)));
    assert_eq!(place(&settings, 0, 20, 119), Some((1, 39, 0)));
    assert_eq!(place(&settings, 1, 79, 119), Some((7, 39, 19)));
    assert_eq!(place(&settings, 2, 79, 119), Some((11, 39, 19)));
}

#[test]
fn section_2_3_swaps_and_flips() {
    assert_eq!(place(&plain(|bus| bus.swap_wires = true), 0, 20, 80), Some((1, 0, 1)));
    assert_eq!(place(&plain(|bus| bus.swap_wires = true), 0, 21, 80), Some((1, 0, 0)));
    assert_eq!(place(&plain(|bus| bus.swap_grids = true), 0, 20, 80), Some((1, 1, 0)));
    assert_eq!(place(&plain(|bus| bus.swap_grids = true), 0, 20, 119), Some((1, 38, 0)));
    assert_eq!(place(&plain(|bus| bus.flipped_x = true), 1, 20, 80), Some((6, 0, 0)));
    assert_eq!(place(&plain(|bus| bus.flipped_z = true), 0, 20, 80), Some((1, 0, 19)));
    // All of them: raw wire 0 is wire 1, column 0 of 4, layer 1 of 20.
    assert_eq!(place(&settings(), 2, 0, 80), Some((11, 0, 18)));
}

#[test]
fn section_2_3_filters_go_by_raw_wire_and_by_grid() {
    let refuse_all = AmplitudeFilter { min: 501, ..AmplitudeFilter::default() };
    // Swapped wires: the filter of raw channel 4 hits raw channel 4, which is wire 5.
    let wires = plain(|bus| {
        bus.swap_wires = true;
        bus.wire_filters.exceptions = vec![(4, refuse_all)];
    });
    assert_eq!(place(&wires, 0, 4, 80), None);
    assert!(place(&wires, 0, 5, 80).is_some());
    // Swapped grids: the filter of grid 4 hits raw channel 85.
    let grids = plain(|bus| {
        bus.swap_grids = true;
        bus.grid_filters.exceptions = vec![(4, refuse_all)];
    });
    assert_eq!(place(&grids, 0, 0, 85), None);
    assert!(place(&grids, 0, 0, 84).is_some());
    // The last exception of a channel replaces the others and the blanket.
    let again = plain(|bus| {
        bus.wire_filters.blanket = refuse_all;
        bus.wire_filters.exceptions = vec![(4, refuse_all), (4, AmplitudeFilter::default())];
    });
    assert!(place(&again, 0, 4, 80).is_some() && place(&again, 0, 5, 80).is_none());
    let largest = AmplitudeFilter { max: 499, ..AmplitudeFilter::default() };
    assert_eq!(place(&plain(|bus| bus.wire_filters.blanket = largest), 0, 4, 80), None);
}

#[test]
fn section_2_3_a_bus_with_more_rows_than_the_last_one_reaches_outside() {
    let mut settings = plain(|_| {});
    settings.buses[0].max_channel = 122;
    assert_eq!(place(&settings, 0, 0, 121), None);
    let mut detector = MultiGrid::new(&settings).unwrap();
    let readouts = [readout(0, 0, 500), readout(0, 121, 500)];
    form_all(&mut detector, &[packet(&[trigger(1, &readouts)])], 4);
    assert_eq!(value(&detector, "outside_geometry"), 2);
}

#[test]
fn readouts_that_make_no_hit_have_a_counter_each() {
    let mut settings = settings();
    settings.buses[0].wire_filters.blanket.min = 100;
    settings.mask = vec![MaskSettings { bus: 0, channel: 7, reason: "hot".into() }];
    let mut detector = MultiGrid::new(&settings).unwrap();
    let readouts = [
        readout(0, 7, 4000),
        readout(0, 8, 99),
        readout(0, 9, 100),
        readout(0, 120, 1),
        readout(3, 0, 1),
        readout(15, 4095, 1),
        readout(0, 90, 1),
    ];
    let events = form_all(&mut detector, &[packet(&[trigger(1, &readouts)])], 4);
    assert_eq!(events.len(), 1);
    for (counter, count) in [
        ("readouts", 7),
        ("masked", 1),
        ("outside_limits", 1),
        ("unmapped_channel", 3),
        ("hits_in_events", 2),
    ] {
        assert_eq!(value(&detector, counter), count, "{counter}");
    }
    let masked = &evforge_core::detector::Detector::ledger(&detector).masked[0];
    assert_eq!((masked.channel.as_str(), masked.readouts), ("bus 0, channel 7", 1));
}

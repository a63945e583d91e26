//! EFU formats of 2018, section 2.5: the demonstrator at CNCS.

use crate::multigrid::common::{cncs_settings as settings, form_all, value};
use evforge_detect::multigrid::MultiGridCncs;
use evforge_detect::multigrid::cncs::CncsGeometry;
use evforge_detect::multigrid::settings::{CncsSettings, EventTime, TimeSettings};
use evforge_testkit::shared_file;
use evforge_wire::cncs::{Group, GroupEncoder};

fn packet(groups: &[Group]) -> Vec<u8> {
    let mut encoder = GroupEncoder::default();
    encoder.begin();
    for group in groups {
        assert!(encoder.push(group), "a packet without room");
    }
    encoder.packet().to_vec()
}

fn neutron(wire: u16, grid: u16, time: u32) -> Group {
    Group { module: 0, values: [500, 10, wire, 0, 400, 0, grid, 0], time }
}

#[test]
fn section_2_5_thresholds_of_the_reference_s_own_case() {
    let Some(bytes) = shared_file(
        "section_2_5_thresholds_of_the_reference_s_own_case",
        "vectors/multigrid_cncs/err_below_thresh.bin",
    ) else {
        return;
    };
    let mut detector = MultiGridCncs::new(&settings()).unwrap();
    form_all(&mut detector, &[bytes], 1);
    let discarded = value(&detector, "below_threshold") + value(&detector, "double_neutron");
    assert_eq!((value(&detector, "readouts"), discarded), (4, 3));
    assert_eq!(value(&detector, "double_neutrons"), 1);
}

/// The formula of the document, with its numbers from 1 on.
fn pixel(settings: &CncsSettings, position: u16, grid: u32) -> u32 {
    let (m, g) = (u32::from(settings.modules), u32::from(settings.grids));
    let (xw, zw, p) = (u32::from(settings.wires_x), u32::from(settings.wires_z), u32::from(settings.panel));
    let wire = if position % 2 == 1 { u32::from(position) + 1 } else { u32::from(position).wrapping_sub(1) };
    if !(1..=m * xw * zw).contains(&wire) {
        return 0;
    }
    let column = m - (wire - 1) / (zw * xw);
    if !((column - 1) * g < grid && grid <= column * g) {
        return 0;
    }
    let x = m * xw * (p - 1) + m * xw - (wire - 1) / zw;
    let (y, z) = ((grid - 1) % g + 1, (wire - 1) % zw + 1);
    (x - 1) * g * zw + (y - 1) * zw + z
}

#[test]
fn section_2_5_every_pair_of_wire_and_grid() {
    for panel in 1..=2 {
        let settings = CncsSettings { panels: 2, panel, ..settings() };
        let geometry = CncsGeometry::new(&settings).unwrap();
        let mut pixels = 0;
        for wire in (0..140).chain([16_383]) {
            for grid in (0..110).chain([16_383]) {
                let expected = if grid == 0 { 0 } else { pixel(&settings, wire, grid.into()) };
                assert_eq!(geometry.pixel(wire, grid), expected, "wire {wire}, grid {grid}");
                pixels += u32::from(expected > 0);
            }
        }
        assert_eq!(pixels, 128 * 48);
    }
}

#[test]
fn section_2_5_positions_are_calibrated() {
    let plain = CncsGeometry::new(&settings()).unwrap();
    let mut calibrated = settings();
    calibrated.wire_calibration = vec![7; 20];
    calibrated.grid_calibration = vec![60; 10];
    let calibrated = CncsGeometry::new(&calibrated).unwrap();
    assert_eq!(calibrated.pixel(19, 3), plain.pixel(7, 60));
    assert_eq!(calibrated.pixel(20, 60), plain.pixel(20, 60));
}

#[test]
fn events_have_a_time_that_does_not_start_over() {
    let last = (1 << 30) - 5;
    let groups = [neutron(7, 60, last), neutron(90, 5, 3), neutron(7, 5, 4)];
    let mut wrong = packet(&groups);
    wrong.extend([1, 2, 3]);
    let mut detector = MultiGridCncs::new(&settings()).unwrap();
    let events = form_all(&mut detector, &[wrong, vec![0; 40]], 1);
    let times: Vec<u64> = events.iter().map(|event| event.0).collect();
    assert_eq!(times, [u64::from(last), (1 << 30) + 3]);
    for (counter, count) in
        [("outside_geometry", 1), ("error_bytes", 43), ("packets_without_groups", 1), ("hits_in_events", 2)]
    {
        assert_eq!(value(&detector, counter), count, "{counter}");
    }
    let raw = CncsSettings {
        time: TimeSettings { event_time: EventTime::Raw2018, ..settings().time },
        ..settings()
    };
    let events = form_all(&mut MultiGridCncs::new(&raw).unwrap(), &[packet(&groups)], 1);
    assert_eq!(events[1].0, 3);
}

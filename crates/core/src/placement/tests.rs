use super::*;
use crate::geometry::{Coordinates, LogicalGeometry};
use crate::quantity::{Angle, Length};
use crate::settings::SettingsError;
use std::collections::BTreeMap;

/// Settings with nothing but the pitch.
fn settings(pitch: &str) -> PlacementSettings {
    PlacementSettings {
        pitch: pitch.split_whitespace().map(|text| text.parse().expect("a length")).collect(),
        figures: Trust::Plausible,
        note: String::new(),
        source_distance: None,
        monitors: BTreeMap::new(),
        arc: None,
        panel_columns: None,
        panel: Vec::new(),
    }
}

fn panel(distance: &str) -> PanelSettings {
    PanelSettings {
        distance: distance.parse().expect("a length"),
        angle: Angle::default(),
        elevation: Angle::default(),
        offset: [Length::default(); 3],
        rotation: [Angle::default(); 3],
    }
}

fn degrees(degrees: f64) -> Angle {
    Angle { degrees }
}

fn close(found: Option<[f64; 3]>, expected: [f64; 3]) {
    let found = found.expect("a position");
    let apart = (0..3).map(|i| (found[i] - expected[i]).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-9, "{found:?} is not {expected:?}");
}

fn at(x: u32, y: u32, z: u32) -> Coordinates {
    Coordinates { x, y, z, panel: 0 }
}

#[test]
fn a_flat_panel_has_its_centre_at_its_distance() {
    let geometry = LogicalGeometry::flat(3, 2).unwrap();
    let mut settings = settings("2mm 4mm");
    settings.panel = vec![panel("1.5m")];
    let placement = settings.place(geometry).unwrap();
    close(placement.position(at(0, 0, 0)), [-0.002, -0.002, 1.5]);
    close(placement.position(at(2, 1, 0)), [0.002, 0.002, 1.5]);
    assert_eq!(placement.position(at(3, 0, 0)), None);
    let [x, y, z] = placement.offsets().unwrap();
    assert_eq!((x.axes.as_slice(), x.values.len()), ([GridAxis::Column].as_slice(), 3));
    assert_eq!((y.axes.as_slice(), y.values.len()), ([GridAxis::Row].as_slice(), 2));
    assert_eq!((z.axes.as_slice(), z.values.as_slice()), ([].as_slice(), [0.0].as_slice()));
}

#[test]
fn panels_are_turned_moved_and_swung_in_this_order() {
    let geometry = LogicalGeometry::new(2, 1, 1, 2).unwrap();
    let mut settings = settings("20mm 1mm");
    let turned = PanelSettings {
        angle: degrees(90.0),
        rotation: [Angle::default(), Angle::default(), degrees(90.0)],
        offset: ["0m", "0.5m", "0m"].map(|text| text.parse().unwrap()),
        ..panel("2m")
    };
    let raised = PanelSettings { elevation: degrees(90.0), ..panel("3m") };
    settings.panel = vec![turned, raised];
    let placement = settings.place(geometry).unwrap();
    // Turned by 90 degrees about z the column runs along y; swung by 90 degrees, what was ahead lies towards x.
    close(placement.position(at(1, 0, 0)), [2.0, 0.51, 0.0]);
    close(placement.position(Coordinates { x: 1, panel: 1, ..Default::default() }), [0.01, 3.0, 0.0]);
    let names: Vec<_> = placement.transformations(0).unwrap().iter().map(|step| step.name).collect();
    assert_eq!(names, ["rotation_z", "offset", "distance", "angle"]);
}

#[test]
fn blocks_on_an_arc_are_at_its_radius_and_inclined() {
    let geometry = LogicalGeometry::flat(4, 9).unwrap();
    let mut settings = settings("4mm 4mm");
    settings.panel = vec![panel("4m")];
    settings.arc = Some(ArcSettings {
        along: GridAxis::Row,
        size: 3,
        step: degrees(30.0),
        inclination: Some(degrees(5.0)),
    });
    let placement = settings.place(geometry).unwrap();
    // The middle row of each blade.
    let (sine, cosine) = (30.0_f64).to_radians().sin_cos();
    for (row, expected) in
        [(1, [-4.0 * sine, 4.0 * cosine]), (4, [0.0, 4.0]), (7, [4.0 * sine, 4.0 * cosine])]
    {
        close(placement.position(at(0, row, 0)), [-0.006, expected[0], expected[1]]);
    }
    // Neighbouring wires of a blade are their pitch apart, and by the sine of the inclination across the line of sight.
    let (low, high) = (placement.position(at(0, 3, 0)).unwrap(), placement.position(at(0, 4, 0)).unwrap());
    assert!((high[1] - low[1] - 0.004 * 5.0_f64.to_radians().sin()).abs() < 1e-12);
    let apart = (0..3).map(|i| (high[i] - low[i]).powi(2)).sum::<f64>().sqrt();
    assert!((apart - 0.004).abs() < 1e-12);
}

#[test]
fn vessels_on_an_arc_have_their_depth_along_the_line_of_sight() {
    let geometry = LogicalGeometry::new(4, 2, 2, 1).unwrap();
    let mut settings = settings("20mm 20mm 10mm");
    settings.panel = vec![panel("3m")];
    settings.arc =
        Some(ArcSettings { along: GridAxis::Column, size: 2, step: degrees(60.0), inclination: None });
    let placement = settings.place(geometry).unwrap();
    let middle = |x, z| {
        let [a, b] = [placement.position(at(x, 0, z)).unwrap(), placement.position(at(x + 1, 0, z)).unwrap()];
        let centre = [(a[0] + b[0]) / 2.0, (a[2] + b[2]) / 2.0];
        (centre[0].hypot(centre[1]), centre[0].atan2(centre[1]).to_degrees())
    };
    for (x, angle) in [(0, -30.0), (2, 30.0)] {
        for (z, radius) in [(0, 2.995), (1, 3.005)] {
            let (found, direction) = middle(x, z);
            assert!((found - radius).abs() < 1e-9 && (direction - angle).abs() < 1e-9, "{found} {direction}");
        }
    }
    let [x, y, z] = placement.offsets().unwrap();
    assert_eq!(x.axes, [GridAxis::Layer, GridAxis::Column]);
    assert_eq!((y.axes.as_slice(), z.axes), ([GridAxis::Row].as_slice(), x.axes));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_key() {
    let flat = LogicalGeometry::flat(4, 9).unwrap();
    let refused = |change: &dyn Fn(&mut PlacementSettings)| -> SettingsError {
        let mut changed = settings("4mm 4mm");
        changed.panel = vec![panel("4m")];
        change(&mut changed);
        changed.place(flat).unwrap_err()
    };
    let arc = ArcSettings { along: GridAxis::Row, size: 3, step: degrees(1.0), inclination: None };
    for (change, key) in [
        (
            &(|it: &mut PlacementSettings| it.pitch.truncate(1)) as &dyn Fn(&mut PlacementSettings),
            "placement.pitch",
        ),
        (&|it| it.pitch[1].metres = 0.0, "placement.pitch"),
        (&|it| it.panel.push(panel("1m")), "placement.panel"),
        (&|it| it.panel[0].distance.metres = -1.0, "placement.panel[0].distance"),
        (&|it| it.source_distance = Some(Length { metres: 0.0 }), "placement.source_distance"),
        (&|it| it.panel[0].offset[1].metres = 1e6, "placement"),
        (&|it| it.arc = Some(ArcSettings { size: 4, ..arc }), "placement.arc.size"),
        (&|it| it.arc = Some(ArcSettings { along: GridAxis::Layer, ..arc }), "placement.arc.along"),
        (&|it| (it.arc, it.panel) = (Some(arc), Vec::new()), "placement.arc"),
    ] {
        assert_eq!(refused(change).key, key);
    }
}

use super::*;
use crate::picture_set::PictureSet;
use evforge_core::placement::PlacementSettings;
use proptest::prelude::*;
use serde_json::{Value, json};

fn placed(geometry: LogicalGeometry, settings: Value) -> Placement {
    let settings: PlacementSettings = serde_json::from_value(settings).unwrap();
    settings.place(geometry).unwrap()
}

fn panel(offset: [&str; 2]) -> Value {
    json!({ "distance": "2m", "offset": [offset[0], offset[1], "0mm"] })
}

#[test]
fn panels_in_one_plane_are_where_they_stand() {
    // Two by two of 3 x 2 pixels, one and a half pixels apart in x; panel 0 at the lower right.
    let geometry = LogicalGeometry::new(3, 2, 1, 4).unwrap();
    let panels = [["9mm", "0mm"], ["0mm", "0mm"], ["0mm", "8mm"], ["9mm", "8mm"]].map(panel);
    let settings = json!({ "pitch": ["2mm", "4mm"], "figures": "plausible", "panel": panels });
    let set = PictureSet::new(&geometry, [], Some(&placed(geometry, settings.clone())));
    let plan = &set.plans()[0];
    assert_eq!((plan.across.pixels, plan.up.pixels), (8, 4));
    assert_eq!(plan.title, "all pixels, panels as they stand");
    assert_eq!((plan.across.label.as_str(), plan.across.first), ("x (mm)", -7.0));
    // 4.5 pixels are the fifth column.
    let corner = |panel| plan.layout.corner(panel, plan.panel);
    assert_eq!([0, 1, 2, 3].map(corner), [[5, 0], [0, 0], [0, 2], [5, 2]]);
    let mut images = set.images();
    set.add(&mut images, (0..24).map(|id| u64::from(id == 6)));
    assert_eq!(
        images[0].counts.iter().position(|&count| count == 1),
        Some(0),
        "panel 1 is at the lower left"
    );

    let with = |key: &str, value: Value| {
        let mut settings = settings.clone();
        settings[key] = value;
        PanelLayout::of(&geometry, Some(&placed(geometry, settings)))
    };
    assert_eq!(with("panel_columns", json!(2)), PanelLayout::Rows { columns: 2 }, "what is said counts");
    let mut others = panels.clone();
    others[3]["angle"] = json!("5deg");
    assert_eq!(with("panel", json!(others)), PanelLayout::side_by_side(4), "one is swung about the sample");
    let mut others = panels.clone();
    others[3]["rotation"] = json!(["0deg", "0deg", "180deg"]);
    assert_eq!(with("panel", json!(others)), PanelLayout::side_by_side(4), "one is upside down");
    let mut others = panels.clone();
    others[3] = panel(["8mm", "5mm"]);
    assert_eq!(with("panel", json!(others)), PanelLayout::side_by_side(4), "one is before another");
    let mut others = panels.clone();
    others[3] = panel(["9m", "9m"]);
    assert_eq!(with("panel", json!(others)), PanelLayout::side_by_side(4), "most would be empty");
    let mut others = panels;
    others[3]["distance"] = json!("3m");
    assert!(matches!(with("panel", json!(others)), PanelLayout::Standing { .. }), "planes need not be one");
}

#[test]
fn panels_are_in_rows_of_as_many_as_is_said() {
    let geometry = LogicalGeometry::new(2, 1, 1, 3).unwrap();
    let placement = placed(geometry, json!({ "figures": "plausible", "panel_columns": 2 }));
    let set = PictureSet::new(&geometry, [], Some(&placement));
    assert_eq!(set.plans()[0].title, "all pixels, panels in rows of 2");
    let mut images = set.images();
    set.add(&mut images, 1..=6);
    assert_eq!(images[0].counts, [1, 2, 3, 4, 5, 6, 0, 0]);
    let settings: PlacementSettings =
        serde_json::from_value(json!({ "figures": "plausible", "panel_columns": 4 })).unwrap();
    let refused = settings.place(geometry).unwrap_err().to_string();
    assert!(refused.contains("panel_columns") && refused.contains("found 4, expected 1 to 3"), "{refused}");
}

#[test]
fn blades_are_seen_one_by_one() {
    let arc = |along: &str| {
        json!({
            "pitch": ["4mm", "4mm"], "figures": "plausible", "panel": [{ "distance": "4m" }],
            "arc": { "along": along, "size": 2, "step": "0.2deg", "inclination": "5deg" },
        })
    };
    // Three strips, two blades of two wires.
    let geometry = LogicalGeometry::flat(3, 4).unwrap();
    let set = PictureSet::new(&geometry, [], Some(&placed(geometry, arc("rows"))));
    let names: Vec<_> =
        set.plans().iter().map(|plan| (plan.name.as_str(), plan.depth, plan.beyond)).collect();
    assert_eq!(names, [("xy", 1, "layer"), ("blades", 2, "wire"), ("blade", 2, "blade")]);
    let mut images = set.images();
    set.add(&mut images, 1..=12);
    assert_eq!(images[1].counts, [1 + 4, 2 + 5, 3 + 6, 7 + 10, 8 + 11, 9 + 12]);
    assert_eq!(images[2].counts, [1 + 7, 2 + 8, 3 + 9, 4 + 10, 5 + 11, 6 + 12]);
    assert_eq!(set.total(&images), 78);
    let second_blade = set.places_within(2, [1, 2]);
    assert_eq!(second_blade[6..], [0, 1, 2, 3, 4, 5]);
    assert!(second_blade[..6].iter().all(|&place| place == crate::NOWHERE));

    // The same detector on its side.
    let geometry = LogicalGeometry::flat(4, 3).unwrap();
    let set = PictureSet::new(&geometry, [], Some(&placed(geometry, arc("columns"))));
    let mut images = set.images();
    set.add(&mut images, 1..=12);
    assert_eq!(images[1].counts, [1 + 2, 5 + 6, 9 + 10, 3 + 4, 7 + 8, 11 + 12]);
    let labels: Vec<_> = set.plans().iter().map(|plan| (&*plan.across.label, &*plan.up.label)).collect();
    assert_eq!(labels[1..], [("strip", "blade"), ("wire in the blade", "strip")]);
    // Blocks that face the sample are no blades.
    let mut facing = arc("columns");
    facing["arc"].as_object_mut().unwrap().remove("inclination");
    assert_eq!(PictureSet::new(&geometry, [], Some(&placed(geometry, facing))).plans().len(), 1);
}

proptest! {
    #[test]
    fn every_pixel_has_one_place_of_its_own(
        nx in 1..5_u32, ny in 1..5_u32, columns in 1..4_u32, rows in 1..4_u32, gap in [0..3_u32, 0..3_u32],
        order in any::<u64>(), said in proptest::option::of(1..4_u32), seed: u32,
    ) {
        let panels = columns * rows;
        let geometry = LogicalGeometry::new(nx, ny, 1, panels).unwrap();
        let at = |panel: u32| {
            let panel = ((u64::from(panel) + order) % u64::from(panels)) as u32;
            let (x, y) = (panel % columns * (nx + gap[0]), panel / columns * (ny + gap[1]));
            json!({ "distance": "1m", "offset": [format!("{x}mm"), format!("{y}mm"), "0m"] })
        };
        let standing: Vec<_> = (0..panels).map(at).collect();
        let mut settings = json!({ "pitch": ["1mm", "1mm"], "figures": "plausible", "panel": standing });
        if let Some(said) = said {
            settings["panel_columns"] = json!(said.min(panels));
        }
        let set = PictureSet::new(&geometry, [], Some(&placed(geometry, settings)));
        let counts: Vec<u64> = (0..geometry.pixel_count()).map(|at| u64::from(at.wrapping_mul(seed) >> 28)).collect();
        let mut images = set.images();
        set.add(&mut images, counts.iter().copied());
        let mut places = set.places(0);
        for (&place, &count) in places.iter().zip(&counts) {
            prop_assert_eq!(images[0].counts[place as usize], count);
        }
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(places.len(), counts.len());
        prop_assert_eq!(images[0].total(), counts.iter().sum::<u64>());
    }
}

use super::*;
use evforge_core::beam_monitor::{BeamMonitorKind, TimeOfFlightBins};
use proptest::prelude::*;

fn monitor(name: &str, first_pixel: PixelId, [nx, ny]: [u32; 2], alongside: bool) -> BeamMonitorPlan {
    BeamMonitorPlan {
        name: name.into(),
        kind: BeamMonitorKind::Event2D,
        first_pixel,
        nx,
        ny,
        histogram: TimeOfFlightBins::new(0, 100, 10).unwrap(),
        alongside,
    }
}

fn drawn(set: &PictureSet, counts: impl IntoIterator<Item = u64>) -> Vec<Image> {
    let mut images = set.images();
    set.add(&mut images, counts);
    images
}

#[test]
fn a_flat_detector_is_its_own_image() {
    let set = PictureSet::of_geometry(&LogicalGeometry::flat(3, 2).unwrap());
    let images = drawn(&set, [1, 2, 3, 4, 5, 6]);
    assert_eq!(images, [Image { nx: 3, ny: 2, counts: vec![1, 2, 3, 4, 5, 6] }]);
    assert_eq!(
        (set.plans()[0].title.as_str(), set.plans()[0].across.label.as_str()),
        ("all pixels", "x (column)")
    );
}

#[test]
fn depth_is_seen_from_three_sides_with_panels_side_by_side() {
    let set = PictureSet::of_geometry(&LogicalGeometry::new(2, 1, 2, 2).unwrap());
    let images = drawn(&set, [1, 2, 3, 4, 10, 20, 30, 40]);
    let counts: Vec<_> = images.iter().map(|image| image.counts.as_slice()).collect();
    assert_eq!(counts, [&[4, 6, 40, 60][..], &[1, 2, 10, 20, 3, 4, 30, 40], &[3, 30, 7, 70]]);
    let titles: Vec<_> = set.plans().iter().map(|plan| plan.title.as_str()).collect();
    assert_eq!(titles[0], "xy, sum of 2 layers, panels side by side");
    assert_eq!(titles[2], "yz, sum of 2 columns, panels side by side");
    let labels: Vec<_> = set.plans().iter().map(|plan| (&*plan.across.label, &*plan.up.label)).collect();
    assert_eq!(labels, [("x (column)", "y (row)"), ("x (column)", "z (layer)"), ("y (row)", "z (layer)")]);
}

#[test]
fn monitors_have_pictures_of_their_own_alone_and_alongside() {
    let alone = [monitor("point", 1, [1, 1], false), monitor("area", 2, [2, 2], false)];
    let set = PictureSet::new(&LogicalGeometry::flat(5, 1).unwrap(), &alone, None);
    let images = drawn(&set, [7, 1, 2, 3, 4]);
    assert_eq!((images.len(), set.pixel_count(), set.total(&images)), (2, 5, 17));
    assert_eq!((images[0].counts[0], images[1].counts.as_slice()), (7, [1, 2, 3, 4].as_slice()));
    assert!(set.plans()[0].is_number() && !set.plans()[1].is_number());

    let alongside = [monitor("point", 5, [1, 1], true)];
    let set = PictureSet::new(&LogicalGeometry::flat(2, 2).unwrap(), &alongside, None);
    let images = drawn(&set, [1, 1, 1, 1, 9]);
    assert_eq!((images[0].total(), images[1].total(), set.find("point")), (4, 9, Some(1)));
    assert_eq!((set.pixel_count(), set.total(&images)), (5, 13));
}

#[test]
fn without_pixels_of_monitors_there_is_the_geometry() {
    let none = BeamMonitorPlan { nx: 0, ny: 0, first_pixel: 0, ..monitor("charge", 0, [0, 0], false) };
    let set = PictureSet::new(&LogicalGeometry::flat(1, 1).unwrap(), &[none], None);
    assert_eq!((set.plans().len(), set.pixel_count()), (1, 1));
}

#[test]
fn axes_are_in_millimetres_unless_they_lie_on_an_arc() {
    let geometry = LogicalGeometry::flat(4, 6).unwrap();
    let labels = |more: serde_json::Value| {
        let mut settings = serde_json::json!({ "pitch": ["2mm", "4mm"], "figures": "plausible" });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings: evforge_core::placement::PlacementSettings = serde_json::from_value(settings).unwrap();
        let placement = settings.place(geometry).unwrap();
        let set = PictureSet::new(&geometry, [], Some(&placement));
        let plan = &set.plans()[0];
        (plan.across.label.clone(), plan.up.label.clone(), plan.up.first)
    };
    assert_eq!(labels(serde_json::json!({})), ("x (mm)".into(), "y (mm)".into(), -10.0));
    let arc = serde_json::json!({
        "arc": { "along": "rows", "size": 2, "step": "1deg" }, "panel": [{ "distance": "4m" }],
    });
    assert_eq!(labels(arc), ("x (mm)".into(), "y (row)".into(), 0.0));
}

#[test]
fn ids_that_are_none_have_no_place() {
    assert_eq!((PictureSet::index_of(1), PictureSet::index_of(0)), (0, usize::MAX));
}

proptest! {
    #[test]
    fn every_pixel_is_in_the_column_and_row_that_the_table_says(
        nx in 1..6_u32, ny in 1..6_u32, nz in 1..4_u32, panels in 1..4_u32, pick: u32,
    ) {
        let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
        let set = PictureSet::of_geometry(&geometry);
        let pixel = pick % geometry.pixel_count() + 1;
        let at = geometry.coordinates(pixel).unwrap();
        let images = drawn(&set, (1..=geometry.pixel_count()).map(|id| u64::from(id == pixel)));
        for (image, plan) in images.iter().zip(set.plans()) {
            prop_assert_eq!(image.total(), 1);
            let [column, row] = plan.plane.place(at);
            let column = at.panel * plan.plane.size(&geometry)[0] + column;
            prop_assert_eq!(image.counts[(row * image.nx + column) as usize], 1);
        }
    }

    #[test]
    fn every_picture_holds_every_event_once(
        nx in 1..6_u32, ny in 1..6_u32, nz in 1..4_u32, panels in 1..4_u32,
        counts in proptest::collection::vec(0..9_u64, 300),
    ) {
        let geometry = LogicalGeometry::new(nx, ny, nz, panels).unwrap();
        let behind = monitor("m", geometry.pixel_count() + 1, [2, 3], true);
        let set = PictureSet::new(&geometry, &[behind], None);
        let images = drawn(&set, counts.iter().copied());
        let of_detector: u64 = counts.iter().take(geometry.pixel_count() as usize).sum();
        for (image, plan) in images.iter().zip(set.plans()).filter(|(_, plan)| plan.name != "m") {
            prop_assert_eq!(image.total(), of_detector, "{}", plan.name);
        }
        prop_assert_eq!(set.total(&images), counts.iter().take(set.pixel_count()).sum::<u64>());
    }
}

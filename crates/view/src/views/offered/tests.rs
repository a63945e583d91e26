use super::*;
use crate::spectrum::SpectrumBins;
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_picture::PictureSet;
use proptest::prelude::*;

fn pictured([nx, ny, nz]: [u32; 3]) -> Pictured {
    let geometry = LogicalGeometry::new(nx, ny, nz, 1).unwrap();
    let bins = SpectrumBins::new(&PulseTrain::ess(), None);
    Pictured::new(PictureSet::of_geometry(&geometry), &geometry, bins, true)
}

fn read(text: &str) -> Result<Vec<ViewState>, ViewFileError> {
    offered(Some(&ViewFile::parse("mine.toml", text)?), "sonde", &pictured([40, 20, 4]))
}

const GOOD: &str = r#"
[[view]]
name = "mine"
hint = "What I see."
pictures = ["xy", "xz"]
part = [0, 0, 20, 20]
slice = ["1ms", "2.5ms"]
layer = 3
window = "10s"
bins = 100
vetoed = "accepted"
per = "second"
corrected = true
log = true
map = "cividis"
top = 12.5
unit = "wavelength"
flight_path = "36.5m"
scattering_angle = "90deg"
spectrum_log = true
zoom = ["0ms", "30ms"]
panels = ["image", "monitor"]
period = 2
frames = "good"
complete = true

[[view.region]]
name = "centre"
share = [0.4, 0.4, 0.6, 0.6]

[[view.region]]
name = "corner"
shape = "polygon"
points = [[0, 0], [3, 0], [0, 3.5]]
"#;

#[test]
fn everything_that_a_view_can_say_goes_to_the_page() {
    let [view] = read(GOOD).unwrap().try_into().unwrap();
    let found = serde_json::to_value(&view).unwrap();
    let expected = serde_json::json!({
        "name": "mine", "hint": "What I see.", "pictures": ["xy", "xz"],
        "look": {
            "picture": "xy", "part": [0, 0, 20, 20], "slice_ns": [1_000_000, 2_500_000], "layers": [3, 4],
            "window": { "kind": "last", "seconds": 10 }, "vetoed": "accepted", "period": 2, "frames": "good", "complete": true,
            "regions": [
                { "name": "centre", "shape": "rectangle", "points": [[16.0, 8.0], [24.0, 12.0]] },
                { "name": "corner", "shape": "polygon", "points": [[0.0, 0.0], [3.0, 0.0], [0.0, 3.5]] },
            ],
        },
        "bins": 100, "per": "second", "corrected": true, "log": true, "map": "cividis", "top": "fixed", "top_value": 12.5,
        "unit": "wavelength", "flight_path_m": 36.5, "two_theta_deg": 90.0, "spectrum_log": true, "zoom_ns": [0, 30_000_000],
        "panels": ["image", "monitor"],
    });
    assert_eq!(found, expected);
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_key() {
    for (from, to, line, words) in [
        (
            "\"xy\", \"xz\"",
            "\"xy\", \"zz\"",
            5,
            "view \"mine\": pictures: there is none called \"zz\"; there are: xy, xz, yz, x-tof",
        ),
        ("\"xy\", \"xz\"", "\"xy\", \"xy\"", 5, "pictures: found \"xy\" twice"),
        ("\"xy\", \"xz\"", "", 5, "pictures: found 0, expected 1 to 4 of: xy"),
        (
            "part = [0, 0, 20, 20]",
            "part = [0, 0, 41, 20]",
            6,
            "part: found [0, 0, 41, 20], expected left < right <= 40",
        ),
        ("\"2.5ms\"", "\"1ms\"", 7, "slice: found 1ms to 1ms, expected an earlier time first"),
        ("\"2.5ms\"", "\"2.5m\"", 7, "slice: found `2.5m`, expected a time with its unit"),
        ("layer = 3", "layer = 4", 8, "layer: found 4 to 5"),
        ("\"10s\"", "\"2h\"", 9, "window: expected"),
        ("bins = 100", "bins = 0", 10, "bins: found 0, expected 1 to 10000"),
        ("\"accepted\"", "\"some\"", 11, "vetoed: found \"some\", expected \"all\""),
        (
            "per = \"second\"",
            "per = \"monitor:m\"",
            12,
            "per: found \"monitor:m\", expected one of counts, second, pulse",
        ),
        ("\"cividis\"", "\"jet\"", 15, "map: found \"jet\", expected one of evforge, viridis, cividis"),
        (
            "top = 12.5",
            "top = -1.0",
            16,
            "top: found -1, expected \"maximum\", \"quantile\" or a number above 0",
        ),
        ("\"wavelength\"", "\"Q\"", 17, "unit: found \"Q\""),
        ("\"36.5m\"", "\"0m\"", 18, "flight_path: found 0 m"),
        ("\"90deg\"", "\"181deg\"", 19, "scattering_angle: found 181 deg"),
        ("[\"0ms\", \"30ms\"]", "[\"30ms\", \"0ms\"]", 21, "zoom: found 30ms to 0s"),
        ("\"monitor\"]", "\"monitors\"]", 22, "panels: found \"monitors\", expected one of image"),
        ("period = 2", "period = 0", 23, "period: found 0, expected 1 or more: periods count from 1"),
        ("frames = \"good\"", "frames = \"fine\"", 24, "frames: found \"fine\", expected \"all\", \"good\""),
        ("share = [0.4", "share = [0.7", 27, "region: share: found [0.7, 0.4, 0.6, 0.6], expected left"),
        ("name = \"corner\"", "name = \"centre\"", 27, "region: there are two called \"centre\""),
        ("layer = 3", "leyer = 3", 8, "unknown field `leyer`, expected one of"),
        ("name = \"mine\"", "name = \"\"", 3, "name: found 0 characters, expected 1 to 40"),
        ("name = \"mine\"", "name = 3", 3, "name: invalid type: integer"),
    ] {
        assert_eq!(GOOD.matches(from).count(), 1, "{from} stands there once");
        let refused = read(&GOOD.replace(from, to)).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains(words), "{to}: {text}");
        assert_eq!(refused.line, Some(line), "{to}: {text}");
        assert!(text.starts_with(&format!("mine.toml, line {line}: ")), "{text}");
    }
    let twice = read(&[GOOD, GOOD].concat()).unwrap_err().to_string();
    assert!(twice.starts_with("mine.toml, line 37: view \"mine\": name: found \"mine\" twice"), "{twice}");
    assert!(read("").unwrap_err().to_string().contains("found 0 tables [[view]], expected 1 to 32"));
    let many: String =
        (0..33).map(|n| format!("[[view]]\nname = \"{n}\"\nhint = \"h\"\npictures = [\"xy\"]\n")).collect();
    assert!(read(&many).unwrap_err().to_string().contains("found 33 tables"));
    assert!(read(&" ".repeat((64 << 10) + 1)).unwrap_err().to_string().contains("expected no more"));
    let missing = ViewFile::read(std::path::Path::new("/nowhere/views.toml")).unwrap_err();
    assert!(missing.to_string().starts_with("/nowhere/views.toml: the views cannot be read"), "{missing}");
}

/// What a shipped view may lack is a picture that detectors of its kind need not have.
#[test]
fn shipped_views_are_as_they_should_be() {
    let flat = pictured([64, 48, 1]);
    let deep = pictured([24, 48, 16]);
    for detector in
        ["", "sonde", "multigrid", "ess_multigrid", "multiblade", "ess_multiblade", "gdgem", "ess_gdgem"]
    {
        for pictured in [&flat, &deep] {
            for view in shipped(detector).iter().flat_map(ViewFile::views) {
                if let Err(Wrong { key, problem }) = checked(view, pictured) {
                    assert!(problem.starts_with("there is none called"), "{}: {key}: {problem}", view.name);
                }
            }
        }
        let names: Vec<String> =
            offered(None, detector, &flat).unwrap().into_iter().map(|view| view.name).collect();
        for name in ["overview", "line-up", "thresholds", "dead channels", "run"] {
            assert!(names.iter().any(|found| found == name), "{detector} has no view {name}: {names:?}");
        }
    }
    let names: Vec<_> =
        offered(None, "multigrid", &deep).unwrap().into_iter().map(|view| view.name).collect();
    assert_eq!(names[..3], ["three sides", "front layer", "time of flight"]);
}

#[test]
fn monitors_alone_have_views_of_their_first_picture() {
    let monitor = |name: &str, first_pixel, nx| BeamMonitorPlan {
        name: name.into(),
        kind: BeamMonitorKind::Event2D,
        first_pixel,
        nx,
        ny: nx,
        histogram: TimeOfFlightBins::new(0, 100, 10).unwrap(),
        alongside: false,
    };
    let geometry = LogicalGeometry::flat(17, 1).unwrap();
    let set = PictureSet::new(&geometry, &[monitor("point", 1, 1), monitor("area", 2, 4)], None);
    let bins = SpectrumBins::new(&PulseTrain::ess(), None);
    let pictured = Pictured::new(set, &geometry, bins, true);
    let views = offered(None, "ess_beam_monitors", &pictured).unwrap();
    assert_eq!((views[0].name.as_str(), views[0].pictures[0].as_str()), ("beam", "area"));
    assert_eq!(views.len(), 6);
}

proptest! {
    /// Whatever a file says, it is read or refused; the page gets only what the server takes.
    #[test]
    fn changed_files_are_read_or_refused(at in 0..GOOD.len(), what in "[\\PC\n]{0,12}", cut in 0..20_usize) {
        let mut text = GOOD.as_bytes().to_vec();
        let end = (at + cut).min(text.len());
        text.splice(at..end, what.bytes());
        let text = String::from_utf8_lossy(&text);
        match read(&text) {
            Ok(views) => prop_assert!(views.len() <= 32),
            Err(error) => prop_assert!(error.to_string().starts_with("mine.toml")),
        }
    }
}

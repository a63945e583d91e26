//! The plots of the documents: drawn from the figures beside them, and legible.
//!
//! With EVFORGE_UPDATE=1 the plots in docs/pictures are drawn again, which `make pictures` does.

use evforge_lab::plots::accuracy;
use evforge_lab::plots::figures::{Curve, Figures, RatePoint};
use std::path::{Path, PathBuf};

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures")
}

/// All plots in docs/pictures, drawn from their figures, with the files that they are in.
fn drawn() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(pictures()).expect("docs/pictures") {
        let path = entry.expect("a picture").path();
        let plot = path.with_extension("svg");
        if path.extension().is_some_and(|extension| extension == "json") {
            let figures = Figures::read(&path).expect("figures of a plot");
            all.push((plot, accuracy::svg(&figures).expect("a plot")));
        }
    }
    all.sort();
    all
}

#[test]
fn plots_are_those_of_their_figures() {
    let all = drawn();
    assert!(all.len() >= 13, "{} plots: figures are missing in docs/pictures", all.len());
    for (path, plot) in all {
        if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, &plot).expect("docs/pictures can be written");
        }
        let committed = std::fs::read_to_string(&path).expect("a plot in docs/pictures");
        assert!(committed == plot, "{} is not what its figures give: run `make pictures`", path.display());
    }
}

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle([f64; 4]);

impl Rectangle {
    fn overlaps(&self, other: &Self) -> bool {
        let (Self([left, top, right, bottom]), Self([its_left, its_top, its_right, its_bottom])) =
            (self, other);
        left < its_right && its_left < right && top < its_bottom && its_top < bottom
    }

    fn is_inside(&self, other: &Self) -> bool {
        let (Self([left, top, right, bottom]), Self([its_left, its_top, its_right, its_bottom])) =
            (self, other);
        left >= its_left && top >= its_top && right <= its_right && bottom <= its_bottom
    }
}

/// What a test sees of a plot.
#[derive(Debug, Default)]
struct Seen {
    size: Option<Rectangle>,
    /// What is written, with the room it takes and whether it stands upright.
    texts: Vec<(String, Rectangle, bool)>,
    /// The room of each panel's data.
    panels: Vec<Rectangle>,
    /// Filled circles by colour: their middles.
    circles: Vec<(String, [f64; 2])>,
}

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let start = element.find(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {element}"));
    let value = &element[start + name.len() + 3..];
    &value[..value.find('"').expect("the end of a value")]
}

fn number(element: &str, name: &str) -> f64 {
    attribute(element, name).parse().unwrap_or_else(|_| panic!("no number {name} in {element}"))
}

/// Looks at a plot as plotters writes it: a line for each element, the text of a text in a line of its own.
fn look(plot: &str) -> Seen {
    let mut seen = Seen::default();
    let mut lines = plot.lines();
    // Lines of the grid: those from left to right of a panel begin and end where the panel does.
    let (mut across, mut up) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next() {
        if line.starts_with("<svg") {
            seen.size = Some(Rectangle([0.0, 0.0, number(line, "width"), number(line, "height")]));
        } else if line.starts_with("<text") {
            let text = lines.next().expect("the text of a text").trim().replace("&lt;", "<");
            let place = room_of(line, &text);
            seen.texts.push((text, place, line.contains("rotate(270")));
        } else if line.starts_with("<circle") && attribute(line, "stroke") == "none" {
            seen.circles.push((attribute(line, "fill").to_owned(), [number(line, "cx"), number(line, "cy")]));
        } else if line.starts_with("<line") && attribute(line, "stroke") == "#CDCDCD" {
            let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(|name| number(line, name));
            let ends = if y1 == y2 {
                (&mut across, [x1.min(x2), x1.max(x2), y1])
            } else {
                (&mut up, [y1.min(y2), y1.max(y2), x1])
            };
            ends.0.push(ends.1);
        }
    }
    for [left, right, y] in &across {
        // The panel has a line upwards that crosses this one.
        let crossing =
            up.iter().find(|[top, bottom, x]| (left..=right).contains(&x) && (top..=bottom).contains(&y));
        let [top, bottom, _] = crossing.unwrap_or_else(|| panic!("a line at {y} that none crosses"));
        let panel = Rectangle([*left, *top, *right, *bottom]);
        if !seen.panels.contains(&panel) {
            seen.panels.push(panel);
        }
    }
    seen
}

/// The room that a text takes: at most 0.62 of its height for each letter on average, as in the widest usual font.
fn room_of(element: &str, text: &str) -> Rectangle {
    let (x, y, size) = (number(element, "x"), number(element, "y"), number(element, "font-size"));
    let width = 0.62 * size * text.chars().count() as f64;
    let shift = match attribute(element, "dy") {
        "0.76em" => 0.0,
        "0.5ex" => -0.5 * size,
        "-0.5ex" => -size,
        other => panic!("unknown dy {other}"),
    };
    let start = match attribute(element, "text-anchor") {
        "start" => 0.0,
        "middle" => -0.5 * width,
        "end" => -width,
        other => panic!("unknown text-anchor {other}"),
    };
    if element.contains("rotate(270") {
        return Rectangle([x + shift, y - start - width, x + shift + size, y - start]);
    }
    Rectangle([x + start, y + shift, x + start + width, y + shift + size])
}

/// What is wrong with a plot, in words.
fn faults(plot: &str, panels: usize) -> Vec<String> {
    let seen = look(plot);
    let mut faults = Vec::new();
    let size = seen.size.expect("a plot has a size");
    if seen.panels.len() != panels {
        faults.push(format!("{} panels, expected {panels}", seen.panels.len()));
    }
    for (number, (text, room, _)) in seen.texts.iter().enumerate() {
        if !room.is_inside(&size) {
            faults.push(format!("`{text}` is cut: {room:?} in {size:?}"));
        }
        if seen.panels.iter().any(|panel| panel.overlaps(room)) {
            faults.push(format!("`{text}` is on the data"));
        }
        for (other, its_room, _) in &seen.texts[number + 1..] {
            if room.overlaps(its_room) {
                faults.push(format!("`{text}` and `{other}` overlap"));
            }
        }
    }
    // Whoever writes a unit knows it: in brackets, or behind "per".
    let has_unit = |text: &str| text.ends_with(')') || text.contains(" per ");
    for panel in &seen.panels {
        let Rectangle([left, top, right, bottom]) = *panel;
        let below = Rectangle([left, bottom + 12.0, right, bottom + 60.0]);
        let beside = Rectangle([left - 80.0, top, left - 45.0, bottom]);
        for (side, area, stands) in [("x", below, false), ("y", beside, true)] {
            let label = seen.texts.iter().find(|(text, room, upright)| {
                *upright == stands
                    && text.chars().any(char::is_alphabetic)
                    && text.len() > 8
                    && area.overlaps(room)
            });
            match label {
                None => faults.push(format!("no label of the {side} axis of {panel:?}")),
                Some((text, ..)) if !has_unit(text) => faults.push(format!("no unit in `{text}`")),
                Some(_) => {}
            }
        }
    }
    faults
}

/// Figures with one curve of points, a power of ten apart: neutrons and ghosts of 100 000 events each.
fn figures_of_ghosts(ghosts: &[u64]) -> Figures {
    let point = |(at, ghosts): (usize, &u64)| RatePoint {
        neutrons_per_second: 10_f64.powi(at as i32 + 3),
        neutrons: 200_000,
        found: 150_000,
        resolvable: 180_000,
        resolvable_found: 150_000,
        events: 100_000,
        ghosts: *ghosts,
    };
    let curve = Curve { name: String::new(), points: ghosts.iter().enumerate().map(point).collect() };
    Figures { title: "ghosts".to_owned(), curves: vec![curve], residuals: None }
}

#[test]
fn plots_are_legible() {
    for (path, plot) in drawn() {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let panels = match name {
            "accuracy-overlay" => 2,
            _ => 4,
        };
        assert_eq!(faults(&plot, panels), [""; 0], "{name}");
    }
    let few = accuracy::svg(&figures_of_ghosts(&[])).expect("a plot");
    assert_eq!(faults(&few, 2), [""; 0], "nothing was found");
    let all = accuracy::svg(&figures_of_ghosts(&[0, 1, 100, 100_000])).expect("a plot");
    assert_eq!(faults(&all, 2), [""; 0], "ghosts from none to all");
}

#[test]
fn what_cannot_be_read_is_noticed() {
    let plot = accuracy::svg(&figures_of_ghosts(&[0, 1, 100])).expect("a plot");
    let label = "ghosts (% of the events)";
    let before = |text: &str| {
        let element = plot.lines().zip(plot.lines().skip(1)).find(|(_, below)| *below == text);
        element.unwrap_or_else(|| panic!("no text {text}")).0
    };
    let (key, next) = (before("ceiling"), before("of all"));
    let moved = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    for (damaged, fault) in [
        (moved(&plot, label, "ghosts of events"), "no unit"),
        (moved(&plot, label, "%"), "no label of the y axis"),
        (moved(&plot, key, &key.replace(attribute(key, "x"), "820")), "is cut"),
        (moved(&plot, key, &key.replace(attribute(key, "y"), "150")), "is on the data"),
        (moved(&plot, key, &key.replace(attribute(key, "x"), attribute(next, "x"))), "overlap"),
    ] {
        let faults = faults(&damaged, 2);
        assert!(faults.iter().any(|found| found.contains(fault)), "{fault}: {faults:?}\n{damaged}");
    }
}

#[test]
fn few_ghosts_and_none_are_told_apart() {
    // In 100 000 events: none, one, two, twenty, a thousand, all.
    let plot = accuracy::svg(&figures_of_ghosts(&[0, 1, 2, 20, 1000, 100_000])).expect("a plot");
    let seen = look(&plot);
    let panel = seen.panels.iter().find(|Rectangle([left, ..])| *left > 415.0).expect("the panel of ghosts");
    let in_panel = |colour: &str| {
        let circles = seen.circles.iter().filter(|(fill, at)| {
            fill == colour && Rectangle([at[0], at[1], at[0] + 0.1, at[1] + 0.1]).is_inside(panel)
        });
        let mut heights: Vec<f64> = circles.map(|(_, at)| at[1]).collect();
        heights.sort_by(f64::total_cmp);
        heights
    };
    let (some, none) = (in_panel("#D55E00"), in_panel("#FFFFFF"));
    assert_eq!((some.len(), none.len()), (5, 1), "{seen:?}");
    let heights: Vec<f64> = some.into_iter().chain(none).collect();
    for pair in heights.windows(2) {
        assert!(pair[1] - pair[0] >= 8.0, "too close to be told apart: {heights:?}");
    }
    // Of none, the limit is 3 in 100 000, a little above two ghosts: a bar with an arrow.
    assert_eq!(plot.matches("<polygon").count(), 1, "an arrow");
}

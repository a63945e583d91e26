//! Which picture the ids of a file belong in: how ids become pixels of a geometry.

use std::sync::Arc;

use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};

use super::content::{DetectorIds, FileContent, MonitorIds};

/// Numbers between the smallest and the largest id of a detector at most: a table has a place for each.
const MOST_NUMBERS: u64 = 1 << 26;
/// Pixels in a row: more of them without rows are laid out as a square.
const LONGEST_ROW: usize = 4096;

/// How an id becomes a pixel. What has none becomes 0, "no pixel".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PixelRule {
    /// By adding this.
    Shift(i64),
    /// All are of one pixel.
    One(PixelId),
    /// By a table, which begins with the pixel of this id.
    Table(u32, Arc<[PixelId]>),
}

impl Default for PixelRule {
    fn default() -> Self {
        Self::Shift(0)
    }
}

impl PixelRule {
    /// The pixel of an id.
    #[inline]
    pub fn pixel(&self, id: i64) -> PixelId {
        match self {
            Self::Shift(by) => id.checked_add(*by).and_then(|id| PixelId::try_from(id).ok()).unwrap_or(0),
            Self::One(pixel) => *pixel,
            Self::Table(first, pixels) => {
                let place = id.checked_sub(i64::from(*first)).and_then(|place| usize::try_from(place).ok());
                place.and_then(|place| pixels.get(place)).copied().unwrap_or(0)
            }
        }
    }
}

/// What the events of a file are pictured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The pixels.
    pub geometry: LogicalGeometry,
    /// The beam monitors.
    pub monitors: Vec<BeamMonitorPlan>,
    /// For each group, in the order of [`FileContent::groups`].
    pub rules: Vec<PixelRule>,
    /// Where that is from, for people.
    pub said: String,
}

/// Finds out where events belong: by a geometry that is `known` with its beam monitors, else by the numbers that detectors of the
/// file give their pixels, else by the smallest and the largest of `some_ids`.
///
/// # Errors
/// In words, if none of it says enough.
pub fn place_pixels(
    content: &FileContent,
    known: Option<(LogicalGeometry, Vec<BeamMonitorPlan>)>,
    some_ids: Option<(i64, i64)>,
) -> Result<Placed, String> {
    let groups = &content.groups;
    let (geometry, known_monitors, rules, said) = match known {
        Some((geometry, monitors)) => {
            (geometry, monitors, vec![PixelRule::default(); groups.len()], "as configured".to_owned())
        }
        None if !content.detectors.is_empty() => {
            let (geometry, rules) = by_numbers(content)?;
            let said = match content.detectors.as_slice() {
                [one] => format!("by {}/detector_number, {:?}", one.path, one.shape),
                several => format!("by detector_number of {} detectors, side by side", several.len()),
            };
            (geometry, Vec::new(), rules, said)
        }
        None if groups.iter().all(|group| group.is_of_monitor) => {
            // As evforge has it: the pixels of all monitors in a row.
            let numbered = content.monitors.iter().filter(|monitor| monitor.first_pixel.is_some());
            let pixels = numbered.map(|monitor| monitor.sides.0.saturating_mul(monitor.sides.1));
            let pixels = pixels.fold(0, u32::saturating_add).max(1);
            let geometry = LogicalGeometry::flat(pixels, 1).map_err(|error| error.to_string())?;
            (geometry, Vec::new(), vec![PixelRule::default(); groups.len()], "beam monitors alone".to_owned())
        }
        None => {
            let (geometry, rule) = guess(some_ids)?;
            let said = format!(
                "guessed: a square of {} x {} for the ids of events, up to {}; --config FILE knows better",
                geometry.nx(),
                geometry.ny(),
                some_ids.map_or(0, |(_, high)| high)
            );
            (geometry, Vec::new(), vec![rule; groups.len()], said)
        }
    };
    let mut placed = Placed { geometry, monitors: known_monitors, rules, said };
    add_monitors(content, &mut placed);
    Ok(placed)
}

/// Gives monitors that nobody has a plan for a picture each.
fn add_monitors(content: &FileContent, placed: &mut Placed) {
    let is_alongside = content.groups.iter().any(|group| !group.is_of_monitor);
    let detector = if is_alongside { placed.geometry.pixel_count() } else { 0 };
    // A monitor whose numbers are not those of a stream, or so large that nothing could hold what is between, gets its own.
    let own = |monitor: &MonitorIds| {
        let first = monitor.first_pixel.filter(|&first| first > detector)?;
        let pixels = u64::from(monitor.sides.0) * u64::from(monitor.sides.1);
        (pixels > 0 && u64::from(first) + pixels <= MOST_NUMBERS / 2).then_some(first)
    };
    let ends = placed.monitors.iter().map(|plan| plan.pixels().end);
    let ends = ends.chain(content.monitors.iter().filter_map(|monitor| {
        own(monitor).map(|first| first.saturating_add(monitor.sides.0.saturating_mul(monitor.sides.1)))
    }));
    let mut free = ends.chain([placed.geometry.pixel_count().saturating_add(1)]).max().unwrap_or(1);
    for (group, rule) in content.groups.iter().zip(&mut placed.rules) {
        let Some(monitor) = content.monitor_of(group) else { continue };
        let (first_pixel, (nx, ny)) = match own(monitor) {
            Some(first) => {
                *rule = PixelRule::default();
                (first, monitor.sides)
            }
            None => {
                *rule = PixelRule::One(free);
                free = free.saturating_add(1);
                (free - 1, (1, 1))
            }
        };
        if placed.monitors.iter().any(|plan| plan.pixels().contains(&first_pixel)) {
            continue;
        }
        placed.monitors.push(BeamMonitorPlan {
            name: unused_name(&monitor.name, &placed.monitors),
            kind: if (nx, ny) == (1, 1) { BeamMonitorKind::Event0D } else { BeamMonitorKind::Event2D },
            first_pixel,
            nx,
            ny,
            histogram: TimeOfFlightBins::default(),
            alongside: is_alongside,
        });
    }
}

/// The name, of letters, digits and underscores, with a number if it is taken.
fn unused_name(name: &str, taken: &[BeamMonitorPlan]) -> String {
    let plain: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    let is_free = |name: &String| taken.iter().all(|plan| plan.name != *name);
    let numbered = (1..).map(|number| if number == 1 { plain.clone() } else { format!("{plain}_{number}") });
    numbered.into_iter().find(is_free).unwrap_or(plain.clone())
}

/// Panels, layers, rows and columns of a detector.
fn sides(detector: &DetectorIds) -> [usize; 4] {
    match detector.shape.as_slice() {
        [rows, columns] => [1, 1, *rows, *columns],
        [layers, rows, columns] => [1, *layers, *rows, *columns],
        [panels, layers, rows, columns] => [*panels, *layers, *rows, *columns],
        _ if detector.ids.len() > LONGEST_ROW => {
            let side = side_of(detector.ids.len() as u64) as usize;
            [1, 1, detector.ids.len().div_ceil(side), side]
        }
        _ => [1, 1, 1, detector.ids.len()],
    }
}

/// The side of the smallest square that has room for this number of pixels.
fn side_of(pixels: u64) -> u64 {
    let side = pixels.isqrt();
    (side + u64::from(side * side < pixels)).max(1)
}

/// A geometry with a panel for each detector, and a table for the ids of each group: those of its own detector, else those of all.
fn by_numbers(content: &FileContent) -> Result<(LogicalGeometry, Vec<PixelRule>), String> {
    let of_each: Vec<[usize; 4]> = content.detectors.iter().map(sides).collect();
    let most = |axis: usize| of_each.iter().map(|sides| sides[axis]).max().unwrap_or(1);
    let panels = of_each.iter().map(|sides| sides[0]).sum::<usize>();
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let geometry = LogicalGeometry::new(side(most(3)), side(most(2)), side(most(1)), side(panels))
        .map_err(|error| format!("the detectors of the file: {error}; name a configuration with --config"))?;
    let mut numbered: Vec<Vec<(u32, PixelId)>> = Vec::new();
    let mut panel = 0;
    for (detector, [own_panels, layers, rows, columns]) in content.detectors.iter().zip(of_each) {
        let place = |(number, &id): (usize, &u32)| {
            let at = Coordinates {
                x: side(number % columns),
                y: side(number / columns % rows),
                z: side(number / (columns * rows) % layers),
                panel: side(panel + number / (columns * rows * layers)),
            };
            (id, geometry.pixel(at))
        };
        numbered.push(detector.ids.iter().enumerate().map(place).collect());
        panel += own_panels;
    }
    let of_all = rule(numbered.iter().flatten())?;
    let of_group = |group| match content.detector_of(group) {
        Some(detector) if numbered.len() > 1 => rule(numbered[detector].iter()),
        _ => Ok(of_all.clone()),
    };
    let rules = content.groups.iter().map(of_group).collect::<Result<_, String>>()?;
    Ok((geometry, rules))
}

/// The rule for numbers of pixels.
fn rule<'a>(numbers: impl Iterator<Item = &'a (u32, PixelId)> + Clone) -> Result<PixelRule, String> {
    if numbers.clone().all(|(id, pixel)| id == pixel) {
        return Ok(PixelRule::default());
    }
    let ids = || numbers.clone().map(|(id, _)| *id);
    let (first, last) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
    let length = u64::from(last - first) + 1;
    if length > MOST_NUMBERS {
        return Err(format!(
            "detector_number goes from {first} to {last}: at most {MOST_NUMBERS} numbers can be told apart; name a configuration \
             with --config"
        ));
    }
    let mut table = vec![0; length as usize];
    for (id, pixel) in numbers {
        if let Some(place) = table.get_mut((id - first) as usize) {
            *place = *pixel;
        }
    }
    Ok(PixelRule::Table(first, table.into()))
}

/// A square that the ids fit in.
fn guess(some_ids: Option<(i64, i64)>) -> Result<(LogicalGeometry, PixelRule), String> {
    let advice = "the file does not say how its pixels are numbered (detector_number)";
    let Some((low, high)) = some_ids else {
        return Err(format!("{advice}, and has no events yet: name a configuration with --config"));
    };
    // Some count from 0.
    let shift = i64::from(low == 0);
    let largest = u64::try_from(high + shift).ok().filter(|_| low >= 0);
    let side = largest.map(side_of).and_then(|side| u32::try_from(side).ok());
    let geometry = side.and_then(|side| LogicalGeometry::flat(side, side).ok()).ok_or_else(|| {
        format!("{advice}, and its events have ids from {low} to {high}: name a configuration with --config")
    })?;
    Ok((geometry, PixelRule::Shift(shift)))
}

#[cfg(test)]
mod tests {
    use super::super::content::GroupContent;
    use super::*;

    fn detector(name: &str, shape: &[usize], first: u32) -> DetectorIds {
        let pixels = shape.iter().product::<usize>() as u32;
        DetectorIds {
            path: format!("/entry/{name}"),
            shape: shape.to_vec(),
            ids: (first..first + pixels).collect(),
        }
    }

    fn group(of: &str) -> GroupContent {
        let is_of_monitor = of != "det" && of.len() > 1;
        GroupContent { path: format!("/entry/{of}/events"), source: of.to_owned(), is_of_monitor }
    }

    #[test]
    fn detectors_are_panels_side_by_side_each_with_its_own_numbers() {
        let content = FileContent {
            detectors: vec![detector("a", &[2, 3], 100), detector("b", &[1, 2], 100)],
            groups: vec![group("a"), group("b")],
            ..FileContent::default()
        };
        let placed = place_pixels(&content, None, None).unwrap();
        let sides =
            |geometry: LogicalGeometry| (geometry.nx(), geometry.ny(), geometry.nz(), geometry.panels());
        assert_eq!(sides(placed.geometry), (3, 2, 1, 2));
        let pixels = |group: usize, ids: &[i64]| {
            ids.iter().map(|&id| placed.rules[group].pixel(id)).collect::<Vec<_>>()
        };
        assert_eq!(pixels(0, &[99, 100, 105, 106, -1, i64::MAX]), [0, 1, 6, 0, 0, 0]);
        assert_eq!(pixels(1, &[100, 101, 102]), [7, 8, 0]);
        // With numbers as evforge gives them nothing is looked up.
        let own = FileContent {
            detectors: vec![detector("a", &[2, 4, 3], 1)],
            groups: vec![group("a")],
            ..FileContent::default()
        };
        let placed = place_pixels(&own, None, None).unwrap();
        assert_eq!((sides(placed.geometry), &placed.rules[0]), ((3, 4, 2, 1), &PixelRule::Shift(0)));
    }

    #[test]
    fn without_numbers_a_square_is_guessed_and_said() {
        let content = FileContent { groups: vec![group("a")], ..FileContent::default() };
        let placed = place_pixels(&content, None, Some((0, 9))).unwrap();
        assert_eq!((placed.geometry.nx(), placed.rules[0].pixel(9)), (4, 10));
        assert!(placed.said.starts_with("guessed"), "{}", placed.said);
        for ids in [None, Some((-3, 4)), Some((1, i64::MAX - 1))] {
            let why = place_pixels(&content, None, ids).unwrap_err();
            assert!(why.contains("--config"), "{why}");
        }
        let wide = FileContent {
            detectors: vec![DetectorIds { path: "/a".into(), shape: vec![2], ids: vec![1, u32::MAX] }],
            ..content
        };
        assert!(place_pixels(&wide, None, None).unwrap_err().contains("told apart"));
    }

    #[test]
    fn monitors_have_pictures_of_their_own() {
        let monitor = |name: &str, first_pixel| MonitorIds {
            path: format!("/entry/{name}"),
            name: name.to_owned(),
            events: None,
            first_pixel,
            sides: (1, 1),
        };
        let content = FileContent {
            groups: vec![group("det"), group("m-1"), group("m_1"), group("own")],
            monitors: vec![monitor("m-1", None), monitor("m_1", None), monitor("own", Some(7))],
            detectors: vec![detector("det", &[2, 3], 1)],
            ..FileContent::default()
        };
        let placed = place_pixels(&content, None, None).unwrap();
        let plans: Vec<_> =
            placed.monitors.iter().map(|plan| (plan.name.as_str(), plan.first_pixel)).collect();
        assert_eq!(plans, [("m_1", 8), ("m_1_2", 9), ("own", 7)]);
        let pixels: Vec<_> = placed.rules.iter().map(|rule| rule.pixel(7)).collect();
        assert_eq!(pixels, [7, 8, 9, 7]);
    }
}

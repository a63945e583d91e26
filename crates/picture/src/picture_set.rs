//! Which pictures a detector has, and how counts per pixel get into them.
//!
//! | pixels of | pictures |
//! |---|---|
//! | a flat detector | one: xy |
//! | a detector with depth | three: xy, xz, yz, each the sum along the third axis |
//! | several panels | the same, panels as they stand or side by side ([`PanelLayout`]) |
//! | a Multi-Blade whose blades are known | further ones: blade (strips and wires, all blades on one another), blades (a row for each blade) |
//! | a beam monitor with positions | one, with its name |
//! | a beam monitor without | one of a single pixel: shown as a number |
//!
//! The pictures of a detector or of a monitor hold each of its events exactly once, so the first picture of each, added up,
//! gives all events within the geometry ([`PictureSet::total`]).

use crate::axis::{Axis, Unit};
use crate::blades::Blades;
use crate::image::Image;
use crate::panels::PanelLayout;
use crate::picture_plan::PicturePlan;
use crate::plane::Plane;
use evforge_core::beam_monitor::BeamMonitorPlan;
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::placement::{GridAxis, Placement};

/// Pixels that belong together: those of the detector, or of a monitor. The first pixel of a part follows the last one of
/// the part before.
#[derive(Clone, Debug)]
struct Part {
    geometry: LogicalGeometry,
    /// Pixels that lie before it and belong to nothing; 0 unless a plan leaves a gap.
    gap: usize,
}

/// All pictures of a detector and its beam monitors.
#[derive(Clone, Debug)]
pub struct PictureSet {
    parts: Vec<Part>,
    plans: Vec<PicturePlan>,
    pixels: usize,
}

impl PictureSet {
    /// The pictures for the pixels of `geometry` and of `monitors`. Monitors that are alone in their stream own the pixels
    /// of the geometry; those alongside a detector follow it. The placement gives axes their millimetres and pictures their shape.
    pub fn new<'a>(
        geometry: &LogicalGeometry,
        monitors: impl IntoIterator<Item = &'a BeamMonitorPlan>,
        placement: Option<&Placement>,
    ) -> Self {
        let mut set = Self { parts: Vec::new(), plans: Vec::new(), pixels: 0 };
        let mut with_pixels: Vec<_> = monitors.into_iter().filter(|plan| !plan.pixels().is_empty()).collect();
        with_pixels.sort_by_key(|plan| plan.first_pixel);
        if with_pixels.iter().all(|plan| plan.alongside) {
            set.add_detector(geometry, placement);
        }
        for plan in with_pixels {
            set.add_monitor(plan);
        }
        set
    }

    /// The pictures of a detector of which no more is known than its pixels.
    pub fn of_geometry(geometry: &LogicalGeometry) -> Self {
        Self::new(geometry, [], None)
    }

    fn add_detector(&mut self, geometry: &LogicalGeometry, placement: Option<&Placement>) {
        let pitch = placement.map_or([None; 3], pitch_of);
        for (index, &plane) in Plane::of(geometry).iter().enumerate() {
            let layout = match plane {
                Plane::Xy => PanelLayout::of(geometry, placement),
                Plane::Xz | Plane::Yz => PanelLayout::from_a_side(geometry, placement),
            };
            let [right, upwards, along] = plane.axes();
            let panels = layout.words(geometry.panels());
            let title = match (geometry.nz() > 1, along) {
                (false, _) => format!("all pixels{panels}"),
                (true, 0) => format!("{}, sum of {} columns{panels}", plane.name(), geometry.nx()),
                (true, 1) => format!("{}, sum of {} rows{panels}", plane.name(), geometry.ny()),
                (true, _) => format!("{}, sum of {} layers{panels}", plane.name(), geometry.nz()),
            };
            let panel = plane.size(geometry);
            let [nx, ny] = layout.size(geometry.panels(), panel);
            // Panels as they stand are one plane: its millimetres are true.
            let pieces = match layout {
                PanelLayout::Standing { .. } => [1, 1],
                PanelLayout::Rows { .. } => [nx / panel[0], ny / panel[1]],
            };
            self.plans.push(PicturePlan {
                name: plane.name().into(),
                title,
                plane,
                panels: geometry.panels(),
                across: Axis::new(right, nx / pieces[0], pieces[0], pitch[right]),
                up: Axis::new(upwards, ny / pieces[1], pieces[1], pitch[upwards]),
                layout,
                panel,
                blades: None,
                depth: [geometry.nx(), geometry.ny(), geometry.nz()][along],
                beyond: ["column", "row", "layer"][along],
                is_monitor: false,
                is_map: false,
                is_first: index == 0,
                part: self.parts.len(),
            });
        }
        if let Some(blades) = Blades::of(geometry, placement) {
            self.add_blades(geometry, blades);
        }
        self.add_part(*geometry, 0);
    }

    /// The pictures by blade: all blades on one another, and a row for each blade.
    fn add_blades(&mut self, geometry: &LogicalGeometry, blades: Blades) {
        let sides = blades.sides(geometry);
        let strips = if blades.is_of_rows() { 0 } else { 1 };
        let axis = |which: usize| match which {
            2 => Axis::numbered("blade", Unit::Blade, sides[2]),
            strip if strip == strips => Axis::numbered("strip", Unit::Strip, sides[strip]),
            wire => Axis::numbered("wire in the blade", Unit::Wire, sides[wire]),
        };
        let beyond = |which: usize| if which == 2 { "blade" } else { "wire" };
        let from_above = if blades.is_of_rows() { Plane::Xz } else { Plane::Yz };
        for (name, plane) in [("blades", from_above), ("blade", Plane::Xy)] {
            let [right, upwards, along] = plane.axes();
            self.plans.push(PicturePlan {
                name: name.into(),
                title: format!("{name}, sum of {} {}s", sides[along], beyond(along)),
                plane,
                panels: 1,
                layout: PanelLayout::side_by_side(1),
                panel: [sides[right], sides[upwards]],
                blades: Some(blades),
                across: axis(right),
                up: axis(upwards),
                depth: sides[along],
                beyond: beyond(along),
                is_monitor: false,
                is_map: false,
                is_first: false,
                part: self.parts.len(),
            });
        }
    }

    fn add_monitor(&mut self, monitor: &BeamMonitorPlan) {
        // A plan without pixels, and one that overlaps another, has no picture.
        let gap = (monitor.first_pixel as usize).checked_sub(1 + self.pixels);
        let (Ok(geometry), Some(gap)) = (LogicalGeometry::flat(monitor.nx, monitor.ny), gap) else { return };
        self.plans.push(PicturePlan {
            name: monitor.name.clone(),
            title: monitor.name.clone(),
            plane: Plane::Xy,
            panels: 1,
            layout: PanelLayout::side_by_side(1),
            panel: [monitor.nx, monitor.ny],
            blades: None,
            across: Axis::new(0, monitor.nx, 1, None),
            up: Axis::new(1, monitor.ny, 1, None),
            depth: 1,
            beyond: "layer",
            is_monitor: true,
            is_map: false,
            is_first: true,
            part: self.parts.len(),
        });
        self.add_part(geometry, gap);
    }

    fn add_part(&mut self, geometry: LogicalGeometry, gap: usize) {
        self.pixels += gap + geometry.pixel_count() as usize;
        self.parts.push(Part { geometry, gap });
    }

    /// How many pixels have a place: ids beyond are outside.
    pub fn pixel_count(&self) -> usize {
        self.pixels
    }

    /// Where the count of a pixel is in a list of [`pixel_count`](Self::pixel_count) counts: beyond its end for ids that are
    /// none.
    #[inline]
    pub fn index_of(pixel: PixelId) -> usize {
        // 0, which is no pixel, wraps to an index that no list has.
        (pixel as usize).wrapping_sub(1)
    }

    /// The pictures: those of the detector first, then those of the monitors.
    pub fn plans(&self) -> &[PicturePlan] {
        &self.plans
    }

    /// The picture of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.plans.iter().position(|plan| plan.name == name)
    }

    /// Images of zeros, one for each picture.
    pub fn images(&self) -> Vec<Image> {
        let image = |plan: &PicturePlan| Image::zeros([plan.across.pixels, plan.up.pixels]);
        self.plans.iter().map(image).collect()
    }

    /// Adds counts per pixel, pixel 1 first, to the images of all pictures. Counts beyond the last pixel are ignored.
    pub fn add(&self, images: &mut [Image], counts: impl IntoIterator<Item = u64>) {
        let mut counts = counts.into_iter();
        let mut line = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            counts.by_ref().take(part.gap).for_each(drop);
            let geometry = &part.geometry;
            let [nx, ny, nz] = [geometry.nx(), geometry.ny(), geometry.nz()].map(|side| side as usize);
            for (panel, layer) in (0..geometry.panels()).flat_map(|p| (0..nz).map(move |z| (p, z))) {
                for row in 0..ny {
                    line.clear();
                    line.extend(counts.by_ref().take(nx));
                    let of_part = images.iter_mut().zip(&self.plans).filter(|(_, plan)| plan.part == index);
                    for (image, plan) in of_part {
                        if plan.blades.is_none() {
                            let corner = plan.layout.corner(panel, plan.panel);
                            image.add_row(plan.plane, [row, layer], corner, &line);
                            continue;
                        }
                        for (&count, x) in line.iter().zip(0..) {
                            let at = Coordinates { x, y: row as u32, z: layer as u32, panel };
                            let ([column, row], _) = plan.place(at);
                            image.counts[row as usize * image.nx as usize + column as usize] += count;
                        }
                    }
                }
            }
        }
    }

    /// The pixels that a picture shows: how many lie before them, and their geometry.
    pub fn part(&self, which: usize) -> Option<(usize, LogicalGeometry)> {
        let part = self.plans.get(which)?.part;
        let before = self.parts[..part].iter().map(|part| part.gap + part.geometry.pixel_count() as usize);
        Some((before.sum::<usize>() + self.parts[part].gap, self.parts[part].geometry))
    }

    /// Events in the images, each once: the sum of the first picture of each part.
    pub fn total(&self, images: &[Image]) -> u64 {
        total(&self.plans, images)
    }

    /// The plan of a map: time of flight to the right, axis 0, 1 or 2 (x, y or z) of the detector upwards, panels one above the
    /// other. None where there is no detector.
    pub fn map(&self, axis: usize, bins: u32) -> Option<PicturePlan> {
        let detector = self.plans.first().filter(|plan| !plan.is_monitor)?;
        let (_, rows) = self.places_along(0, axis);
        let letter = ['x', 'y', 'z'][axis.min(2)];
        Some(PicturePlan {
            name: format!("{letter}-tof"),
            title: format!("{letter} against time of flight"),
            panels: 1,
            layout: PanelLayout::side_by_side(1),
            panel: [bins, rows],
            across: Axis::of_time(bins),
            up: Axis::new(axis, rows, 1, None),
            depth: 1,
            is_map: true,
            is_first: true,
            ..detector.clone()
        })
    }
}

/// Events in the images of these plans, each once.
pub(crate) fn total(plans: &[PicturePlan], images: &[Image]) -> u64 {
    let first = images.iter().zip(plans).filter(|(_, plan)| plan.is_first);
    first.map(|(image, _)| image.total()).sum()
}

/// The pitch of x, y and z in metres along which places rise evenly: not along an arc, whose blocks are turned.
fn pitch_of(placement: &Placement) -> [Option<f64>; 3] {
    let along = placement.arc.map(|arc| arc.along);
    let Some(pitch) = placement.pitch else { return [None; 3] };
    [(pitch.x, GridAxis::Column), (pitch.y, GridAxis::Row), (pitch.z, GridAxis::Layer)]
        .map(|(metres, axis)| (along != Some(axis)).then_some(metres))
}

#[cfg(test)]
mod tests;

//! The groups of class NXdetector: pixel ids, where the pixels are, and which events belong to which group.
//!
//! Panels that are placed each on its own have a group each; all others share one. Offsets are arrays along the axes on
//! which they depend, one or two. Only x has a value for each pixel: scippnexus gives positions the axes of x, y and z in that order, which must be
//! the order of the events. Nothing is written that is not known: without `[placement]` a file has pixel ids, and no positions.

use std::ops::Range;

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::placement::{GridAxis, Offsets, Pitch, Placement};
use hdf5_metno::{Group, Result};

use super::options::NexusOptions;
use super::transformations::write_chain;
use crate::storage::dataset::{class, write_compressed, write_grid};
use crate::storage::text::{create_text, set_attribute, set_list_attribute};

/// One group of a detector.
#[derive(Debug)]
pub(crate) struct DetectorGroup {
    pub(crate) group: Group,
    /// What its events are called.
    pub(crate) events: String,
    /// The ids of its pixels; none if it is the only one, which gets all events.
    pub(crate) pixels: Option<Range<PixelId>>,
}

/// Creates the groups of the detector.
pub(crate) fn create_detectors(instrument: &Group, options: &NexusOptions) -> Result<Vec<DetectorGroup>> {
    let mut groups = Vec::new();
    // The same for all panels.
    let offsets = options.placement.as_ref().and_then(|placement| offsets(placement, &options.geometry));
    for (panel, (name, pixels)) in (0..).zip(detector_names(options)) {
        let panels = if pixels.is_some() { panel..panel + 1 } else { 0..options.geometry.panels() };
        let group = class(instrument, &name, "NXdetector")?;
        write_detector(&group, options, panels, offsets.as_ref())?;
        groups.push(DetectorGroup { group, events: format!("{name}_events"), pixels });
    }
    Ok(groups)
}

/// What the groups of the detector are called, and the ids of their pixels; none if there is one, which gets all events.
pub(crate) fn detector_names(options: &NexusOptions) -> Vec<(String, Option<Range<PixelId>>)> {
    if !has_group_for_each_panel(options) {
        return vec![(options.detector.clone(), None)];
    }
    let panels = options.geometry.panels();
    let size = options.geometry.pixel_count() / panels;
    let of_panel = |panel: u32| {
        let first = panel * size + 1;
        (format!("{}_{panel}", options.detector), Some(first..first + size))
    };
    (0..panels).map(of_panel).collect()
}

/// Bytes at most of what [`create_detectors`] writes, besides the objects themselves.
pub(crate) fn bytes_of_detectors(options: &NexusOptions) -> u64 {
    let geometry = &options.geometry;
    let groups = if has_group_for_each_panel(options) { u64::from(geometry.panels()) } else { 1 };
    let offsets = options.placement.as_ref().and_then(Placement::offsets);
    let values = |offsets: &[Offsets; 3]| {
        let [.., y, z] = offsets;
        geometry.pixel_count() as usize / geometry.panels() as usize + y.values.len() + z.values.len()
    };
    let values = offsets.as_ref().map_or(0, values);
    let sides = u64::from(geometry.nx()) + u64::from(geometry.ny()) + u64::from(geometry.nz());
    u64::from(geometry.pixel_count()) * 4 + groups * (8 * values as u64 + 4 * sides)
}

/// How many groups there are.
pub(crate) fn number_of_detectors(options: &NexusOptions) -> usize {
    match options.has_detector() {
        false => 0,
        true if has_group_for_each_panel(options) => options.geometry.panels() as usize,
        true => 1,
    }
}

fn has_group_for_each_panel(options: &NexusOptions) -> bool {
    let is_placed = |placement: &Placement| placement.transformations(0).is_some();
    options.geometry.panels() > 1 && options.placement.as_ref().is_some_and(is_placed)
}

/// The offsets of the pixels of a panel, that in x along all axes that any of them has. None without a pitch.
fn offsets(placement: &Placement, geometry: &LogicalGeometry) -> Option<[Offsets; 3]> {
    let [x, y, z] = placement.offsets()?;
    let is_used = |axis: &GridAxis| [&x, &y, &z].iter().any(|offsets| offsets.axes.contains(axis));
    let used: Vec<GridAxis> =
        [GridAxis::Layer, GridAxis::Row, GridAxis::Column].into_iter().filter(is_used).collect();
    Some([x.across(&used, geometry), y, z])
}

/// Pixel ids of `panels`, and where the pixels are.
fn write_detector(
    detector: &Group,
    options: &NexusOptions,
    panels: Range<u32>,
    offsets: Option<&[Offsets; 3]>,
) -> Result<()> {
    let geometry = &options.geometry;
    // Rows and columns always, layers and panels where there are several.
    let mut axes: Vec<(&str, usize)> = Vec::new();
    if panels.len() > 1 {
        axes.push(("panel", panels.len()));
    }
    if geometry.nz() > 1 {
        axes.push((GridAxis::Layer.name(), geometry.nz() as usize));
    }
    axes.extend([GridAxis::Row, GridAxis::Column].map(|axis| (axis.name(), axis.length(geometry) as usize)));
    let shape: Vec<usize> = axes.iter().map(|(_, length)| *length).collect();
    let size = geometry.pixel_count() / geometry.panels();
    let of_file = options.pixels();
    let pixels = panels.start * size + 1..=panels.end * size;
    let numbers: Vec<i32> = pixels.map(|pixel| of_file.id(pixel) as i32).collect();
    write_compressed(detector, "detector_number", &shape, &numbers)?;

    let names: Vec<&str> = axes.iter().map(|(name, _)| *name).collect();
    set_list_attribute(detector, "axes", &names)?;
    for (name, length) in &axes {
        let places: Vec<i32> = (0..*length as i32).collect();
        write_compressed(detector, name, &[*length], &places)?;
        set_indices(detector, name, &names, &[name])?;
    }
    let Some(placement) = &options.placement else { return Ok(()) };
    create_text(detector, "description", &format!("pitch and place: {}", placement.says()), 0)?;
    for (name, offsets) in
        ["x_pixel_offset", "y_pixel_offset", "z_pixel_offset"].iter().zip(offsets.into_iter().flatten())
    {
        write_offsets(detector, name, offsets, &names)?;
    }
    // On an arc every block has its pixels turned in another way: there is no shape that all have.
    if let (Some(pitch), None) = (placement.pitch, placement.arc) {
        write_pixel_shape(detector, pitch)?;
    }
    if panels.len() == 1
        && let Some(steps) = placement.transformations(panels.start)
    {
        write_chain(detector, steps)?;
    }
    Ok(())
}

fn write_offsets(detector: &Group, name: &str, offsets: &Offsets, axes: &[&str]) -> Result<()> {
    if offsets.axes.is_empty() {
        return Ok(());
    }
    // 64 bits: Mantid refuses 32 (streaming-and-nexus.md, section 5).
    let dataset = write_compressed(detector, name, &offsets.shape, &offsets.values)?;
    set_attribute(&dataset, "units", "m")?;
    let own: Vec<&str> = offsets.axes.iter().map(|axis| axis.name()).collect();
    set_indices(detector, name, axes, &own)
}

/// Says along which of the `axes` of the group the dataset `name` lies.
fn set_indices(group: &Group, name: &str, axes: &[&str], own: &[&str]) -> Result<()> {
    let place = |axis: &&str| axes.iter().position(|other| other == axis).map(|place| place as i32);
    let indices: Vec<i32> = own.iter().filter_map(place).collect();
    group.new_attr::<i32>().shape(indices.len()).create(&*format!("{name}_indices"))?.write_raw(&indices)
}

/// Every pixel is a rectangle: Mantid wants a shape, scippnexus reads it.
fn write_pixel_shape(detector: &Group, pitch: Pitch) -> Result<()> {
    let pixel = class(detector, "pixel_shape", "NXoff_geometry")?;
    let (half_x, half_y) = (pitch.x as f32 / 2.0, pitch.y as f32 / 2.0);
    let corners = [(-half_x, -half_y), (half_x, -half_y), (half_x, half_y), (-half_x, half_y)];
    let vertices: Vec<f32> = corners.iter().flat_map(|&(x, y)| [x, y, 0.0]).collect();
    let vertices = write_grid(&pixel, "vertices", &[4, 3], &vertices)?;
    set_attribute(&vertices, "units", "m")?;
    write_grid(&pixel, "winding_order", &[4], &[0_i32, 1, 2, 3])?;
    write_grid(&pixel, "faces", &[1], &[0_i32])?;
    Ok(())
}

//! The picture in the beam: how many neutrons each pixel gets.
//!
//! A picture is a square of side 1 with its origin at the bottom left. It is stretched over the columns and rows of each
//! panel, or of all panels if they are tiles of one picture; row 0 of a panel is at the bottom. It has layers, each with
//! its share of the neutrons; what they leave is spread evenly. Nothing falls on pixels that are not sensitive.

mod alias_table;
pub mod diffraction;
mod layer;
pub mod mask;
pub mod png_file;
pub mod reflectometry;
pub mod settings;
#[cfg(test)]
mod tests;

use crate::detector_model::DetectorModel;
use crate::error::SimulationError;
use crate::error::refuse;
use alias_table::AliasTable;
use evforge_core::geometry::Coordinates;
use layer::Area;
use rand::rngs::SmallRng;
use settings::ImageSettings;

/// Draws the pixels that neutrons fall on.
#[derive(Clone, Debug)]
pub struct Image {
    /// Columns and rows of a panel.
    sides: [u32; 2],
    /// Share of the neutrons for each pixel, column by column, row by row, panel by panel.
    intensities: Vec<f32>,
    pixels: AliasTable,
}

impl Image {
    /// The picture on a detector. `tiles` are the columns and rows of panels that show one picture together, panel 0 at
    /// the bottom left; none if each panel shows all of it.
    ///
    /// # Errors
    /// If a file cannot be read, a value makes no picture, or a part of it falls on no sensitive pixel.
    pub fn new(
        settings: &ImageSettings,
        tiles: Option<[u32; 2]>,
        detector: &dyn DetectorModel,
    ) -> Result<Self, SimulationError> {
        let layers = match settings {
            ImageSettings::Flat => Vec::new(),
            ImageSettings::Mask => vec![mask::layer()],
            ImageSettings::Png(path) => vec![png_file::layer(path)?],
            ImageSettings::Diffraction(diffraction) => diffraction.layers()?,
            ImageSettings::Reflectometry(reflectometry) => reflectometry.layers()?,
        };
        let geometry = detector.picture();
        let (nx, ny, panels) = (geometry.nx(), geometry.ny(), geometry.panels());
        let [across, up] = tiles.unwrap_or([1, 1]);
        if tiles.is_some() && u64::from(across) * u64::from(up) != u64::from(panels) {
            let expected = format!("columns and rows of panels whose product is {panels}, or no tiles");
            return refuse("tiles", format!("[{across}, {up}]"), &expected);
        }
        let mut areas = Vec::new();
        let mut pixels = Vec::new();
        for panel in 0..panels {
            for y in 0..ny {
                for x in 0..nx {
                    if detector.is_sensitive(x, y, panel) {
                        // A flat detector's pixels are numbered as the intensities are.
                        pixels.push((panel * ny + y) * nx + x);
                        areas.push(Area {
                            x: part(x, nx, panel % across, across),
                            y: part(y, ny, panel / across % up, up),
                        });
                    }
                }
            }
        }
        if pixels.is_empty() {
            return Err(SimulationError(
                "the detector has no sensitive pixel: nothing can be simulated".into(),
            ));
        }
        let mut weights = vec![0.0_f64; pixels.len()];
        for layer in &layers {
            layer.add(&areas, &mut weights)?;
        }
        let even = (1.0 - layers.iter().map(|layer| layer.share).sum::<f64>()).max(0.0) / pixels.len() as f64;
        let mut intensities = vec![0.0; (nx * ny * panels) as usize];
        for (weight, pixel) in weights.iter().zip(pixels) {
            intensities[pixel as usize] = (weight + even) as f32;
        }
        let Some(pixels) = AliasTable::new(&intensities) else {
            return Err(SimulationError(
                "simulation.beam.image: the picture has no intensity anywhere".into(),
            ));
        };
        Ok(Self { sides: [nx, ny], intensities, pixels })
    }

    /// Share of the neutrons that falls on each pixel: columns run fastest, then rows, then panels.
    pub fn intensities(&self) -> &[f32] {
        &self.intensities
    }

    /// Draws a pixel.
    #[inline]
    pub fn draw(&self, random: &mut SmallRng) -> Coordinates {
        let pixel = self.pixels.draw(random);
        let [nx, ny] = self.sides;
        let row = pixel / nx;
        Coordinates { x: pixel % nx, y: row % ny, z: 0, panel: row / ny }
    }
}

/// Which part of a picture's side a column covers, if its panel is one tile of several.
fn part(column: u32, columns: u32, tile: u32, tiles: u32) -> [f64; 2] {
    let all = f64::from(columns) * f64::from(tiles);
    let first = f64::from(tile) * f64::from(columns) + f64::from(column);
    [first / all, (first + 1.0) / all]
}

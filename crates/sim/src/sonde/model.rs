//! Neutrons to light on pixels.

use super::physics::{CLOCK_STEP_PS, DEAD_TIME_PS, JITTER_PS, LARGEST_AMPLITUDE, SondePhysics, THRESHOLD};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::layout::{Layout, Place};
use crate::random::{exponential, normal};
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_detect::sonde::SondeSettings;
use evforge_detect::sonde::digital_geometry::{asic_channel, channel_index, pixel_table};
use evforge_wire::sonde::{ASICS, CHANNELS};
use rand::RngExt;
use rand::rngs::SmallRng;

/// A simulated SoNDe.
#[derive(Clone, Debug)]
pub struct SondeModel {
    physics: SondePhysics,
    geometry: LogicalGeometry,
    layout: Layout,
    /// The channel of each pixel; none where there is no module.
    channels: Vec<Option<u32>>,
}

impl SondeModel {
    /// The detector of these settings. The plane of a module is 0, and the coordinates of its channels are their
    /// numbers in the module.
    pub fn new(settings: &SondeSettings, physics: SondePhysics) -> Self {
        let mut placed = Vec::new();
        let modules =
            settings.groups.iter().flat_map(|group| group.modules.iter().map(move |of| (group, of)));
        for ((group, module), number) in modules.zip(0..) {
            let pixels = pixel_table(&settings.geometry, group.x + module.x, group.y + module.y);
            for (asic, channel) in (0..ASICS as u8).flat_map(|a| (0..CHANNELS as u8).map(move |c| (a, c))) {
                let pixel = pixels[usize::from(asic_channel(asic, channel))];
                if let (Some(index), 1..) = (channel_index(asic, channel), pixel) {
                    placed.push((pixel, Place { module: number, plane: 0, coordinate: index as u16 }));
                }
            }
        }
        let layout = Layout::new(placed.iter().map(|(_, place)| *place).collect());
        let mut channels = vec![None; settings.geometry.pixel_count() as usize];
        for (pixel, place) in placed {
            channels[pixel as usize - 1] = layout.channel(place);
        }
        Self { physics, geometry: settings.geometry, layout, channels }
    }

    /// The channel of a pixel.
    fn channel(&self, x: u32, y: u32) -> Option<u32> {
        let pixel = self.geometry.pixel(Coordinates { x, y, z: 0, panel: 0 });
        *self.channels.get((pixel as usize).checked_sub(1)?)?
    }

    fn module(&self, channel: u32) -> u16 {
        self.layout.places().get(channel as usize).map_or(0, |place| place.module)
    }

    /// Light on the pixel of `strike` and its neighbours in the same module. Returns the pixel's module.
    fn add_light(&self, strike: &Strike, light: f64, charges: &mut Vec<Charge>) -> Option<u16> {
        let (x, y) = (strike.x as u32, strike.y as u32);
        let module = self.module(self.channel(x, y)?);
        let shares = [strike.x, strike.y].map(|at| self.shares(at.fract()));
        for (column, of_column) in (-1..=1).zip(shares[0]) {
            for (row, of_row) in (-1..=1).zip(shares[1]) {
                let is_beside = column == 0 || row == 0;
                let cross_talk = if is_beside && column != row { self.physics.cross_talk } else { 0.0 };
                let amplitude = (light * (of_column * of_row + cross_talk)) as f32;
                let pixel = x.checked_add_signed(column).zip(y.checked_add_signed(row));
                let channel = pixel.and_then(|(x, y)| self.channel(x, y));
                // Light does not get from one module to the next: each has a glass of its own.
                if let Some(channel) = channel.filter(|channel| self.module(*channel) == module) {
                    charges.push(Charge { channel, time_ps: strike.time_ps, amplitude });
                }
            }
        }
        Some(module)
    }

    /// Shares of the light before, in and after a pixel along one axis, for a neutron at `at` in it.
    fn shares(&self, at: f64) -> [f64; 3] {
        let beyond = |distance: f64| 0.5 * (-distance / self.physics.sharing_length.max(1e-6)).exp();
        let (before, after) = (beyond(at), beyond(1.0 - at));
        [before, 1.0 - before - after, after]
    }
}

impl DetectorModel for SondeModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        panel == 0 && self.channel(x, y).is_some()
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        if !random.random_bool(self.physics.efficiency.clamp(0.0, 1.0)) {
            return None;
        }
        let light = self.physics.amplitude * (1.0 + self.physics.light_spread * normal(random)).max(0.0);
        let module = self.add_light(strike, light, charges)?;
        Some(TrueEvent { module, position: [strike.x, strike.y, 0.5], panel: 0, time_ps: strike.time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        let light = self.physics.amplitude * self.physics.gamma_light * exponential(random);
        // A gamma that misses all modules leaves nothing.
        let _ = self.add_light(strike, light, charges);
    }

    fn resolution(&self) -> Resolution {
        Resolution::of_single_channels(CLOCK_STEP_PS)
    }

    fn electronics(&self) -> Electronics {
        let ideal =
            Electronics::ideal((self.physics.amplitude * THRESHOLD) as u16, LARGEST_AMPLITUDE, DEAD_TIME_PS);
        Electronics { jitter_ps: JITTER_PS, ..ideal }
    }

    fn noise_amplitude(&self) -> f64 {
        self.physics.amplitude * 0.05
    }
}

//! Neutrons to pulses of pixels.

use super::boards::{Boards, Part};
use super::settings::IsisSimulation;
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::error::SimulationError;
use crate::layout::{Layout, Place};
use crate::random::{exponential, normal};
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::pixel_ids::PixelIds;
use evforge_detect::isis::settings::IsisSettings;
use rand::rngs::SmallRng;
use std::sync::Arc;

/// Largest pulse height: 12 bits.
const LARGEST_AMPLITUDE: u16 = 4095;
/// Pulse height from which on there is an event, as a share of the mean one.
const THRESHOLD: f64 = 0.2;
/// How long a pixel is busy with a neutron, in picoseconds. Chosen: no document gives a value.
const DEAD_TIME_PS: u64 = 1_000_000;
/// Mean pulse height of noise above the threshold, and of gammas, as a share of a neutron's. Chosen.
const NOISE: f64 = 0.1;

/// Pixels, each a channel: boards find the position of a neutron themselves.
#[derive(Clone, Debug)]
pub struct IsisModel {
    amplitude: f64,
    spread: f64,
    tick_ps: u64,
    geometry: LogicalGeometry,
    ids: Arc<PixelIds>,
    layout: Layout,
    boards: Boards,
}

impl IsisModel {
    /// The detector that these boards read. A module of its layout is a part of a board: a row of the wiring table, or a board of
    /// version 2.
    ///
    /// # Errors
    /// If the pixels cannot be numbered.
    pub fn new(
        settings: &IsisSettings,
        boards: &Boards,
        simulation: &IsisSimulation,
    ) -> Result<Self, SimulationError> {
        let layout = settings.layout().map_err(|error| SimulationError(error.to_string()))?;
        let places = boards.parts.iter().zip(0..).flat_map(|(part, module): (&Part, u16)| {
            (0..part.range.count).map(move |place| Place { module, plane: 0, coordinate: place as u16 })
        });
        let ticks = boards.boards.iter().filter(|board| !board.is_control).map(|board| board.tick_ps);
        Ok(Self {
            amplitude: simulation.amplitude.max(0.0),
            spread: simulation.spread.max(0.0),
            tick_ps: ticks.max().unwrap_or(1),
            geometry: layout.geometry,
            ids: layout.ids,
            layout: Layout::new(places.collect()),
            boards: boards.clone(),
        })
    }

    /// Part and channel of a pixel.
    fn channel(&self, x: u32, y: u32) -> Option<(u16, u32)> {
        let pixel = self.geometry.pixel(Coordinates { x, y, z: 0, panel: 0 });
        let (part, coordinate) = self.boards.part(pixel)?;
        let module = part as u16;
        Some((module, self.layout.channel(Place { module, plane: 0, coordinate })?))
    }
}

impl DetectorModel for IsisModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn pixel_id(&self, coordinates: Coordinates) -> PixelId {
        self.ids.id(self.geometry.pixel(coordinates)).unwrap_or(0)
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
        let (module, channel) = self.channel(strike.x as u32, strike.y as u32)?;
        let height = (self.amplitude * (1.0 + self.spread * normal(random))).max(0.0);
        charges.push(Charge { channel, time_ps: strike.time_ps, amplitude: height as f32 });
        Some(TrueEvent { module, position: [strike.x, strike.y, 0.5], panel: 0, time_ps: strike.time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        // A gamma next to all pixels leaves nothing.
        if let Some((_, channel)) = self.channel(strike.x as u32, strike.y as u32) {
            let amplitude = (self.amplitude * NOISE * exponential(random)) as f32;
            charges.push(Charge { channel, time_ps: strike.time_ps, amplitude });
        }
    }

    fn resolution(&self) -> Resolution {
        Resolution::of_single_channels(self.tick_ps)
    }

    fn electronics(&self) -> Electronics {
        Electronics::ideal((self.amplitude * THRESHOLD) as u16, LARGEST_AMPLITUDE, DEAD_TIME_PS)
    }

    fn noise_amplitude(&self) -> f64 {
        self.amplitude * NOISE
    }
}

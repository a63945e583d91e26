//! Neutrons to signals on channels.

use super::physics::{AdcReadoutPhysics, LARGEST_AMPLITUDE, NOISE, SAMPLE_PS, THRESHOLD};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::error::SimulationError;
use crate::layout::{Layout, Place};
use crate::random::{exponential, normal};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::adc_readout::AdcReadoutSettings;
use rand::rngs::SmallRng;

/// Simulated sampled channels: each is a pixel.
#[derive(Clone, Debug)]
pub struct AdcReadoutModel {
    physics: AdcReadoutPhysics,
    geometry: LogicalGeometry,
    layout: Layout,
    /// The channel that sees no neutrons, because the pulses arrive on it.
    pulse_channel: Option<u32>,
}

impl AdcReadoutModel {
    /// The channels of these settings, which have been checked.
    ///
    /// # Errors
    /// If the waveforms cannot be.
    pub fn new(settings: &AdcReadoutSettings, physics: AdcReadoutPhysics) -> Result<Self, SimulationError> {
        physics.check()?;
        let places = (0..settings.channels).map(|coordinate| Place { module: 0, plane: 0, coordinate });
        let geometry = LogicalGeometry::flat(settings.channels.into(), 1);
        Ok(Self {
            physics,
            geometry: geometry.map_err(|error| SimulationError(error.to_string()))?,
            layout: Layout::new(places.collect()),
            pulse_channel: settings.pulse_channel.map(|pulses| u32::from(pulses.channel)),
        })
    }
}

impl DetectorModel for AdcReadoutModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, _: u32, panel: u32) -> bool {
        panel == 0 && self.pulse_channel != Some(x)
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        let height = (self.physics.amplitude * (1.0 + self.physics.spread * normal(random))).max(0.0);
        charges.push(Charge { channel: strike.x as u32, time_ps: strike.time_ps, amplitude: height as f32 });
        Some(TrueEvent { module: 0, position: [strike.x, strike.y, 0.5], panel: 0, time_ps: strike.time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        if self.pulse_channel == Some(strike.x as u32) {
            return;
        }
        let amplitude = (self.physics.amplitude * NOISE * exponential(random)) as f32;
        charges.push(Charge { channel: strike.x as u32, time_ps: strike.time_ps, amplitude });
    }

    fn resolution(&self) -> Resolution {
        Resolution::of_single_channels(SAMPLE_PS)
    }

    fn electronics(&self) -> Electronics {
        // A run is one of one signal.
        let dead_time_ps = u64::from(self.physics.samples) * SAMPLE_PS;
        Electronics::ideal((self.physics.amplitude * THRESHOLD) as u16, LARGEST_AMPLITUDE, dead_time_ps)
    }

    fn noise_amplitude(&self) -> f64 {
        self.physics.amplitude * NOISE
    }
}

//! Neutrons to charges at the ends of their groups.

use super::physics::{Helium3Physics, TRITON};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TriggerTimes, TrueEvent};
use crate::electronics::Electronics;
use crate::ess_readout::TICK_PS;
use crate::layout::{Layout, Place};
use crate::random::{Stream, exponential, normal, stream};
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_detect::helium3::{Axis, CalibratedTube, Charges, Groups, Helium3Settings, Rounding};
use rand::RngExt;
use rand::rngs::SmallRng;

/// Ends of a group: A to D.
pub(super) const ENDS: u32 = 4;

/// Simulated tubes. A module is a group, and its channels are its ends.
#[derive(Clone, Debug)]
pub struct Helium3Model {
    physics: Helium3Physics,
    geometry: LogicalGeometry,
    layout: Layout,
    charges: Charges,
    along: Axis,
    /// Pixels along a tube less one.
    largest: f64,
    /// The group of each pixel id; [`u32::MAX`] without one.
    groups: Vec<u32>,
    tubes: Vec<CalibratedTube>,
    in_group: usize,
    /// Of each group.
    gains: Vec<f64>,
}

impl Helium3Model {
    /// The tubes of these settings, which have been checked.
    pub fn new(settings: &Helium3Settings, groups: &Groups, physics: Helium3Physics) -> Self {
        let of_group =
            |module| (0..ENDS as u16).map(move |coordinate| Place { module, plane: 0, coordinate });
        Self {
            physics,
            geometry: settings.geometry,
            layout: Layout::new((0..groups.all().len() as u16).flat_map(of_group).collect()),
            charges: settings.charges,
            along: settings.along,
            largest: f64::from(settings.pixels) - 1.0,
            groups: settings.groups_of_pixels(groups),
            tubes: groups.all().iter().flat_map(|group| settings.calibrated_tubes(group)).collect(),
            in_group: settings.tubes.len(),
            gains: Self::gains(groups.all().len(), physics.gain_spread),
        }
    }

    /// The gains of so many groups: always the same ones, whatever the seed of a simulation, as a detector has them.
    pub fn gains(count: usize, spread: f64) -> Vec<f64> {
        let mut random = stream(0, Stream::Channels);
        (0..count).map(|_| (1.0 + spread * normal(&mut random)).max(0.1)).collect()
    }

    /// The group and the tube of a pixel, with the number of the pixel along the tube.
    fn tube_of(&self, x: u32, y: u32) -> Option<(u32, &CalibratedTube, u32)> {
        let pixel = self.geometry.pixel(Coordinates { x, y, z: 0, panel: 0 });
        let group = *self.groups.get(pixel as usize).filter(|&&group| group != u32::MAX)?;
        let first = group as usize * self.in_group;
        let step = if self.along == Axis::X { 1 } else { self.geometry.nx() };
        let along = |tube: &CalibratedTube| {
            let from = pixel.checked_sub(tube.first_pixel)?;
            (from % step == 0 && from / step < u32::from(tube.inside)).then_some(from / step)
        };
        let tubes = self.tubes.get(first..first + self.in_group)?;
        tubes.iter().find_map(|tube| Some((group, tube, along(tube)?)))
    }

    /// The share of the tube, 0 to 1, at a place in pixels along it.
    fn share(&self, tube: &CalibratedTube, pixels: f64) -> f64 {
        let shift = if tube.rounding == Rounding::Nearest { 0.5 } else { 0.0 };
        ((pixels - shift) / self.largest).clamp(0.0, 1.0)
    }

    /// Charges of the ends for this sum, at a share of a tube.
    fn divide(&self, number: usize, tube: &CalibratedTube, share: f64, sum: f64) -> [f64; ENDS as usize] {
        let raw = tube.before_correction(share);
        let [from, to] = tube.interval;
        match self.charges {
            Charges::Two => {
                let position = from + raw * (to - from);
                [sum * position, sum * (1.0 - position), 0.0, 0.0]
            }
            Charges::Four => {
                // In the middle of the interval of the straw: nothing across it is simulated.
                let across = f64::midpoint(from, to);
                debug_assert!(number < self.in_group);
                [
                    sum * raw * (1.0 - across),
                    sum * raw * across,
                    sum * (1.0 - raw) * (1.0 - across),
                    sum * (1.0 - raw) * across,
                ]
            }
        }
    }

    /// Adds the charges of a sum at a share of a tube.
    fn add(
        &self,
        (group, tube): (u32, &CalibratedTube),
        share: f64,
        (sum, time_ps): (f64, u64),
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) {
        let mut ends = self.divide(0, tube, share, sum);
        // What the wire adds to one end it takes from the other.
        let noise = self.physics.noise * normal(random);
        match self.charges {
            Charges::Two => {
                ends[0] += noise;
                ends[1] -= noise;
            }
            Charges::Four => {
                let across = self.physics.noise * normal(random);
                for (end, (along, across)) in ends.iter_mut().zip([
                    (noise, -across),
                    (noise, across),
                    (-noise, -across),
                    (-noise, across),
                ]) {
                    *end += (along + across) / 2.0;
                }
            }
        }
        let channels = (group * ENDS..).zip(ends);
        charges.extend(channels.map(|(channel, amplitude)| Charge {
            channel,
            time_ps,
            amplitude: amplitude as f32,
        }));
    }
}

impl DetectorModel for Helium3Model {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        panel == 0 && self.tube_of(x, y).is_some()
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        let physics = &self.physics;
        let (group, tube, pixel) = self.tube_of(strike.x as u32, strike.y as u32)?;
        if !random.random_bool(physics.efficiency) {
            return None;
        }
        let full =
            if random.random_bool(physics.wall_effect) { random.random_range(TRITON..1.0) } else { 1.0 };
        let gain = self.gains.get(group as usize).copied().unwrap_or(1.0);
        let sum = physics.charge * gain * full * (1.0 + physics.charge_spread * normal(random)).max(0.1);
        let at = if self.along == Axis::X { strike.x } else { strike.y };
        let share = self.share(tube, f64::from(pixel) + at.fract());
        let moved = (share + physics.recoil * normal(random)).clamp(0.0, 1.0);
        let late = (normal(random).abs() * physics.jitter.picoseconds as f64) as u64;
        self.add((group, tube), moved, (sum, strike.time_ps + late), random, charges);
        let module = group as u16;
        Some(TrueEvent { module, position: [strike.x, strike.y, 0.5], panel: 0, time_ps: strike.time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        // Electrons leave little in the gas: next to all of them stay below the threshold.
        let Some((group, tube, pixel)) = self.tube_of(strike.x as u32, strike.y as u32) else { return };
        let sum = self.physics.charge * 0.02 * exponential(random);
        let share = self.share(tube, f64::from(pixel) + 0.5);
        self.add((group, tube), share, (sum, strike.time_ps), random, charges);
    }

    fn resolution(&self) -> Resolution {
        let (window, dead_time) = (self.physics.shaping.picoseconds, self.physics.dead_time.picoseconds);
        let trigger = TriggerTimes { window_ps: window, dead_time_ps: dead_time, adds_up: true };
        Resolution { trigger: Some(trigger), ..Resolution::of_single_channels(TICK_PS) }
    }

    fn electronics(&self) -> Electronics {
        // Each end is sampled whenever the group is: the threshold is that of the sum, and the dead time that of the group.
        Electronics::ideal(1, u16::MAX, 0)
    }

    fn noise_amplitude(&self) -> f64 {
        self.physics.noise
    }
}

//! Neutrons to charge on wires and strips.

use super::front_end::{CAEN, FrontEnd, VMM3A};
use super::physics::MultiBladePhysics;
use crate::boron_layer::Emerged;
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::ess_readout;
use crate::layout::{Layout, Place};
use crate::random::{exponential, normal};
use crate::vmm_channel::FINE_STEP_PS;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::{PlaceRequest, VmmSettings};
use evforge_detect::multiblade::{CassettePixels, EssMultiBladeSettings, MultiBladeSettings};
use rand::RngExt;
use rand::rngs::SmallRng;

/// Planes of a cassette.
const WIRES: u8 = 0;
const STRIPS: u8 = 1;

/// Strips on each side of the nearest one that see something.
const REACH: usize = 3;
/// Places within a strip that shares are known for.
const STEPS: usize = 128;
/// Charges below a step of the converter are not followed.
const LEAST_AMPLITUDE: f64 = 1.0;
/// Shorter tracks are not told apart, in pitches.
const SHORTEST: f64 = 1e-6;
/// No cassette covers the pixel.
const NOWHERE: u16 = u16::MAX;

/// Where a neutron is in its cassette, in wires and strips.
#[derive(Clone, Copy, Debug, PartialEq)]
struct InCassette {
    cassette: u16,
    wire: f64,
    strip: f64,
}

/// A simulated Multi-Blade.
#[derive(Clone, Debug)]
pub struct MultiBladeModel {
    physics: MultiBladePhysics,
    front_end: FrontEnd,
    layout: Layout,
    pixels: CassettePixels,
    /// The cassette that covers each pixel of the geometry.
    cassettes: Vec<u16>,
    /// How an avalanche is shared by the strips around the one below it, by its place in that strip.
    shares: Vec<[f32; 2 * REACH + 1]>,
    clock_step_ps: u64,
}

/// The part of the detector that is reconstructed by itself, in the ESS readout: the cassette.
pub(super) fn cassette(request: &PlaceRequest) -> u16 {
    request.target
}

impl MultiBladeModel {
    /// The detector of these settings, with CAEN digitisers.
    pub fn new(settings: &MultiBladeSettings, physics: MultiBladePhysics) -> Self {
        let runs = settings.mapping.iter();
        let places = runs.flat_map(|run| {
            let plane = run.plane.index() as u8;
            (run.first..run.first + run.channels).map(move |coordinate| Place {
                module: run.cassette,
                plane,
                coordinate,
            })
        });
        let mut front_end = CAEN;
        front_end.electronics.threshold = front_end.electronics.threshold.max(settings.threshold);
        Self::with(Layout::new(places.collect()), settings.pixels(), settings.tick, front_end, physics)
    }

    /// The detector of these settings with the ESS readout, and its wiring.
    pub fn ess(settings: &EssMultiBladeSettings, wiring: &VmmSettings, physics: MultiBladePhysics) -> Self {
        let layout = ess_readout::layout(wiring, cassette);
        Self::with(layout, settings.pixels(), FINE_STEP_PS, VMM3A, physics)
    }

    fn with(
        layout: Layout,
        pixels: CassettePixels,
        clock_step_ps: u64,
        front_end: FrontEnd,
        physics: MultiBladePhysics,
    ) -> Self {
        let mut cassettes = vec![NOWHERE; pixels.geometry().pixel_count() as usize];
        let wires_and_strips = |cassette: u16| {
            let [wires, strips] = [WIRES, STRIPS].map(|plane| layout.coordinates(cassette, plane) as u32);
            (0..wires).flat_map(move |wire| (0..strips).map(move |strip| (wire, strip)))
        };
        for cassette in 0..layout.module_count() as u16 {
            for (wire, strip) in wires_and_strips(cassette) {
                let pixel = pixels.pixel(usize::from(cassette), wire, strip) as usize;
                if let Some(place) = pixel.checked_sub(1).and_then(|index| cassettes.get_mut(index)) {
                    *place = cassette;
                }
            }
        }
        let shares = (0..STEPS).map(|step| shares((step as f64 + 0.5) / STEPS as f64, physics.strip_width));
        Self { physics, front_end, layout, pixels, cassettes, shares: shares.collect(), clock_step_ps }
    }

    fn locate(&self, strike: &Strike) -> Option<InCassette> {
        let pixel = self.pixels.geometry().pixel_2d(strike.x as u32, strike.y as u32);
        let cassette = *self.cassettes.get((pixel as usize).checked_sub(1)?)?;
        let (column, row) = self.pixels.origin(usize::from(cassette))?;
        let (x, y) = (strike.x - f64::from(column), strike.y - f64::from(row));
        let (wire, strip) = if self.pixels.wires_are_columns() { (x, y) } else { (y, x) };
        Some(InCassette { cassette, wire, strip })
    }

    /// Adds the charge of `energy` keV that are left on a track from `at` on, `track` wires and strips long. Returns
    /// the time of the first signal.
    fn add_track(
        &self,
        at: &InCassette,
        track: [f64; 2],
        energy: f64,
        time_ps: u64,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<u64> {
        let physics = &self.physics;
        let energy = energy * (1.0 + physics.gain_spread * normal(random)).max(0.0);
        let first = charges.len();
        // Each wire collects what is left between it and the middle of the ways to its neighbours.
        let ends = [at.wire, at.wire + track[0]];
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let density = energy * self.front_end.steps_per_kev[0] / (to - from).max(SHORTEST);
        for wire in from.floor() as i32..=to.floor() as i32 {
            let length = to.min(f64::from(wire + 1)) - from.max(f64::from(wire));
            let Ok(coordinate) = u16::try_from(wire) else { continue };
            let place = Place { module: at.cassette, plane: WIRES, coordinate };
            self.add_charge(place, density * length.max(SHORTEST), time_ps, random, charges);
        }
        // All strips see the avalanches of all wires.
        let share = physics.strip_charge * (1.0 + physics.strip_charge_spread * normal(random)).max(0.0);
        let on_strips = energy * self.front_end.steps_per_kev[1] * share;
        let middle = at.strip + track[1] / 2.0;
        let step = ((middle - middle.floor()) * STEPS as f64) as usize;
        let shares = self.shares.get(step.min(STEPS - 1)).into_iter().flatten();
        for (strip, share) in (middle.floor() as i32 - REACH as i32..).zip(shares) {
            let Ok(coordinate) = u16::try_from(strip) else { continue };
            let place = Place { module: at.cassette, plane: STRIPS, coordinate };
            self.add_charge(place, on_strips * f64::from(*share), time_ps, random, charges);
        }
        charges.get(first..)?.iter().map(|charge| charge.time_ps).min()
    }

    #[inline]
    fn add_charge(
        &self,
        place: Place,
        amplitude: f64,
        time_ps: u64,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) {
        let front_end = &self.front_end;
        let amplitude = amplitude - front_end.missed;
        if amplitude < LEAST_AMPLITUDE {
            return;
        }
        let Some(channel) = self.layout.channel(place) else { return };
        let walk = front_end.walk_ps / (1.0 + amplitude / front_end.walk_amplitude);
        let late = walk * (1.0 + front_end.walk_spread * normal(random)).max(0.0);
        charges.push(Charge { channel, time_ps: time_ps + late as u64, amplitude: amplitude as f32 });
    }
}

/// Shares of the strips around the one that holds `at` (0..1).
fn shares(at: f64, width: f64) -> [f32; 2 * REACH + 1] {
    let below = |border: f64| 0.5 * libm::erfc(-(border - at) / (width.max(1e-3) * std::f64::consts::SQRT_2));
    std::array::from_fn(|index| {
        let left = index as f64 - REACH as f64;
        (below(left + 1.0) - below(left)) as f32
    })
}

impl DetectorModel for MultiBladeModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        self.pixels.geometry()
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        let strike =
            Strike { time_ps: 0, x: f64::from(x) + 0.5, y: f64::from(y) + 0.5, panel, wavelength: 0.0 };
        let wired = |at: InCassette| {
            [(WIRES, at.wire), (STRIPS, at.strip)].into_iter().all(|(plane, coordinate)| {
                let place = Place { module: at.cassette, plane, coordinate: coordinate as u16 };
                self.layout.channel(place).is_some()
            })
        };
        panel == 0 && self.locate(&strike).is_some_and(wired)
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
        let at = self.locate(strike)?;
        let fragment = Emerged::draw(random);
        let length = fragment.energy * self.physics.track_length;
        let track = fragment.direction.map(|part| part * length);
        let time_ps =
            self.add_track(&at, track, 1000.0 * fragment.energy, strike.time_ps, random, charges)?;
        Some(TrueEvent { module: at.cassette, position: [strike.x, strike.y, 0.0], panel: 0, time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        let Some(at) = self.locate(strike) else { return };
        let energy = exponential(random) * self.physics.gamma_energy;
        self.add_track(&at, [0.0; 2], energy, strike.time_ps, random, charges);
    }

    fn resolution(&self) -> Resolution {
        // A neutron leaves charge on neighbouring wires and on neighbouring strips.
        Resolution { clock_step_ps: self.clock_step_ps, neighbours: [1, 1], min_hits: [1, 1], trigger: None }
    }

    fn electronics(&self) -> Electronics {
        self.front_end.electronics
    }

    fn noise_amplitude(&self) -> f64 {
        self.front_end.noise_amplitude
    }
}

//! Neutrons to charge on wires and grids.

use super::conversion::{Converted, convert, drift};
use super::physics::MultiGridPhysics;
use super::wiring::{Stack, Wiring};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TriggerTimes, TrueEvent};
use crate::electronics::Electronics;
use crate::ess_readout::TICK_PS;
use crate::layout::Layout;
use crate::random::{exponential, normal};
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::VmmSettings;
use evforge_detect::multigrid::ess_readout::EssMultiGridSettings;
use evforge_detect::multigrid::settings::{CncsSettings, MesytecSettings};
use evforge_detect::settings::SettingsError;
use evforge_wire::cncs::LARGEST_VALUE;
use evforge_wire::mesytec::LARGEST_ADC;
use rand::RngExt;
use rand::rngs::SmallRng;

/// Standard deviation of the channels' gains: that of the amplitudes which a pulse on all channels has in the
/// recording.
const GAIN_SPREAD: f64 = 0.035;
/// Uncertainty of a time stamp, in picoseconds. Chosen: signals rise in some 100 ns, of which the leading edge is timed.
const JITTER_PS: u64 = 20_000;
/// VMMR: least amplitude that is read. 200: the recording's least is 201. That it also has triggers without readouts
/// shows that what triggers is lower, so that whatever is read has triggered.
const VMMR_THRESHOLD: u16 = 200;
/// VMM3a: largest amplitude, 10 bits.
const VMM_LARGEST: u16 = 1023;
/// VMM3a: after a hit its channel is busy for so long, in picoseconds. Chosen: the reset of a channel takes some 200 ns.
const VMM_DEAD_TIME_PS: u64 = 250_000;
/// Records of a front end are sent up to so much later, in picoseconds. Chosen: some ten times the dead time.
const VMM_LATENCY_PS: u64 = 2_000_000;

/// A simulated Multi-Grid.
#[derive(Clone, Debug)]
pub struct MultiGridModel {
    physics: MultiGridPhysics,
    wiring: Wiring,
    /// Steps of the converter for 1 MeV on a wire.
    gain: f64,
    electronics: Electronics,
    resolution: Resolution,
}

impl MultiGridModel {
    /// A detector with VMMR modules.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_vmmr(settings: &MesytecSettings, physics: MultiGridPhysics) -> Result<Self, SettingsError> {
        let window = physics.trigger_window.picoseconds;
        let electronics = Electronics {
            threshold: VMMR_THRESHOLD,
            largest_amplitude: LARGEST_ADC,
            // A channel is read once for a trigger.
            dead_time_ps: window,
            ..electronics()
        };
        let wiring = Wiring::of_vmmr(settings)?;
        Ok(Self::new(physics, wiring, physics.gain_per_mev, electronics, true))
    }

    /// The demonstrator at CNCS.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_cncs(settings: &CncsSettings, physics: MultiGridPhysics) -> Result<Self, SettingsError> {
        let window = physics.trigger_window.picoseconds;
        let electronics = Electronics {
            threshold: settings.wire_threshold.max(settings.grid_threshold),
            largest_amplitude: LARGEST_VALUE,
            dead_time_ps: window,
            ..electronics()
        };
        let wiring = Wiring::of_cncs(settings)?;
        Ok(Self::new(physics, wiring, physics.gain_per_mev, electronics, true))
    }

    /// A detector with the ESS readout; `vmm` are the wired hybrids of `settings`.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn of_vessels(
        settings: &EssMultiGridSettings,
        vmm: &VmmSettings,
        physics: MultiGridPhysics,
    ) -> Result<Self, SettingsError> {
        let electronics = Electronics {
            // Thresholds of the chips are set as high as those of the reconstruction.
            threshold: settings.vessels.iter().map(|vessel| vessel.min_adc).max().unwrap_or(0),
            largest_amplitude: VMM_LARGEST,
            dead_time_ps: VMM_DEAD_TIME_PS,
            latency_ps: VMM_LATENCY_PS,
            ..electronics()
        };
        let wiring = Wiring::of_vessels(settings, vmm)?;
        // Two bits less.
        let gain = physics.gain_per_mev / 4.0;
        Ok(Self::new(physics, wiring, gain, electronics, false))
    }

    fn new(
        physics: MultiGridPhysics,
        wiring: Wiring,
        gain: f64,
        electronics: Electronics,
        is_triggered: bool,
    ) -> Self {
        let times = TriggerTimes {
            window_ps: physics.trigger_window.picoseconds,
            dead_time_ps: physics.trigger_dead_time.picoseconds,
            adds_up: false,
        };
        // Wires are insulated from one another: two of them are two neutrons. The charge of one is seen by the grids on
        // both sides of a border. A trigger has one time for all that it reads.
        let resolution = Resolution {
            clock_step_ps: TICK_PS,
            neighbours: [0, 1],
            min_hits: [1, 1],
            trigger: is_triggered.then_some(times),
        };
        Self { physics, wiring, gain, electronics, resolution }
    }

    /// Adds the charge that a track with so much energy leaves on the wire of this layer and on the grids.
    #[inline]
    fn add_charge(
        &self,
        track: &Track<'_>,
        layer: u32,
        energy_mev: f64,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) {
        let Track { stack, column, row, at, along_mm, time_ps } = *track;
        let fluctuation = (self.physics.gain_fluctuation * normal(random)).exp();
        let wires = energy_mev * self.gain * fluctuation;
        let mut put = |channel: Option<u32>, amplitude: f64| {
            if let Some(channel) = channel {
                charges.push(Charge { channel, time_ps, amplitude: amplitude as f32 });
            }
        };
        // Columns are insulated from one another: only wires along the beam see something of each other.
        let beside = if random.random_bool(self.physics.wire_sharing.clamp(0.0, 1.0)) {
            random.random_range(0.1..0.4)
        } else {
            0.0
        };
        put(stack.wire(column, layer), wires * (1.0 - beside));
        if beside > 0.0 {
            let neighbour = if random.random() { layer.checked_add(1) } else { layer.checked_sub(1) };
            put(neighbour.and_then(|layer| stack.wire(column, layer)), wires * beside);
        }
        let share = self.physics.grid_share + self.physics.grid_share_spread * normal(random);
        let grids = wires * share.max(0.0);
        let height = self.physics.cell_mm[1];
        let below = self.beyond(-at * height, -at * height - along_mm);
        let above = self.beyond((at - 1.0) * height, (at - 1.0) * height + along_mm);
        put(stack.grid(row), grids * (1.0 - below - above).max(0.0));
        if below > LEAST_SHARE {
            put(row.checked_sub(1).and_then(|row| stack.grid(row)), grids * below);
        }
        if above > LEAST_SHARE {
            put(stack.grid(row + 1), grids * above);
        }
    }

    /// Share of the charge of a track that the grid beyond a border sees. The track goes from `from` to `to`,
    /// millimetres beyond the border; below 0 before it.
    #[inline]
    fn beyond(&self, from: f64, to: f64) -> f64 {
        let scale = self.physics.induction_mm.max(1e-3);
        let (from, to) = (from / scale, to / scale);
        if from.max(to) < FAR_FROM_BORDER {
            return 0.0;
        }
        // The charge at one place is seen with a share of 1 / (1 + e^-x); this is its mean over the track.
        let integral = |x: f64| if x > -FAR_FROM_BORDER { x } else { x.exp().ln_1p() };
        if (to - from).abs() < 1e-3 {
            return 1.0 / (1.0 + (-from).exp());
        }
        (integral(to) - integral(from)) / (to - from)
    }
}

/// Where a fragment's charge is.
struct Track<'a> {
    stack: &'a Stack,
    column: u32,
    row: u32,
    /// Where the track begins, as a share of the height of its grid.
    at: f64,
    along_mm: f64,
    time_ps: u64,
}

/// In units of the induction's reach: beyond it there is nothing to see.
const FAR_FROM_BORDER: f64 = -8.0;
/// A grid that sees less of a charge is not asked.
const LEAST_SHARE: f64 = 0.01;

/// What both readouts have in common.
fn electronics() -> Electronics {
    Electronics {
        gain_spread: GAIN_SPREAD,
        dead_channels: 0.0,
        threshold: 0,
        largest_amplitude: 0,
        dead_time_ps: 0,
        jitter_ps: JITTER_PS,
        latency_ps: 0,
        noise_per_second: 0.0,
    }
}

impl DetectorModel for MultiGridModel {
    fn layout(&self) -> &Layout {
        self.wiring.layout()
    }

    fn geometry(&self) -> &LogicalGeometry {
        self.wiring.geometry()
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        panel == 0 && self.wiring.stack(self.wiring.column(f64::from(x) + 0.5) as u32, y).is_some()
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        let (x, row) = (self.wiring.column(strike.x), strike.y as u32);
        self.wiring.stack(x as u32, row)?;
        let wavelength = f64::from(strike.wavelength);
        let mut converted = convert(&self.physics, wavelength, self.wiring.layers(), random)?;
        let depth_mm = (f64::from(converted.layer) + converted.depth) * self.physics.cell_mm[2];
        let x = drift(&self.physics, x, depth_mm, wavelength, random)?;
        let column = x as u32;
        let stack = self.wiring.stack(column, row)?;
        converted.stop_at_walls(x.fract(), self.physics.cell_mm[0]);
        let Converted { layer, depth, energy_mev, along_mm, .. } = converted;
        let time_ps = strike.time_ps + random.random_range(0..=self.physics.drift_time.picoseconds);
        let track = Track { stack, column, row, at: strike.y.fract(), along_mm, time_ps };
        let before = charges.len();
        self.add_charge(&track, layer, energy_mev, random, charges);
        let threshold = f32::from(self.electronics.threshold);
        if charges.iter().skip(before).all(|charge| charge.amplitude < threshold) {
            // As good as if nothing had got out of the coating.
            return None;
        }
        let position = self.wiring.position([x, strike.y, f64::from(layer) + depth]);
        Some(TrueEvent { module: stack.module(), position, panel: 0, time_ps })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        let (column, row) = (self.wiring.column(strike.x) as u32, strike.y as u32);
        let Some(stack) = self.wiring.stack(column, row) else { return };
        let layer = random.random_range(0..self.wiring.layers());
        let energy_mev = self.physics.gamma_mev * exponential(random);
        let (at, time_ps) = (strike.y.fract(), strike.time_ps);
        let track = Track { stack, column, row, at, along_mm: 0.0, time_ps };
        self.add_charge(&track, layer, energy_mev, random, charges);
    }

    fn resolution(&self) -> Resolution {
        self.resolution
    }

    fn electronics(&self) -> Electronics {
        self.electronics
    }

    fn noise_amplitude(&self) -> f64 {
        // As what a gamma leaves.
        self.physics.gamma_mev * self.gain
    }
}

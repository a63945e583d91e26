//! Neutrons to signals of monitors.

use super::physics::{BeamMonitorPhysics, DEAD_TIME_PS, LARGEST_AMPLITUDE, NOISE, THRESHOLD};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::error::SimulationError;
use crate::ess_readout::TICK_PS;
use crate::layout::{Layout, Place};
use crate::random::{exponential, normal};
use evforge_core::beam_monitor::BeamMonitorKind;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::beam_monitors::{BeamMonitorSettings, MonitorSettings};
use rand::RngExt;
use rand::rngs::SmallRng;

/// Pixels of all monitors that are simulated at most: each is a channel.
pub const MOST_PIXELS: u64 = 1 << 22;

/// A monitor, and which channels are its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Monitor {
    pub(super) nx: u32,
    pub(super) ny: u32,
    /// Its first channel.
    pub(super) channel: u32,
    /// Its first column in the row of all pixels; none of an integrating monitor.
    pub(super) column: Option<u32>,
}

/// The monitors in the order of the settings. Their channels follow one another: a channel for each pixel, and one for an
/// integrating monitor.
pub(super) fn monitors(settings: &BeamMonitorSettings) -> Vec<Monitor> {
    let (mut channel, mut column) = (0, 0);
    let monitor = |of: &MonitorSettings| {
        let (nx, ny) = (of.nx, of.ny);
        let is_event = of.kind != BeamMonitorKind::Integrating;
        let made = Monitor { nx, ny, channel, column: is_event.then_some(column) };
        channel += nx * ny;
        column += if is_event { nx * ny } else { 0 };
        made
    };
    settings.monitors.iter().map(monitor).collect()
}

/// Simulated beam monitors.
#[derive(Clone, Debug)]
pub struct BeamMonitorModel {
    physics: BeamMonitorPhysics,
    geometry: LogicalGeometry,
    /// The largest monitor: the picture in the beam is as fine as it.
    picture: LogicalGeometry,
    layout: Layout,
    monitors: Vec<Monitor>,
}

impl BeamMonitorModel {
    /// The monitors of these settings, which have been checked.
    ///
    /// # Errors
    /// If they have too many pixels, or a sum has no samples or no length.
    pub fn new(settings: &BeamMonitorSettings, physics: BeamMonitorPhysics) -> Result<Self, SimulationError> {
        let refuse = |problem: String| Err(SimulationError(problem));
        let pixels: u64 = settings.monitors.iter().map(|of| u64::from(of.nx) * u64::from(of.ny)).sum();
        if pixels > MOST_PIXELS {
            return refuse(format!(
                "the beam monitors have {pixels} pixels together; at most {MOST_PIXELS} are simulated"
            ));
        }
        if physics.samples == 0 {
            return refuse("simulation.beam_monitors.samples: found 0, expected 1 to 255".into());
        }
        if physics.sum_period.picoseconds < TICK_PS {
            return refuse(
                "simulation.beam_monitors.sum_period: shorter than a tick of the clock, expected 12ns or more".into(),
            );
        }
        let monitors = monitors(settings);
        let mut places = Vec::with_capacity(pixels as usize);
        let mut row = 0;
        for monitor in &monitors {
            for _ in 0..monitor.ny {
                // Rows of all monitors are numbered through, so that channels have the order of the pixels.
                // Events come of the first plane alone: a neutron of an integrating monitor is not resolvable.
                let plane = u8::from(monitor.column.is_none());
                places.extend((0..monitor.nx).map(|x| Place { module: row, plane, coordinate: x as u16 }));
                row = row.checked_add(1).ok_or_else(|| {
                    SimulationError(
                        "the beam monitors have more rows than are simulated: 65535 at most".into(),
                    )
                })?;
            }
        }
        let largest =
            monitors.iter().map(|of| [of.nx, of.ny]).max_by_key(|[nx, ny]| nx * ny).unwrap_or([1, 1]);
        let wrong = |error: String| SimulationError(error);
        Ok(Self {
            physics,
            geometry: settings.geometry().map_err(|error| wrong(error.to_string()))?,
            picture: LogicalGeometry::flat(largest[0], largest[1])
                .map_err(|error| wrong(error.to_string()))?,
            layout: Layout::new(places),
            monitors,
        })
    }

    fn amplitude(&self, random: &mut SmallRng) -> f64 {
        (self.physics.amplitude * (1.0 + self.physics.spread * normal(random))).max(1.0)
    }
}

/// The pixel of `count` in which something lies that is at `at` of `of`.
fn scaled(at: f64, of: u32, count: u32) -> f64 {
    (at / f64::from(of) * f64::from(count)).clamp(0.0, f64::from(count).next_down())
}

impl DetectorModel for BeamMonitorModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn picture(&self) -> &LogicalGeometry {
        &self.picture
    }

    fn is_sensitive(&self, _: u32, _: u32, panel: u32) -> bool {
        panel == 0
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        let number = random.random_range(0..self.monitors.len());
        let monitor = self.monitors.get(number)?;
        let x = scaled(strike.x, self.picture.nx(), monitor.nx);
        let y = scaled(strike.y, self.picture.ny(), monitor.ny) as u32;
        let in_monitor = y * monitor.nx + x as u32;
        charges.push(Charge {
            channel: monitor.channel + in_monitor,
            time_ps: strike.time_ps,
            amplitude: self.amplitude(random) as f32,
        });
        // Those of an integrating monitor lie beyond all pixels: theirs is 0.
        let column = match monitor.column {
            Some(column) => f64::from(column + y * monitor.nx) + x,
            None => f64::from(self.geometry.nx()) + 0.5,
        };
        Some(TrueEvent {
            module: number as u16,
            position: [column, 0.5, 0.5],
            panel: 0,
            time_ps: strike.time_ps,
        })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        // Monitors are thin: a gamma leaves next to nothing in them.
        let channel = random.random_range(0..self.layout.channel_count() as u32);
        let amplitude = (self.physics.amplitude * NOISE * exponential(random)) as f32;
        charges.push(Charge { channel, time_ps: strike.time_ps, amplitude });
    }

    fn resolution(&self) -> Resolution {
        Resolution::of_single_channels(TICK_PS)
    }

    fn electronics(&self) -> Electronics {
        Electronics::ideal((self.physics.amplitude * THRESHOLD) as u16, LARGEST_AMPLITUDE, DEAD_TIME_PS)
    }

    fn noise_amplitude(&self) -> f64 {
        self.physics.amplitude * NOISE
    }
}

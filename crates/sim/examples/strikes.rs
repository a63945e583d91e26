//! How many neutrons a second the beam draws on one core:
//! `cargo run --release -p evforge-sim --example strikes`.

use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::Frequency;
use evforge_sim::beam::{Beam, BeamSettings, ImageSettings};
use evforge_sim::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use evforge_sim::electronics::Electronics;
use evforge_sim::layout::Layout;
use evforge_sim::random::{Stream, stream};
use rand::rngs::SmallRng;
use std::time::Instant;

/// A detector that has pixels and nothing else.
struct Plate {
    geometry: LogicalGeometry,
    layout: Layout,
}

impl DetectorModel for Plate {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, _: u32, _: u32, _: u32) -> bool {
        true
    }

    fn add_neutron(&self, _: &Strike, _: &mut SmallRng, _: &mut Vec<Charge>) -> Option<TrueEvent> {
        None
    }

    fn add_gamma(&self, _: &Strike, _: &mut SmallRng, _: &mut Vec<Charge>) {}

    fn resolution(&self) -> Resolution {
        Resolution { clock_step_ps: 0, neighbours: [0, 0], min_hits: [1, 1], trigger: None }
    }

    fn electronics(&self) -> Electronics {
        Electronics {
            gain_spread: 0.0,
            dead_channels: 0.0,
            threshold: 0,
            largest_amplitude: 0,
            dead_time_ps: 0,
            jitter_ps: 0,
            latency_ps: 0,
            noise_per_second: 0.0,
        }
    }

    fn noise_amplitude(&self) -> f64 {
        0.0
    }
}

const PULSES: u64 = 140;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (nx, ny, panels) in [(64, 64, 1), (256, 256, 1), (1280, 1280, 3)] {
        for image in [ImageSettings::Mask, ImageSettings::Diffraction(Default::default())] {
            let plate =
                Plate { geometry: LogicalGeometry::new(nx, ny, 1, panels)?, layout: Layout::default() };
            let name = if image == ImageSettings::Mask { "mask" } else { "diffraction" };
            let neutrons = Frequency { millihertz: 1_000_000_000 };
            let settings = BeamSettings { neutrons, image, ..BeamSettings::default() };
            let start = Instant::now();
            let beam = Beam::new(&settings, &plate, &PulseTrain::ess())?;
            let (prepared, start) = (start.elapsed(), Instant::now());
            let (mut strikes, mut count) = (Vec::new(), 0);
            for pulse in 0..PULSES {
                strikes.clear();
                beam.neutrons(71_428_571_000, None, &mut stream(1, Stream::Pulse(pulse)), &mut strikes);
                count += strikes.len();
            }
            let rate = count as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("{panels} x {nx} x {ny}, {name}: {rate:.1} M neutrons/s, prepared in {prepared:.0?}");
        }
    }
    Ok(())
}

//! Neutrons to charge on strips.

use super::charge_table::{ChargeTables, REACH, WIDTH};
use super::physics::{
    DEAD_TIME_PS, GAIN_SPREAD, GdGemPhysics, JITTER_PS, LARGEST_AMPLITUDE, LATENCY_PS, NOISE_AMPLITUDE,
    THRESHOLD,
};
use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::Electronics;
use crate::layout::{Layout, Place};
use crate::random::exponential;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::gdgem::settings::TrackSettings;
use rand::RngExt;
use rand::rngs::SmallRng;

/// Strips that the charge of the longest track can reach on a plane.
const STRIPS: usize = 64;
/// Points of a track: this many in a strip, and at least this many.
const POINTS_PER_STRIP: f32 = 2.0;
const LEAST_POINTS: f32 = 4.0;

/// A simulated Gd-GEM.
#[derive(Clone, Debug)]
pub struct GdGemModel {
    physics: GdGemPhysics,
    tables: ChargeTables,
    geometry: LogicalGeometry,
    layout: Layout,
    sectors: u16,
    clock_step_ps: u64,
    /// By how much each plane is late: cables and electronics.
    delays_ps: [i64; 2],
    /// The drift gap in strips, and the time that a charge takes for the way of a strip.
    gap: f32,
    drift_ps: f32,
}

/// Charge between two points, the first one next to the converter or not.
struct Line {
    /// Column, row and distance from the amplification, in strips.
    from: [f32; 3],
    way: [f32; 3],
    amplitude: f32,
}

/// The charge of one plane.
struct Collected {
    charge: [f32; STRIPS],
    /// Charge times its time of arrival.
    moment: [f32; STRIPS],
    /// The strip that the first place stands for.
    first: i32,
}

impl Collected {
    fn new(from: f32, way: f32) -> Self {
        let first = from.min(from + way).floor() as i32 - REACH as i32;
        Self { charge: [0.0; STRIPS], moment: [0.0; STRIPS], first }
    }

    #[inline(always)]
    fn add(&mut self, at: f32, charge: f32, time: f32, tables: &ChargeTables) {
        let place = at - self.first as f32;
        let strip = place as usize;
        let shares = tables.shares(place - strip as f32);
        let begin = strip.saturating_sub(REACH).min(STRIPS - WIDTH);
        let moment = charge * time;
        let charges = self.charge[begin..begin + WIDTH].iter_mut();
        for ((collected, sum), share) in charges.zip(&mut self.moment[begin..begin + WIDTH]).zip(shares) {
            *collected += charge * share;
            *sum += moment * share;
        }
    }
}

impl GdGemModel {
    /// A detector with these channels (modules are panels or sectors), with the geometry of these settings, whose time
    /// stamps have these steps.
    pub fn new(layout: Layout, settings: &TrackSettings, clock_step_ps: u64, physics: GdGemPhysics) -> Self {
        let pitch = physics.pitch.max(1e-3);
        Self {
            tables: ChargeTables::new(&physics),
            geometry: settings.geometry,
            layout,
            sectors: settings.sectors,
            clock_step_ps,
            delays_ps: [0.max(-settings.matching.y_delay), 0.max(settings.matching.y_delay)],
            gap: (physics.drift_gap / pitch).max(0.0) as f32,
            drift_ps: (pitch / physics.drift_velocity.max(1e-3) * 1e6) as f32,
            physics,
        }
    }

    /// The panel, or the sector that reads both strips; none where a strip is not wired.
    fn module(&self, x: u32, y: u32, panel: u32) -> Option<u16> {
        let panel = u16::try_from(panel).ok()?;
        let strips = [u16::try_from(x).ok()?, u16::try_from(y).ok()?];
        let reads = |&module: &u16| {
            (0_u8..)
                .zip(strips)
                .all(|(plane, coordinate)| self.layout.channel(Place { module, plane, coordinate }).is_some())
        };
        if self.sectors > 1 { (0..self.sectors).find(reads) } else { Some(panel).filter(reads) }
    }

    fn add_line(&self, line: &Line, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        // Beside the wired strips of a panel there may still be some that get a share of the charge.
        let struck = self.module(strike.x as u32, strike.y as u32, strike.panel);
        let Some(module) = struck.or(u16::try_from(strike.panel).ok().filter(|_| self.sectors == 1)) else {
            return;
        };
        let [x, y, depth] = line.from;
        let [along_x, along_y, along_depth] = line.way;
        let mut planes = [Collected::new(x, along_x), Collected::new(y, along_y)];
        let points = along_x.abs().max(along_y.abs()) * POINTS_PER_STRIP + LEAST_POINTS;
        let count = points as usize;
        let mean = line.amplitude / count as f32;
        let step = 1.0 / count as f32;
        for point in 0..count {
            let share = (point as f32 + 0.5) * step;
            // A few tens of electrons each: their number and the gas amplification vary.
            let charge = mean * (0.5 + random.random::<f32>());
            let time = (depth + along_depth * share) * self.drift_ps;
            planes[0].add(x + along_x * share, charge, time, &self.tables);
            planes[1].add(y + along_y * share, charge, time, &self.tables);
        }
        let least = self.physics.least_amplitude as f32;
        for (plane, collected) in (0_u8..).zip(&planes) {
            for (strip, (&charge, &moment)) in
                (collected.first..).zip(collected.charge.iter().zip(&collected.moment))
            {
                if charge < least {
                    continue;
                }
                let Ok(coordinate) = u16::try_from(strip) else { continue };
                let Some(channel) = self.layout.channel(Place { module, plane, coordinate }) else {
                    continue;
                };
                let delay = self.delays_ps[usize::from(plane)];
                let after = (moment / charge - self.tables.walk_ps(charge)) as i64 + delay;
                charges.push(Charge {
                    channel,
                    time_ps: strike.time_ps.saturating_add_signed(after),
                    amplitude: charge,
                });
            }
        }
    }
}

impl DetectorModel for GdGemModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        self.module(x, y, panel).is_some()
    }

    fn add_neutron(
        &self,
        strike: &Strike,
        random: &mut SmallRng,
        charges: &mut Vec<Charge>,
    ) -> Option<TrueEvent> {
        let physics = &self.physics;
        if physics.efficiency < 1.0 && !random.random_bool(physics.efficiency.max(0.0)) {
            return None;
        }
        let is_fast = random.random::<f64>() < physics.fast_share;
        let full = if is_fast { physics.fast_electron } else { physics.slow_electron };
        let least = physics.least_energy.min(full);
        let track = self.tables.track(least + (full - least) * random.random::<f64>());
        // Every direction into the gas is equally likely.
        let down = random.random::<f32>();
        let aside = (1.0 - down * down).sqrt();
        let (sine, cosine) = (std::f32::consts::TAU * random.random::<f32>()).sin_cos();
        // What is left of the track behind the gap gives no charge that drifts.
        let inside = (self.gap / (track.length * down).max(1e-6)).min(1.0);
        let length = track.length * inside;
        let line = Line {
            from: [strike.x as f32, strike.y as f32, self.gap],
            way: [length * aside * cosine, length * aside * sine, -length * down],
            amplitude: track.amplitude * inside,
        };
        self.add_line(&line, strike, random, charges);
        // What is nearest to the converter has the longest way, and arrives last.
        let drift = (self.gap * self.drift_ps) as u64;
        // An event has the time of its latest hit on either plane.
        let late = self.delays_ps.into_iter().max().unwrap_or(0).unsigned_abs();
        Some(TrueEvent {
            module: self.module(strike.x as u32, strike.y as u32, strike.panel).unwrap_or(0),
            position: [strike.x, strike.y, 0.5],
            panel: strike.panel,
            time_ps: strike.time_ps + drift + late,
        })
    }

    fn add_gamma(&self, strike: &Strike, random: &mut SmallRng, charges: &mut Vec<Charge>) {
        let depth = random.random::<f32>() * self.gap;
        let line = Line {
            from: [strike.x as f32, strike.y as f32, depth],
            way: [0.0; 3],
            amplitude: (exponential(random) * self.physics.gamma_amplitude) as f32,
        };
        self.add_line(&line, strike, random, charges);
    }

    fn resolution(&self) -> Resolution {
        // The charge of a point reaches neighbouring strips, and a strip is enough to know where a neutron was.
        Resolution { clock_step_ps: self.clock_step_ps, neighbours: [1, 1], min_hits: [1, 1], trigger: None }
    }

    fn electronics(&self) -> Electronics {
        Electronics {
            gain_spread: GAIN_SPREAD,
            dead_channels: 0.0,
            threshold: THRESHOLD,
            largest_amplitude: LARGEST_AMPLITUDE,
            dead_time_ps: DEAD_TIME_PS,
            jitter_ps: JITTER_PS,
            latency_ps: LATENCY_PS,
            noise_per_second: 0.0,
        }
    }

    fn noise_amplitude(&self) -> f64 {
        NOISE_AMPLITUDE
    }
}

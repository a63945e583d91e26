//! A simulated Gd-GEM with VMM3a readout: neutrons through a mask, noise, packets, truth.

use crate::beam::mask::Mask;
use crate::neutron_source::{NeutronSource, poisson};
use crate::packet::SimulatedPacket;
use crate::simulation::SimulationError;
use crate::srs_packets::{FrontEndCard, channel_of};
use crate::track::{ChargeOnStrip, add_track};
use evforge_core::event::Event;
use evforge_core::geometry::Coordinates;
use evforge_core::pulse::PulseTrain;
use evforge_detect::gdgem::settings::{GdGemSettings, Plane, ReadoutFormat, TimeConvention};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// What to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GdGemSimulationOptions {
    /// The source's pulses.
    pub pulses: PulseTrain,
    /// Neutrons that leave a track, per second.
    pub neutrons_per_second: f64,
    /// Single hits that belong to no neutron, per second.
    pub noise_per_second: f64,
    /// The same seed gives the same packets.
    pub seed: u64,
}

impl Default for GdGemSimulationOptions {
    fn default() -> Self {
        Self { pulses: PulseTrain::ess(), neutrons_per_second: 20_000.0, noise_per_second: 5_000.0, seed: 1 }
    }
}

/// What happened during one pulse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedPulse {
    /// The packets, in the order in which they are sent.
    pub packets: Vec<SimulatedPacket>,
    /// The neutrons: time of their latest hits and pixel, in order.
    pub truth: Vec<Event>,
}

/// Simulates pulse after pulse.
#[derive(Debug)]
pub struct GdGemSimulation {
    settings: GdGemSettings,
    options: GdGemSimulationOptions,
    mask: Mask,
    source: NeutronSource,
    cards: Vec<FrontEndCard>,
    random: SmallRng,
    pulse: u64,
    period_s: f64,
}

impl GdGemSimulation {
    /// A simulation of the detector that `settings` describe.
    ///
    /// # Errors
    /// If the detector is not read out by VMM3a with signed offsets: the other formats are not simulated.
    pub fn new(settings: &GdGemSettings, options: GdGemSimulationOptions) -> Result<Self, SimulationError> {
        if settings.format != ReadoutFormat::Vmm3a || settings.time.convention != TimeConvention::SignedOffset
        {
            return Err(SimulationError(
                "only Gd-GEM with readout = \"vmm3a\" and convention = \"signed-offset\" is simulated: use \
                 configs/gdgem-srs.toml"
                    .into(),
            ));
        }
        let mut fecs: Vec<u16> = settings.mapping.iter().map(|chip| chip.fec).collect();
        fecs.sort_unstable();
        fecs.dedup();
        let time = &settings.time;
        let card = |&fec: &u16| FrontEndCard::new(fec, time.bunch_crossing, time.tac_range, 1);
        let period_ns = options.pulses.start_ns(1_000).unwrap_or(0) - options.pulses.start_ns(0).unwrap_or(0);
        let period_s = period_ns as f64 / 1e12;
        Ok(Self {
            mask: Mask::new(&settings.geometry),
            source: NeutronSource::new(options.pulses, options.neutrons_per_second * period_s),
            cards: fecs.iter().map(card).collect(),
            random: SmallRng::seed_from_u64(options.seed),
            settings: settings.clone(),
            options,
            // Tracks reach back in time: the first pulse must not begin at the start of the clock.
            pulse: 1,
            period_s,
        })
    }

    /// The picture in the beam.
    pub fn mask(&self) -> &Mask {
        &self.mask
    }

    /// Simulates the next pulse.
    pub fn next_pulse(&mut self) -> SimulatedPulse {
        let pulse = self.pulse;
        self.pulse += 1;
        let sides = (self.settings.geometry.nx(), self.settings.geometry.ny());
        let mut hits: Vec<(u16, ChargeOnStrip)> = Vec::new();
        let mut track = Vec::new();
        let mut result = SimulatedPulse::default();
        for arrival in self.source.arrivals(pulse, &mut self.random) {
            let (x, y) = self.mask.draw(&mut self.random);
            let panel = self.draw_panel();
            add_track((x, y), arrival as f64, sides, &mut self.random, &mut track);
            hits.extend(track.drain(..).map(|hit| (panel, hit)));
            let pixel_id = self.settings.geometry.pixel(Coordinates { x, y, z: 0, panel: u32::from(panel) });
            result.truth.push(Event { time_ns: arrival, pixel_id });
        }
        self.add_noise(pulse, sides, &mut hits);
        hits.sort_by(|(_, one), (_, other)| one.time_ns.total_cmp(&other.time_ns));
        for (panel, hit) in &hits {
            let Some((fec, chip, channel)) = channel_of(&self.settings.mapping, *panel, hit.plane, hit.strip)
            else {
                continue;
            };
            if let Some(card) = self.cards.iter_mut().find(|card| card.fec() == fec) {
                card.digitise(chip, channel, hit, &mut result.packets);
            }
        }
        // Cards do not hold readouts back over the pause between pulses.
        for card in &mut self.cards {
            card.send(&mut result.packets);
        }
        result.packets.sort_by_key(|packet| packet.origin.arrival_ns);
        result
    }

    /// The panel that a neutron or a noisy strip is on: all are equally likely.
    fn draw_panel(&mut self) -> u16 {
        match self.settings.geometry.panels() {
            1 => 0,
            panels => self.random.random_range(0..panels) as u16,
        }
    }

    fn add_noise(&mut self, pulse: u64, sides: (u32, u32), hits: &mut Vec<(u16, ChargeOnStrip)>) {
        let Some(start) = self.options.pulses.start_ns(pulse) else { return };
        for _ in 0..poisson(self.options.noise_per_second * self.period_s, &mut self.random) {
            let (plane, strips) =
                if self.random.random_bool(0.5) { (Plane::X, sides.0) } else { (Plane::Y, sides.1) };
            let hit = ChargeOnStrip {
                plane,
                strip: self.random.random_range(0..strips),
                time_ns: start as f64 + self.random.random::<f64>() * self.period_s * 1e9,
                adc: self.random.random_range(5..120),
            };
            hits.push((self.draw_panel(), hit));
        }
    }
}

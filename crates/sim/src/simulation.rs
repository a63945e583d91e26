//! A simulation, put together: beam, detector, electronics and readout, pulse by pulse.
//!
//! What happens in a pulse is a function of the seed and the pulse's number alone, so that pulses can be simulated on
//! several threads; only the packets are made one pulse after the other, because electronics count them.

use crate::adc_readout::AdcReadoutPhysics;
use crate::beam::parts::Parts;
use crate::beam::{Beam, BeamSettings};
use crate::beam_monitors::BeamMonitorPhysics;
use crate::detector_model::{Charge, DetectorModel};
use crate::electronics::{Channels, ElectronicsSettings, Hit};
pub use crate::error::SimulationError;
use crate::faults::injector::FaultInjector;
use crate::faults::settings::Fault;
use crate::gdgem::GdGemPhysics;
use crate::helium3::Helium3Physics;
use crate::isis::{IsisSimulation, TrueFrame};
use crate::multiblade::MultiBladePhysics;
use crate::multigrid::MultiGridPhysics;
use crate::packet::SimulatedPacket;
use crate::random::{Stream, stream};
use crate::readout::{Pulse, Readout};
use crate::repeated::RepeatedLoad;
use crate::resolvable::{Limits, TrueHit, resolvable};
use crate::sonde::SondePhysics;
use crate::start::{FIXED_START_NS, Start};
use crate::truth::Neutron;
use evforge_core::pulse::PulseTrain;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// A detector and its readout.
pub type Simulated = (Box<dyn DetectorModel>, Box<dyn Readout>);

/// `[simulation]`: beam, electronics and the physics of each kind of detector, of which a configuration has one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulationSettings {
    /// The same seed gives the same packets, but for their times, which follow from `start`.
    pub seed: u64,
    /// When the measurement begins. `"fixed"` is always the same; `accuracy` and `bench` always use it.
    #[schemars(extend("x-range" = "`\"now\"`, `\"fixed\"`, or a date as `\"2026-11-22T12:00:00Z\"`", "x-default" = "now"))]
    pub start: Option<Start>,
    /// What is in the beam.
    pub beam: BeamSettings,
    /// Changes to the electronics of the detector.
    pub electronics: ElectronicsSettings,
    /// What goes wrong between the electronics and the receiver: tables `[[simulation.fault]]`.
    pub fault: Vec<Fault>,
    /// Converter, gas and strips of a Gd-GEM.
    pub gdgem: GdGemPhysics,
    /// Coatings, gas and triggers of a Multi-Grid.
    pub multigrid: MultiGridPhysics,
    /// Scintillator and photomultipliers of a SoNDe.
    pub sonde: SondePhysics,
    /// Blades, wires and strips of a Multi-Blade.
    pub multiblade: MultiBladePhysics,
    /// What neutrons leave in beam monitors, and how sums are made.
    pub beam_monitors: BeamMonitorPhysics,
    /// Gas, wire and digitisers of helium-3 tubes.
    pub helium3: Helium3Physics,
    /// Waveforms of sampled channels.
    pub adc_readout: AdcReadoutPhysics,
    /// Frames, vetoes and messages of boards of ISIS.
    pub isis: IsisSimulation,
}

/// What happened during one pulse.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedPulse {
    /// The pulse.
    pub pulse: Pulse,
    /// The packets, in the order in which they are sent. With faults, packets of earlier pulses can be among them.
    pub packets: Vec<SimulatedPacket>,
    /// The neutrons, in the order of time.
    pub truth: Vec<Neutron>,
    /// The frames that were sent meanwhile, where the readout has them.
    pub frames: Vec<TrueFrame>,
    /// Neutrons that reached the detector, with those that went through.
    pub arrived: u64,
    /// Hits that the electronics have digitised.
    pub readouts: u64,
}

/// A pulse before the readout.
struct Happened {
    pulse: Pulse,
    hits: Vec<Hit>,
    truth: Vec<Neutron>,
    arrived: u64,
}

/// Simulates pulse after pulse.
pub struct Simulation {
    settings: SimulationSettings,
    pulses: PulseTrain,
    detector: Box<dyn DetectorModel>,
    readout: Box<dyn Readout>,
    beam: Beam,
    channels: Channels,
    faults: FaultInjector,
    parts: Option<Parts>,
    first_pulse: u64,
    /// Number of the first pulse if the start were fixed: chance depends on the number of a pulse, and not on the start.
    first_chance: u64,
    /// What is added to the detector's clock for the times at which packets arrive.
    arrival_offset_ns: u64,
    next_pulse: u64,
    next_neutron: u64,
    last_frames: Vec<TrueFrame>,
}

impl Simulation {
    /// A simulation of this detector with this readout.
    ///
    /// # Errors
    /// If the settings do not fit the detector, or a fault names a source that it does not have.
    pub fn new(
        settings: &SimulationSettings,
        pulses: PulseTrain,
        detector: Box<dyn DetectorModel>,
        readout: Box<dyn Readout>,
    ) -> Result<Self, SimulationError> {
        let electronics = settings.electronics.apply(detector.electronics());
        let mut random = stream(settings.seed, Stream::Channels);
        let count = detector.layout().channel_count();
        let start = settings.start.unwrap_or_default();
        let first_pulse = readout.first_pulse(start.date_ns());
        // Electronics whose clock has no date begin with their first pulse, whenever that is.
        let arrival_offset_ns = match start {
            Start::Fixed => 0,
            Start::At(start_ns) => {
                let first_ns = pulses.start_ns(first_pulse).unwrap_or(start_ns);
                let period_ns = pulses.start_ns(first_pulse + 1).unwrap_or(first_ns).saturating_sub(first_ns);
                Some(start_ns.saturating_sub(first_ns)).filter(|&offset| offset > period_ns).unwrap_or(0)
            }
        };
        Ok(Self {
            faults: FaultInjector::new(&settings.fault, readout.sources(), settings.seed)?,
            channels: Channels::new(electronics, count, detector.noise_amplitude(), &mut random),
            beam: Beam::new(&settings.beam, &*detector, &pulses)?,
            parts: None,
            first_pulse,
            first_chance: readout.first_pulse(FIXED_START_NS),
            arrival_offset_ns,
            next_pulse: first_pulse,
            next_neutron: 0,
            last_frames: Vec::new(),
            settings: settings.clone(),
            pulses,
            detector,
            readout,
        })
    }

    /// The same with neutrons, gammas and noise in parts of the pulses only.
    #[must_use]
    pub fn in_parts(mut self, parts: Option<Parts>) -> Self {
        self.parts = parts;
        self
    }

    /// The parts of the pulses that anything happens in; none for all of them.
    pub fn parts(&self) -> Option<Parts> {
        self.parts
    }

    /// The beam.
    pub fn beam(&self) -> &Beam {
        &self.beam
    }

    /// The detector.
    pub fn detector(&self) -> &dyn DetectorModel {
        &*self.detector
    }

    /// The channels of the electronics.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The readout, to disturb it.
    pub fn readout(&mut self) -> &mut dyn Readout {
        &mut *self.readout
    }

    /// All packets of a simulation without faults, `length_ns` long, to be sent again and again; none if packets of this
    /// detector cannot be moved in time.
    pub fn repeated(&self, packets: Vec<SimulatedPacket>, length_ns: u64) -> Option<RepeatedLoad> {
        RepeatedLoad::new(packets, &*self.readout, length_ns)
    }

    /// The faults that happen on the way to the receiver: their log, and what was sent.
    pub fn faults(&self) -> &FaultInjector {
        &self.faults
    }

    /// Whether its packets tell of frames more than their times.
    pub fn has_frames(&self) -> bool {
        self.readout.has_frames()
    }

    /// The frames that [`Simulation::finish`] has sent.
    pub fn last_frames(&self) -> &[TrueFrame] {
        &self.last_frames
    }

    /// The end: packets that electronics send after the last pulse, and those that faults have held back until now.
    pub fn finish(&mut self) -> Vec<SimulatedPacket> {
        let (mut made, mut packets) = (Vec::new(), Vec::new());
        self.readout.finish(&mut made);
        self.last_frames = self.readout.take_frames();
        if !made.is_empty() {
            self.faults.pulse(made, &mut packets);
        }
        self.faults.finish(&mut packets);
        self.date(&mut packets);
        packets
    }

    /// Gives packets the times at which they arrive.
    fn date(&self, packets: &mut [SimulatedPacket]) {
        for packet in packets {
            packet.origin.arrival_ns = packet.origin.arrival_ns.saturating_add(self.arrival_offset_ns);
        }
    }

    /// Simulates the next pulse.
    pub fn next_pulse(&mut self) -> SimulatedPulse {
        let happened = self.happen(self.next_pulse);
        self.next_pulse += 1;
        self.read_out(happened)
    }

    /// Simulates the next pulses on all threads of the pool that this is called in.
    pub fn next_pulses(&mut self, count: usize) -> Vec<SimulatedPulse> {
        let first = self.next_pulse;
        self.next_pulse += count as u64;
        let this = &*self;
        let happened: Vec<_> =
            (first..self.next_pulse).into_par_iter().map(|number| this.happen(number)).collect();
        happened.into_iter().map(|happened| self.read_out(happened)).collect()
    }

    fn happen(&self, number: u64) -> Happened {
        let mut random =
            stream(self.settings.seed, Stream::Pulse(number - self.first_pulse + self.first_chance));
        let start_ns = self.pulses.start_ns(number).unwrap_or(u64::MAX);
        let pulse = Pulse { number, start_ns, end_ns: self.pulses.start_ns(number + 1).unwrap_or(u64::MAX) };
        let period_ps = (pulse.end_ns - start_ns) * 1000;
        let mut strikes = Vec::new();
        let part = self.parts.map(|parts| parts.of_pulse(number - self.first_pulse, period_ps));
        self.beam.neutrons(period_ps, part.as_ref(), &mut random, &mut strikes);
        let mut charges: Vec<Charge> = Vec::with_capacity(strikes.len() * 8);
        let (mut ends, mut events) = (Vec::with_capacity(strikes.len()), Vec::with_capacity(strikes.len()));
        for strike in &strikes {
            let first = charges.len();
            if let Some(event) = self.detector.add_neutron(strike, &mut random, &mut charges) {
                self.leave_out_unseen(first, &mut charges);
                events.push(event);
                ends.push(charges.len());
            } else {
                // It went through: whatever it may have left belongs to nobody.
                charges.truncate(ends.last().copied().unwrap_or(0));
            }
        }
        let limits = Limits::new(&self.detector.resolution(), self.channels.electronics());
        let found = resolvable(self.true_hits(&charges, &ends), ends.len(), &limits);
        let mut truth: Vec<Neutron> = events
            .iter()
            .zip(found)
            .map(|(event, resolvable)| Neutron {
                number: 0,
                time_ns: start_ns + event.time_ps / 1000,
                pixel_id: self.detector.pixel_id(event.coordinates()),
                module: u32::from(event.module),
                position: event.position,
                resolvable,
            })
            .collect();
        truth.sort_by_key(|neutron| (neutron.time_ns, neutron.pixel_id));
        let arrived = strikes.len() as u64;
        strikes.clear();
        self.beam.gammas(period_ps, &mut random, &mut strikes);
        strikes.retain(|strike| part.as_ref().is_none_or(|part| part.contains(&strike.time_ps)));
        for strike in &strikes {
            self.detector.add_gamma(strike, &mut random, &mut charges);
        }
        let mut noise = Vec::new();
        self.channels.add_noise(period_ps, &mut random, &mut noise);
        noise.retain(|charge| part.as_ref().is_none_or(|part| part.contains(&charge.time_ps)));
        charges.append(&mut noise);
        let hits = self.channels.digitise(&mut charges, &mut random);
        Happened { pulse, hits, truth, arrived }
    }

    /// The charges above threshold, with their places. `ends[n]` is where those of neutron *n* end.
    fn true_hits(&self, charges: &[Charge], ends: &[usize]) -> Vec<TrueHit> {
        let places = self.detector.layout().places();
        let mut hits = Vec::with_capacity(charges.len());
        let mut begin = 0;
        for (&end, neutron) in ends.iter().zip(0..) {
            let own = charges.get(begin..end).unwrap_or_default().iter();
            hits.extend(own.filter(|charge| self.channels.is_above_threshold(charge)).filter_map(|charge| {
                let place = *places.get(charge.channel as usize)?;
                Some(TrueHit { place, neutron, time_ps: charge.time_ps })
            }));
            begin = end;
        }
        hits
    }

    /// Takes charges from `first` on that nothing can come of out: there are many of them, and all would be sorted.
    fn leave_out_unseen(&self, first: usize, charges: &mut Vec<Charge>) {
        let mut kept = first;
        for index in first..charges.len() {
            if self.channels.can_be_seen(&charges[index]) {
                charges.swap(kept, index);
                kept += 1;
            }
        }
        charges.truncate(kept);
    }

    fn read_out(&mut self, happened: Happened) -> SimulatedPulse {
        let Happened { pulse, hits, mut truth, arrived } = happened;
        for neutron in &mut truth {
            neutron.number = self.next_neutron;
            self.next_neutron += 1;
        }
        self.faults.disturb(&mut *self.readout);
        let mut made = Vec::new();
        self.readout.pulse(&pulse, &hits, &mut made);
        let mut packets = Vec::with_capacity(made.len());
        self.faults.pulse(made, &mut packets);
        self.date(&mut packets);
        for neutron in &mut truth {
            neutron.resolvable &= self.readout.is_sent(neutron);
        }
        let frames = self.readout.take_frames();
        SimulatedPulse { frames, pulse, packets, truth, arrived, readouts: hits.len() as u64 }
    }
}

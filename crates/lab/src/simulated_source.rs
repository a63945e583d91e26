//! A simulation as a source of packets: straight into a pipeline, or wherever packets go.

use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_sim::packet::SimulatedPacket;
use evforge_sim::simulation::{SimulatedPulse, Simulation};
use std::collections::VecDeque;
use std::path::Path;

evforge_core::counters! {
    /// Counters of a simulation.
    pub struct SimulationCounters: "simulation" {
        pulses: Information, Times, "Pulses that have been simulated.";
        neutrons: Information, Events, "Neutrons that reached the simulated detector.";
        neutrons_with_a_trace: Information, Events, "Neutrons that left something in the simulated detector. The others went through.";
        neutrons_in_busiest_millisecond: Information, Events, "Most neutrons with a trace within one millisecond of a pulse: how the EFU paper defines a peak rate (section 1.1).";
        simulated_readouts: Information, Readouts, "Hits that the simulated electronics have digitised.";
        simulated_packets: Information, Packets, "Packets that the simulated electronics have sent.";
        simulated_bytes: Information, Bytes, "Bytes of the packets that the simulated electronics have sent.";
    }
}

/// Told of what is simulated: to write the truth and the log of faults.
pub trait SimulationObserver: Send {
    /// A pulse was simulated. Its packets are handed on after this.
    ///
    /// # Errors
    /// Ends the simulation.
    fn pulse(&mut self, pulse: &SimulatedPulse) -> Result<(), SourceError>;

    /// All pulses have been simulated.
    ///
    /// # Errors
    /// Ends the simulation.
    fn end(&mut self, simulation: &Simulation) -> Result<(), SourceError>;
}

/// Pulses that are simulated at a time: several threads have something to do, and memory stays small.
const PULSES_AT_A_TIME: u64 = 8;

/// A simulation that ends after some pulses.
pub struct SimulatedSource {
    simulation: Simulation,
    pulses: u64,
    simulated: u64,
    pending: VecDeque<SimulatedPacket>,
    observer: Box<dyn SimulationObserver>,
    counters: SimulationCounters,
    handed_on: u64,
    finished: bool,
    failure: Option<String>,
    /// Start of the first pulse, and end of the latest one.
    span_ns: Option<(u64, u64)>,
}

impl SimulatedSource {
    /// This many pulses of a simulation.
    pub fn new(simulation: Simulation, pulses: u64, observer: Box<dyn SimulationObserver>) -> Self {
        Self {
            simulation,
            pulses,
            simulated: 0,
            pending: VecDeque::new(),
            observer,
            counters: SimulationCounters::default(),
            handed_on: 0,
            finished: false,
            failure: None,
            span_ns: None,
        }
    }

    /// The next packet; none at the end.
    ///
    /// # Errors
    /// What the observer says.
    pub fn next_packet(&mut self) -> Result<Option<SimulatedPacket>, SourceError> {
        while self.pending.is_empty() && !self.finished {
            self.simulate()?;
        }
        let packet = self.pending.pop_front();
        self.handed_on += u64::from(packet.is_some());
        Ok(packet)
    }

    /// What has been simulated so far.
    pub fn simulated(&self) -> &SimulationCounters {
        &self.counters
    }

    /// How long the pulses so far are together, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.span_ns.map_or(0, |(start_ns, end_ns)| end_ns - start_ns)
    }

    /// The simulation.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    fn simulate(&mut self) -> Result<(), SourceError> {
        let count = PULSES_AT_A_TIME.min(self.pulses - self.simulated);
        for mut pulse in self.simulation.next_pulses(count as usize) {
            self.observer.pulse(&pulse)?;
            let start_ns = self.span_ns.map_or(pulse.pulse.start_ns, |(start_ns, _)| start_ns);
            self.span_ns = Some((start_ns, pulse.pulse.end_ns));
            self.counters.neutrons += pulse.arrived;
            self.counters.neutrons_with_a_trace += pulse.truth.len() as u64;
            self.counters.simulated_readouts += pulse.readouts;
            self.count_peak(&pulse);
            self.take(pulse.packets.drain(..));
        }
        self.simulated += count;
        self.counters.pulses = self.simulated;
        if self.simulated == self.pulses {
            let last = self.simulation.finish();
            self.take(last.into_iter());
            self.finished = true;
            self.observer.end(&self.simulation)?;
        }
        Ok(())
    }

    fn take(&mut self, packets: impl Iterator<Item = SimulatedPacket>) {
        for packet in packets {
            self.counters.simulated_packets += 1;
            self.counters.simulated_bytes += packet.bytes.len() as u64;
            self.pending.push_back(packet);
        }
    }

    fn count_peak(&mut self, pulse: &SimulatedPulse) {
        let millisecond = |time_ns: u64| time_ns.saturating_sub(pulse.pulse.start_ns) / 1_000_000;
        let runs = pulse.truth.chunk_by(|one, other| millisecond(one.time_ns) == millisecond(other.time_ns));
        let most = runs.map(<[_]>::len).max().unwrap_or(0);
        let busiest = &mut self.counters.neutrons_in_busiest_millisecond;
        *busiest = (*busiest).max(most as u64);
    }
}

impl PacketSource for SimulatedSource {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        loop {
            let packet = match self.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Ok(Fill::End),
                Err(error) => {
                    let failure = error.to_string();
                    self.failure = Some(failure.clone());
                    // What was copied goes on first; the next call fails.
                    return if slab.batch().is_empty() { Err(failure.into()) } else { Ok(Fill::More) };
                }
            };
            if !slab.push(&packet.bytes, packet.bytes.len(), packet.origin) {
                self.handed_on -= 1;
                self.pending.push_front(packet);
                return Ok(Fill::More);
            }
        }
    }

    fn path(&self) -> &Path {
        Path::new("simulation")
    }

    fn packets(&self) -> u64 {
        self.handed_on
    }

    fn position(&self) -> u64 {
        self.simulated
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.pulses)
    }

    fn stage(&self) -> &'static str {
        SimulationCounters::STAGE
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }
}

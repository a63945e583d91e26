//! What `evforge simulate` simulates: a shipped or an own configuration, or an instrument of the EFU paper at its rate.

use crate::LabError;
use crate::simulated_source::{SimulatedSource, SimulationCounters};
use crate::simulation::{self, simulation_with};
use crate::truth_files::TruthFiles;
use evforge_config::Config;
use evforge_config::shipped;
use evforge_core::counter::CounterSnapshot;
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::Frequency;
use evforge_core::suggestion::did_you_mean;
use evforge_pipeline::report::{grouped, scaled};
use evforge_sim::detector_model::DetectorModel;
use evforge_sim::faults::settings::Fault;
use evforge_sim::instruments::{self, INSTRUMENTS, Instrument, Load};
use evforge_sim::pixel_stream::{PixelModel, PixelStream};
use evforge_sim::simulation::{Simulation, SimulationSettings};
use evforge_sim::start::Start;
use std::fmt::Write as _;
use std::path::Path;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// The shipped configuration of this name, or of the detector of this name.
    Shipped(&'a str),
    /// The configuration in this file.
    File(&'a Path),
    /// An instrument of the EFU paper, with the readout of this name or its first one, at a share of its rate.
    Instrument(&'a str, Option<&'a str>, f64),
}

/// What is to differ from the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// Keys to override.
    pub overrides: &'a [String],
    /// Neutrons per second, on average.
    pub neutrons: Option<Frequency>,
    /// Gammas per second.
    pub gammas: Option<Frequency>,
    /// Noise hits per second.
    pub noise: Option<Frequency>,
    /// The same seed gives the same packets.
    pub seed: Option<u64>,
    /// When it begins.
    pub start: Option<Start>,
    /// When it begins if neither these wishes nor the configuration say it.
    pub start_otherwise: Start,
    /// Faults to inject besides those of the configuration.
    pub faults: &'a [Fault],
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// None for the generic readout.
    config: Option<Config>,
    /// The instrument, and the share of its rate.
    instrument: Option<(&'static Instrument, &'static Load, f64)>,
    /// How it is simulated.
    settings: SimulationSettings,
}

/// Columns and rows of the generic detector: those of the examples of plugins, where their settings say nothing.
const GENERIC_SIDES: (u16, u16) = (64, 64);

impl Simulated {
    /// What was chosen, as it is wished.
    ///
    /// # Errors
    /// If there is no such detector or instrument, or its configuration is not valid.
    pub fn of(choice: Choice<'_>, wishes: &Wishes<'_>) -> Result<Self, LabError> {
        let config = match choice {
            Choice::Shipped(name) => shipped::configuration(name, wishes.overrides)?,
            Choice::File(path) => Config::read(path, wishes.overrides)?,
            Choice::Instrument(name, readout, scale) => {
                let (instrument, load) = find_instrument(name, readout)?;
                return Self::instrument(instrument, load, scale, wishes);
            }
        };
        Self::wished(Some(config), None, wishes)
    }

    fn instrument(
        instrument: &'static Instrument,
        load: &'static Load,
        scale: f64,
        wishes: &Wishes<'_>,
    ) -> Result<Self, LabError> {
        let config =
            load.configuration.map(|name| shipped::configuration(name, wishes.overrides)).transpose()?;
        Self::wished(config, Some((instrument, load, scale)), wishes)
    }

    fn wished(
        config: Option<Config>,
        instrument: Option<(&'static Instrument, &'static Load, f64)>,
        wishes: &Wishes<'_>,
    ) -> Result<Self, LabError> {
        let settings = config.as_ref().map(|config| simulation::settings(config)).transpose()?;
        let mut settings = settings.unwrap_or_default();
        if let Some((instrument, _, scale)) = instrument {
            let millihertz = (instrument.average as f64 * scale * 1000.0).round() as u64;
            settings.beam.neutrons = Frequency { millihertz };
        }
        settings.beam.neutrons = wishes.neutrons.unwrap_or(settings.beam.neutrons);
        settings.beam.gammas = wishes.gammas.unwrap_or(settings.beam.gammas);
        settings.electronics.noise = wishes.noise.or(settings.electronics.noise);
        settings.seed = wishes.seed.unwrap_or(settings.seed);
        settings.start = wishes.start.or(settings.start).or(Some(wishes.start_otherwise));
        settings.fault.extend(wishes.faults.iter().cloned());
        Ok(Self { config, instrument, settings })
    }

    /// The configuration; none for the generic readout.
    pub fn config(&self) -> Option<&Config> {
        self.config.as_ref()
    }

    /// Its simulation.
    ///
    /// # Errors
    /// As [`simulation_with`].
    pub fn simulation(&self) -> Result<Simulation, LabError> {
        if let Some(config) = &self.config {
            return Ok(simulation_with(config, &self.settings)?);
        }
        let model = PixelModel::new(GENERIC_SIDES.0, GENERIC_SIDES.1)?;
        let readout = PixelStream::new(model.layout());
        Ok(Simulation::new(&self.settings, PulseTrain::ess(), Box::new(model), Box::new(readout))?)
    }

    /// How long this many pulses are.
    fn seconds(&self, pulses: u64) -> f64 {
        let train = self.config.as_ref().map_or_else(PulseTrain::ess, |config| config.pulses);
        let since_first = train.start_ns(pulses).zip(train.start_ns(0));
        since_first.map_or(0.0, |(end_ns, start_ns)| (end_ns - start_ns) as f64 / 1e9)
    }

    /// What was simulated, for people.
    pub fn summary(&self, counters: &CounterSnapshot) -> String {
        let value = |name| counters.value(name).unwrap_or(0);
        let with_a_trace = value("neutrons_with_a_trace").max(1) as f64;
        let seconds = self.seconds(value("pulses"));
        let mut text = format!(
            "simulated     {} neutrons in {} pulses, {} with a trace; {} packets, {} bytes\n\
             rate          {} neutrons/s on average; with a trace {}, in the busiest millisecond {}\n\
             a trace       {:.2} readouts, {:.1} bytes; {}B/s\n",
            grouped(value("neutrons")),
            grouped(value("pulses")),
            grouped(value("neutrons_with_a_trace")),
            grouped(value("simulated_packets")),
            grouped(value("simulated_bytes")),
            scaled(value("neutrons") as f64 / seconds),
            scaled(with_a_trace / seconds),
            scaled(value("neutrons_in_busiest_millisecond") as f64 * 1000.0),
            value("simulated_readouts") as f64 / with_a_trace,
            value("simulated_bytes") as f64 / with_a_trace,
            scaled(value("simulated_bytes") as f64 / seconds),
        );
        if let Some((instrument, load, scale)) = self.instrument {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "instrument    {} ({}) by {}: {} of {} neutrons/s; the paper's table has {}B/s for all",
                instrument.name,
                instrument.detector,
                load.description,
                scale,
                scaled(instrument.average as f64),
                scaled(instrument.data_rate as f64),
            );
        }
        text
    }
}

fn find_instrument(
    name: &str,
    readout: Option<&str>,
) -> Result<(&'static Instrument, &'static Load), LabError> {
    let Some(instrument) = instruments::find(name) else {
        let names: Vec<&str> = INSTRUMENTS.iter().map(|instrument| instrument.name).collect();
        return Err(format!(
            "there is no instrument `{name}` in the table{} It has {}",
            did_you_mean(name, names.iter().copied()),
            names.join(", ")
        )
        .into());
    };
    let load = instrument.loads.iter().find(|load| readout.is_none_or(|wanted| load.readout == wanted));
    let known: Vec<&str> = instrument.loads.iter().map(|load| load.readout).collect();
    let load = load.ok_or_else(|| {
        let wanted = readout.unwrap_or_default();
        format!("--readout {wanted}: {} is simulated with {}", instrument.name, known.join(" or "))
    })?;
    Ok((instrument, load))
}

/// Simulates every instrument of the table for this many pulses, at a share of its rate, and lists what it sends next to what
/// the paper says, in Markdown.
///
/// # Errors
/// If one cannot be simulated as it is wished.
pub fn instrument_table(scale: f64, pulses: u64, wishes: &Wishes<'_>) -> Result<String, LabError> {
    let mut text = String::from(
        "| instrument | detector | readout | neutrons/s | simulated | with a trace | readouts per trace | bytes per trace | \
         data rate | data rate in the paper | peak (1 ms) / average |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for instrument in INSTRUMENTS {
        for load in instrument.loads {
            let simulated = Simulated::instrument(instrument, load, scale, wishes)?;
            let truth = TruthFiles::create(None, None)?;
            let mut source = SimulatedSource::new(simulated.simulation()?, pulses, Box::new(truth));
            while source.next_packet()?.is_some() {}
            let counters = source.simulated();
            let SimulationCounters { pulses, neutrons, neutrons_with_a_trace: traces, .. } = *counters;
            let (seconds, traces) = (pulses as f64 / 14.0, traces.max(1) as f64);
            let asked = instrument.average as f64 * scale;
            let peak = counters.neutrons_in_busiest_millisecond as f64 * 1000.0;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {:+.2} % | {:.0} % | {:.2} | {:.1} | {}B/s | {}B/s | {:.1} |",
                instrument.name,
                instrument.detector,
                load.description,
                scaled(instrument.average as f64),
                (neutrons as f64 / seconds / asked - 1.0) * 100.0,
                traces / neutrons.max(1) as f64 * 100.0,
                counters.simulated_readouts as f64 / traces,
                counters.simulated_bytes as f64 / traces,
                scaled(counters.simulated_bytes as f64 / seconds / scale),
                scaled(instrument.data_rate as f64),
                peak / (traces / seconds),
            );
        }
    }
    Ok(text)
}

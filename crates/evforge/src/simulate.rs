//! `evforge simulate`: a detector with known truth into a capture file, over UDP, or straight into its pipeline.

use crate::CommandError;
use crate::electronics_sender::ElectronicsSender;
use crate::output::{Ending, print};
use crate::outputs::{OutputArguments, OutputPlans};
use crate::same_file::NamedFiles;
use crate::shipped;
use crate::signals::stop_on_signals;
use crate::truth_files::TruthFiles;
use clap::Args;
use evforge_core::counter::CounterSnapshot;
use evforge_core::packet_source::PacketSource;
use evforge_lab::simulated_source::{SimulatedSource, SimulationCounters};
use evforge_lab::simulation::simulation;
use evforge_net::capture::CaptureWriter;
use evforge_net::pace::Pace;
use evforge_outputs::Registry;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::config::{Config, Frequency};
use evforge_pipeline::report::{grouped, scaled};
use evforge_sim::instruments::{self, INSTRUMENTS, Instrument, Load};
use evforge_sim::packet::SimulatedPacket;
use evforge_sim::pixel_stream;
use evforge_sim::simulation::Simulation;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Arguments of `evforge simulate`.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["detector", "config", "instrument", "instruments"]))]
#[command(group = clap::ArgGroup::new("where").args(["output", "to", "form"]))]
pub(crate) struct SimulateArguments {
    /// The detector: gdgem, multigrid, multiblade, sonde, or the name of any other shipped configuration (nmx, trex,
    /// freia …)
    detector: Option<String>,
    /// Configuration of the instrument to simulate
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// An instrument of the EFU paper with its neutron rate: C-SPEC, ESTIA, FREIA, LoKI-BAND-GEM, LoKI-BCS, NMX,
    /// SKADI, T-REX
    #[arg(long, value_name = "NAME")]
    instrument: Option<String>,
    /// Print what every instrument of the EFU paper sends, simulated at --scale, and end
    #[arg(long)]
    instruments: bool,
    /// Readout of the instrument: prototype or ess
    #[arg(long, value_name = "READOUT")]
    readout: Option<String>,
    /// Share of the instrument's rate
    #[arg(long, value_name = "FACTOR", default_value_t = 0.01)]
    scale: f64,
    /// The capture to write: pcapng, or .pkts by its name
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send to this address instead, each packet when it is due
    #[arg(long, value_name = "ADDRESS:PORT")]
    to: Option<SocketAddr>,
    /// Form the events in this process instead, as fast as it can be; see the options of where events go
    #[arg(long)]
    form: bool,
    /// Send by AF_XDP through this network interface, as whole frames past the kernel's protocols, instead of a socket
    #[arg(long, value_name = "INTERFACE", requires = "to", conflicts_with = "own_addresses")]
    xdp: Option<String>,
    /// Send so many times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "to")]
    speed: f64,
    /// Simulate everything first, then send it as fast as the system takes it
    #[arg(long, requires = "to", conflicts_with = "speed")]
    prebuilt: bool,
    /// Send from the addresses that packets say they come from, which must be this host's
    #[arg(long, requires = "to")]
    own_addresses: bool,
    #[command(flatten)]
    outputs: OutputArguments,
    /// Write the truth as CSV: neutron,time_ns,pixel_id,module,x,y,z,resolvable
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the faults that were injected as CSV
    #[arg(long, value_name = "FILE")]
    fault_log: Option<PathBuf>,
    /// Pulses of the source to simulate (14 in a second)
    #[arg(long, default_value_t = 140)]
    pulses: u64,
    /// Neutrons per second on the detector, on average: 20kHz [configuration: simulation.beam.neutrons]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    neutrons: Option<Frequency>,
    /// Gammas per second [configuration: simulation.beam.gammas]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    gammas: Option<Frequency>,
    /// Noise hits per second [configuration: simulation.electronics.noise]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    noise: Option<Frequency>,
    /// Inject a fault, as in lose:probability=1e-3; may be given several times (docs/faults.md)
    /// [configuration: simulation.fault]
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<evforge_sim::faults::settings::Fault>,
    /// The same seed gives the same packets [configuration: simulation.seed]
    #[arg(long)]
    seed: Option<u64>,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// A rate in hertz, with or without its unit.
pub(crate) fn rate(text: &str) -> Result<Frequency, String> {
    let with_unit = if text.parse::<f64>().is_ok() { format!("{text}Hz") } else { text.to_owned() };
    with_unit.parse::<Frequency>().map_err(|error| error.to_string())
}

/// Runs the command.
pub(crate) fn simulate(arguments: &SimulateArguments, registry: &Registry) -> Result<bool, CommandError> {
    if !(arguments.scale.is_finite() && arguments.scale > 0.0) {
        return Err(format!("--scale {} is not a number above 0", arguments.scale).into());
    }
    if arguments.instruments {
        return instrument_table(arguments);
    }
    let files = NamedFiles::default()
        .input("--config", &arguments.config)
        .output("--output", &arguments.output)
        .output("--truth", &arguments.truth)
        .output("--fault-log", &arguments.fault_log);
    arguments.outputs.name(files).check()?;
    let simulated = Simulated::of(arguments)?;
    let truth = TruthFiles::create(arguments.truth.as_deref(), arguments.fault_log.as_deref())?;
    let simulation = simulated.simulation()?;
    let source = SimulatedSource::new(simulation, arguments.pulses, Box::new(truth));
    let stop = stop_on_signals()?;
    if arguments.form {
        return form(arguments, &simulated, source, &stop, registry);
    }
    let counters = match (&arguments.output, arguments.to) {
        (Some(path), _) => write_capture(source, path, &stop)?,
        (None, Some(address)) => send(arguments, source, address, &stop)?,
        (None, None) => return Err("say where to: --output FILE, --to ADDRESS:PORT or --form".into()),
    };
    print(&simulated.summary(&counters))?;
    Ok(true)
}

/// What is simulated.
struct Simulated {
    /// None for the generic readout.
    config: Option<Config>,
    instrument: Option<(&'static Instrument, &'static Load)>,
    /// Of the generic readout.
    settings: evforge_sim::simulation::SimulationSettings,
    scale: f64,
}

/// Columns and rows of the generic detector.
const GENERIC_SIDES: (u16, u16) = (512, 512);

impl Simulated {
    fn of(arguments: &SimulateArguments) -> Result<Self, CommandError> {
        let overrides = &arguments.overrides;
        let mut instrument = None;
        let mut config = match (&arguments.detector, &arguments.config, &arguments.instrument) {
            (Some(name), _, _) => Some(shipped::configuration(name, overrides)?),
            (_, Some(path), _) => Some(Config::read(path, overrides)?),
            (_, _, Some(name)) => {
                let found = find_instrument(name, arguments.readout.as_deref())?;
                instrument = Some(found);
                found.1.configuration.map(|name| shipped::configuration(name, overrides)).transpose()?
            }
            (None, None, None) => {
                return Err("say what to simulate: a detector, --config or --instrument".into());
            }
        };
        let mut settings = config.as_ref().map(|config| config.simulation.clone()).unwrap_or_default();
        if let Some((instrument, _)) = instrument {
            let millihertz = (instrument.average as f64 * arguments.scale * 1000.0).round() as u64;
            settings.beam.neutrons = Frequency { millihertz };
        }
        settings.beam.neutrons = arguments.neutrons.unwrap_or(settings.beam.neutrons);
        settings.beam.gammas = arguments.gammas.unwrap_or(settings.beam.gammas);
        settings.electronics.noise = arguments.noise.or(settings.electronics.noise);
        settings.seed = arguments.seed.unwrap_or(settings.seed);
        settings.fault.extend(arguments.faults.iter().cloned());
        if let Some(config) = &mut config {
            config.simulation = settings.clone();
        }
        Ok(Self { config, instrument, settings, scale: arguments.scale })
    }

    fn simulation(&self) -> Result<Simulation, CommandError> {
        if let Some(config) = &self.config {
            return Ok(simulation(config)?);
        }
        let model = pixel_stream::PixelModel::new(GENERIC_SIDES.0, GENERIC_SIDES.1)?;
        let readout =
            pixel_stream::PixelStream::new(evforge_sim::detector_model::DetectorModel::layout(&model));
        let pulses = evforge_core::pulse::PulseTrain::ess();
        Ok(Simulation::new(&self.settings, pulses, Box::new(model), Box::new(readout))?)
    }

    /// What was simulated, for people.
    fn summary(&self, counters: &CounterSnapshot) -> String {
        let value = |name| counters.value(name).unwrap_or(0);
        let with_a_trace = value("neutrons_with_a_trace").max(1) as f64;
        let seconds = value("pulses") as f64 / 14.0;
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
        if let Some((instrument, load)) = self.instrument {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "instrument    {} ({}) by {}: {} of {} neutrons/s; the paper's table has {}B/s for all",
                instrument.name,
                instrument.detector,
                load.description,
                self.scale,
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
) -> Result<(&'static Instrument, &'static Load), CommandError> {
    let Some(instrument) = instruments::find(name) else {
        let names: Vec<&str> = INSTRUMENTS.iter().map(|instrument| instrument.name).collect();
        return Err(
            format!("there is no instrument `{name}` in the table; it has {}", names.join(", ")).into()
        );
    };
    let load = instrument.loads.iter().find(|load| readout.is_none_or(|wanted| load.readout == wanted));
    let known: Vec<&str> = instrument.loads.iter().map(|load| load.readout).collect();
    let load = load.ok_or_else(|| {
        let wanted = readout.unwrap_or_default();
        format!("--readout {wanted}: {} is simulated with {}", instrument.name, known.join(" or "))
    })?;
    Ok((instrument, load))
}

fn form(
    arguments: &SimulateArguments,
    simulated: &Simulated,
    source: SimulatedSource,
    stop: &AtomicBool,
    registry: &Registry,
) -> Result<bool, CommandError> {
    let Some(config) = &simulated.config else {
        let problem = "evforge has no pipeline for the generic readout: send it to one with a detector from outside \
                       (evforge run --detector, docs/write-a-plugin.md)";
        return Err(problem.into());
    };
    let mut config = config.clone();
    arguments.outputs.apply(&mut config);
    let plans = OutputPlans::read(&arguments.outputs, &config, registry)?;
    plans.name(NamedFiles::default()).check()?;
    let mut outputs = plans.open(&config)?;
    let run = CaptureRun {
        monitor: outputs.monitor.clone(),
        config: &config,
        input: Box::new(source),
        outputs: std::mem::take(&mut outputs.events),
        clock: Arc::clone(&outputs.clock),
        on_waiting: Arc::new(|text| eprintln!("evforge: {text}. It goes on by itself; Ctrl-C ends the run.")),
        samples: outputs.samples.take(),
        stop,
    };
    let report = run.run(|_| {})?;
    let mut ending = Ending::default();
    outputs.finish(&report, &mut ending);
    ending.print(&report.to_text());
    if let Some((_, counters)) = report.state.stages.iter().find(|(stage, _)| *stage == "simulation") {
        ending.print(&simulated.summary(counters));
    }
    Ok(report.is_success() && ending.is_good())
}

fn write_capture(
    mut source: SimulatedSource,
    path: &Path,
    stop: &AtomicBool,
) -> Result<CounterSnapshot, CommandError> {
    let mut writer = CaptureWriter::create(path)?;
    while let Some(packet) = source.next_packet()? {
        writer.write(&packet.packet())?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    writer.finish()?;
    Ok(source.counters())
}

fn send(
    arguments: &SimulateArguments,
    mut source: SimulatedSource,
    address: SocketAddr,
    stop: &AtomicBool,
) -> Result<CounterSnapshot, CommandError> {
    let speed = arguments.speed;
    let pace = if arguments.prebuilt { Pace::Unpaced } else { Pace::OwnTiming { speed } };
    let sender = ElectronicsSender::new(address, pace, arguments.own_addresses);
    let mut sender = sender.by_xdp(arguments.xdp.clone());
    let built = Instant::now();
    let mut packets: Vec<SimulatedPacket> = Vec::new();
    while let Some(packet) = source.next_packet()? {
        packets.push(packet);
        if packets.len() == 1024 && !arguments.prebuilt {
            sender.send(&packets, stop)?;
            packets.clear();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let building = built.elapsed();
    sender.send(&packets, stop)?;
    let report = sender.report();
    let counters = source.counters();
    if arguments.prebuilt {
        let readouts = counters.value("simulated_readouts").unwrap_or(0) as f64;
        let rate = scaled(readouts / building.as_secs_f64().max(1e-9));
        print(&format!("built         {:.3} s: {rate} readouts/s\n", building.as_secs_f64()))?;
    }
    print(&format!(
        "sent          {} packets to {address} in {:.3} s: {} packets/s, {}bit/s\n",
        grouped(report.packets),
        report.elapsed.as_secs_f64(),
        scaled(report.packets_per_second()),
        scaled(report.bits_per_second()),
    ))?;
    if report.dropped > 0 {
        print(&crate::replay::dropped(report.dropped))?;
    }
    Ok(counters)
}

/// Simulates every instrument of the table for a while and prints what it sends beside what the paper says.
fn instrument_table(arguments: &SimulateArguments) -> Result<bool, CommandError> {
    let mut text = String::from(
        "| instrument | detector | readout | neutrons/s | simulated | with a trace | readouts per trace | bytes per trace | \
         data rate | data rate in the paper | peak (1 ms) / average |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for instrument in INSTRUMENTS {
        for load in instrument.loads {
            let of_load = SimulateOne { arguments, instrument, load };
            of_load.add_row(&mut text)?;
        }
    }
    print(&text)?;
    Ok(true)
}

struct SimulateOne<'a> {
    arguments: &'a SimulateArguments,
    instrument: &'static Instrument,
    load: &'static Load,
}

impl SimulateOne<'_> {
    fn add_row(&self, text: &mut String) -> Result<(), CommandError> {
        let Self { arguments, instrument, load } = self;
        let config =
            load.configuration.map(|name| shipped::configuration(name, &arguments.overrides)).transpose()?;
        let mut settings = config.as_ref().map(|config| config.simulation.clone()).unwrap_or_default();
        let asked = instrument.average as f64 * arguments.scale;
        settings.beam.neutrons = Frequency { millihertz: (asked * 1000.0).round() as u64 };
        settings.seed = arguments.seed.unwrap_or(settings.seed);
        let config = config.map(|config| Config { simulation: settings.clone(), ..config });
        let simulated =
            Simulated { config, instrument: Some((instrument, load)), settings, scale: arguments.scale };
        let truth = TruthFiles::create(None, None)?;
        let mut source = SimulatedSource::new(simulated.simulation()?, arguments.pulses, Box::new(truth));
        while source.next_packet()?.is_some() {}
        let counters = source.simulated();
        let SimulationCounters { pulses, neutrons, neutrons_with_a_trace: traces, .. } = *counters;
        let (seconds, traces) = (pulses as f64 / 14.0, traces.max(1) as f64);
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
            scaled(counters.simulated_bytes as f64 / seconds / arguments.scale),
            scaled(instrument.data_rate as f64),
            peak / (traces / seconds),
        );
        Ok(())
    }
}

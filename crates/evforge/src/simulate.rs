//! `evforge simulate`: a detector with known truth into a capture file, over UDP, or straight into its pipeline.

use crate::CommandError;
use crate::arguments::IdentityArguments;
use crate::control::ControlPorts;
use crate::exit_status::ExitStatus;
use crate::input::refuse_without_origin;
use crate::output::{Ending, print, print_alongside, write_file};
use crate::outputs::{OutputArguments, OutputPlans};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::Frequency;
use evforge_core::counter::CounterSnapshot;
use evforge_core::endpoint::endpoint;
use evforge_core::packet_source::PacketSource;
use evforge_lab::electronics_sender::ElectronicsSender;
use evforge_lab::simulated::{Choice, Simulated, Wishes, instrument_table};
use evforge_lab::simulated_source::SimulatedSource;
use evforge_lab::truth_files::TruthFiles;
use evforge_net::capture::CaptureWriter;
use evforge_net::pace::Pace;
use evforge_net::staged_file::is_standard_output;
use evforge_outputs::Registry;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::report::{grouped, scaled};
use evforge_sim::packet::SimulatedPacket;
use evforge_sim::start::Start;
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
    /// A detector (gdgem, multigrid, multiblade, sonde) or any shipped configuration (nmx, trex, freia …)
    detector: Option<String>,
    /// Configuration of the instrument to simulate
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// An instrument of the EFU paper with its neutron rate: C-SPEC, ESTIA, FREIA, LoKI-BAND-GEM, LoKI-BCS, NMX,
    /// SKADI, T-REX
    #[arg(long, value_name = "NAME", help_heading = "Instruments of the EFU paper")]
    instrument: Option<String>,
    /// Print what every instrument of the EFU paper sends, simulated at --scale, and end
    #[arg(long, help_heading = "Instruments of the EFU paper")]
    instruments: bool,
    /// Readout of the instrument: prototype or ess
    #[arg(long, value_name = "READOUT", help_heading = "Instruments of the EFU paper")]
    readout: Option<String>,
    /// Share of the instrument's rate
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 0.01,
        help_heading = "Instruments of the EFU paper"
    )]
    scale: f64,
    /// The capture to write: pcapng, or .pkts by its name; - is standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send to this address instead, each packet when it is due
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint)]
    to: Option<SocketAddr>,
    /// Form the events in this process instead, as fast as possible
    #[arg(long)]
    form: bool,
    /// Send by AF_XDP through this network interface, as whole frames bypassing the kernel's protocols, instead of a socket
    #[arg(
        long,
        value_name = "INTERFACE",
        requires = "to",
        conflicts_with = "own_addresses",
        help_heading = "Sending"
    )]
    xdp: Option<String>,
    /// Send N times faster
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "to", help_heading = "Sending")]
    speed: f64,
    /// Simulate everything first, then send it as fast as the system takes it
    #[arg(long, requires = "to", conflicts_with = "speed", help_heading = "Sending")]
    prebuilt: bool,
    /// Simulate everything first, then send it N times, each time later by its own length: sequence numbers, times and pulses
    /// go on. Each when it is due, or with --prebuilt as fast as the system takes it
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "to",
        help_heading = "Sending"
    )]
    repeat: u64,
    /// Send from the source addresses of the packets, which must be this host's
    #[arg(long, requires = "to", help_heading = "Sending")]
    own_addresses: bool,
    /// Write the truth as CSV: neutron,time_ns,pixel_id,module,x,y,z,resolvable
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the true frames as CSV, of a detector that has frames: frame,reference_ns,period,vetoes,protons,events
    #[arg(long, value_name = "FILE", help_heading = "Beam and electronics")]
    truth_frames: Option<PathBuf>,
    /// Write the faults that were injected as CSV
    #[arg(long, value_name = "FILE", help_heading = "Beam and electronics")]
    fault_log: Option<PathBuf>,
    /// Pulses of the source to simulate (14 per second)
    #[arg(long, default_value_t = 140)]
    pulses: u64,
    /// Neutrons per second on the detector, on average: 20kHz [configuration: simulation.beam.neutrons]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    neutrons: Option<Frequency>,
    /// Gammas per second [configuration: simulation.beam.gammas]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Beam and electronics")]
    gammas: Option<Frequency>,
    /// Noise hits per second [configuration: simulation.electronics.noise]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Beam and electronics")]
    noise: Option<Frequency>,
    /// Inject a fault, as in lose:probability=1e-3; may be given several times (docs/faults.md)
    /// [configuration: simulation.fault]
    #[arg(long = "fault", value_name = "FAULT", help_heading = "Beam and electronics")]
    faults: Vec<evforge_sim::faults::settings::Fault>,
    /// The same seed gives the same packets, but for their times [configuration: simulation.seed]
    #[arg(long)]
    seed: Option<u64>,
    /// When the simulated measurement begins: now, a date (2026-11-22T12:00:00Z), or fixed: always the same, so that the packets
    /// of a seed are the same to the last byte [default: now] [configuration: simulation.start]
    #[arg(long, value_name = "WHEN", help_heading = "Beam and electronics")]
    start: Option<Start>,
    /// Override a key of the configuration (simulation.beam.neutrons=5kHz); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten, next_help_heading = "Outputs of --form")]
    outputs: OutputArguments,
    #[command(flatten)]
    identity: IdentityArguments,
}

/// A rate in hertz, with or without its unit.
pub(crate) fn rate(text: &str) -> Result<Frequency, String> {
    let with_unit = if text.parse::<f64>().is_ok() { format!("{text}Hz") } else { text.to_owned() };
    with_unit.parse::<Frequency>().map_err(|error| error.to_string())
}

/// Runs the command.
pub(crate) fn simulate(
    arguments: &SimulateArguments,
    registry: &Registry,
) -> Result<ExitStatus, CommandError> {
    if !(arguments.scale.is_finite() && arguments.scale > 0.0) {
        return Err(format!("--scale {} is not a number above 0", arguments.scale).into());
    }
    if arguments.instruments {
        let wishes = Wishes { overrides: &arguments.overrides, seed: arguments.seed, ..Wishes::default() };
        print(&instrument_table(arguments.scale, arguments.pulses, &wishes)?)?;
        return Ok(ExitStatus::Good);
    }
    let files = NamedFiles::default()
        .input("--config", &arguments.config)
        .output("--output", &arguments.output)
        .output("--truth", &arguments.truth)
        .output("--truth-frames", &arguments.truth_frames)
        .output("--fault-log", &arguments.fault_log);
    arguments.outputs.name(files).check(arguments.outputs.overwrite)?;
    let simulated = arguments.simulated()?;
    if let (Some(path), Some(config)) = (&arguments.output, simulated.config()) {
        refuse_without_origin(path, config)?;
    }
    let simulation = simulated.simulation()?;
    if let Some(path) = arguments.truth_frames.as_ref().filter(|_| !simulation.has_frames()) {
        let problem =
            "the packets of this detector do not tell frames (those of a configuration with [isis] do)";
        return Err(format!("--truth-frames {}: {problem}", path.display()).into());
    }
    let truth = TruthFiles::create(arguments.truth.as_deref(), arguments.fault_log.as_deref())?;
    let truth = truth.with_frames(arguments.truth_frames.as_deref())?;
    let source = SimulatedSource::new(simulation, arguments.pulses, Box::new(truth));
    let stop = stop_on_signals()?;
    if arguments.form {
        return form(arguments, &simulated, source, &stop, registry);
    }
    let counters = match (&arguments.output, arguments.to) {
        (Some(path), _) => write_capture(source, path, &stop)?,
        (None, Some(address)) => send(arguments, source, address, &stop)?,
        (None, None) => return Err("give a destination: --output FILE, --to HOST:PORT or --form".into()),
    };
    let files = [&arguments.output, &arguments.truth, &arguments.truth_frames, &arguments.fault_log];
    let is_taken = files.into_iter().flatten().any(|path| is_standard_output(path));
    print_alongside(is_taken, &simulated.summary(&counters))?;
    Ok(ExitStatus::Good)
}

impl SimulateArguments {
    /// Whether everything is simulated before the first packet is sent.
    fn is_built_first(&self) -> bool {
        self.prebuilt || self.repeat > 1
    }

    fn simulated(&self) -> Result<Simulated, CommandError> {
        let choice = match (&self.detector, &self.config, &self.instrument) {
            (Some(name), _, _) => Choice::Shipped(name),
            (_, Some(path), _) => Choice::File(path),
            (_, _, Some(name)) => Choice::Instrument(name, self.readout.as_deref(), self.scale),
            (None, None, None) => {
                return Err("name what to simulate: a detector, --config or --instrument".into());
            }
        };
        let wishes = Wishes {
            overrides: &self.overrides,
            neutrons: self.neutrons,
            gammas: self.gammas,
            noise: self.noise,
            seed: self.seed,
            start: self.start,
            start_otherwise: Start::now(),
            faults: &self.faults,
        };
        Simulated::of(choice, &wishes)
    }
}

fn form(
    arguments: &SimulateArguments,
    simulated: &Simulated,
    source: SimulatedSource,
    stop: &Arc<AtomicBool>,
    registry: &Registry,
) -> Result<ExitStatus, CommandError> {
    let Some(config) = simulated.config() else {
        let problem = "evforge has no pipeline for the generic readout: send it to one with a plugin \
                       (evforge run --detector, docs/write-a-plugin.md)";
        return Err(problem.into());
    };
    let mut config = config.clone();
    arguments.outputs.apply(&mut config);
    arguments.identity.apply(&mut config)?;
    let plans = OutputPlans::read(&arguments.outputs, &config, registry)?;
    plans.name(NamedFiles::default()).check(arguments.outputs.overwrite)?;
    let is_taken = plans.takes_standard_output();
    let ports = ControlPorts::open(&config, Vec::new())?;
    let mut outputs = plans.open(&config, Some(ports.access()), stop)?;
    let (control, _service) = ports.serve(&config, &outputs, stop)?;
    let run = CaptureRun {
        monitor: outputs.monitor.clone(),
        packets: outputs.packets.clone(),
        control,
        config: &config,
        input: Box::new(source),
        outputs: std::mem::take(&mut outputs.events),
        clock: Arc::clone(&outputs.clock),
        health: outputs.health.clone(),
        on_waiting: Arc::new(
            |text| tracing::warn!(target: evforge_log::group::OUTPUT, lead = "evforge", "{text}. It continues by itself; Ctrl-C ends the run."),
        ),
        samples: outputs.samples.take(),
        stop,
    };
    let report = run.run(|_| {})?;
    let mut ending = Ending::alongside(is_taken);
    outputs.finish(&report, &mut ending);
    ending.print(&report.to_text());
    if let Some((_, counters)) = report.state.stages.iter().find(|(stage, _)| *stage == "simulation") {
        ending.print(&simulated.summary(counters));
    }
    Ok(ExitStatus::from(report.verdict()).and(ExitStatus::of(ending.is_good())))
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
        if packets.len() == 1024 && !arguments.is_built_first() {
            sender.send(&packets, stop)?;
            packets.clear();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let building = built.elapsed();
    let passes = if arguments.repeat > 1 {
        send_repeatedly(arguments, &source, packets, &mut sender, stop)?
    } else {
        sender.send(&packets, stop)?;
        1
    };
    let report = sender.report();
    let counters = source.counters();
    if arguments.is_built_first() {
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
    if let Some(path) = &arguments.outputs.report {
        let asked =
            if arguments.prebuilt { "unpaced".to_owned() } else { format!("own timing, {speed} times") };
        let json = crate::replay::sent_json(&report, address, &asked);
        write_file("the report", path, format!("{json:#}\n").as_bytes())?;
    }
    if arguments.repeat > 1 {
        let all = |name| grouped(passes * counters.value(name).unwrap_or(0));
        print(&format!(
            "repeated      {} times in full: {} neutrons, {} with a trace, {} readouts in {} packets\n",
            grouped(passes),
            all("neutrons"),
            all("neutrons_with_a_trace"),
            all("simulated_readouts"),
            all("simulated_packets"),
        ))?;
    }
    Ok(counters)
}

/// Sends all packets again and again, later each time. Returns how often all of them were sent.
fn send_repeatedly(
    arguments: &SimulateArguments,
    source: &SimulatedSource,
    packets: Vec<SimulatedPacket>,
    sender: &mut ElectronicsSender,
    stop: &AtomicBool,
) -> Result<u64, CommandError> {
    if source.simulation().faults().is_any() {
        return Err("--repeat sends what was built again: it cannot be combined with faults".into());
    }
    let Some(mut load) = source.simulation().repeated(packets, source.length_ns()) else {
        let problem = "--repeat moves packets of the ESS readout with VMM3a and of a SoNDe in time; those of this detector \
                       cannot be moved";
        return Err(problem.into());
    };
    for pass in 0..arguments.repeat {
        if pass > 0 {
            load.move_on();
        }
        sender.send(load.packets(), stop)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(pass);
        }
    }
    Ok(arguments.repeat)
}

//! `evforge simulate`: a detector with known truth into a capture file.

use crate::CommandError;
use crate::output::{print, write_file};
use clap::Args;
use evforge_core::packet::Packet;
use evforge_net::capture::CaptureWriter;
use evforge_pipeline::config::{Config, DetectorSettings};
use evforge_pipeline::report::grouped;
use evforge_sim::gdgem_old::{GdGemSimulation, GdGemSimulationOptions};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `evforge simulate`.
#[derive(Args)]
pub(crate) struct SimulateArguments {
    /// Configuration of the instrument to simulate
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The capture to write: pcapng, or .pkts by its name
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Write the true events as CSV: time_ns,pixel_id
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Pulses of the source to simulate (14 in a second)
    #[arg(long, default_value_t = 140)]
    pulses: u64,
    /// Neutrons per second
    #[arg(long, default_value_t = 20_000.0)]
    neutrons: f64,
    /// Noise hits per second
    #[arg(long, default_value_t = 5_000.0)]
    noise: f64,
    /// The same seed gives the same packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command.
pub(crate) fn simulate(arguments: &SimulateArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    let options = GdGemSimulationOptions {
        neutrons_per_second: arguments.neutrons,
        noise_per_second: arguments.noise,
        seed: arguments.seed,
        ..GdGemSimulationOptions::default()
    };
    let made = write_capture(&config, options, arguments.pulses, &arguments.output)?;
    if let Some(path) = &arguments.truth {
        write_file("the truth", path, made.truth.as_bytes())?;
    }
    print(&format!(
        "{}: {} packets, {} neutrons in {} pulses\n",
        arguments.output.display(),
        grouped(made.packets),
        grouped(made.neutrons),
        arguments.pulses
    ))?;
    Ok(true)
}

/// What a simulation has made.
pub(crate) struct SimulatedCapture {
    /// Packets written.
    pub(crate) packets: u64,
    /// Neutrons in them.
    pub(crate) neutrons: u64,
    /// The true events as CSV.
    pub(crate) truth: String,
}

/// Simulates `pulses` pulses of the configured detector into a capture file.
pub(crate) fn write_capture(
    config: &Config,
    options: GdGemSimulationOptions,
    pulses: u64,
    path: &Path,
) -> Result<SimulatedCapture, CommandError> {
    let DetectorSettings::GdGem(settings) = &config.detector else {
        return Err(format!(
            "a detector with a section [{}] cannot be simulated: take a [gdgem]",
            config.section
        )
        .into());
    };
    let mut simulation = GdGemSimulation::new(settings, options)?;
    let mut writer = CaptureWriter::create(path)?;
    let mut made = SimulatedCapture { packets: 0, neutrons: 0, truth: "time_ns,pixel_id\n".into() };
    for _ in 0..pulses {
        let pulse = simulation.next_pulse();
        for packet in &pulse.packets {
            let packet = Packet {
                bytes: &packet.bytes,
                original_length: packet.bytes.len() as u32,
                origin: packet.origin,
            };
            writer.write(&packet)?;
        }
        made.packets += pulse.packets.len() as u64;
        made.neutrons += pulse.truth.len() as u64;
        for event in &pulse.truth {
            writeln!(made.truth, "{},{}", event.time_ns, event.pixel_id)?;
        }
    }
    writer.finish()?;
    Ok(made)
}

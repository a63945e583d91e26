//! `evforge bench`: how fast events are formed from memory.

use crate::CommandError;
use crate::input::open;
use crate::output::print;
use clap::Args;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_lab::benchmark::{Measurement, made_packets, measure, reference_speed};
use evforge_lab::simulation::slab_of;
use evforge_net::affinity::allowed_cores;
use evforge_pipeline::config::Config;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `evforge bench`.
#[derive(Args)]
pub(crate) struct BenchArguments {
    /// Configuration of the instrument
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// The captures to form events of; each is read into memory first. Without any, the detector of the
    /// configuration is simulated
    #[arg(long, env = "EVFORGE_INPUT", value_name = "FILE", num_args = 1..)]
    input: Vec<PathBuf>,
    /// How long to measure each capture, in seconds
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How many cores form events side by side, each of all packets
    #[arg(long, default_value_t = 1, value_name = "N")]
    cores: usize,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    let allowed = allowed_cores()?;
    if arguments.cores == 0 || arguments.cores > allowed.len() {
        let problem = format!("--cores {}: this process may use 1 to {}", arguments.cores, allowed.len());
        return Err(problem.into());
    }
    let cores = &allowed[..arguments.cores];
    if arguments.input.is_empty() {
        let made =
            made_packets(&config).map_err(|problem| format!("{problem}: give captures with --input"))?;
        let measured = measure(&config, &[slab_of(&made.packets)], None, cores, arguments.seconds)?;
        print(&describe(&config, "simulated", &measured))?;
        print(&format!("  {}\n", made.description))?;
    }
    for input in &arguments.input {
        let slabs = read(input, &config)?;
        let measured = measure(&config, &slabs, None, cores, arguments.seconds)
            .map_err(|problem| format!("{}: {problem}", input.display()))?;
        let stem = input.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        print(&describe(&config, stem, &measured))?;
    }
    Ok(true)
}

/// The whole capture in memory.
fn read(input: &Path, config: &Config) -> Result<Vec<PacketSlab>, CommandError> {
    let mut reader = open(input, None, config)?;
    let mut slabs = Vec::new();
    loop {
        let mut slab = PacketSlab::new(4096, 32 << 20);
        let fill = reader.fill(&mut slab)?;
        slabs.push(slab);
        if fill == Fill::End {
            return Ok(slabs);
        }
    }
}

/// What was found, for people.
fn describe(config: &Config, stem: &str, measured: &Measurement) -> String {
    let mut text = format!(
        "{} on {stem}: {} packets, {} readouts, {} events, {} passes on {} {}\n",
        config.name,
        measured.packets,
        measured.readouts,
        measured.events,
        measured.passes,
        measured.cores,
        if measured.cores == 1 { "core" } else { "cores" },
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  {:.3} M packets/s  {:.1} M readouts/s  {:.3} M events/s  {:.2} GB/s  {:.2} ns per readout and core",
        measured.packets_per_second() / 1e6,
        measured.readouts_per_second() / 1e6,
        measured.events_per_second() / 1e6,
        measured.bytes_per_second() / 1e9,
        measured.nanoseconds_per_readout(),
    );
    let _ = write!(
        text,
        "  yardstick {:.1} M keys/s, {:.2} readouts per key",
        measured.keys_per_second / 1e6,
        measured.readouts_per_key(),
    );
    let reference = reference_speed(config.section, config.strategy(), stem, measured.readouts);
    let _ = match reference {
        Some(reference) => writeln!(
            text,
            ", {:.1} x the reference of August 2018 on one core",
            measured.readouts_per_key() / reference.readouts_per_key()
        ),
        None => writeln!(text, " (the reference was not measured on this)"),
    };
    text
}

//! `evforge bench`: how fast events are formed from memory.

use crate::CommandError;
use crate::configuration::read_configuration;
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::print;
use clap::Args;
use evforge_lab::benchmark::{made_packets, measure, read_all};
use evforge_lab::simulation::slab_of;
use evforge_net::affinity::allowed_cores;
use std::path::PathBuf;

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
pub(crate) fn bench(arguments: &BenchArguments) -> Result<ExitStatus, CommandError> {
    let config = read_configuration(&arguments.config, &arguments.overrides)?;
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
        print(&measured.describe(&config, "simulated"))?;
        print(&format!("  {}\n", made.description))?;
    }
    for input in &arguments.input {
        let slabs = read_all(open(input, None, &config)?)?;
        let measured = measure(&config, &slabs, None, cores, arguments.seconds)
            .map_err(|problem| format!("{}: {problem}", input.display()))?;
        let stem = input.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        print(&measured.describe(&config, stem))?;
    }
    Ok(ExitStatus::Good)
}

//! `evforge bench`: how fast events are formed from memory.

use crate::CommandError;
use crate::arguments::{ConfigArguments, Inputs};
use crate::exit_status::ExitStatus;
use crate::input::open;
use crate::output::print;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_lab::benchmark::{made_packets, measure, read_all};
use evforge_lab::simulation::slab_of;
use evforge_net::affinity::allowed_cores;

/// Arguments of `evforge bench`.
#[derive(Args)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    config: ConfigArguments,
    // Each is read into memory first. Without any, the detector of the configuration is simulated.
    #[command(flatten)]
    inputs: Inputs<0, 1000>,
    /// How long to measure each capture
    #[arg(
        long = "for",
        alias = "seconds",
        value_name = "TIME",
        default_value = "5",
        value_parser = TimeSpan::in_seconds
    )]
    time: TimeSpan,
    /// How many cores form events side by side, each of all packets
    #[arg(long, default_value_t = 1, value_name = "N")]
    cores: usize,
}

/// Runs the command.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let allowed = allowed_cores()?;
    if arguments.cores == 0 || arguments.cores > allowed.len() {
        let problem = format!("--cores {}: this process may use 1 to {}", arguments.cores, allowed.len());
        return Err(problem.into());
    }
    let cores = &allowed[..arguments.cores];
    let seconds = arguments.time.to_std().as_secs_f64();
    let inputs = arguments.inputs.paths()?;
    if inputs.is_empty() {
        let made = made_packets(&config).map_err(|problem| format!("{problem}: give captures of it"))?;
        let measured = measure(&config, &[slab_of(&made.packets)], None, cores, seconds)?;
        print(&measured.describe(&config, "simulated"))?;
        print(&format!("  {}\n", made.description))?;
    }
    for input in &inputs {
        let slabs = read_all(open(input, None, &config)?)?;
        let measured = measure(&config, &slabs, None, cores, seconds)
            .map_err(|problem| format!("{}: {problem}", input.display()))?;
        let stem = input.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        print(&measured.describe(&config, stem))?;
    }
    Ok(ExitStatus::Good)
}

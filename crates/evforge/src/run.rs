//! `evforge run`: form events from readouts.

use crate::CommandError;
use crate::output::{check_writable, print, write_file};
use crate::picture::png_of_counts;
use crate::progress::ProgressDisplay;
use clap::Args;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::config::Config;
use evforge_pipeline::fan_out::SinkPlan;
use evforge_pipeline::sinks::{CsvSink, PixelCounts};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Arguments of `evforge run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// Configuration of the instrument (TOML; examples are in configs/)
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: PathBuf,
    /// Read this capture (pcap, pcapng or .pkts), as fast as it can be
    #[arg(long, env = "EVFORGE_INPUT", value_name = "FILE", required_unless_present = "check")]
    input: Option<PathBuf>,
    /// Take only packets of the capture that were sent to this UDP port
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT")]
    port: Option<u16>,
    /// Write the events as CSV: time_ns,pixel_id in the order of emission
    #[arg(long, env = "EVFORGE_EVENTS", value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write the end-of-run report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the detector image as PNG
    #[arg(long, env = "EVFORGE_IMAGE", value_name = "FILE")]
    image: Option<PathBuf>,
    /// Override a key of the configuration, as in gdgem.sorting.window=1ms; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Check the configuration, print what follows from it, and end
    #[arg(long)]
    check: bool,
    /// No progress display and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command. True if everything went well.
pub(crate) fn run(arguments: &RunArguments) -> Result<bool, CommandError> {
    let config = Config::read(&arguments.config, &arguments.overrides)?;
    if arguments.check {
        return print(&summary(&config)?).map(|()| true);
    }
    let input = arguments.input.clone().ok_or("nothing to read: give --input FILE")?;
    let mut sinks: Vec<SinkPlan> = Vec::new();
    if let Some(path) = &arguments.events {
        sinks.push(SinkPlan::complete(Box::new(CsvSink::create(path).map_err(|error| error.to_string())?)));
    }
    for (what, path) in [("the report", &arguments.report), ("the image", &arguments.image)] {
        if let Some(path) = path {
            check_writable(what, path)?;
        }
    }
    let counts = PixelCounts::new(config.build_detector()?.geometry());
    if arguments.image.is_some() {
        sinks.push(SinkPlan::complete(Box::new(counts.clone())));
    }
    let stop = stop_on_signals()?;
    let mut display = ProgressDisplay::new(arguments.quiet);
    let run = CaptureRun { config: &config, input, port: arguments.port, sinks, stop: &stop };
    let report = run.run(|progress| {
        if let Some(display) = &mut display {
            display.show(progress);
        }
    })?;
    if let Some(display) = display {
        display.finish();
    }
    if !arguments.quiet {
        print(&report.to_text())?;
    }
    if let Some(path) = &arguments.report {
        let mut json = serde_json::to_vec_pretty(&report.to_json())?;
        json.push(b'\n');
        write_file("the report", path, &json)?;
    }
    if let Some(path) = &arguments.image
        && report.is_success()
    {
        write_file("the image", path, &png_of_counts(&counts.geometry(), &counts.snapshot())?)?;
    }
    if arguments.quiet && !report.is_success() {
        eprint!("{}", report.to_text());
    }
    Ok(report.is_success())
}

/// A flag that SIGINT and SIGTERM set; the second signal of a kind ends the process at once.
pub(crate) fn stop_on_signals() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// What follows from a configuration.
fn summary(config: &Config) -> Result<String, CommandError> {
    let detector = config.build_detector()?;
    let geometry = detector.geometry();
    let input = &config.input;
    let slabs = if input.threads == 1 { 1 } else { evforge_pipeline::config::InputSettings::SLABS };
    let slab = evforge_core::packet::PacketSlab::new(
        input.packets_per_slab,
        usize::try_from(input.bytes_per_slab.bytes)?,
    );
    let batch = evforge_core::event::EventBatch::new(input.events_per_batch);
    let pipeline = detector.memory_bound();
    let transport = slabs * slab.memory_bound() + batch.memory_bound();
    Ok(format!(
        "{} is a valid configuration\n\
         geometry      {} x {} pixels in {} layers and {} panels: ids 1 to {}\n\
         threads       {}\n\
         memory bound  {:.1} MB: {:.1} MB for forming events, {:.1} MB for packets and events on their way\n",
        config.name,
        geometry.nx(),
        geometry.ny(),
        geometry.nz(),
        geometry.panels(),
        geometry.pixel_count(),
        input.threads,
        (pipeline + transport) as f64 / 1e6,
        pipeline as f64 / 1e6,
        transport as f64 / 1e6,
    ))
}

//! `evforge demo`: a simulated Gd-GEM from packets to a picture.

use crate::CommandError;
use crate::output::{print, write_file};
use crate::picture::png_of_counts;
use crate::simulate::write_capture;
use clap::Args;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::config::Config;
use evforge_pipeline::fan_out::SinkPlan;
use evforge_pipeline::sinks::{CsvSink, PixelCounts};
use evforge_sim::gdgem::GdGemSimulationOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The instrument of the demonstration, part of the program.
const CONFIG: &str = include_str!("../../../configs/gdgem-srs.toml");

/// Arguments of `evforge demo`.
#[derive(Args)]
pub(crate) struct DemoArguments {
    /// Folder for what the demonstration makes
    #[arg(long, default_value = "demo-output", value_name = "FOLDER")]
    output: PathBuf,
    /// Pulses of the source to simulate (14 in a second)
    #[arg(long, default_value_t = 70)]
    pulses: u64,
}

/// Runs the command.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<bool, CommandError> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let config = Config::parse(Path::new("configs/gdgem-srs.toml"), CONFIG, &[])?;
    let capture = folder.join("demo.pcapng");
    let made = write_capture(&config, GdGemSimulationOptions::default(), arguments.pulses, &capture)?;
    let counts = PixelCounts::new(config.build_detector()?.geometry());
    let events = folder.join("demo-events.csv");
    let run = CaptureRun {
        config: &config,
        input: capture.clone(),
        port: None,
        sinks: vec![
            SinkPlan::complete(Box::new(CsvSink::create(&events).map_err(|error| error.to_string())?)),
            SinkPlan::complete(Box::new(counts.clone())),
        ],
        stop: &AtomicBool::new(false),
    };
    let report = run.run(|_| {})?;
    let image = folder.join("demo-image.png");
    write_file("the image", &image, &png_of_counts(&counts.geometry(), &counts.snapshot())?)?;
    print(&report.to_text())?;
    print(&format!(
        "\nsimulated     {} neutrons, {}\nevents        {}\nimage         {}\n",
        made.neutrons,
        capture.display(),
        events.display(),
        image.display()
    ))?;
    Ok(report.is_success())
}

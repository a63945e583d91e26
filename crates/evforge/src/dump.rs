//! `evforge dump`: the raw readouts of a capture into an HDF5 file.

use crate::CommandError;
use crate::arguments::{CaptureArguments, ConfigArguments, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::input::{open, tell_lost};
use crate::output::{print, refuse_standard_output};
use crate::same_file::NamedFiles;
use clap::Args;
use evforge_core::counter::CounterSnapshot;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_dump::packets::CaenFormat;
use evforge_dump::recording::{CaenRecorder, MesytecRecorder, Recorded, SrsRecorder, record};
use evforge_pipeline::report::grouped;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `evforge dump`.
#[derive(Args)]
pub(crate) struct DumpArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    capture: CaptureArguments,
    /// The HDF5 file to write
    #[arg(long, short = 'o', value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: OverwriteArguments,
}

/// Runs the command.
pub(crate) fn dump(arguments: &DumpArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let path = arguments.capture.path()?;
    refuse_standard_output(
        "--output",
        &arguments.output,
        "an HDF5 file, which is not written in one direction",
    )?;
    NamedFiles::default()
        .input("--config", Some(&arguments.config.config))
        .input("--input", Some(&path))
        .output("--output", Some(&arguments.output))
        .check(arguments.overwrite)?;
    let mut input = open(&path, arguments.capture.port, &config)?;
    let output = &arguments.output;
    let recorded = match config.detector.dumped_readouts() {
        Some(DumpedReadouts::Srs(settings)) => record(input.as_mut(), SrsRecorder::new(settings)?, output)?,
        Some(DumpedReadouts::Vmmr { spoof_high_time }) => {
            record(input.as_mut(), MesytecRecorder::new(spoof_high_time), output)?
        }
        Some(DumpedReadouts::Caen(settings)) => {
            record(input.as_mut(), CaenRecorder::new(CaenFormat::of(settings)), output)?
        }
        None => {
            let problem =
                format!("readouts of [{}] as {} has it cannot be dumped", config.section, config.name);
            return Err(problem.into());
        }
    };
    print(&text(&recorded, output))?;
    let lost = tell_lost(input.stage(), input.counters());
    let of_use = if recorded.counters.rows_written > 0 { ExitStatus::Good } else { ExitStatus::NoUse };
    if let Some(problem) = &recorded.input_failure {
        eprintln!("evforge: {problem}");
        return Ok(ExitStatus::Incomplete.and(of_use));
    }
    if of_use == ExitStatus::NoUse {
        eprintln!("evforge: the input has no readouts: `evforge inspect` tells what is in it");
    }
    Ok(of_use.and(lost))
}

fn text(recorded: &Recorded, output: &Path) -> String {
    let mut text = format!("{}: {} rows\n", output.display(), grouped(recorded.counters.rows_written));
    for (info, count) in CounterSnapshot::of(&recorded.counters).iter().filter(|(_, count)| *count > 0) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}: {}", grouped(count), info.help);
    }
    text
}

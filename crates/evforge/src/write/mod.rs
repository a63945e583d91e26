//! `evforge write`: topics into NeXus files, and care for files that a killed writer has left.

mod base;
mod file;
mod progress_line;
mod service;
mod start;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::kafka::client::ClientArguments;
use crate::output::print;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_stream::nexus::recover;
use std::path::PathBuf;

/// Arguments of `evforge write`.
#[derive(Args)]
pub(crate) struct WriteArguments {
    /// What the file is to contain: NeXus structure JSON (docs/file-writer.md)
    #[arg(value_name = "TEMPLATE", conflicts_with = "recover")]
    template: Option<PathBuf>,
    /// Repair event files that a killed `evforge run --nexus` has left, cut back to their last flush
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["output", "brokers"])]
    recover: Vec<PathBuf>,
    /// The file to write; while it is written it is called FILE.writing. One that was begun and not ended is taken up
    #[arg(long, short, env = "EVFORGE_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    start: start::StartArguments,
    #[command(flatten)]
    service: service::ServiceArguments,
    #[command(flatten)]
    storage: StorageArguments,
    /// Write the file of a detector, as `evforge run --nexus` does: its configuration, whose [outputs.kafka] says
    /// where the events are
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE", help_heading = "Detector")]
    config: Option<PathBuf>,
    /// Override a key of the configuration; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config", help_heading = "Detector")]
    overrides: Vec<String>,
    /// Take the events of this source, instead of the one in the configuration; repeatable, for several units of a detector
    #[arg(long, value_name = "NAME", requires = "config", help_heading = "Detector")]
    source: Vec<String>,
    /// Copy the content of this HDF5 file first: the part of the structure that does not change
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    base: Option<PathBuf>,
    /// Write a report at the end, as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print the state as JSON on standard output, a line a second, and the report at the end
    #[arg(long)]
    json: bool,
    /// Replace a file that exists, and one that was begun and not ended
    #[arg(long)]
    overwrite: bool,
    /// Print the structure of the detector's file as JSON, and end
    #[arg(long, requires = "config")]
    print_structure: bool,
    /// No progress line and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// How files are written.
#[derive(Args)]
struct StorageArguments {
    /// Bring what was read to the file this often; a kill costs nothing, for it is read again
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = TimeSpan::in_seconds, help_heading = "Storage")]
    flush_interval: TimeSpan,
    /// How events, images and histograms are compressed
    #[arg(long, value_name = "HOW", default_value = "deflate", help_heading = "Storage")]
    compression: Compression,
    /// Threads that compress; half of the cores unless given, at most four
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(0..=64), help_heading = "Storage")]
    compression_threads: Option<u16>,
    /// Threads that read and decode, with a connection to the brokers each
    #[arg(long, value_name = "NUMBER", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Storage")]
    readers: u16,
    /// Do not wait until the disk confirms a commit: a loss of power can then cost more than a kill
    #[arg(long, help_heading = "Storage")]
    no_sync: bool,
}

/// How what is large is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Compression {
    /// Byte shuffle and deflate
    Deflate,
    /// Not at all
    None,
}

/// Runs the command.
pub(crate) fn write(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    if !arguments.recover.is_empty() {
        return repair(&arguments.recover);
    }
    if arguments.service.is_asked_for() { service::serve(arguments) } else { file::write_file(arguments) }
}

/// Repairs event files.
fn repair(paths: &[PathBuf]) -> Result<ExitStatus, CommandError> {
    let mut all_well = true;
    for path in paths {
        match recover(path) {
            Ok(recovered) => print(&format!("{recovered}\n"))?,
            Err(error) => {
                eprintln!("evforge: {error}");
                all_well = false;
            }
        }
    }
    Ok(ExitStatus::of(all_well))
}

//! The command line of `evforge write`.

use super::service_arguments::ServiceArguments;
use super::start::StartArguments;
use crate::arguments::LogArguments;
use crate::kafka::client::ClientArguments;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_filewriter::file::Storage;
use evforge_stream::storage::workers::Workers;
use std::path::PathBuf;

/// Arguments of `evforge write`.
#[derive(Args)]
pub(crate) struct WriteArguments {
    /// What the file is to contain: NeXus structure JSON (docs/file-writer.md)
    #[arg(value_name = "TEMPLATE", conflicts_with = "recover")]
    pub(super) template: Option<PathBuf>,
    /// Repair event files that a killed `evforge run --nexus` has left, cut back to their last flush
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["output", "brokers"])]
    pub(super) recover: Vec<PathBuf>,
    /// The file to write; while it is written it is called FILE.writing. One that was begun and not ended is taken up
    #[arg(long, short, env = "EVFORGE_OUTPUT", value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) client: ClientArguments,
    #[command(flatten)]
    pub(super) start: StartArguments,
    #[command(flatten)]
    pub(super) service: ServiceArguments,
    #[command(flatten)]
    pub(super) storage: StorageArguments,
    #[command(flatten)]
    pub(super) log: LogArguments,
    /// Write the file of a detector, as `evforge run --nexus` does: its configuration, whose [outputs.kafka] says
    /// where the events are
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE", help_heading = "Detector")]
    pub(super) config: Option<PathBuf>,
    /// Override a key of the configuration; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config", help_heading = "Detector")]
    pub(super) overrides: Vec<String>,
    /// Take the events of this source, instead of the one in the configuration; repeatable, for several units of a detector
    #[arg(long, value_name = "NAME", requires = "config", help_heading = "Detector")]
    pub(super) source: Vec<String>,
    /// Copy the content of this HDF5 file first: the part of the structure that does not change
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(super) base: Option<PathBuf>,
    /// Write a report at the end, as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Print the state as JSON on standard output, a line a second, and the report at the end
    #[arg(long)]
    pub(super) json: bool,
    /// Replace a file that exists, and one that was begun and not ended
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Print the structure of the detector's file as JSON, and end
    #[arg(long, requires = "config")]
    pub(super) print_structure: bool,
    /// No progress line and no report on the terminal
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// How files are written.
#[derive(Args)]
pub(super) struct StorageArguments {
    /// Bring what was read to the file this often; a kill costs nothing, for it is read again
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = TimeSpan::in_seconds, help_heading = "Storage")]
    pub(super) flush_interval: TimeSpan,
    /// How events, images and histograms are compressed
    #[arg(long, value_name = "HOW", default_value = "deflate", help_heading = "Storage")]
    pub(super) compression: Compression,
    /// Threads that compress; half of the cores unless given, at most four
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(0..=64), help_heading = "Storage")]
    pub(super) compression_threads: Option<u16>,
    /// Threads that read and decode, with a connection to the brokers each
    #[arg(long, value_name = "NUMBER", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Storage")]
    pub(super) readers: u16,
    /// Do not wait until the disk confirms a commit: a loss of power can then cost more than a kill
    #[arg(long, help_heading = "Storage")]
    pub(super) no_sync: bool,
}

/// How what is large is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Compression {
    /// Byte shuffle and deflate
    Deflate,
    /// Not at all
    None,
}

impl StorageArguments {
    /// How files are written.
    pub(super) fn storage(&self) -> Storage {
        Storage {
            deflate: (self.compression == Compression::Deflate).then_some(2),
            threads: self.compression_threads.map_or_else(Workers::default_count, usize::from),
            waits_for_disk: !self.no_sync,
            ..Storage::default()
        }
    }
}

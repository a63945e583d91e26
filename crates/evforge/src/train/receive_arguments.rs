//! The options of `evforge train receive`.

use super::detector::Detector;
use super::steps::StepArguments;
use super::summaries::SummaryArguments;
use super::trains_view::{PageContent, TrainsView};
use crate::CommandError;
use crate::arguments::PageNameArguments;
use crate::arguments::{EndArguments, LogArguments, OverwriteArguments, WayArguments};
use crate::page_address::page_text;
use clap::{Args, ValueEnum};
use evforge_config::{ByteSize, Rate, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_log::group;
use evforge_train::file::TrainFileOptions;
use evforge_train::sinks::ForwardTarget;
use evforge_train::sinks::NewestSink;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge train receive`.
#[derive(Args)]
pub(super) struct ReceiveArguments {
    /// Receive a module at this port (UDP, or --tcp); repeatable: the first is module 0
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", default_value = "9200")]
    pub(super) port: Vec<u16>,
    /// Number of the first module; the others follow
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(super) first_module: u8,
    /// The detector
    #[arg(long, value_name = "NAME", default_value = "lpd")]
    pub(super) detector: Detector,
    /// Images of a train at most
    #[arg(long, value_name = "NUMBER", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) images: u32,
    #[command(flatten)]
    pub(super) way: WayArguments,
    /// Images of this size, instead of those of --detector
    #[arg(long, value_name = "SIZE", help_heading = "Trains", conflicts_with_all = ["detector", "files"])]
    pub(super) image_size: Option<ByteSize>,
    /// Bytes of a train in each packet but its last
    #[arg(long, value_name = "SIZE", default_value = "8184B", help_heading = "Trains")]
    pub(super) packet: ByteSize,
    /// Trains of a test of the link: whole after this many packets, their content is anything
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["files", "check"], help_heading = "Trains")]
    pub(super) packets_per_train: Option<u32>,
    /// Step from the number of a train to that of the next one here: the number of nodes that trains are dealt to; 0 checks no numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Trains")]
    pub(super) stride: u64,
    /// Take trains of up to N senders at a port, each of which has an address and port of its own. The module is that in the
    /// header of a train; with --tcp, up to N connections
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = "Trains")]
    pub(super) senders: Option<u16>,
    /// Trains that may be open at a time, of each module or sender
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Trains")]
    pub(super) open: u16,
    /// Further trains there is memory for, of each module or sender, while others are written
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=1024), help_heading = "Trains")]
    pub(super) waiting: u16,
    /// Memory for trains at most
    #[arg(long, value_name = "SIZE", default_value = "4GiB", help_heading = "Trains")]
    pub(super) memory: ByteSize,
    /// A train of which nothing has come for this time is incomplete [default: two periods of 100 ms;
    /// with --tcp 2 s]
    #[arg(long, value_name = "TIME", help_heading = "Trains")]
    pub(super) time_out: Option<TimeSpan>,
    /// What happens to an incomplete train: drop it, mark its images, or zero what is missing
    #[arg(long, value_name = "POLICY", default_value = "drop", help_heading = "Trains")]
    pub(super) incomplete: Incomplete,
    /// Check every byte of the images: `evforge train send` makes such
    #[arg(long, help_heading = "Trains")]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) steps: StepArguments,
    /// Write files that EXtra-data opens: the folder of the run is made in this one
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    pub(super) files: Option<PathBuf>,
    /// Number of the run
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "files", help_heading = "Files")]
    pub(super) run: u32,
    /// Number of the proposal
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "files", help_heading = "Files")]
    pub(super) proposal: u32,
    /// Detector and instrument that sources are named after [default: that of the detector, as FXE_DET_LPD1M-1]
    #[arg(long, value_name = "NAME", help_heading = "Files")]
    pub(super) source_name: Option<String>,
    /// Trains of a module in each file
    #[arg(long, value_name = "NUMBER", default_value_t = TrainFileOptions::TRAINS_PER_FILE, requires = "files", help_heading = "Files")]
    pub(super) trains_per_file: u64,
    /// Compress images: the level, 1 to 9. Nothing is lost by it
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=9), requires = "files", help_heading = "Files")]
    pub(super) deflate: Option<u32>,
    /// Show whole trains to clients of the karabo-bridge at this address
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, conflicts_with_all = ["image_size", "packets_per_train"])]
    pub(super) bridge: Option<SocketAddr>,
    #[command(flatten)]
    pub(super) page: PageArguments,
    #[command(flatten)]
    pub(super) summaries: SummaryArguments,
    /// Pass whole trains on to the next node, as they came: HOST:PORT over UDP, tcp://HOST:PORT over TCP
    #[arg(long, value_name = "TARGET")]
    pub(super) forward: Option<ForwardTarget>,
    /// Largest rate of what is passed on: 5Gbit/s (payload)
    #[arg(long, value_name = "RATE", value_parser = bits, requires = "forward", help_heading = "Forwarding")]
    pub(super) forward_rate: Option<u64>,
    /// The sender's report, read at the end: how many packets and trains there must be. While it is missing, --idle is 10 s longer
    #[arg(long, value_name = "FILE")]
    pub(super) sent: Option<PathBuf>,
    /// End after N good trains, of all modules together
    #[arg(long, value_name = "NUMBER")]
    pub(super) trains: Option<u64>,
    #[command(flatten)]
    pub(super) end: EndArguments,
    /// Receive trains over TCP, as `--forward tcp://` of the node before sends them: each connection is of one module
    #[arg(long, conflicts_with_all = ["first_module", "receive", "interface", "buffer", "sent", "no_profile"], help_heading = "Receiving")]
    pub(super) tcp: bool,
    /// Receive buffer to ask the kernel for, for each module
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    pub(super) buffer: ByteSize,
    /// Cores of the receiving threads, in turn
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Receiving")]
    pub(super) cores: Vec<usize>,
    /// Core of the thread that checks and writes trains
    #[arg(long, value_name = "CORE", help_heading = "Receiving")]
    pub(super) worker_core: Option<usize>,
    /// Do not measure where the time of the receiving threads goes
    #[arg(long, help_heading = "Receiving")]
    pub(super) no_profile: bool,
    /// Write the report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) overwrite: OverwriteArguments,
    #[command(flatten)]
    pub(super) log: LogArguments,
    /// No progress and no report on the terminal
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Bits per second, as `5Gbit/s`.
fn bits(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Rate::Bits(rate)) if rate > 0 => Ok(rate),
        _ => Err(format!("found `{text}`, expected a rate of bits such as 5Gbit/s")),
    }
}

/// What becomes of incomplete trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Incomplete {
    /// They are reported, and go nowhere
    Drop,
    /// They go on; images with holes are left out of files
    Mark,
    /// They go on; images with holes are in files, with zeros, and with a status that says so
    Zero,
}

/// The page, on the command line.
#[derive(Args)]
pub(super) struct PageArguments {
    /// Show the newest trains and the ledger in the browser, at this address
    #[arg(long, env = "EVFORGE_VIEW", value_name = "HOST:PORT", value_parser = endpoint, conflicts_with_all = ["image_size", "packets_per_train"])]
    view: Option<SocketAddr>,
    #[command(flatten)]
    names: PageNameArguments,
    /// Pulses that the page has a place for
    #[arg(long, value_name = "NUMBER", default_value_t = 2700, value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "view", help_heading = "Page")]
    view_pulses: u32,
}

impl PageArguments {
    /// Serves the page, if there is to be one, and says where: with what it needs of the trains.
    pub(super) fn start(
        &self,
        content: &PageContent<'_>,
    ) -> Result<Option<(TrainsView, NewestSink)>, CommandError> {
        let Some(address) = self.view else { return Ok(None) };
        let sink = NewestSink::new(content.detector, content.first_module, content.modules);
        let pulses = usize::try_from(self.view_pulses)?;
        let view = TrainsView::start(address, &self.names, content, (sink.newest(), pulses))?;
        tracing::info!(target: group::VIEW, always = true, "live view at {}", page_text(view.address(), None));
        Ok(Some((view, sink)))
    }
}

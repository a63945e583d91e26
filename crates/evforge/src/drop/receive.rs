//! `evforge drop receive`: every packet and every word accounted for.

use super::addresses::stream_addresses;
use super::text;
use super::words_picture::png_of_words;
use super::words_view::WordsView;
use crate::CommandError;
use crate::arguments::{EndArguments, LogArguments, OverwriteArguments, PageNameArguments, WayArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable, write_file};
use crate::page_address::page_text;
use crate::rate_line::RateLine;
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::{Args, ValueEnum};
use evforge_config::{ByteSize, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_lab::link::drop::{self, ReceiveReport, SentReport, StreamAccount, StreamSockets};
use evforge_lab::link::{LinkProgress, LinkReceiving, LinkWorkers};
use evforge_log::{LogSettings, group};
use evforge_net::host_counters::CountersRead;
use evforge_net::live_receiver::LiveReceiver;
use evforge_pipeline::report::grouped;
use evforge_wire::drop::{DropLayout, Order};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Arguments of `evforge drop receive`.
#[derive(Args)]
pub(super) struct ReceiveArguments {
    /// Receive a stream at this UDP port; repeatable
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", default_value = "9100")]
    port: Vec<u16>,
    /// Receive N streams, at successive ports from that of --port on
    #[arg(long, value_name = "NUMBER")]
    streams: Option<u16>,
    #[command(flatten)]
    way: WayArguments,
    /// Header of the packets: P1, raw64be, or as in offset=4,width=8,order=little,header=16
    #[arg(long, value_name = "LAYOUT", default_value = "P1", help_heading = "Data")]
    layout: DropLayout,
    /// The identifiers: counting, random or random:SEED
    #[arg(long, value_name = "ORDER", default_value = "counting", help_heading = "Data")]
    order: Order,
    /// The words: counting, random or random:SEED; with --sent, the sender's report gives it
    #[arg(long, value_name = "PATTERN", default_value = "counting", help_heading = "Data")]
    pattern: Order,
    /// Data generators in each stream; with --sent, the sender's report gives it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Data")]
    generators: u32,
    /// The sender's report, read at the end: how many packets and bytes there must be. While it is missing, --idle is 10 s longer
    #[arg(long, value_name = "FILE")]
    sent: Option<PathBuf>,
    #[command(flatten)]
    end: EndArguments,
    /// Receive buffer to ask the kernel for, for each stream
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    buffer: ByteSize,
    /// Take packets one by one and not several in a piece (UDP_GRO): slower, but drops of the socket are counted exactly
    #[arg(long, help_heading = "Receiving")]
    no_coalesce: bool,
    /// Cores of the receiving threads, in turn
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Receiving")]
    cores: Vec<usize>,
    /// Receive all streams in one thread, and have a worker of each stream check and count its packets
    #[arg(long, help_heading = "Receiving")]
    workers: bool,
    /// Cores of the workers, in turn; with --workers
    #[arg(
        long,
        value_name = "CORES",
        value_delimiter = ',',
        requires = "workers",
        help_heading = "Receiving"
    )]
    worker_cores: Vec<usize>,
    /// Memory of the queue to each worker; what finds it full is dropped and counted
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    queue: ByteSize,
    /// Spend this time on each packet, as an application that processes it would
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Receiving")]
    work: TimeSpan,
    /// Count the words of all packets, or only check the identifiers (off): what words would show is unknown then
    #[arg(long, value_name = "on|off", default_value = "on", help_heading = "Data")]
    count: Counting,
    /// Show live in the browser, at this address, how much more often each word came than the rarest
    #[arg(long, env = "EVFORGE_VIEW", value_name = "HOST:PORT", value_parser = endpoint)]
    view: Option<SocketAddr>,
    #[command(flatten)]
    names: PageNameArguments,
    /// Write the report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the histogram of the words of each stream as PNG: words-9100.png and so on
    #[arg(long, alias = "picture", env = "EVFORGE_IMAGE", value_name = "FILE")]
    image: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    #[command(flatten)]
    log: LogArguments,
    /// No progress and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Whether words are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Counting {
    On,
    Off,
}

impl ReceiveArguments {
    /// What each stream is received into.
    fn account(&self) -> Result<StreamAccount, CommandError> {
        let account = StreamAccount::new(self.layout, self.order);
        match self.count {
            Counting::On => Ok(account),
            Counting::Off if self.image.is_some() || self.view.is_some() => {
                Err("--image and --view show how often words came: leave out --count off, or them".into())
            }
            Counting::Off => Ok(account.without_words()),
        }
    }

    /// The workers, if there are to be some.
    fn workers(&self) -> Result<Option<LinkWorkers>, CommandError> {
        let queue_bytes = usize::try_from(self.queue.bytes)?;
        Ok(self.workers.then(|| LinkWorkers { cores: self.worker_cores.clone(), queue_bytes }))
    }
}

/// Runs the command.
pub(super) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    let pictures = arguments
        .image
        .iter()
        .flat_map(|path| arguments.port.iter().map(|&port| picture_of(path, port)).chain([path.clone()]));
    NamedFiles::default()
        .input("--sent", &arguments.sent)
        .output("--report", &arguments.report)
        .output("--image", &pictures.collect::<BTreeSet<_>>())
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    check_writable("the picture", &arguments.image)?;
    let (account, workers) = (arguments.account()?, arguments.workers()?);
    let ports: Vec<_> =
        arguments.port.iter().map(|&port| SocketAddr::new(arguments.way.address, port)).collect();
    let sockets = StreamSockets {
        addresses: stream_addresses(&ports, arguments.streams)?,
        method: arguments.way.receive.setting(),
        interface: arguments.way.interface.clone(),
        receive_buffer: usize::try_from(arguments.buffer.bytes)?,
        coalesce: !arguments.no_coalesce,
    };
    let settings = LinkReceiving {
        cores: arguments.cores.clone(),
        work: arguments.work.to_std(),
        batch: 4096,
        // What else the host counts is not of one stream.
        counters: CountersRead::Off,
        shows_accounts: arguments.view.is_some(),
        limits: arguments.end.limits(&arguments.sent),
    };
    arguments.log.set_up(&LogSettings::default(), "", arguments.quiet)?;
    let stop = stop_on_signals()?;
    let receivers = sockets.open()?;
    for warning in receivers.iter().flat_map(LiveReceiver::warnings) {
        tracing::warn!(target: group::INPUT, always = true, "{warning}");
    }
    let addresses: Vec<SocketAddr> = receivers.iter().flat_map(LiveReceiver::local_addresses).collect();
    for address in &addresses {
        tracing::info!(target: group::INPUT, always = true, "receiving at UDP {address}");
    }
    let way = receivers.first().map(LiveReceiver::description).unwrap_or_default();
    tracing::info!(target: group::INPUT, "received by {way}");
    let mut page =
        arguments.view.map(|view| WordsView::start(view, &arguments.names, &addresses)).transpose()?;
    if let Some(page) = &page {
        tracing::info!(target: group::VIEW, "live view at {}", page_text(page.address(), None));
    }
    let mut line = RateLine::new(arguments.quiet);
    let how = (&settings, workers.as_ref());
    let show = |stream: usize, account: &StreamAccount, losses| {
        if let Some(page) = &mut page {
            page.show(stream, account, losses);
        }
    };
    let received =
        drop::receive(receivers, &account, how, &stop, |progress| show_progress(&mut line, progress), show)?;
    line.finish();
    // What was received is worth its report even if that of the sender cannot be read.
    let (sent, unreadable) = match arguments.sent.as_deref().map(SentReport::read) {
        Some(Ok(sent)) => (Some(sent), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let mut report = ReceiveReport::new(received, arguments.pattern, arguments.generators, sent.as_ref());
    for stream in &mut report.streams {
        stream.mismatches.extend(unreadable.clone());
    }
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json("the report", arguments.report.as_deref(), &report.json());
    if let Some(path) = &arguments.image {
        for stream in &report.streams {
            let received = &stream.received;
            // Without words there is no --image.
            let Some(histogram) = received.account.histogram() else { continue };
            let path = picture_of(path, received.address.port());
            let png = png_of_words(histogram);
            ending.attempt(png.and_then(|(png, _)| write_file("the picture", &path, &png)));
        }
    }
    if !arguments.quiet {
        ending.print(&text::received(&report));
    } else if !report.passed() {
        eprint!("{}", text::received(&report));
    }
    Ok(ExitStatus::of(report.passed() && ending.is_good()))
}

/// The name of a stream's picture.
fn picture_of(path: &Path, port: u16) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{port}."));
    name.push(path.extension().unwrap_or(OsStr::new("png")));
    path.with_file_name(name)
}

/// Shows how far receiving is.
fn show_progress(
    line: &mut RateLine,
    &LinkProgress { elapsed, packets, bytes, irregularities }: &LinkProgress,
) {
    line.show(elapsed, (packets, bytes), |rates| {
        format!("{} packets  {rates}  jumps {}", grouped(packets), grouped(irregularities))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_a_picture_of_its_own() {
        assert_eq!(picture_of(Path::new("out/words.png"), 9100), Path::new("out/words-9100.png"));
        assert_eq!(picture_of(Path::new("words"), 1), Path::new("words-1.png"));
    }
}

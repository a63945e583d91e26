//! `evforge train receive`: a node of the PC layer.

use super::arrival::Arrival;
use super::detector::Detector;
use super::page::PageArguments;
use super::received::{Received, text};
use super::sent_here::SentHere;
use super::steps::StepArguments;
use super::summaries::{SummaryArguments, SummarySink};
use super::trains_view::PageContent;
use crate::CommandError;
use crate::arguments::{LogArguments, OverwriteArguments, WayArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable};
use crate::rate_line::RateLine;
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::{Args, ValueEnum};
use evforge_config::{ByteSize, Rate, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_log::{LogSettings, group};
use evforge_net::live_receiver::ReceivePlan;
use evforge_net::socket::ReceiverOptions;
use evforge_net::xdp::XdpOptions;
use evforge_pipeline::report::grouped;
use evforge_train::assembly::{AssemblySettings, IncompletePolicy, TRAIN_PERIOD, TrainContent};
use evforge_train::bridge::{Bridge, BridgeOptions};
use evforge_train::file::{IncompleteImages, LARGEST_MODULE, TrainFileOptions, TrainFiles, default_source};
use evforge_train::node::{ModulePort, NodeProgress, NodeSettings, SourcesBy, TrainSink};
use evforge_train::sinks::{
    BridgeSink, ContentSink, FileSink, ForwardOptions, ForwardSink, ForwardTarget, NewestSink, Processed,
    ProcessingSink, write_sums,
};
use evforge_wire::train::TrainLayout;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::PoisonError;

/// Arguments of `evforge train receive`.
#[derive(Args)]
pub(super) struct ReceiveArguments {
    /// Receive a module at this port (UDP, or --tcp); repeatable: the first is module 0
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", default_value = "9200")]
    port: Vec<u16>,
    /// Number of the first module; the others follow
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=99))]
    first_module: u8,
    /// The detector
    #[arg(long, value_name = "NAME", default_value = "lpd")]
    detector: Detector,
    /// Images of a train at most
    #[arg(long, value_name = "NUMBER", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    images: u32,
    #[command(flatten)]
    way: WayArguments,
    /// Images of this size, instead of those of --detector
    #[arg(long, value_name = "SIZE", help_heading = "Trains", conflicts_with_all = ["detector", "files"])]
    image_size: Option<ByteSize>,
    /// Bytes of a train in each packet but its last
    #[arg(long, value_name = "SIZE", default_value = "8184B", help_heading = "Trains")]
    packet: ByteSize,
    /// Trains of a test of the link: whole after this many packets, their content is anything
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["files", "check"], help_heading = "Trains")]
    packets_per_train: Option<u32>,
    /// Step from the number of a train to that of the next one here: the number of nodes that trains are dealt to; 0 checks no numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Trains")]
    stride: u64,
    /// Take trains of up to N senders at a port, each of which has an address and port of its own. The module is that in the
    /// header of a train; with --tcp, up to N connections
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = "Trains")]
    senders: Option<u16>,
    /// Trains that may be open at a time, of each module or sender
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Trains")]
    open: u16,
    /// Further trains there is memory for, of each module or sender, while others are written
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=1024), help_heading = "Trains")]
    waiting: u16,
    /// Memory for trains at most
    #[arg(long, value_name = "SIZE", default_value = "4GiB", help_heading = "Trains")]
    memory: ByteSize,
    /// A train of which nothing has come for this time is incomplete [default: two periods of 100 ms;
    /// with --tcp 2 s]
    #[arg(long, value_name = "TIME", help_heading = "Trains")]
    time_out: Option<TimeSpan>,
    /// What happens to an incomplete train: drop it, mark its images, or zero what is missing
    #[arg(long, value_name = "POLICY", default_value = "drop", help_heading = "Trains")]
    incomplete: Incomplete,
    /// Check every byte of the images: `evforge train send` makes such
    #[arg(long, help_heading = "Trains")]
    check: bool,
    #[command(flatten)]
    steps: StepArguments,
    /// Write files that EXtra-data opens: the folder of the run is made in this one
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    files: Option<PathBuf>,
    /// Number of the run
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "files", help_heading = "Files")]
    run: u32,
    /// Number of the proposal
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "files", help_heading = "Files")]
    proposal: u32,
    /// Detector and instrument that sources are named after [default: that of the detector, as FXE_DET_LPD1M-1]
    #[arg(long, value_name = "NAME", help_heading = "Files")]
    source_name: Option<String>,
    /// Trains of a module in each file
    #[arg(long, value_name = "NUMBER", default_value_t = TrainFileOptions::TRAINS_PER_FILE, requires = "files", help_heading = "Files")]
    trains_per_file: u64,
    /// Compress images: the level, 1 to 9. Nothing is lost by it
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=9), requires = "files", help_heading = "Files")]
    deflate: Option<u32>,
    /// Show whole trains to clients of the karabo-bridge at this address
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, conflicts_with_all = ["image_size", "packets_per_train"])]
    bridge: Option<SocketAddr>,
    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    summaries: SummaryArguments,
    /// Pass whole trains on to the next node, as they came: HOST:PORT over UDP, tcp://HOST:PORT over TCP
    #[arg(long, value_name = "TARGET")]
    forward: Option<ForwardTarget>,
    /// Largest rate of what is passed on: 5Gbit/s (payload)
    #[arg(long, value_name = "RATE", value_parser = bits, requires = "forward", help_heading = "Forwarding")]
    forward_rate: Option<u64>,
    /// The sender's report, read at the end: how many packets and trains there must be
    #[arg(long, value_name = "FILE")]
    sent: Option<PathBuf>,
    /// End after N good trains, of all modules together
    #[arg(long, value_name = "NUMBER")]
    trains: Option<u64>,
    /// End when no packet has come for this time, once there were some
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    idle: Option<TimeSpan>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Receive trains over TCP, as `--forward tcp://` of the node before sends them: each connection is of one module
    #[arg(long, conflicts_with_all = ["first_module", "receive", "interface", "buffer", "sent", "no_profile"], help_heading = "Receiving")]
    tcp: bool,
    /// Receive buffer to ask the kernel for, for each module
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    buffer: ByteSize,
    /// Cores of the receiving threads, in turn
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Receiving")]
    cores: Vec<usize>,
    /// Core of the thread that checks and writes trains
    #[arg(long, value_name = "CORE", help_heading = "Receiving")]
    worker_core: Option<usize>,
    /// Do not measure where the time of the receiving threads goes
    #[arg(long, help_heading = "Receiving")]
    no_profile: bool,
    /// Write the report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    #[command(flatten)]
    log: LogArguments,
    /// No progress and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Shows how far the node is.
fn show(line: &mut RateLine, NodeProgress { elapsed, assembly, .. }: &NodeProgress<'_>) {
    line.show(*elapsed, (assembly.packets_received, assembly.bytes_received), |rates| {
        let incomplete = assembly.trains_timed_out + assembly.trains_superseded + assembly.trains_cut_off;
        format!("{} trains  {} incomplete  {rates}", grouped(assembly.trains_good), grouped(incomplete))
    });
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
enum Incomplete {
    /// They are reported, and go nowhere
    Drop,
    /// They go on; images with holes are left out of files
    Mark,
    /// They go on; images with holes are in files, with zeros, and with a status that says so
    Zero,
}

/// Runs the command.
pub(super) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    NamedFiles::default()
        .input("--sent", &arguments.sent)
        .input("--pedestals", &arguments.steps.pedestals)
        .input("--gains", &arguments.steps.gains)
        .output("--report", &arguments.report)
        .output("--sums", &arguments.steps.sums)
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    check_writable("the sums", &arguments.steps.sums)?;
    let settings = arguments.node()?;
    settings.assembly.check()?;
    arguments.check_memory(&settings)?;
    arguments.log.set_up(&LogSettings::default(), "", arguments.quiet)?;
    let stop = stop_on_signals()?;
    let arrival = arguments.arrival()?;
    for warning in arrival.warnings() {
        tracing::warn!(target: group::INPUT, always = true, "{warning}");
    }
    let sources = arrival.addresses();
    let addresses = sources.concat();
    let settings = NodeSettings { modules: arguments.modules(&addresses)?, ..settings };
    let (mut page, newest) = arguments.page.start(&arguments.page_content(&sources))?.unzip();
    let files = arguments.files()?;
    let folder = files.as_ref().map(|files| files.folder().to_owned());
    let files = files.map(FileSink::new);
    let content = arguments.check.then(ContentSink::default);
    let (file_counters, found) =
        (files.as_ref().map(FileSink::counters), content.as_ref().map(ContentSink::found));
    let processing = arguments.processing()?;
    let processed = processing.as_ref().map(ProcessingSink::processed);
    let forward = arguments.forward.map(|to| ForwardSink::new(arguments.forwarding(to, &settings)));
    let forwarded = forward.as_ref().map(ForwardSink::counters);
    let bridge = arguments.bridge()?.map(BridgeSink::new);
    let shown = bridge.as_ref().map(BridgeSink::counters);
    let summaries = arguments.summaries.sink(arguments.detector.of_wire(), arguments.source())?;
    let summarised = summaries.as_ref().map(SummarySink::sent);
    let pictured = newest.as_ref().map(NewestSink::newest);
    let mut sinks: Vec<Box<dyn TrainSink>> = Vec::new();
    sinks.extend(content.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    // Those behind it leave out what it rejects.
    sinks.extend(processing.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(newest.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(summaries.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(files.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(bridge.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(forward.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    let mut line = RateLine::new(arguments.quiet);
    let mut is_ready = false;
    let trains = arrival.run(&settings, &mut sinks, &stop, |progress| {
        // Not before: all memory for trains has been touched, which takes seconds for large ones, and nobody would take packets meanwhile.
        if !std::mem::replace(&mut is_ready, true) {
            arguments.tell_ready(&settings.modules, &addresses);
        }
        page.iter_mut().for_each(|page| page.show(progress));
        show(&mut line, progress);
    })?;
    line.finish();
    drop(sinks);
    let sent = arguments.sent.as_deref().map(|path| SentHere::read(path, &settings.modules));
    let files = file_counters.as_ref().zip(folder);
    let mut received = Received::new(trains, settings.modules.clone(), found.as_ref(), files, sent);
    received.processed =
        processed.map(|processed| processed.lock().unwrap_or_else(PoisonError::into_inner).clone());
    received.forwarded = forwarded.map(|counters| *counters.lock().unwrap_or_else(PoisonError::into_inner));
    received.shown = shown.map(|shown| *shown.lock().unwrap_or_else(PoisonError::into_inner));
    received.pictured = pictured.map(|pictured| pictured.counters());
    received.summarised = summarised.map(|sent| sent.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let sums = arguments.write_sums(received.processed.as_ref());
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.attempt(sums);
    ending.write_json("the report", arguments.report.as_deref(), &received.json());
    if !arguments.quiet {
        ending.print(&text(&received));
    } else if !received.passed() {
        eprint!("{}", text(&received));
    }
    Ok(ExitStatus::of(received.passed() && ending.is_good()))
}

impl ReceiveArguments {
    /// Says where modules are received.
    fn tell_ready(&self, modules: &[ModulePort], addresses: &[SocketAddr]) {
        for (module, address) in modules.iter().zip(addresses) {
            if self.tcp {
                tracing::info!(target: group::INPUT, always = true, "receiving at TCP {address}");
            } else {
                tracing::info!(target: group::INPUT, always = true, "receiving module {} at UDP {address}", module.module);
            }
        }
    }

    /// What the node is to do; its modules have the ports that were given.
    fn node(&self) -> Result<NodeSettings, CommandError> {
        let detector = self.detector.of_wire();
        let mut assembly = AssemblySettings::new(detector, self.images);
        assembly.data_bytes = usize::try_from(self.packet.bytes)?;
        // A receiver is of one port, or of all of them by AF_XDP. The memory of connections is one for all ports.
        let ports = if self.way.interface.is_some() { self.port.len() } else { 1 };
        let sources = if self.tcp {
            self.port.len() * self.senders.map_or(1, usize::from)
        } else {
            self.senders.map_or(ports, usize::from)
        };
        let (open, waiting) = (usize::from(self.open), usize::from(self.waiting));
        assembly.sources = sources;
        assembly.open_trains_of_source = open;
        assembly.open_trains = open * sources;
        assembly.buffers = (open + waiting) * sources;
        // What TCP sends again may take longer than two trains.
        let usual_time_out = if self.tcp { 20 * TRAIN_PERIOD } else { 2 * TRAIN_PERIOD };
        assembly.time_out = self.time_out.map_or(usual_time_out, TimeSpan::to_std);
        assembly.incomplete = match self.incomplete {
            Incomplete::Drop => IncompletePolicy::Drop,
            Incomplete::Mark => IncompletePolicy::Mark,
            Incomplete::Zero => IncompletePolicy::Zero,
        };
        match (self.packets_per_train, &mut assembly.content) {
            (Some(packets), content) => {
                *content = TrainContent::Packets(packets);
                assembly.largest_train = packets as usize * assembly.data_bytes;
            }
            (None, TrainContent::Images(images)) => {
                images.stride = Some(self.stride).filter(|stride| *stride > 0);
                assembly.largest_train = TrainLayout::of(detector, self.images).total();
                if let Some(size) = self.image_size {
                    (images.image_bytes, images.specific_bytes) = (usize::try_from(size.bytes)?, 0);
                    let largest = TrainLayout::of_size(images.image_bytes, 0, self.images);
                    assembly.largest_train =
                        largest.ok_or("--image-size times --images is beyond what memory can be")?.total();
                }
            }
            (None, TrainContent::Packets(_)) => {}
        }
        Ok(NodeSettings {
            sources_by: if self.senders.is_some() { SourcesBy::Sender } else { SourcesBy::Module },
            cores: self.cores.clone(),
            worker_core: self.worker_core,
            has_profile: !self.no_profile,
            idle: self.idle.map(TimeSpan::to_std),
            duration: self.ends_after.map(TimeSpan::to_std),
            trains: self.trains,
            ..NodeSettings::new(assembly, self.modules(&self.given())?)
        })
    }

    /// The addresses to receive at, as they were given.
    fn given(&self) -> Vec<SocketAddr> {
        self.port.iter().map(|port| SocketAddr::new(self.way.address, *port)).collect()
    }

    /// Where trains come to.
    fn arrival(&self) -> Result<Arrival, CommandError> {
        if self.tcp { Ok(Arrival::streams(&self.given())?) } else { Ok(Arrival::packets(&self.plan()?)?) }
    }

    /// The modules, at these addresses.
    fn modules(&self, addresses: &[SocketAddr]) -> Result<Vec<ModulePort>, CommandError> {
        let ports = addresses.iter().map(SocketAddr::port);
        let modules =
            ports.zip(u32::from(self.first_module)..).map(|(port, module)| match u8::try_from(module) {
                Ok(module) if module < 100 => Ok(ModulePort { port, module }),
                _ => Err(format!(
                    "the modules go beyond 99: begin with a lower --first-module than {}",
                    self.first_module
                )
                .into()),
            });
        modules.collect()
    }

    /// Refuses more memory than is allowed, before it is taken.
    fn check_memory(&self, settings: &NodeSettings) -> Result<(), CommandError> {
        let threads = if self.way.interface.is_some() || self.tcp { 1 } else { self.port.len() };
        let needed = settings.assembly.memory().saturating_mul(threads);
        if needed as u64 > self.memory.bytes {
            return Err(format!(
                "trains of up to {} bytes take {} bytes of memory ({} buffers in {threads} threads), and --memory allows {}: lower \
                 --images, --open or --waiting, or raise --memory",
                settings.assembly.largest_train, needed, settings.assembly.buffers, self.memory.bytes
            )
            .into());
        }
        Ok(())
    }

    fn plan(&self) -> Result<ReceivePlan, CommandError> {
        let (&first, others) = self.port.split_first().ok_or("no --port")?;
        let (address, receive_buffer) =
            (SocketAddr::new(self.way.address, first), usize::try_from(self.buffer.bytes)?);
        let xdp = self
            .way
            .interface
            .as_ref()
            .map(|interface| XdpOptions { receive_buffer, ..XdpOptions::new(interface, address) });
        Ok(ReceivePlan {
            method: self.way.receive.setting(),
            // Any datagram fits.
            socket: ReceiverOptions {
                receive_buffer,
                coalesce: true,
                slot: 65_536,
                ..ReceiverOptions::new(address)
            },
            xdp,
            ports: others.to_vec(),
            sockets_per_port: 1,
        })
    }

    /// The server for the karabo-bridge: a whole train is one of every module that comes here.
    fn bridge(&self) -> Result<Option<Bridge>, CommandError> {
        let Some(listen) = self.bridge else { return Ok(None) };
        let modules = self.senders.map_or(self.port.len(), usize::from) + usize::from(self.first_module);
        let mut options = BridgeOptions::new(self.detector.of_wire());
        options.listen = listen;
        options.modules = u8::try_from(modules).map_err(|_| "--bridge: at most 255 modules")?;
        if let Some(name) = &self.source_name {
            options.source.clone_from(name);
        }
        let bridge = Bridge::start(options)?;
        tracing::info!(target: group::VIEW, always = true, "karabo-bridge at tcp://{}", bridge.address());
        Ok(Some(bridge))
    }

    /// What sources are named after.
    fn source(&self) -> String {
        self.source_name.clone().unwrap_or_else(|| default_source(self.detector.of_wire()).to_owned())
    }

    /// What the page shows: a panel for each module that comes here.
    fn page_content<'a>(&self, sources: &'a [Vec<SocketAddr>]) -> PageContent<'a> {
        let room = 100 - usize::from(self.first_module);
        PageContent {
            detector: self.detector.of_wire(),
            first_module: self.first_module,
            modules: self.senders.map_or(self.port.len(), usize::from).min(room),
            sources,
            numbers_are_checked: self.stride > 0,
        }
    }

    /// How trains are passed on: over UDP in packets as they came.
    fn forwarding(&self, to: ForwardTarget, settings: &NodeSettings) -> ForwardOptions {
        ForwardOptions { to, data_bytes: settings.assembly.data_bytes, bits_per_second: self.forward_rate }
    }

    /// The steps over images, if there are some.
    fn processing(&self) -> Result<Option<ProcessingSink>, CommandError> {
        let plan = self.steps.plan(self.detector.of_wire())?;
        if plan.is_empty() {
            return Ok(None);
        }
        if self.image_size.is_some() || self.packets_per_train.is_some() {
            return Err("--veto, --pedestals, --gains, --threshold, --region and --sums look at images of a --detector: leave them out, or --image-size and \
                        --packets-per-train"
                .into());
        }
        Ok(Some(ProcessingSink::new(plan, self.detector.of_wire())?))
    }

    /// Writes what was added up; in the place of a file that is there, if that is allowed.
    fn write_sums(&self, processed: Option<&Processed>) -> Result<(), CommandError> {
        let (Some(path), Some(processed)) = (&self.steps.sums, processed) else { return Ok(()) };
        // Whole, or not there: it is written next to its place.
        let staged = path.with_added_extension("writing");
        let _ = std::fs::remove_file(&staged);
        write_sums(&staged, self.detector.of_wire(), &processed.sums).map_err(|error| {
            format!("cannot write the sums to {}: HDF5 reports: {error}", staged.display())
        })?;
        std::fs::rename(&staged, path)
            .map_err(|error| format!("cannot write the sums to {}: {error}", path.display()).into())
    }

    fn files(&self) -> Result<Option<TrainFiles>, CommandError> {
        let Some(folder) = &self.files else { return Ok(None) };
        let detector = self.detector.of_wire();
        let mut options = TrainFileOptions::new(folder, detector, self.run);
        options.proposal = self.proposal;
        options.modules = LARGEST_MODULE + 1;
        options.trains_per_file = self.trains_per_file;
        options.deflate = self.deflate.and_then(|level| u8::try_from(level).ok());
        options.incomplete_images = match self.incomplete {
            Incomplete::Zero => IncompleteImages::Mark,
            Incomplete::Drop | Incomplete::Mark => IncompleteImages::LeaveOut,
        };
        if let Some(name) = &self.source_name {
            options.source.clone_from(name);
        }
        Ok(Some(TrainFiles::create(options)?))
    }
}

//! `evforge receive`: what happened to numbered packets.

use super::text;
use crate::CommandError;
use crate::arguments::{EndArguments, LogArguments, OverwriteArguments, WayArguments};
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::{ByteSize, ReceiveSettings, TimeSpan};
use evforge_lab::link::numbered::{self, ReceiveReport, SentReport};
use evforge_lab::link::{LinkProgress, LinkReceiving};
use evforge_log::{LogSettings, group};
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::session::SENDER_PATIENCE;
use evforge_pipeline::report::{grouped, scaled};
use evforge_wire::numbered::NumberedLayout;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is asked for unless --buffer says otherwise.
const DEFAULT_BUFFER: ByteSize = ByteSize { bytes: 16_000_000 };

/// Arguments of `evforge receive`.
#[derive(Args)]
pub(crate) struct ReceiveArguments {
    /// Receive at this UDP port, or at several, separated by commas
    #[arg(
        long,
        short = 'p',
        env = "EVFORGE_PORT",
        value_name = "PORTS",
        value_delimiter = ',',
        default_value = "9000"
    )]
    pub(super) port: Vec<u16>,
    /// Where packets have their numbers: evforge (those of `send`), or udptx (the generator of the EFU)
    #[arg(long, value_name = "LAYOUT", default_value = "evforge")]
    layout: NumberedLayout,
    #[command(flatten)]
    pub(super) way: WayArguments,
    /// Let the kernel hand over several packets in one piece (UDP_GRO): faster, but the kernel counts what it drops in pieces
    #[arg(long, help_heading = "Receiving")]
    coalesce: bool,
    /// Take each packet by a call of the kernel that waits for it, as the paper's receiver does: for comparisons
    #[arg(long, conflicts_with_all = ["coalesce", "interface"], help_heading = "Receiving")]
    single_calls: bool,
    /// Take one TCP connection instead, of `evforge send --tcp`, and read it to its end
    #[arg(long, conflicts_with_all = ["layout", "interface", "receive", "coalesce", "single_calls", "sockets", "spin"], help_heading = "Receiving")]
    pub(super) tcp: bool,
    /// Sockets for each port, over which the kernel spreads senders; each has a thread
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Receiving")]
    sockets: u16,
    /// Receive buffer to ask the kernel for, for each socket [default: 16MB; with --tcp, what the kernel thinks right]
    #[arg(long, value_name = "SIZE", help_heading = "Receiving")]
    pub(super) buffer: Option<ByteSize>,
    /// How long to spin for packets before sleeping; if longer than the time between packets, the core is never released
    #[arg(long, value_name = "TIME", default_value = "50us", help_heading = "Receiving")]
    spin: TimeSpan,
    /// Cores of the receiving threads, in turn, separated by commas
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Receiving")]
    pub(super) core: Vec<usize>,
    /// Spend this time on each packet, as an application that processes it would
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Receiving")]
    pub(super) work: TimeSpan,
    /// Packets to fetch at once at most: they wait in memory of this program then, besides the kernel's buffer
    #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65536), conflicts_with_all = ["tcp", "single_calls"], help_heading = "Receiving")]
    batch: u32,
    /// The report of the sender, read at the end: how many packets there were. While it is missing, --idle is 10 s longer; may be
    /// given several times
    #[arg(long, value_name = "FILE")]
    pub(super) sent: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) end: EndArguments,
    /// Write the report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    #[command(flatten)]
    log: LogArguments,
    /// No lines while it runs and no report on the terminal
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl ReceiveArguments {
    /// Makes sure that no file is two things, and that the report can be written.
    pub(super) fn check_files(&self) -> Result<(), CommandError> {
        let files = NamedFiles::default().input("--sent", &self.sent);
        files.output("--report", &self.report).check(self.overwrite)?;
        check_writable("the report", &self.report)
    }

    /// From here on what is said goes where it is to go.
    pub(super) fn set_up_log(&self) -> Result<(), CommandError> {
        self.log.set_up(&LogSettings::default(), "", self.quiet)
    }
}

/// Receives packets.
pub(super) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    let receivers = open(arguments)?;
    for warning in receivers.iter().flat_map(LiveReceiver::warnings) {
        tracing::warn!(target: group::INPUT, always = true, "{warning}");
    }
    let mut addresses: Vec<SocketAddr> = receivers.iter().flat_map(LiveReceiver::local_addresses).collect();
    addresses.dedup();
    for address in addresses {
        tracing::info!(target: group::INPUT, "receiving at UDP {address}");
    }
    let way = receivers.first().map(LiveReceiver::description).unwrap_or_default();
    tracing::info!(target: group::INPUT, "received by {way}");
    let settings = LinkReceiving {
        cores: arguments.core.clone(),
        work: arguments.work.to_std(),
        batch: usize::try_from(arguments.batch)?,
        limits: arguments.end.limits(&arguments.sent),
        ..LinkReceiving::default()
    };
    let mut lines = Lines::new(arguments.quiet);
    let stop = stop_on_signals()?;
    let received = numbered::receive(receivers, arguments.layout, &settings, &stop, &mut |progress| {
        lines.show(progress);
    })?;
    // What was received is worth its report even if that of a sender cannot be read.
    wait_for_reports(&arguments.sent, |path| SentReport::read(path).is_ok());
    let (mut sent, mut unreadable) = (Vec::new(), Vec::new());
    for path in &arguments.sent {
        match SentReport::read(path) {
            Ok(report) => sent.push(report),
            Err(problem) => unreadable.push(problem),
        }
    }
    let mut report = ReceiveReport::new(received, sent);
    report.mismatches.extend(unreadable);
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json("the report", arguments.report.as_deref(), &report.json());
    let came = report.received.counters().packets_counted > 0;
    let is_good = report.mismatches.is_empty() && came;
    if !arguments.quiet {
        ending.print(&text::received(&report));
    } else if !is_good {
        eprint!("{}", text::received(&report));
    }
    let of_use = if came { ExitStatus::Good } else { ExitStatus::NoUse };
    // That senders report packets of which none came is a mismatch as well, and no other fault than that none came.
    let is_right = report.mismatches.is_empty() || !came;
    Ok(of_use.and(ExitStatus::of(is_right && ending.is_good())))
}

/// A sender writes its report behind its last packet: that may take a moment longer than the packet.
pub(super) fn wait_for_reports(paths: &[PathBuf], is_there: impl Fn(&Path) -> bool) {
    let end = Instant::now() + SENDER_PATIENCE;
    while paths.iter().any(|path| !is_there(path)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn open(arguments: &ReceiveArguments) -> Result<Vec<LiveReceiver>, CommandError> {
    let (&first, further) = arguments.port.split_first().ok_or("--port: give at least one port")?;
    let settings = ReceiveSettings {
        method: arguments.way.receive.setting(),
        interface: arguments.way.interface.clone(),
        address: SocketAddr::new(arguments.way.address, first),
        ports: further.to_vec(),
        sockets: arguments.sockets.into(),
        buffer: arguments.buffer.unwrap_or(DEFAULT_BUFFER),
        coalesce: arguments.coalesce,
        spin: arguments.spin,
        ..ReceiveSettings::default()
    };
    if let Some(port) = settings.repeated_port() {
        return Err(
            format!("--port has {port} twice, or 0 (a port that the kernel chooses) among others").into()
        );
    }
    let mut plan = settings.plan()?;
    plan.socket.single_calls = arguments.single_calls;
    let receivers = LiveReceiver::open(&plan)?;
    let first =
        receivers.first().ok_or("no receive backend was opened: please report this as a fault of evforge")?;
    if arguments.sockets > 1 && first.buffer().is_none() {
        return Err("--sockets is for kernel sockets, and packets come by AF_XDP: leave it out, or add --receive socket".into());
    }
    if arguments.way.address.is_multicast() {
        for receiver in &receivers {
            receiver.join(arguments.way.address, None)?;
        }
    }
    Ok(receivers)
}

/// One line a second.
pub(super) struct Lines {
    quiet: bool,
    before: LinkProgress,
}

impl Lines {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, before: LinkProgress::default() }
    }

    pub(super) fn show(&mut self, progress: &LinkProgress) {
        let before = self.before;
        if self.quiet || progress.elapsed.as_secs() == before.elapsed.as_secs() {
            return;
        }
        self.before = *progress;
        let seconds = (progress.elapsed - before.elapsed).as_secs_f64();
        let (packets, lost) = (
            progress.packets - before.packets,
            progress.irregularities.saturating_sub(before.irregularities),
        );
        let ratio = match packets + lost {
            0 => "-".to_owned(),
            sent => format!("{:.2e}", lost as f64 / sent as f64),
        };
        eprintln!(
            "{:6} s  {} packets  {} packets/s  {}bit/s  lost {}  packet error ratio {ratio}",
            progress.elapsed.as_secs(),
            grouped(packets),
            scaled(packets as f64 / seconds),
            scaled((progress.bytes - before.bytes) as f64 * 8.0 / seconds),
            grouped(lost),
        );
    }
}

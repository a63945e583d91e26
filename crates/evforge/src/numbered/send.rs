//! `evforge send`: numbered packets at a rate or in pulses.

use super::text;
use crate::CommandError;
use crate::arguments::OverwriteArguments;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::{ByteSize, Rate, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_core::quantity::Frequency;
use evforge_lab::link::numbered::{self, SendSettings, Sizes, Traffic, TrafficSettings};
use evforge_lab::link::{Fault, Pulses, Schedule};
use evforge_wire::numbered::NumberedLayout;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge send`.
#[derive(Args)]
pub(crate) struct SendArguments {
    /// Where to send to
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, default_value = "127.0.0.1:9000")]
    pub(super) to: SocketAddr,
    /// Payload sizes of the packets: one, several in turn (64B,9kB), or a mixture (7x64B,1472B); at least 24B, with udptx 4B
    #[arg(long, value_name = "SIZES", default_value = "1472B")]
    pub(super) size: Sizes,
    /// Where packets have their numbers: evforge, or udptx (the generator of the EFU)
    #[arg(long, value_name = "LAYOUT", default_value = "evforge")]
    layout: NumberedLayout,
    /// Mean rate of all flows together: 100kpps, 800Mbit/s (UDP payload)
    #[arg(long, alias = "mean-rate", value_name = "RATE", required_unless_present_any = ["unpaced", "tcp"])]
    rate: Option<Rate>,
    /// Send as fast as the system takes the packets
    #[arg(long, conflicts_with_all = ["rate", "pulses"])]
    unpaced: bool,
    /// Send in pulses of this frequency (14Hz): all packets of a period in its first part
    #[arg(long, value_name = "FREQUENCY", help_heading = "Pulses")]
    pulses: Option<Frequency>,
    /// The rate in a pulse over the mean rate: a pulse takes 1 / FACTOR of the period
    #[arg(long, value_name = "FACTOR", default_value_t = 10.0, requires = "pulses", help_heading = "Pulses")]
    peak_factor: f64,
    /// Send from N ports in turn: each is a flow with its own numbers, which a network card puts into one of its queues
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Sending")]
    source_ports: u16,
    /// Send the first flow from this address and port, further ones from successive ports
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, help_heading = "Sending")]
    source: Option<SocketAddr>,
    /// End after N packets
    #[arg(long, value_name = "NUMBER", help_heading = "End")]
    packets: Option<u64>,
    /// End with the packet that reaches this many payload bytes
    #[arg(long, value_name = "SIZE", help_heading = "End")]
    pub(super) bytes: Option<ByteSize>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    pub(super) ends_after: Option<TimeSpan>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT); auto: where there is a device behind the
    /// interface, which makes single packets of them
    #[arg(long, value_name = "CHOICE", default_value = "auto", help_heading = "Sending")]
    segment: SegmentChoice,
    /// Send by AF_XDP through this network interface, as whole frames bypassing the kernel's protocols, instead of a socket;
    /// each flow takes one of its queues
    #[arg(long, value_name = "INTERFACE", conflicts_with = "segment", help_heading = "Sending")]
    xdp: Option<String>,
    /// Give each packet to the kernel by a call of its own, as the paper's generator does: for comparisons
    #[arg(long, conflicts_with_all = ["segment", "xdp"], help_heading = "Sending")]
    single_calls: bool,
    /// Send over a TCP connection instead, as fast as it takes pieces of --size: what the same link carries by TCP
    #[arg(long, conflicts_with_all = ["rate", "pulses", "layout", "packets", "source", "source_ports", "segment", "xdp", "single_calls", "faults"], help_heading = "Sending")]
    pub(super) tcp: bool,
    /// Send buffer to ask the kernel for, for each flow
    #[arg(long, value_name = "SIZE", help_heading = "Sending")]
    pub(super) buffer: Option<ByteSize>,
    /// Core of the sending thread
    #[arg(long, value_name = "CORE", help_heading = "Sending")]
    pub(super) core: Option<usize>,
    /// Inject a fault in each flow; may be given several times. lose:packet=1000, twice:packet=1000,
    /// late:packet=1000,by=3, jump:packet=1000,distance=5 (0 repeats a number, -3 goes back)
    #[arg(long = "fault", value_name = "FAULT", help_heading = "Faults")]
    faults: Vec<Fault>,
    /// Write what was sent as JSON: receive --sent takes it
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// No report on the terminal
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Where UDP_SEGMENT is used.
#[derive(Clone, Copy, clap::ValueEnum)]
enum SegmentChoice {
    Auto,
    On,
    Off,
}

impl SendArguments {
    /// Makes sure that the report can be written.
    pub(super) fn check_files(&self) -> Result<(), CommandError> {
        NamedFiles::default().output("--report", &self.report).check(self.overwrite)?;
        check_writable("the report", &self.report)
    }
}

/// Sends packets.
pub(super) fn send(arguments: &SendArguments) -> Result<ExitStatus, CommandError> {
    let pulses = arguments.pulses.map(|frequency| Pulses { frequency, peak_factor: arguments.peak_factor });
    let traffic = Traffic::new(TrafficSettings {
        layout: arguments.layout,
        flows: arguments.source_ports,
        sizes: arguments.size.clone(),
        schedule: arguments.rate.map(|rate| Schedule::new(rate, pulses)).transpose()?,
        largest_packets: arguments.packets,
        largest_bytes: arguments.bytes.map(|size| size.bytes),
        faults: arguments.faults.clone(),
    })?;
    let settings = SendSettings {
        source: arguments.source,
        single_calls: arguments.single_calls,
        segment: match arguments.segment {
            SegmentChoice::Auto if arguments.single_calls => Some(false),
            SegmentChoice::Auto => None,
            SegmentChoice::On => Some(true),
            SegmentChoice::Off => Some(false),
        },
        xdp: arguments.xdp.clone(),
        send_buffer: arguments.buffer.map(|size| usize::try_from(size.bytes)).transpose()?,
        core: arguments.core,
        duration: arguments.ends_after.map(TimeSpan::to_std),
        ..SendSettings::new(arguments.to)
    };
    let report = numbered::send(traffic, &settings, &*stop_on_signals()?)?;
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    if let Some(path) = &arguments.report {
        ending.attempt(write_file("the report", path, report.json().as_bytes()));
    }
    if !arguments.quiet {
        ending.print(&text::sent(&report));
    } else if report.refused > 0 {
        eprint!("{}", text::sent(&report));
    }
    Ok(ExitStatus::of(report.refused == 0 && ending.is_good()))
}

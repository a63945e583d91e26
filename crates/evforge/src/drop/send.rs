//! `evforge drop send`: the paper's data generators.

use super::addresses::stream_addresses;
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
use evforge_lab::link::Fault;
use evforge_lab::link::drop::{
    self, GeneratorSettings, SendSettings, SendTarget, StreamSettings, WordPattern,
};
use evforge_wire::drop::{DropLayout, Order};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `evforge drop send`.
#[derive(Args)]
pub(super) struct SendArguments {
    /// Where to send a stream to; may be given several times
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, default_value = "127.0.0.1:9100")]
    to: Vec<SocketAddr>,
    /// Send N streams, to successive ports from that of --to on
    #[arg(long, value_name = "NUMBER")]
    streams: Option<u16>,
    /// Send the first stream from this address and port, further ones from successive ports
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, help_heading = "Sending")]
    source: Option<SocketAddr>,
    /// Data generators in each stream
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Data")]
    generators: u32,
    /// Size of the blocks of data: a multiple of 128KiB, so that every word occurs equally often
    #[arg(long, value_name = "SIZE", default_value = "1MiB", help_heading = "Data")]
    block: ByteSize,
    /// Largest payload of a packet, behind the header: an even number of bytes. Several, with commas between them, are
    /// those of the data generators in turn
    #[arg(long, value_name = "SIZE", default_value = "2000B", value_delimiter = ',', help_heading = "Data")]
    packet: Vec<ByteSize>,
    /// The words in a block: counting, random or random:SEED (each of the 65 536 words once per turn)
    #[arg(long, value_name = "PATTERN", default_value = "counting", help_heading = "Data")]
    pattern: Order,
    /// The identifiers: counting, random or random:SEED
    #[arg(long, value_name = "ORDER", default_value = "counting", help_heading = "Data")]
    order: Order,
    /// The first identifier
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Data")]
    first_identifier: u64,
    /// Header of the packets: P1, raw64be, or as in offset=4,width=8,order=little,header=16
    #[arg(long, value_name = "LAYOUT", default_value = "P1", help_heading = "Data")]
    layout: DropLayout,
    /// Largest rate of each stream: 100kpps, 800Mbit/s (UDP payload, header of the stream included)
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Send what falls due within this time together, and sleep in between: takes less of a processor than sending each packet
    /// when it is due
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Sending")]
    burst: TimeSpan,
    /// Pause of a data generator after each word: 1.5625ns makes 10.24Gbit/s
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Data")]
    pause_per_word: TimeSpan,
    /// Pause of a data generator at the end of each packet
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Data")]
    pause_per_packet: TimeSpan,
    /// End after N blocks of each data generator
    #[arg(long, value_name = "NUMBER", help_heading = "End")]
    blocks: Option<u64>,
    /// End each stream with the packet that reaches this many payload bytes
    #[arg(long, value_name = "SIZE", help_heading = "End")]
    bytes: Option<ByteSize>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Inject a fault in each stream; may be given several times. jump:packet=1000,distance=5 (0 repeats an identifier,
    /// -3 goes back), lose:packet=1000, twice:packet=1000, late:packet=1000,by=3, flip:packet=1000,bit=77
    #[arg(long = "fault", value_name = "FAULT", help_heading = "Faults")]
    faults: Vec<Fault>,
    /// Cores of the sending threads, in turn
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Sending")]
    cores: Vec<usize>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT)
    #[arg(long, help_heading = "Sending")]
    segment: bool,
    /// Send by AF_XDP through this network interface, as whole frames bypassing the kernel's protocols, instead of a socket;
    /// each stream takes one of its queues
    #[arg(long, value_name = "INTERFACE", conflicts_with = "segment", help_heading = "Sending")]
    xdp: Option<String>,
    /// Write what was sent as JSON: drop receive --sent takes it
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// No report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(super) fn send(arguments: &SendArguments) -> Result<ExitStatus, CommandError> {
    NamedFiles::default().output("--report", &arguments.report).check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let settings = SendSettings {
        targets: arguments.targets()?,
        segment: arguments.segment,
        xdp: arguments.xdp.clone(),
        duration: arguments.ends_after.map(TimeSpan::to_std),
        burst: arguments.burst.to_std(),
    };
    let report = drop::send(&settings, &*stop_on_signals()?)?;
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    if let Some(path) = &arguments.report {
        ending.attempt(write_file("the report", path, report.json().as_bytes()));
    }
    let is_taken = report.streams.iter().all(|stream| stream.refused == 0);
    if !arguments.quiet {
        ending.print(&text::sent(&report));
    } else if !is_taken {
        eprint!("{}", text::sent(&report));
    }
    Ok(ExitStatus::of(is_taken && ending.is_good()))
}

impl SendArguments {
    fn targets(&self) -> Result<Vec<SendTarget>, CommandError> {
        let pattern = Arc::new(WordPattern::new(self.pattern));
        let generators = self.generators()?;
        let mut targets = Vec::new();
        for (number, destination) in (0..=u16::MAX).zip(stream_addresses(&self.to, self.streams)?) {
            let source = self
                .source
                .map(|first| {
                    let port = match first.port() {
                        0 => Some(0),
                        port => port.checked_add(number),
                    };
                    port.map(|port| SocketAddr::new(first.ip(), port))
                        .ok_or("the source ports go beyond 65535: begin with a lower --source")
                })
                .transpose()?;
            let stream = StreamSettings {
                layout: self.layout,
                order: self.order,
                number,
                first_identifier: self.first_identifier,
                pattern: Arc::clone(&pattern),
                generators: generators.clone(),
                rate: self.rate,
                largest_bytes: self.bytes.map(|size| size.bytes),
                faults: self.faults.clone(),
            };
            let core = self.cores.get(usize::from(number) % self.cores.len().max(1)).copied();
            targets.push(SendTarget { destination, source, core, stream });
        }
        Ok(targets)
    }

    fn generators(&self) -> Result<Vec<GeneratorSettings>, CommandError> {
        let sizes: Vec<usize> =
            self.packet.iter().map(|size| usize::try_from(size.bytes)).collect::<Result<_, _>>()?;
        let generator = |size: &usize| GeneratorSettings {
            block_bytes: self.block.bytes,
            packet_bytes: *size,
            blocks: self.blocks,
            pause_per_word: self.pause_per_word.picoseconds,
            pause_per_packet: self.pause_per_packet.picoseconds,
        };
        Ok(sizes.iter().cycle().take(self.generators as usize).map(generator).collect())
    }
}

//! `evforge train send`: what a train builder sends.

use super::detector::Detector;
use super::sent;
use crate::CommandError;
use crate::arguments::OverwriteArguments;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable, write_file};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::{Args, ValueEnum};
use evforge_config::{ByteSize, Frequency, Rate, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_lab::link::train::{self, PayloadSettings, SendSettings};
use evforge_train::generate::{
    Fault, FaultPlan, FaultRates, ImageContent, NoiseSettings, TrainBegin, TrainStructure,
};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge train send`.
#[derive(Args)]
pub(super) struct SendArguments {
    /// Where to send trains to; several nodes get them in turn
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, default_value = "127.0.0.1:9200")]
    to: Vec<SocketAddr>,
    /// Send as this many modules of the detector, a thread each; module i sends train t to node (t + i) modulo nodes
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    modules: u16,
    /// The detector
    #[arg(long, value_name = "DETECTOR", default_value = "lpd")]
    detector: Detector,
    /// Images in a train
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    images: u32,
    /// Images of this size, without a block of the detector's own, instead of those of --detector
    #[arg(long, value_name = "SIZE", help_heading = "Trains", conflicts_with = "detector")]
    image_size: Option<ByteSize>,
    /// What is in the images: counter (every byte is known from train, image and place) or noise (a pedestal for each pixel, and noise)
    #[arg(long, value_name = "CONTENT", default_value = "counter", help_heading = "Trains")]
    content: Content,
    /// Seed of noise and of faults by chance
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Trains")]
    seed: u64,
    /// Number of the first module, in the headers; the others follow
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Trains")]
    first_module: u8,
    /// Number of the first train
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Trains")]
    first_train: u64,
    /// Step of the numbers from one train to the next
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Trains")]
    stride: u64,
    /// Number of the first frame, as in the trailers of the packets
    #[arg(long, value_name = "NUMBER", default_value_t = 0, help_heading = "Trains")]
    first_frame: u32,
    /// Bytes of a train in each packet but its last
    #[arg(long, value_name = "SIZE", default_value = "8184B", help_heading = "Trains")]
    packet: ByteSize,
    /// Cut trains off behind this many packets, for load tests: they end without their trailer
    #[arg(long, value_name = "NUMBER", help_heading = "Trains")]
    packets_per_train: Option<u32>,
    /// Trains in a second
    #[arg(long, value_name = "FREQUENCY", default_value = "10Hz", help_heading = "Sending")]
    frequency: Frequency,
    /// Begin each train this long after the end of the one before, instead of at a frequency; needs --rate
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "frequency",
        requires = "rate",
        help_heading = "Sending"
    )]
    pause: Option<TimeSpan>,
    /// Rate of the packets of a train: 100kpps, 9.9Gbit/s (UDP payload). Without, they follow one another as fast as possible
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Send what falls due within this time together, and sleep in between: takes less of a processor than sending each packet
    /// when it is due
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Sending")]
    burst: TimeSpan,
    /// Send from this address and successive ports from this one on: those of the first module to all nodes, of the second, ...
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, help_heading = "Sending")]
    source: Option<SocketAddr>,
    /// End after this many trains of each module
    #[arg(long, value_name = "NUMBER")]
    trains: Option<u64>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Inject a fault into each module; may be given several times. Of a packet: lost:train=3,packet=17,
    /// repeated:train=3,packet=17, displaced:train=3,packet=17,by=4, truncated:train=3,packet=17,bytes=5,
    /// shortened:train=3,packet=17,bytes=100. Of a train: missing-first:train=3, missing-last:train=3, wrong-begin:train=3,
    /// wrong-end:train=3, wrong-number:train=3,number=7, late:train=3, interleaved:train=3. Trains count from 0
    #[arg(long = "fault", value_name = "FAULT", help_heading = "Faults")]
    faults: Vec<Fault>,
    /// Inject faults by chance, with these probabilities for each packet (lost, repeated, displaced, truncated, shortened) and each train
    /// (missing-first, missing-last, wrong-begin, wrong-end, wrong-number, late, interleaved): lost=1e-5,late=0.01
    #[arg(long, value_name = "FAULTS", help_heading = "Faults")]
    fault_rates: Option<FaultRates>,
    /// Each module sends to a port of its own: the first to that of --to, further ones to successive ports
    #[arg(long, help_heading = "Sending")]
    port_per_module: bool,
    /// Cores of the sending threads, in turn
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Sending")]
    cores: Vec<usize>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT)
    #[arg(long, help_heading = "Sending")]
    segment: bool,
    /// Send by AF_XDP through this network interface, as whole frames bypassing the kernel's protocols, instead of a socket;
    /// each module takes one of its queues for each node
    #[arg(long, value_name = "INTERFACE", conflicts_with = "segment", help_heading = "Sending")]
    xdp: Option<String>,
    /// Write what was sent, and which faults were made, as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// No report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// What is in the images.
#[derive(Clone, Copy, ValueEnum)]
enum Content {
    Counter,
    Noise,
}

/// Runs the command.
pub(super) fn send(arguments: &SendArguments) -> Result<ExitStatus, CommandError> {
    NamedFiles::default().output("--report", &arguments.report).check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let settings = SendSettings {
        modules: arguments.modules()?,
        nodes: arguments.to.clone(),
        port_per_module: arguments.port_per_module,
        source: arguments.source,
        cores: arguments.cores.clone(),
        segment: arguments.segment,
        xdp: arguments.xdp.clone(),
        duration: arguments.ends_after.map(TimeSpan::to_std),
        burst: arguments.burst.to_std(),
    };
    let report = train::send(&settings, &*stop_on_signals()?)?;
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    if let Some(path) = &arguments.report {
        ending.attempt(write_file("the report", path, report.json().as_bytes()));
    }
    let is_taken = report.modules.iter().flat_map(|module| &module.nodes).all(|node| node.refused == 0);
    if !arguments.quiet {
        ending.print(&sent::text(&report));
    } else if !is_taken {
        eprint!("{}", sent::text(&report));
    }
    Ok(ExitStatus::of(is_taken && ending.is_good()))
}

impl SendArguments {
    fn modules(&self) -> Result<Vec<PayloadSettings>, CommandError> {
        let structure = match self.image_size {
            Some(size) => TrainStructure::of_size(usize::try_from(size.bytes)?, self.images),
            None => TrainStructure::of(self.detector.of_wire(), self.images),
        };
        let structure = TrainStructure {
            data_bytes: usize::try_from(self.packet.bytes)?,
            packets_per_train: self.packets_per_train,
            first_train: self.first_train,
            stride: self.stride,
            first_frame: self.first_frame,
            ..structure
        };
        let begin = match self.pause {
            Some(pause) => TrainBegin::PauseNs(pause.picoseconds / 1000),
            None => TrainBegin::Timing(self.frequency),
        };
        let rates = self.fault_rates.unwrap_or_default();
        let module = |number: u16| {
            // Modules have noise and faults by chance of their own.
            let seed = self.seed.wrapping_add(u64::from(number) << 32);
            let content = match self.content {
                Content::Counter => ImageContent::Counter,
                Content::Noise => {
                    ImageContent::NoiseAndPedestals(NoiseSettings { seed, ..NoiseSettings::default() })
                }
            };
            Ok(PayloadSettings {
                structure: TrainStructure {
                    detector_link: u32::from(self.first_module) + u32::from(number),
                    ..structure
                },
                content,
                trains: self.trains,
                begin,
                rate: self.rate,
                faults: FaultPlan::new(&self.faults, &rates, seed)?,
            })
        };
        (0..self.modules).map(module).collect()
    }
}

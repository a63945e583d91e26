//! `evforge measure streams`: packets per second that arrive of one stream and of several.

use super::hosts::{Here, Hosts, HostsArguments, OtherHostArguments};
use super::points::{begin_without_cores, buffer, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::{Args, ValueEnum};
use evforge_config::{ByteSize, TimeSpan};
use evforge_lab::measured_streams::{StreamPoint, StreamRunner, StreamThreads};
use evforge_measure::streams::{DecodedStreams, result};
use evforge_net::affinity::allowed_cores;
use std::collections::BTreeSet;

const TITLE: &str = "Packets that arrive at most, by number of streams";

/// Arguments of `evforge measure streams`.
#[derive(Args)]
pub(super) struct StreamsArguments {
    /// Numbers of streams, separated by commas
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,2,4", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Vec<u16>,
    /// Count every 16-bit word (on), as a workload like decoding, or check identifiers only (off); both, separated by a comma
    #[arg(long, value_name = "on|off", value_delimiter = ',', default_value = "off,on")]
    decode: Vec<Decoding>,
    /// Data of each packet, behind the header of the stream
    #[arg(long, value_name = "SIZE", default_value = "64B")]
    packet: ByteSize,
    /// How long to send at each point
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = TimeSpan::in_seconds)]
    time: TimeSpan,
    /// How often each point is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Cores of the receiving threads, one for each stream, in turn [default: all but the sender's]
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    cores: Vec<usize>,
    /// Have one thread receive all streams, on the first of --cores, and workers on these cores, in turn, check and count
    #[arg(long, value_name = "CORES", value_delimiter = ',', requires = "cores")]
    worker_cores: Vec<usize>,
    /// Receive buffer of each stream: a size, or `default` for what a program gets that asks for none
    #[arg(long, value_name = "SIZE", default_value = "12MB", value_parser = buffer, help_heading = "Receiving")]
    buffer: (String, u64),
    /// Memory of the queue to each worker
    #[arg(long, value_name = "SIZE", default_value = "8MB", help_heading = "Receiving")]
    queue: ByteSize,
    #[command(flatten)]
    pub(super) other: OtherHostArguments,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// Whether words are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Decoding {
    Off,
    On,
}

impl StreamsArguments {
    /// Which threads receive.
    fn threads(&self, here: &Here) -> Result<StreamThreads, CommandError> {
        if let (Some(&receiver), false) = (self.cores.first(), self.worker_cores.is_empty()) {
            return Ok(StreamThreads::Workers { receiver, workers: self.worker_cores.clone() });
        }
        if !self.cores.is_empty() {
            return Ok(StreamThreads::Each(self.cores.clone()));
        }
        let all = allowed_cores()?;
        let is_free = |core: &usize| here.hosts.other().is_some() || *core != here.sender_core;
        let free: Vec<usize> = all.iter().copied().filter(is_free).collect();
        // With a single core there is no other.
        Ok(StreamThreads::Each(if free.is_empty() { all } else { free }))
    }
}

/// Runs the command.
pub(super) fn streams(arguments: &StreamsArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let here = match arguments.hosts.prepare_with(&arguments.other)? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let threads = arguments.threads(&here)?;
    let session = begin_without_cores("streams", TITLE, &here)?
        .setting("sender's core", here.sender_core.to_string())
        .setting("receiving threads", threads.sentence())
        .setting("time of each measurement", format!("{:?}", arguments.time.to_std()))
        .setting("receive buffer", format!("{}: {} B", arguments.buffer.0, arguments.buffer.1));
    let reports = folder_for_reports()?;
    let runner = StreamRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        sender_core: here.sender_core,
        watched: allowed_cores()?,
        stop: &here.stop,
    };
    let mut all = Vec::new();
    for decoding in arguments.decode.iter().collect::<BTreeSet<_>>() {
        for streams in arguments.streams.iter().collect::<BTreeSet<_>>() {
            let decodes = *decoding == Decoding::On;
            all.push(DecodedStreams { streams: *streams, decodes, rounds: Vec::new() });
        }
    }
    for _ in 0..arguments.rounds {
        for point in &mut all {
            let measured = runner.run(&StreamPoint {
                streams: point.streams,
                data_bytes: arguments.packet.bytes,
                rate: None,
                time: arguments.time.to_std(),
                buffer: arguments.buffer.1,
                queue: arguments.queue.bytes,
                work: std::time::Duration::ZERO,
                counts_words: point.decodes,
                threads: threads.clone(),
            })?;
            let arrived: f64 = measured.streams.iter().map(|stream| stream.received_per_second / 1e3).sum();
            tell(
                &arguments.result,
                &format!(
                    "{:3} streams  decode {:3}  {arrived:9.1} kpps in sum  lost {} of {}",
                    point.streams,
                    if point.decodes { "on" } else { "off" },
                    measured.sum(|stream| stream.lost),
                    measured.sum(|stream| stream.sent)
                ),
            );
            point.rounds.push(measured);
        }
    }
    arguments.result.hand_over(&result(session, &here.hosts, arguments.packet.bytes, &all)?, folder.as_ref())
}

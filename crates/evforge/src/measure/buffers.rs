//! `evforge measure buffers`: speed, processor time and loss by buffer, MTU and direction, over UDP and TCP.

use super::hosts::{EndsArguments, Hosts, OtherHostArguments};
use super::load::packets;
use super::points::{begin, buffer, folder_for_reports, runner, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_lab::measured_link::{BufferSeries, Direction, LinkMethod};
use evforge_measure::buffers::result;

const TITLE: &str = "Speed, processor time and loss by buffer, MTU and direction, over UDP and TCP";

/// Of virtual interfaces.
const HIGHEST_MTU: u32 = 65_535;

/// An MTU: IPv4 has to work with 576.
fn mtu(text: &str) -> Result<u32, String> {
    let value = text.parse().ok().filter(|value| (576..=HIGHEST_MTU).contains(value));
    value.ok_or_else(|| format!("found `{text}`, expected an MTU such as 1500: 576 to {HIGHEST_MTU}"))
}

/// Arguments of `evforge measure buffers`.
#[derive(Args)]
pub(super) struct BuffersArguments {
    /// MTUs of the link between the namespaces, in bytes, separated by commas; packets fill them. Over loopback and from another host,
    /// whose MTU stays as it is: packets as large
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1500,9000", value_parser = mtu)]
    mtu: Vec<u32>,
    /// Receive buffers, of a connection send buffers as well, separated by commas: a size, or `default`
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "128kB,256kB,512kB,1MB,2MB,4MB", value_parser = buffer)]
    buffer: Vec<(String, u64)>,
    /// Ways to send and receive, separated by commas: as of `measure sweep`
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_value = "batched,tcp")]
    method: Vec<LinkMethod>,
    /// Packets per second over UDP; without it as fast as possible
    #[arg(long, value_name = "RATE", value_parser = packets)]
    rate: Option<u64>,
    /// One way only
    #[arg(long)]
    one_way: bool,
    /// How long to send at each point: longer than a second, which is looked at apart; the slides: 60s
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = TimeSpan::in_seconds)]
    time: TimeSpan,
    /// How often each point is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    #[command(flatten)]
    other: OtherHostArguments,
    #[command(flatten)]
    ends: EndsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

impl BuffersArguments {
    /// Whether network namespaces are made.
    pub(super) fn makes_namespaces(&self) -> bool {
        self.ends.has_namespaces() && !self.other.is_given()
    }
}

/// Runs the command.
pub(super) fn buffers(arguments: &BuffersArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let here = match arguments.ends.prepare_with(&arguments.other, HIGHEST_MTU)? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let directions = match arguments.one_way || arguments.other.is_given() {
        true => vec![Direction::OneWay],
        false => vec![Direction::OneWay, Direction::BothWays],
    };
    let series = BufferSeries {
        mtus: arguments.mtu.clone(),
        buffers: arguments.buffer.clone(),
        methods: arguments.method.clone(),
        directions,
        rate: arguments.rate,
        rounds: arguments.rounds.into(),
        time: arguments.time.to_std(),
    };
    let session = begin("buffers", TITLE, &here)?;
    let reports = folder_for_reports()?;
    let runner = runner(&here, reports.path())?;
    let points = series.run(
        |point| runner.run(point),
        |done, all, point, outcome| {
            let ways = if point.point.both_directions { "both ways" } else { "one way" };
            let place = format!(
                "{done:5} of {all}  MTU {:5}  {:9} {:>7}  {ways:9}",
                point.point.mtu.unwrap_or_default(),
                point.point.method.name(),
                point.buffer
            );
            match outcome {
                Ok(last) => tell(
                    &arguments.result,
                    &format!(
                        "{place}  {:8.0} Mb/s  lost {} of {}",
                        last.bits_per_second / 1e6,
                        last.lost,
                        last.sent
                    ),
                ),
                Err(failure) => tell(&arguments.result, &format!("{place}  not measured: {failure}")),
            }
        },
    )?;
    arguments.result.hand_over(&result(session, &here.hosts, &series, &points)?, folder.as_ref())
}

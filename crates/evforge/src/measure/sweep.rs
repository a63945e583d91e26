//! `evforge measure sweep`: speed, packet error ratio and processor time by size, methods side by side.

use super::hosts::{Hosts, HostsArguments};
use super::load::packets;
use super::points::{PointArguments, begin, buffer, folder_for_reports, runner, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::ByteSize;
use evforge_lab::measured_link::{PAPER_SIZES, Sweep};
use evforge_measure::link::Link;
use evforge_measure::sweep::result;

const TITLE: &str = "Speed, packet error ratio and processor time by size of packets";

/// Arguments of `evforge measure sweep`.
#[derive(Args)]
pub(super) struct SweepArguments {
    #[command(flatten)]
    pub(super) points: PointArguments,
    /// Receive buffers, separated by commas: `default` is what a program gets that asks for none, 12MB that of the paper
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "default,12MB", value_parser = buffer)]
    buffer: Vec<(String, u64)>,
    /// Packets per second; without it as fast as possible
    #[arg(long, value_name = "RATE", value_parser = packets)]
    rate: Option<u64>,
    /// User data of each point at most; the paper: 400GB
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    bytes: Option<ByteSize>,
    /// Send the same back at the same time
    #[arg(long, conflicts_with = "sender")]
    both_directions: bool,
    /// Speed of the link whose theoretical line is shown
    #[arg(long, value_name = "SPEED", default_value = "10Gb/s", value_parser = super::link::speed)]
    speed: u64,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// Runs the command.
pub(super) fn sweep(arguments: &SweepArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let link = Link::new(arguments.speed, arguments.hosts.place.mtu)?;
    let here = match arguments.hosts.prepare_with(&arguments.points.other)? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let sweep = Sweep {
        sizes: arguments.points.sizes(&PAPER_SIZES),
        methods: arguments.points.methods(&here),
        buffers: arguments.buffer.clone(),
        rounds: arguments.points.rounds.into(),
        time: arguments.points.time.to_std(),
        bytes: arguments.bytes.map(|size| size.bytes),
        rate: arguments.rate,
        work: arguments.points.work.to_std(),
        both_directions: arguments.both_directions,
    };
    let session = begin("sweep", TITLE, &here)?;
    let reports = folder_for_reports()?;
    let runner = runner(&here, reports.path())?;
    let points = sweep.run(
        |point| runner.run(point),
        |done, all, swept, outcome| {
            let place =
                format!("{done:5} of {all}  {:9} {:>5} B", swept.point.method.name(), swept.point.size);
            let last = match outcome {
                Ok(last) => last,
                Err(failure) => return tell(&arguments.result, &format!("{place}  not measured: {failure}")),
            };
            tell(
                &arguments.result,
                &format!(
                    "{place}  {:8}  {:8.1} kpps  lost {} of {}",
                    swept.buffer,
                    last.received_per_second / 1e3,
                    last.lost,
                    last.sent
                ),
            );
        },
    )?;
    arguments.result.hand_over(&result(session, &here.hosts, &link, &sweep, &points)?, folder.as_ref())
}

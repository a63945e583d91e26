//! `evforge measure rate`: the highest rate without loss.

use super::hosts::{Hosts, HostsArguments};
use super::points::{PointArguments, begin, buffer, folder_for_reports, runner, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_lab::measured_link::{LinkPoint, LossFreeSearch, highest_loss_free};
use evforge_measure::rate::{Overload, RatePoint, result};

const TITLE: &str = "Highest rate without loss, by size of packets";
const SIZES: [usize; 4] = [64, 512, 1472, 8972];

/// Arguments of `evforge measure rate`.
#[derive(Args)]
pub(super) struct RateArguments {
    #[command(flatten)]
    pub(super) points: PointArguments,
    /// Receive buffer: a size, or `default` for what a program gets that asks for none
    #[arg(long, value_name = "SIZE", default_value = "12MB", value_parser = buffer)]
    buffer: (String, u64),
    /// How near the highest loss-free rate and the lowest one with losses have to be, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent)]
    tolerance: f64,
    /// Measure what still arrives when twice the rate is sent that was found
    #[arg(long)]
    overload: bool,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.1..=50.0).contains(value));
    value.ok_or_else(|| format!("found `{text}`, expected 0.1 to 50"))
}

/// Runs the command.
pub(super) fn rate(arguments: &RateArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let here = match arguments.hosts.prepare_with(&arguments.points.other)? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let mut methods = arguments.points.methods(&here);
    if arguments.points.method.iter().any(|method| !method.can_lose()) {
        return Err("--method tcp: what a connection loses is sent again, so that it has no highest rate without loss; measure sweep \
                    measures its speed"
            .into());
    }
    methods.retain(|method| method.can_lose());
    let mut points = Vec::new();
    for size in arguments.points.sizes(&SIZES) {
        for &method in &methods {
            points.push(RatePoint { method, size, rounds: Vec::new(), overloaded: Vec::new() });
        }
    }
    let session = begin("rate", TITLE, &here)?
        .setting("receive buffer", format!("{}: {} B", arguments.buffer.0, arguments.buffer.1))
        .setting("time of each measurement", format!("{:?}", arguments.points.time.to_std()));
    let reports = folder_for_reports()?;
    let runner = runner(&here, reports.path())?;
    let search = LossFreeSearch { tolerance: arguments.tolerance / 100.0, ..LossFreeSearch::default() };
    let work = arguments.points.work.to_std();
    for _ in 0..arguments.points.rounds {
        for point in &mut points {
            let asked = LinkPoint {
                buffer: arguments.buffer.1,
                time: arguments.points.time.to_std(),
                work,
                ..LinkPoint::new(point.method, point.size)
            };
            let at = |rate| runner.run(&LinkPoint { rate, ..asked.clone() });
            let found = highest_loss_free(&search, at)?;
            if let Some(rate) = found.rate.filter(|_| arguments.overload && !found.is_senders_limit) {
                let twice = at(Some((2.0 * rate) as u64))?;
                let (sent, received) = (twice.sent_per_second, twice.received_per_second);
                point.overloaded.push(Overload { loss_free: rate, sent, received });
            }
            let rate = found.rate.map_or("none found".to_owned(), |rate| format!("{:.1} kpps", rate / 1e3));
            let limit = if found.is_senders_limit { ", as fast as the sender can" } else { "" };
            tell(&arguments.result, &format!("{:9} {:>5} B  {rate}{limit}", point.method.name(), point.size));
            point.rounds.push(found);
        }
    }
    arguments.result.hand_over(&result(session, &here.hosts, work, &points)?, folder.as_ref())
}

//! `evforge measure pulses`: the highest peak at which pulses are received whole.

use super::hosts::{Hosts, HostsArguments};
use super::link::bytes;
use super::points::{begin, folder_for_reports, runner, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::{ByteSize, TimeSpan};
use evforge_core::quantity::Frequency;
use evforge_lab::measured_link::{LossFreeCriterion, LossFreeSearch};
use evforge_lab::measured_pulses::{PulsePlan, PulseRunner, SearchedPulses};
use evforge_measure::pulses::result;

const TITLE: &str = "Highest peak of pulses that are received whole";

/// Arguments of `evforge measure pulses`.
#[derive(Args)]
pub(super) struct PulsesArguments {
    /// User data of packets in bytes, separated by commas: 64,1472,8972
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "1472", value_parser = bytes)]
    size: Vec<u32>,
    /// Times that the receiver spends on each packet, separated by commas
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "5us,20us")]
    work: Vec<TimeSpan>,
    /// Receive buffers to ask the kernel for, separated by commas; it gives twice that
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "100kB,200kB,400kB,800kB")]
    buffer: Vec<ByteSize>,
    /// Pulses in a second
    #[arg(long, value_name = "FREQUENCY", default_value = "14Hz")]
    frequency: Frequency,
    /// The period over the time of a pulse, several separated by commas
    #[arg(long, value_name = "FACTORS", value_delimiter = ',', default_value = "10,50")]
    peak_factor: Vec<f64>,
    /// Pulses of each measurement
    #[arg(long, value_name = "NUMBER", default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pulses: u64,
    /// How often each peak is searched
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// What buffers keep is whole, and not sustained. Peaks are found to 3 %, in at most this many measurements.
const SEARCH: LossFreeSearch =
    LossFreeSearch { criterion: LossFreeCriterion::Whole, tolerance: 0.03, confirmations: 1, most: 20 };

/// Runs the command.
pub(super) fn pulses(arguments: &PulsesArguments) -> Result<ExitStatus, CommandError> {
    let plan = PulsePlan {
        sizes: arguments.size.iter().map(|size| *size as usize).collect(),
        works: arguments.work.iter().map(|work| work.to_std()).collect(),
        buffers: arguments.buffer.iter().map(|buffer| buffer.bytes).collect(),
        frequency: arguments.frequency,
        peak_factors: arguments.peak_factor.clone(),
        pulses: arguments.pulses,
        rounds: arguments.rounds.into(),
    };
    // Whatever is wrong is said before namespaces are made.
    plan.check()?;
    let folder = arguments.result.folder()?;
    let here = match arguments.hosts.prepare()? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let session = begin("pulses", TITLE, &here)?;
    let reports = folder_for_reports()?;
    let runner = PulseRunner { points: runner(&here, reports.path())?, search: SEARCH };
    let points = runner.run(&plan, |done, all, searched| {
        tell(&arguments.result, &format!("{done:4} of {all}  {}", line(searched)));
    })?;
    arguments.result.hand_over(&result(session, &here.hosts, &plan, &points)?, folder.as_ref())
}

/// What was found last of a point.
fn line(searched: &SearchedPulses) -> String {
    let point = &searched.point;
    let place = format!(
        "{:>5} B  work {:>5.1} us  peak factor {:>4}  buffer {:>6.1} kB",
        point.size,
        point.work.as_secs_f64() * 1e6,
        point.pulses.peak_factor,
        point.buffer as f64 / 1e3
    );
    let (Some(round), Some(relation)) = (searched.rounds.last(), searched.relation()) else { return place };
    let tried = round.found.tried.len();
    match round.found.rate {
        None => format!("{place}  no peak received whole in {tried} measurements"),
        Some(peak) => {
            let limit = if round.is_of_sender() { ", the sender's limit" } else { "" };
            format!(
                "{place}  {:8.1} kpps, relation {:.1}  ({tried} measurements{limit})",
                peak / 1e3,
                relation.at_most / 1e3
            )
        }
    }
}

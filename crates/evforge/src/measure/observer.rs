//! `evforge measure observer`: what looking at a run costs it.

use super::hosts::{Hosts, HostsArguments};
use super::load::{LoadArguments, line, packets};
use super::points::{begin, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_lab::measured_formation::{FormationLoad, FormationRunner, highest_rate};
use evforge_lab::measured_observer::{Observer, ObserverRunner, order_of_round};
use evforge_measure::observer::{Observed, result};

const TITLE: &str = "What looking at a run costs it";

/// Arguments of `evforge measure observer`.
#[derive(Args)]
pub(super) struct ObserverArguments {
    /// Detector or shipped configuration
    #[arg(long, value_name = "NAME", default_value = "freia")]
    detector: String,
    /// Who looks, separated by commas: kernel-counters, host-counters, polled-counters, view, metrics, browsers-N, regions-N, monitor [default:
    /// all]
    #[arg(long, value_name = "OBSERVERS", value_delimiter = ',')]
    by: Vec<Observer>,
    /// Browsers of the view with many of them
    #[arg(long, value_name = "NUMBER", default_value_t = 8, conflicts_with = "by", value_parser = clap::value_parser!(u16).range(1..=31))]
    browsers: u16,
    /// Packets per second, as 20kpps [default: half of the highest rate without loss, which is searched first]
    #[arg(long, value_name = "RATE", value_parser = packets)]
    rate: Option<u64>,
    /// Pairs: how often each is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    #[command(flatten)]
    what: LoadArguments,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// Runs the command.
pub(super) fn observer(arguments: &ObserverArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let here = match arguments.hosts.prepare()? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let session = begin("observer", TITLE, &here)?
        .setting("detector", &arguments.detector)
        .setting("neutrons per second of the simulation", arguments.what.neutrons())
        .setting("time of each measurement", format!("{:?}", arguments.what.time.to_std()));
    let reports = folder_for_reports()?;
    let runner = ObserverRunner::new(FormationRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        keys: arguments.what.keys.clone(),
        kafka: None,
        stop: &here.stop,
    });
    let load = arguments.what.of(&arguments.detector, &here, reports.path())?;
    let rate = match arguments.rate {
        Some(rate) => rate,
        None => half_of_highest(arguments, &runner, &load)?,
    };
    let session = session.setting("rate", format!("{} kpps", rate as f64 / 1e3));
    let load = load.lasting(arguments.what.time.to_std(), rate as f64);
    let mut observed: Vec<Observed> =
        observers(arguments).into_iter().map(|observer| Observed { observer, rounds: Vec::new() }).collect();
    for round in 0..arguments.rounds.into() {
        for place in order_of_round(round, observed.len()) {
            let one = &mut observed[place];
            let point = runner.run(&load, one.observer, rate)?;
            let ns = point.ns_per_packet().unwrap_or(0.0);
            let lost = point.packets.lost;
            tell(
                &arguments.result,
                &format!("{:4}  {:16} {ns:8.0} ns/packet  lost {lost}", round + 1, one.observer.to_string()),
            );
            one.rounds.push(point);
        }
    }
    arguments.result.hand_over(&result(session, &here.hosts, &observed)?, folder.as_ref())
}

/// Who looks; nobody is always among them, first and once.
fn observers(arguments: &ObserverArguments) -> Vec<Observer> {
    if arguments.by.is_empty() {
        return Observer::all(arguments.browsers);
    }
    let mut observers = vec![Observer::Nothing];
    for observer in &arguments.by {
        if !observers.contains(observer) {
            observers.push(*observer);
        }
    }
    observers
}

fn half_of_highest(
    arguments: &ObserverArguments,
    runner: &ObserverRunner<'_>,
    load: &FormationLoad,
) -> Result<u64, CommandError> {
    let time = arguments.what.time.to_std();
    let highest = highest_rate(load, time, |load, rate| runner.unobserved(load, rate))?;
    tell(&arguments.result, &format!("highest rate without loss: {}", line(&highest)));
    let rate = highest.found.rate.ok_or_else(|| {
        let tried = highest.found.tried.len();
        format!(
            "no loss-free rate of {} was found in {tried} measurements; give one: --rate 5kpps",
            load.name
        )
    })?;
    Ok((rate / 2.0) as u64)
}

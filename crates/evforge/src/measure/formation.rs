//! `evforge measure formation`: rates from UDP to events, per detector and destination.

use super::hosts::{Hosts, HostsArguments};
use super::kafka::KafkaArguments;
use super::load::SEARCH;
use super::points::{begin, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_core::quantity::Frequency;
use evforge_lab::measured_formation::{
    Destination, FormationLoad, FormationPoint, FormationRunner, LoadSource,
};
use evforge_lab::measured_link::{MeasureError, highest_loss_free};
use evforge_measure::formation::{FormationRates, FormationRound, PAPER, result};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TITLE: &str = "Events formed over the wire";

/// Arguments of `evforge measure formation`.
#[derive(Args)]
pub(super) struct FormationArguments {
    /// Detectors or shipped configurations, separated by commas [default: those of Table 4]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "input")]
    detector: Vec<String>,
    /// Form events of this capture instead, sent again and again, with the configuration of --config; repeatable
    #[arg(long, value_name = "FILE", requires = "config")]
    input: Vec<PathBuf>,
    /// Configuration of a capture, in the order of --input; repeatable
    #[arg(long, short = 'f', value_name = "FILE", requires = "input")]
    config: Vec<PathBuf>,
    /// How long to send for each measurement
    #[arg(long = "for", value_name = "TIME", default_value = "2s", value_parser = TimeSpan::in_seconds, hide_short_help = true)]
    time: TimeSpan,
    /// Where events go, separated by commas: nothing, nexus, view; kafka with --kafka
    #[arg(long, value_name = "DESTINATIONS", value_delimiter = ',', default_value = "nothing,nexus,view")]
    into: Vec<Destination>,
    /// Neutrons per second of the simulation; what is sent is as fast as the search asks for
    #[arg(long, value_name = "RATE", default_value = "200kHz", value_parser = crate::simulate::rate)]
    neutrons: Frequency,
    /// Pulses that are simulated
    #[arg(long, value_name = "NUMBER", hide_short_help = true, default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pulses: u64,
    /// Readouts of each measurement, some: pulses are sent or simulated again until there are enough
    #[arg(long, value_name = "NUMBER", hide_short_help = true, default_value_t = 20_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    readouts: u64,
    /// How often each rate is searched
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Override a key of the configuration for the run; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", hide_short_help = true)]
    keys: Vec<String>,
    #[command(flatten)]
    kafka: KafkaArguments,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// Runs the command.
pub(super) fn formation(arguments: &FormationArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    if arguments.input.len() != arguments.config.len() {
        return Err(format!(
            "{} times --input and {} times --config: give each capture its configuration",
            arguments.input.len(),
            arguments.config.len()
        )
        .into());
    }
    let kafka = arguments.kafka.topic("formation", &arguments.into, &arguments.hosts)?;
    let here = match arguments.hosts.prepare()? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let session = begin("formation", TITLE, &here)?
        .setting(
            "neutrons per second of the simulation",
            format!("{} Hz", arguments.neutrons.millihertz as f64 / 1e3),
        )
        .setting("readouts of each measurement, at least", arguments.readouts.to_string());
    let reports = folder_for_reports()?;
    let program = std::env::current_exe()?;
    let runner = FormationRunner {
        hosts: &here.hosts,
        program: program.clone(),
        folder: reports.path().to_owned(),
        keys: arguments.keys.clone(),
        kafka,
        stop: &here.stop,
    };
    let mut all = Vec::new();
    for load in loads(arguments, &program, reports.path(), &here.stop)? {
        let mut of_load: Vec<FormationRates> = arguments
            .into
            .iter()
            .map(|into| FormationRates {
                name: load.name.clone(),
                input: load.input.clone(),
                into: *into,
                rounds: Vec::new(),
            })
            .collect();
        for _ in 0..arguments.rounds {
            for rates in &mut of_load {
                let round = search(&runner, &load, rates.into, arguments.time.to_std())?;
                tell(&arguments.result, &line(rates, &round));
                rates.rounds.push(round);
            }
        }
        all.extend(of_load);
        if let LoadSource::Looped { path, .. } = load.source
            && path.starts_with(reports.path())
        {
            std::fs::remove_file(path)?;
        }
    }
    arguments.result.hand_over(&result(session, &here.hosts, &all), folder.as_ref())
}

fn loads(
    arguments: &FormationArguments,
    program: &Path,
    folder: &Path,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Vec<FormationLoad>, CommandError> {
    if !arguments.input.is_empty() {
        let captures = arguments.input.iter().zip(&arguments.config);
        let time = arguments.time.to_std();
        return Ok(captures.map(|(input, config)| FormationLoad::capture(config, input, time)).collect());
    }
    let names: Vec<&str> = match arguments.detector.is_empty() {
        true => PAPER.iter().map(|row| row.detector).collect(),
        false => arguments.detector.iter().map(String::as_str).collect(),
    };
    let neutrons = (arguments.neutrons.millihertz / 1000).max(1);
    let load = |name: &str| {
        FormationLoad::simulated(name, neutrons, arguments.pulses, arguments.readouts, program, folder, stop)
    };
    names.into_iter().map(load).collect()
}

/// The highest rate, and what was formed at it.
fn search(
    runner: &FormationRunner<'_>,
    load: &FormationLoad,
    into: Destination,
    time: Duration,
) -> Result<FormationRound, MeasureError> {
    let mut sustained: Vec<FormationPoint> = Vec::new();
    let mut fastest = None;
    let found = highest_loss_free(&SEARCH, |rate| {
        // How fast the sender can be is not known before the first time; what waits in queues at the end of a moment is no rate.
        if rate.is_none() && fastest.is_none() {
            fastest = Some(runner.run(load, into, None)?.packets.sent_per_second);
        }
        let expected = rate.map_or(fastest.unwrap_or(0.0), |rate| rate as f64);
        let point = runner.run(&load.lasting(time, expected), into, rate)?;
        let packets = point.packets.clone();
        if packets.is_sustained() {
            sustained.push(point);
        }
        Ok(packets)
    })?;
    let point = found.rate.and_then(|rate| {
        let distance = |point: &FormationPoint| (point.packets.sent_per_second - rate).abs();
        sustained.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))
    });
    Ok(FormationRound { found, point })
}

fn line(rates: &FormationRates, round: &FormationRound) -> String {
    let (name, into, tried) = (&rates.name, rates.into.name(), round.found.tried.len());
    let Some(point) = &round.point else {
        return format!("{name:14} {into:8} no loss-free rate in {tried} measurements");
    };
    format!(
        "{name:14} {into:8} {:8.1} kpps {:8.2} M readouts/s {:8.3} M events/s {:5.2} cores  ({tried} measurements{})",
        point.packets.sent_per_second / 1e3,
        point.per_second(point.readouts) / 1e6,
        point.per_second(point.events) / 1e6,
        point.cores(),
        if round.found.is_senders_limit { ", the sender's limit" } else { "" }
    )
}

//! `evforge measure formation`: rates from UDP to events, per detector and destination.

use super::hosts::{Here, Hosts, HostsArguments};
use super::kafka::KafkaArguments;
use super::load::{LoadArguments, search};
use super::points::{begin, folder_for_reports};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_lab::measured_formation::{Destination, FormationLoad, FormationRunner, LoadSource};
use evforge_measure::formation::{FormationRates, PAPER, result};
use std::path::{Path, PathBuf};

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
    /// Where events go, separated by commas: nothing, nexus, view; kafka with --kafka
    #[arg(long, value_name = "DESTINATIONS", value_delimiter = ',', default_value = "nothing,nexus,view")]
    into: Vec<Destination>,
    /// How often each rate is searched
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    #[command(flatten)]
    what: LoadArguments,
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
        .setting("neutrons per second of the simulation", arguments.what.neutrons())
        .setting("time of each measurement", format!("{:?}", arguments.what.time.to_std()));
    let reports = folder_for_reports()?;
    let runner = FormationRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        keys: arguments.what.keys.clone(),
        kafka,
        stop: &here.stop,
    };
    let mut all = Vec::new();
    for load in loads(arguments, &here, reports.path())? {
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
                let round = search(&runner, &load, rates.into, arguments.what.time, &arguments.result)?;
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
    here: &Here,
    folder: &Path,
) -> Result<Vec<FormationLoad>, CommandError> {
    if !arguments.input.is_empty() {
        let captures = arguments.input.iter().zip(&arguments.config);
        let time = arguments.what.time.to_std();
        return Ok(captures.map(|(input, config)| FormationLoad::capture(config, input, time)).collect());
    }
    let names: Vec<&str> = match arguments.detector.is_empty() {
        true => PAPER.iter().map(|row| row.detector).collect(),
        false => arguments.detector.iter().map(String::as_str).collect(),
    };
    names.into_iter().map(|name| arguments.what.of(name, here, folder)).collect()
}

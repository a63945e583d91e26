//! `evforge measure latency`: from the arrival of a packet to its event, to an output and to the page, against load.

use super::hosts::{Here, Hosts, HostsArguments};
use super::kafka::KafkaArguments;
use super::load::{LoadArguments, packets, search};
use super::points::{begin, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_lab::measured_formation::{Destination, FormationLoad, FormationRunner};
use evforge_lab::measured_latency::LatencyRunner;
use evforge_measure::latency::{LatencySeries, SearchedRate, Stage, result};

const TITLE: &str = "From the arrival of a packet to its event, its output and the page";

/// Arguments of `evforge measure latency`.
#[derive(Args)]
pub(super) struct LatencyArguments {
    /// Detectors or shipped configurations, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "freia")]
    detector: Vec<String>,
    /// Where events go, separated by commas: nothing, nexus, view; kafka with --kafka
    #[arg(long, value_name = "DESTINATIONS", value_delimiter = ',', default_value = "nothing,nexus,view")]
    into: Vec<Destination>,
    /// Loads in percent of the highest rate without loss, which is searched first
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "10,50,80,100", value_parser = percent)]
    load: Vec<f64>,
    /// Loads in packets per second instead, separated by commas: 5kpps,20kpps
    #[arg(long, value_name = "RATES", value_delimiter = ',', conflicts_with = "load", value_parser = packets)]
    rate: Vec<u64>,
    /// How often each point is measured; six give intervals
    #[arg(long, value_name = "NUMBER", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
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

fn percent(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.1..=200.0).contains(value));
    value.ok_or_else(|| format!("found `{text}`, expected 0.1 to 200"))
}

/// A point: what it is about, and what is sent.
struct Point {
    series: LatencySeries,
    load: FormationLoad,
    rate: u64,
}

/// Runs the command.
pub(super) fn latency(arguments: &LatencyArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let kafka = arguments.kafka.topic("latency", &arguments.into, &arguments.hosts)?;
    let here = match arguments.hosts.prepare()? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let session = begin("latency", TITLE, &here)?
        .setting("neutrons per second of the simulation", arguments.what.neutrons())
        .setting("time of each measurement", format!("{:?}", arguments.what.time.to_std()))
        .setting("stamps of arrival", "the kernel's");
    let reports = folder_for_reports()?;
    let runner = LatencyRunner::new(FormationRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        keys: arguments.what.keys.clone(),
        kafka,
        stop: &here.stop,
    });
    let (searched, mut points) = points(arguments, &runner, &here, reports.path())?;
    for _ in 0..arguments.rounds {
        for point in &mut points {
            let round = runner.run(&point.load, point.series.into, point.rate)?;
            point.series.rounds.push(round);
            tell(&arguments.result, &line(&point.series));
        }
    }
    let series: Vec<LatencySeries> = points.into_iter().map(|point| point.series).collect();
    arguments.result.hand_over(&result(session, &here.hosts, &searched, &series)?, folder.as_ref())
}

/// All points, and the rates that their loads are shares of: the lowest of a detector, so that destinations are compared at one rate.
fn points(
    arguments: &LatencyArguments,
    runner: &LatencyRunner<'_>,
    here: &Here,
    folder: &std::path::Path,
) -> Result<(Vec<SearchedRate>, Vec<Point>), CommandError> {
    let (mut searched, mut points) = (Vec::new(), Vec::new());
    for name in &arguments.detector {
        let load = arguments.what.of(name, here, folder)?;
        let mut rates: Vec<(String, u64)> =
            arguments.rate.iter().map(|rate| (format!("{} kpps", *rate as f64 / 1e3), *rate)).collect();
        if rates.is_empty() {
            let mut lowest = f64::INFINITY;
            for &into in &arguments.into {
                let found =
                    search(runner.formation(), &load, into, arguments.what.time, &arguments.result)?.found;
                lowest = lowest.min(found.rate.unwrap_or(0.0));
                searched.push(SearchedRate { name: load.name.clone(), into, found });
            }
            let share = |percent: &f64| (format!("{percent} %"), (percent / 100.0 * lowest) as u64);
            rates = arguments.load.iter().map(share).filter(|(_, rate)| *rate > 0).collect();
        }
        for (asked, rate) in rates {
            for &into in &arguments.into {
                let (name, speed) = (load.name.clone(), load.speed(rate as f64));
                let series = LatencySeries { name, into, load: asked.clone(), speed, rounds: Vec::new() };
                let load = load.lasting(arguments.what.time.to_std(), rate as f64);
                points.push(Point { series, load, rate });
            }
        }
    }
    Ok((searched, points))
}

/// The latest round, until the last stage that it has.
fn line(series: &LatencySeries) -> String {
    let Some(round) = series.rounds.last() else { return String::new() };
    let title = format!("{:14} {:8} {:>9}", series.name, series.into.name(), series.load);
    let lost = round.formation.packets.lost;
    let spreads = Stage::ALL.into_iter().filter_map(|stage| Some((stage, stage.of(round)?)));
    let latencies: Vec<String> = spreads
        .map(|(stage, spread)| {
            format!("{}: {:.1} ms, 99 % {:.1} ms", stage.name(), 1e3 * spread.p50, 1e3 * spread.p99)
        })
        .collect();
    format!(
        "{title}  {}{}",
        latencies.join("; "),
        if lost > 0 { format!("; LOST {lost}") } else { String::new() }
    )
}

//! `evforge measure placement`: which thread on which core.

use super::hosts::{Here, Hosts, HostsArguments, OtherHostArguments};
use super::points::{begin_without_cores, buffer, folder_for_reports, tell};
use super::result::{ResultArguments, command_line};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::{ByteSize, Rate, TimeSpan};
use evforge_host::LocalHost;
use evforge_lab::measured_link::{LossFreeCriterion, LossFreeSearch, MeasureError};
use evforge_lab::measured_streams::{StreamPoint, StreamRunner, StreamThreads};
use evforge_lab::placement::{
    Assignment, Enumeration, MeasuredAssignment, OfferedRate, PlacementPlan, Rule, Topology,
};
use evforge_measure::Session;
use evforge_measure::placement::{ListedStage, PlacementSetting, PlacementStudy, listed, result};
use evforge_net::affinity::allowed_cores;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

const TITLE: &str = "Threads assigned to logical cores";
/// Rates are found to 3 %, in at most 14 measurements.
const SEARCH: LossFreeSearch =
    LossFreeSearch { criterion: LossFreeCriterion::Sustained, tolerance: 0.03, confirmations: 1, most: 14 };

/// Arguments of `evforge measure placement`.
#[derive(Args)]
pub(super) struct PlacementArguments {
    /// Numbers of streams, separated by commas: rules that are found with few choose what is measured with more
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..=16))]
    streams: Vec<u16>,
    /// Of each stream: `search` for the highest without loss, `unpaced`, or a rate such as 100kpps or 800Mbit/s
    #[arg(long, value_name = "RATE", default_value = "search", value_parser = offered)]
    rate: OfferedRate,
    /// Logical cores to assign, separated by commas [default: those that share a last-level cache with the interrupt's]
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    cores: Vec<usize>,
    /// How long to send at each point
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = TimeSpan::in_seconds)]
    time: TimeSpan,
    /// How often each assignment is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Time that a worker spends on each packet: its highest rate is then known
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    work: TimeSpan,
    /// List the assignments, and measure nothing
    #[arg(long)]
    list: bool,
    /// List those of another host, whose cores are in this file
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Where the kernel's work on packets is done, between namespaces (RPS): cores, or `sender` [default: each but the sender's]
    #[arg(long, value_name = "CORES", value_parser = interrupt_position, value_delimiter = ',', help_heading = "Assignments")]
    interrupt: Vec<InterruptPosition>,
    /// Rules that are taken as found, by name [default with --list: worker-alone from 2 streams on, the paper's]
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Assignments")]
    rule: Vec<Rule>,
    /// Seed of the order in which assignments are measured, another one in each round
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Assignments")]
    seed: u64,
    /// Data of each packet, behind the header of the stream
    #[arg(long, value_name = "SIZE", default_value = "64B", help_heading = "Packets")]
    packet: ByteSize,
    /// Receive buffer of each stream: a size, or `default` for what a program gets that asks for none
    #[arg(long, value_name = "SIZE", default_value = "12MB", value_parser = buffer, help_heading = "Packets")]
    buffer: (String, u64),
    /// Memory of the queue to each worker
    #[arg(long, value_name = "SIZE", default_value = "8MB", help_heading = "Packets")]
    queue: ByteSize,
    #[command(flatten)]
    pub(super) other: OtherHostArguments,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

/// Where the kernel's work on incoming packets is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterruptPosition {
    /// On this core.
    Core(usize),
    /// On the sender's core: packets are not steered.
    Sender,
}

fn interrupt_position(text: &str) -> Result<InterruptPosition, String> {
    match text {
        "sender" => Ok(InterruptPosition::Sender),
        _ => text
            .parse()
            .map(InterruptPosition::Core)
            .map_err(|_| format!("found `{text}`, expected the number of a core, or `sender`")),
    }
}

fn offered(text: &str) -> Result<OfferedRate, String> {
    match text {
        "search" => Ok(OfferedRate::Search(SEARCH)),
        "unpaced" => Ok(OfferedRate::Unpaced),
        _ => match Rate::from_str(text) {
            Ok(Rate::Packets(0) | Rate::Bits(0)) | Err(_) => Err(format!(
                "found `{text}`, expected `search`, `unpaced`, or a rate such as 100kpps or 800Mbit/s"
            )),
            Ok(rate) => Ok(OfferedRate::Of(rate)),
        },
    }
}

impl PlacementArguments {
    /// Whether network namespaces are needed.
    pub(super) fn makes_namespaces(&self) -> bool {
        !self.only_lists() && self.hosts.has_namespaces() && !self.other.is_given()
    }

    /// Nothing can be measured of another host's cores.
    fn only_lists(&self) -> bool {
        self.list || self.topology.is_some()
    }

    /// Numbers of streams, few first.
    fn numbers(&self) -> BTreeSet<usize> {
        self.streams.iter().map(|streams| usize::from(*streams)).collect()
    }

    /// The cores of this host that threads are assigned to.
    fn topology_here(&self, interface: Option<&str>) -> Result<Topology, CommandError> {
        let host = LocalHost::new();
        let all = Topology::of_host(&host, &allowed_cores()?, interface)?;
        if !self.cores.is_empty() {
            return Ok(all.only(&self.cores)?);
        }
        let near = all.interrupts.first().copied().or_else(|| all.numbers().last());
        Ok(near.map_or_else(|| all.clone(), |near| all.sharing_cache_with(near)))
    }

    /// Where the interrupt is: as the topology says, or where it can be steered to.
    fn interrupts(
        &self,
        topology: &Topology,
        sender: Option<usize>,
        is_steered: bool,
    ) -> Result<Vec<BTreeSet<usize>>, CommandError> {
        if !is_steered && !self.interrupt.is_empty() {
            return Err("--interrupt steers packets between two network namespaces; that of a network card is read, and not changed, \
                        and over loopback it is the sender's core: leave it out"
                .into());
        }
        if !is_steered {
            // Without a card and without steering, whoever sends does the kernel's work of receiving, too.
            let of_sender = || sender.into_iter().collect();
            return Ok(vec![if topology.interrupts.is_empty() {
                of_sender()
            } else {
                topology.interrupts.clone()
            }]);
        }
        if self.interrupt.is_empty() {
            // On the sender's core, it slows the sender down, and nothing is lost: a card's interrupt does not.
            let others: Vec<usize> = topology.numbers().filter(|core| Some(*core) != sender).collect();
            let cores = if others.is_empty() { topology.numbers().collect() } else { others };
            return Ok(cores.into_iter().map(|core| BTreeSet::from([core])).collect());
        }
        let core = |position: &InterruptPosition| match position {
            InterruptPosition::Core(core) => BTreeSet::from([*core]),
            InterruptPosition::Sender => sender.into_iter().collect(),
        };
        Ok(self.interrupt.iter().map(core).collect())
    }

    fn point(&self, assignment: &Assignment, rate: Option<Rate>) -> StreamPoint {
        StreamPoint {
            streams: u16::try_from(assignment.streams()).unwrap_or(u16::MAX),
            data_bytes: self.packet.bytes,
            rate,
            time: self.time.to_std(),
            buffer: self.buffer.1,
            queue: self.queue.bytes,
            work: self.work.to_std(),
            counts_words: true,
            threads: StreamThreads::Workers {
                receiver: assignment.receiver,
                workers: assignment.workers.clone(),
            },
        }
    }
}

/// Runs the command.
pub(super) fn placement(arguments: &PlacementArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    if arguments.only_lists() {
        let session = Session::without_host("placement-list", TITLE, &command_line());
        return arguments.result.hand_over(&list(arguments, session)?, folder.as_ref());
    }
    let here = match arguments.hosts.prepare_with(&arguments.other)? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let topology = arguments.topology_here(here.hosts.other().and(here.hosts.interface()))?;
    let sender = here.hosts.other().is_none().then_some(here.sender_core);
    let is_steered = here.hosts.has_namespaces();
    let interrupts = arguments.interrupts(&topology, sender, is_steered)?;
    if is_steered {
        here.hosts.take_singly()?;
    }
    let session = begin_without_cores("placement", TITLE, &here)?
        .setting("sender's core", here.sender_core.to_string())
        .setting("data of each packet", format!("{} B", arguments.packet.bytes))
        .setting("receive buffer", format!("{}: {} B", arguments.buffer.0, arguments.buffer.1))
        .setting("queue to each worker", format!("{} B", arguments.queue.bytes))
        .setting("seed of the order", arguments.seed.to_string());
    let mut study = PlacementStudy::new(topology, arguments.rate, &arguments.rule);
    measure_all(arguments, &here, &interrupts, sender, &mut study)?;
    let setting =
        PlacementSetting { time: arguments.time.to_std(), work: arguments.work.to_std(), is_steered, sender };
    arguments.result.hand_over(&result(session, &here.hosts, &study, &setting), folder.as_ref())
}

/// Measures stage after stage; what is learned of one chooses the assignments of the next.
fn measure_all(
    arguments: &PlacementArguments,
    here: &Here,
    interrupts: &[BTreeSet<usize>],
    sender: Option<usize>,
    study: &mut PlacementStudy,
) -> Result<(), CommandError> {
    let reports = folder_for_reports()?;
    let runner = StreamRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        sender_core: here.sender_core,
        watched: study.topology().numbers().collect(),
        stop: &here.stop,
    };
    let plan = PlacementPlan { rounds: arguments.rounds.into(), seed: arguments.seed, rate: arguments.rate };
    for streams in arguments.numbers() {
        let of = |rules: &[Rule]| {
            Enumeration { topology: study.topology(), streams, interrupts, sender, rules }.assignments()
        };
        let (possible, assignments) = (of(&[])?.len(), of(study.rules())?);
        let all = assignments.len() * usize::from(arguments.rounds);
        let measure = |assignment: &Assignment, rate: Option<Rate>| {
            if here.hosts.has_namespaces()
                && let Some(&core) = assignment.interrupt.first()
            {
                here.hosts.steer_to(core).map_err(MeasureError::from)?;
            }
            runner.run(&arguments.point(assignment, rate))
        };
        let told = |done: usize, measured: &MeasuredAssignment| {
            tell(&arguments.result, &format!("{done:5} of {all}  {}", line(measured)));
        };
        let measured = plan.run(&assignments, measure, told)?;
        study.add(streams, possible, measured);
    }
    Ok(())
}

/// The last round of an assignment.
fn line(measured: &MeasuredAssignment) -> String {
    let Some(round) = measured.rounds.last() else { return measured.assignment.to_string() };
    let of_one = round.measured.of_one();
    let figure = match &round.found {
        Some(found) => found
            .rate
            .map_or("no rate without loss".to_owned(), |rate| format!("{:.1} kpps without loss", rate / 1e3)),
        None => format!("{:.1} kpps, lost {} of {}", of_one.sent_per_second / 1e3, of_one.lost, of_one.sent),
    };
    format!("{:45} {figure}", measured.assignment.to_string())
}

/// The assignments of the topology in the file, or of this host.
fn list(
    arguments: &PlacementArguments,
    session: Session,
) -> Result<evforge_measure::Measurement, CommandError> {
    let topology = match &arguments.topology {
        Some(path) => {
            let all = Topology::read_file(path)?;
            if arguments.cores.is_empty() { all } else { all.only(&arguments.cores)? }
        }
        None => arguments.topology_here(None)?,
    };
    let interrupts = match topology.interrupts.is_empty() {
        // It may be on each of them.
        true => topology.numbers().map(|core| BTreeSet::from([core])).collect(),
        false => vec![topology.interrupts.clone()],
    };
    let mut stages = Vec::new();
    for streams in arguments.numbers() {
        let rules = match (arguments.rule.as_slice(), streams) {
            ([], 2..) => vec![Rule::WorkerAlone],
            (given, _) => given.to_vec(),
        };
        let of = |rules: &[Rule]| {
            Enumeration { topology: &topology, streams, interrupts: &interrupts, sender: None, rules }
                .assignments()
        };
        stages.push(ListedStage { streams, possible: of(&[])?.len(), assignments: of(&rules)?, rules });
    }
    Ok(listed(session, &topology, &stages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_positions_are_read_with_what_is_expected() {
        assert_eq!(offered("unpaced"), Ok(OfferedRate::Unpaced));
        assert_eq!(offered("search"), Ok(OfferedRate::Search(SEARCH)));
        assert_eq!(offered("10kpps"), Ok(OfferedRate::Of(Rate::Packets(10_000))));
        for wrong in ["", "fast", "0pps", "10"] {
            assert!(offered(wrong).is_err_and(|said| said.contains("`unpaced`")), "{wrong}");
        }
        assert_eq!(interrupt_position("3"), Ok(InterruptPosition::Core(3)));
        assert_eq!(interrupt_position("sender"), Ok(InterruptPosition::Sender));
        assert!(interrupt_position("x").is_err_and(|said| said.contains("`sender`")));
    }
}

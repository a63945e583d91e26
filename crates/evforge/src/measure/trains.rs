//! `evforge measure trains`: trains of several senders to several receivers.

use super::hosts::{Place, PlaceArguments};
use super::points::{begin_at, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::{ByteSize, Rate, TimeSpan};
use evforge_core::quantity::grouped;
use evforge_lab::measured_trains::{Flow, MeasuredTrains, TrainsPlan, TrainsRunner};
use evforge_lab::switched_hosts::SwitchedHosts;
use evforge_measure::trains::{TrainRound, TrainRounds, result};
use evforge_train::generate::{Fault, PacketFault, TrainFault};

const TITLE: &str = "Trains of several senders to several receivers";
/// Memory that programs may have, in the kernel's account.
const MEMORY: &str = "/proc/meminfo";

/// Arguments of `evforge measure trains`.
#[derive(Args)]
pub(super) struct TrainsArguments {
    /// Train builders that send, each a program of its own
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    senders: u16,
    /// Nodes that receive, each a program of its own
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    receivers: u16,
    /// Images in a train
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    images: u32,
    /// Trains of each sender to each receiver, in each run
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    trains: u64,
    /// Rate of each sender within a train: 100kpps, 9.9Gbit/s (UDP payload)
    #[arg(long, value_name = "RATE", default_value = "400Mbit/s")]
    rate: Rate,
    /// From the end of a train to the beginning of the next one of the same sender
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    pause: TimeSpan,
    /// How often it is measured: with the profile of the receiving threads, and without
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Size of an image
    #[arg(long, value_name = "SIZE", default_value = "128KiB", help_heading = "Trains")]
    image_size: ByteSize,
    /// Bytes of a train in each packet but its last
    #[arg(long, value_name = "SIZE", default_value = "8184B", help_heading = "Trains")]
    packet: ByteSize,
    /// Cut trains off behind this many packets, as the slides' 131030
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Trains")]
    packets_per_train: Option<u32>,
    /// Send what falls due within this time together, and sleep in between: leaves cores to the others
    #[arg(long, value_name = "TIME", default_value = "1ms", help_heading = "Sending")]
    burst: TimeSpan,
    /// Cores of the senders, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Sending")]
    sender_cores: Vec<usize>,
    /// Cores of the receiving threads, in turn [default: any]
    #[arg(long, value_name = "CORES", value_delimiter = ',', help_heading = "Receiving")]
    receiver_cores: Vec<usize>,
    /// Receive buffer of each receiver
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    buffer: ByteSize,
    /// Provoke a loss at a sender in each run, to see it found; repeatable: lost:train=3,packet=17, missing-first:train=3,
    /// missing-last:train=3. Trains of a sender count from 0, packets of a train from 0
    #[arg(long = "fault", value_name = "FAULT", value_parser = loss, help_heading = "Faults")]
    faults: Vec<Fault>,
    /// The sender that losses are provoked at, from 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "faults", help_heading = "Faults")]
    fault_sender: u16,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    /// MTU of the links, in bytes
    #[arg(long, value_name = "BYTES", default_value = "9000", value_parser = super::link::bytes, help_heading = "Hosts")]
    mtu: u32,
    #[command(flatten)]
    result: ResultArguments,
}

/// A fault by which packets are missing, and nothing else: others have no place among the losses.
fn loss(text: &str) -> Result<Fault, String> {
    match text.parse() {
        Ok(
            fault @ (Fault::Packet { fault: PacketFault::Lost, .. }
            | Fault::Train { fault: TrainFault::MissingFirst | TrainFault::MissingLast, .. }),
        ) => Ok(fault),
        _ => Err(format!(
            "found `{text}`, expected lost:train=T,packet=N, missing-first:train=T or missing-last:train=T"
        )),
    }
}

impl TrainsArguments {
    fn plan(&self) -> Result<TrainsPlan, CommandError> {
        let plan = TrainsPlan {
            senders: self.senders,
            receivers: self.receivers,
            images: self.images,
            image_bytes: self.image_size.bytes,
            data_bytes: self.packet.bytes,
            packets_per_train: self.packets_per_train,
            trains: self.trains,
            rate: self.rate,
            pause: self.pause.to_std(),
            burst: self.burst.to_std(),
            buffer: self.buffer.bytes,
            sender_cores: self.sender_cores.clone(),
            receiver_cores: self.receiver_cores.clone(),
            faults: self.faults.clone(),
            faulty_sender: self.fault_sender,
        };
        if plan.packets_of_train().is_none() {
            return Err(
                "--images times --image-size is beyond what memory can be, or a train has no packets".into(),
            );
        }
        if self.fault_sender >= self.senders {
            let (found, most) = (self.fault_sender, self.senders - 1);
            return Err(format!("--fault-sender {found}: senders are 0 to {most}").into());
        }
        check_memory(&plan)?;
        Ok(plan)
    }
}

/// Refuses a plan whose receivers need more memory than there is.
fn check_memory(plan: &TrainsPlan) -> Result<(), CommandError> {
    let Some(available) = std::fs::read_to_string(MEMORY).ok().as_deref().and_then(available) else {
        return Ok(());
    };
    let needed = plan.memory();
    if needed > available {
        return Err(format!(
            "receivers keep {} bytes of trains in memory, and {} are available: lower --receivers, --senders, --images or --packets-per-train",
            grouped(needed),
            grouped(available)
        )
        .into());
    }
    Ok(())
}

/// Bytes that are available, of the kernel's account.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Runs the command.
pub(super) fn trains(arguments: &TrainsArguments) -> Result<ExitStatus, CommandError> {
    let folder = arguments.result.folder()?;
    let plan = arguments.plan()?;
    let (has_namespaces, stop) = match arguments.place.enter()? {
        Place::Done(status) => return Ok(status),
        Place::Here { has_namespaces, stop } => (has_namespaces, stop),
    };
    let hosts = match has_namespaces {
        true => SwitchedHosts::in_namespaces((plan.senders + plan.receivers).into(), arguments.mtu)?,
        false => SwitchedHosts::on_loopback(),
    };
    let place = match has_namespaces {
        true => "a network namespace for each sender and receiver, veth to a bridge",
        false => "loopback",
    };
    let session = begin_at("trains", TITLE, hosts.interface(), place)?
        .setting("rounds", format!("{}, each with profile and without", arguments.rounds));
    let reports = folder_for_reports()?;
    let runner = TrainsRunner {
        hosts: &hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        stop: &stop,
    };
    let run = |round: u16, has_profile: bool| -> Result<MeasuredTrains, CommandError> {
        let measured = runner.run(&plan, has_profile)?;
        tell(&arguments.result, &line(round, has_profile, &measured));
        Ok(measured)
    };
    let mut rounds = TrainRounds::default();
    for round in 1..=arguments.rounds {
        // In turns of who is first, so that what a round does to the host meets both alike.
        let is_first = round % 2 == 1;
        let first = run(round, is_first)?;
        let second = run(round, !is_first)?;
        let (profiled, plain) = if is_first { (first, second) } else { (second, first) };
        rounds.0.push(TrainRound { profiled, plain });
    }
    arguments.result.hand_over(&result(session, &plan, has_namespaces, &rounds)?, folder.as_ref())
}

/// What a run has measured, on the terminal.
fn line(round: u16, has_profile: bool, measured: &MeasuredTrains) -> String {
    let rate: f64 = measured.flows.iter().map(|flow| flow.bits_per_second / 1e6).sum();
    format!(
        "{round:4}  profile {:3}  {rate:8.0} Mbit/s  missing {} of {}, {} of them in the warm-up  {:6.0} ns/packet",
        if has_profile { "on" } else { "off" },
        grouped(measured.sum(Flow::missing)),
        grouped(measured.sum(|flow| flow.packets)),
        grouped(measured.sum(|flow| flow.warm_up_missing)),
        measured.ns_per_packet().unwrap_or(0.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_losses_are_provoked() {
        assert!(loss("lost:train=3,packet=17").is_ok() && loss("missing-last:train=1").is_ok());
        for other in ["repeated:train=3,packet=17", "late:train=3", "lost"] {
            assert!(loss(other).unwrap_err().contains("missing-first"), "{other}");
        }
    }

    #[test]
    fn memory_that_is_available_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    8000 kB\n"), Some(8_192_000));
        assert_eq!((available(""), available("MemAvailable: x kB")), (None, None));
    }
}

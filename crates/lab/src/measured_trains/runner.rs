//! A plan, run once.

use super::account::Reports;
use super::plan::{OPEN, WAITING};
use super::{MeasuredTrains, TrainsPlan};
use crate::link::train::SentReport;
use crate::measured_link::MeasureError;
use crate::measured_link::program::{PATIENCE, Program, nanoseconds};
use crate::measured_link::reports::{json, wrong};
use crate::switched_hosts::SwitchedHosts;
use evforge_core::quantity::Rate;
use evforge_net::kernel_counters::KernelCounters;
use serde_json::Value;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Nothing comes any more if nothing has come for so long. A sender may stand still for some tenths of a second where other programs want
/// its core.
const IDLE: Duration = Duration::from_secs(3);
/// A train of which nothing new has come for so long is given up: later than by default, so that a sender that stands still loses nothing.
const TIME_OUT: Duration = Duration::from_secs(2);
/// How much longer than planned senders may take on a machine that is busy.
const SLOWER: u32 = 4;

/// Runs plans.
pub struct TrainsRunner<'a> {
    /// Where: receivers are the first hosts, senders those behind them.
    pub hosts: &'a SwitchedHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for the reports.
    pub folder: PathBuf,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

impl TrainsRunner<'_> {
    /// Sends and receives once; receivers say where their time goes if they are to.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or reports lack something or do not fit one another; if `stop` is set.
    pub fn run(&self, plan: &TrainsPlan, has_profile: bool) -> Result<MeasuredTrains, MeasureError> {
        let most = plan.duration().saturating_mul(SLOWER).saturating_add(PATIENCE + PATIENCE);
        let (mut receivers, mut addresses) = (Vec::new(), Vec::new());
        for number in 0..plan.receivers {
            let mut receiver = self.start_receiver(plan, number, has_profile, most)?;
            addresses.push(receiver.address_of_module()?);
            receivers.push(receiver);
        }
        let backlog_before = backlog_drops();
        let senders = (0..plan.senders).map(|number| {
            let command = self.sender(plan, number, &addresses);
            Program::start(command, "evforge train send")
        });
        let mut senders = senders.collect::<Result<Vec<_>, _>>()?;
        let mut sent = Vec::new();
        for (number, sender) in (0..).zip(&mut senders) {
            let status = sender.wait(most, self.stop)?;
            let path = self.sent(number);
            let report = SentReport::read(&path);
            if let Ok(report) = &report
                && report.modules.iter().flat_map(|module| &module.nodes).any(|node| node.refused > 0)
            {
                return Err(sender.failed(&format!(
                    "a receiver had ended, as nothing had come for {IDLE:?}: something else keeps the cores busy"
                )));
            }
            sender.check(status)?;
            sent.push(report.map_err(|problem| wrong(&path, problem))?);
        }
        let backlog_losses = backlog_drops().saturating_sub(backlog_before);
        let received = (0..).zip(&mut receivers).map(|(number, receiver)| self.received(number, receiver));
        let received = received.collect::<Result<Vec<_>, _>>()?;
        let warm_up = plan.warm_up();
        let reports = Reports { sent: &sent, received: &received, addresses: &addresses, warm_up };
        let measured = reports.measured().map_err(|problem| wrong(&self.folder, problem))?;
        Ok(MeasuredTrains { backlog_losses, ..measured })
    }

    fn sent(&self, sender: u16) -> PathBuf {
        self.folder.join(format!("sent-{sender}.json"))
    }

    fn received_path(&self, receiver: u16) -> PathBuf {
        self.folder.join(format!("received-{receiver}.json"))
    }

    fn start_receiver(
        &self,
        plan: &TrainsPlan,
        number: u16,
        has_profile: bool,
        most: Duration,
    ) -> Result<Program, MeasureError> {
        let path = self.received_path(number);
        // What is read in the end must not be of a run before.
        let _ = std::fs::remove_file(&path);
        let host = usize::from(number);
        let mut command = self.hosts.command(host, &self.program);
        // A key that is pressed to end all must not end it before the senders.
        command.process_group(0);
        command.args(["train", "receive", "--overwrite", "--port", "0", "--incomplete", "mark"]);
        command.args(["--address", &self.hosts.address(host).to_string()]);
        structure(&mut command, plan);
        command.args(["--senders", &plan.senders.to_string(), "--stride", &plan.receivers.to_string()]);
        command.args(["--open", &OPEN.to_string(), "--waiting", &WAITING.to_string()]);
        command.args(["--memory", &bytes(plan.memory_of_receiver()), "--buffer", &bytes(plan.buffer)]);
        command.args(["--time-out", &nanoseconds(TIME_OUT)]);
        // Either of them ends it, whatever comes first.
        let all = plan.trains.saturating_mul(plan.senders.into());
        command.args(["--trains", &all.to_string()]);
        command.args(["--idle", &nanoseconds(IDLE), "--for", &nanoseconds(most)]);
        core(&mut command, &plan.receiver_cores, number);
        if !has_profile {
            command.arg("--no-profile");
        }
        command.arg("--report").arg(path);
        Program::start(command, "evforge train receive")
    }

    /// A sender whose trains take turns with those of the others: sender `i` sends train `t` to receiver `(t + i)` modulo their number.
    fn sender(&self, plan: &TrainsPlan, number: u16, addresses: &[SocketAddr]) -> Command {
        let path = self.sent(number);
        let _ = std::fs::remove_file(&path);
        let host = usize::from(plan.receivers) + usize::from(number);
        let mut command = self.hosts.command(host, &self.program);
        command.process_group(0);
        command.args(["train", "send", "--overwrite", "--quiet", "--first-module", &number.to_string()]);
        structure(&mut command, plan);
        let turned = addresses.iter().cycle().skip(number.into()).take(addresses.len());
        turned.for_each(|to| {
            command.args(["--to", &to.to_string()]);
        });
        let rate = match plan.rate {
            Rate::Packets(rate) => format!("{rate}pps"),
            Rate::Bits(rate) => format!("{rate}bit/s"),
        };
        command.args(["--rate", &rate, "--pause", &nanoseconds(plan.pause)]);
        command.args(["--burst", &nanoseconds(plan.burst), "--trains", &plan.trains_of_sender().to_string()]);
        core(&mut command, &plan.sender_cores, number);
        if number == plan.faulty_sender {
            plan.faults.iter().for_each(|fault| {
                command.args(["--fault", &fault.to_string()]);
            });
        }
        command.arg("--report").arg(path);
        command
    }

    /// Waits for a receiver's end: its report. Its status is bad where something was lost, which the report says.
    fn received(&self, number: u16, receiver: &mut Program) -> Result<Value, MeasureError> {
        let path = self.received_path(number);
        let status = receiver.wait(IDLE + PATIENCE, self.stop)?;
        if !Path::exists(&path) {
            receiver.check(status)?;
        }
        json(&path)
    }
}

/// What trains are like, for both ends.
fn structure(command: &mut Command, plan: &TrainsPlan) {
    command.args(["--images", &plan.images.to_string(), "--image-size", &bytes(plan.image_bytes)]);
    command.args(["--packet", &bytes(plan.data_bytes)]);
    if let Some(packets) = plan.packets_per_train {
        command.args(["--packets-per-train", &packets.to_string()]);
    }
}

/// The core of a program, of these in turn.
fn core(command: &mut Command, cores: &[usize], number: u16) {
    if let Some(core) = cores.get(usize::from(number) % cores.len().max(1)) {
        command.args(["--cores", &core.to_string()]);
    }
}

/// Packets that found the queue of a core full, of the whole host; 0 if the kernel does not tell.
fn backlog_drops() -> u64 {
    KernelCounters::read().map_or(0, |counters| counters.backlog_drops)
}

fn bytes(size: u64) -> String {
    format!("{size}B")
}

//! A point, run.

use super::program::{PATIENCE, Program, nanoseconds};
use super::train_link;
use super::{LinkMethod, LinkPoint, MeasureError, MeasuredPoint, ProcessorAccount, reports};
use crate::remote_host::sender_host;
use crate::two_hosts::{End, TwoHosts};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Nothing comes any more if nothing has come for so long, apart from the time between pulses, and the sender has reported.
const IDLE: Duration = Duration::from_millis(600);

/// Runs points.
pub struct PointRunner<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for the reports.
    pub folder: PathBuf,
    /// Core of the sender, and of what comes back.
    pub sender_core: usize,
    /// Core of the receiver, and of what is sent back.
    pub receiver_core: usize,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

/// Which way packets go.
#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
}

/// A receiver that is ready.
struct Listening {
    way: Way,
    method: LinkMethod,
    receiver: Program,
    address: SocketAddr,
}

impl PointRunner<'_> {
    /// Sends and receives once; at the same time back, if the point says so.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or its report lacks something; if `stop` is set.
    pub fn run(&self, point: &LinkPoint) -> Result<MeasuredPoint, MeasureError> {
        if let Some(mtu) = point.mtu {
            self.hosts.set_mtu(mtu)?;
        }
        let there = self.start_receiver(point, Way::There)?;
        let back = match point.both_directions {
            true => Some(self.start_receiver(point, Way::Back)?),
            false => None,
        };
        // Longer than the receiver's own limit, at which it still reports.
        let most = point.time + 2 * PATIENCE;
        let (before, clock) = (ProcessorAccount::read(), Instant::now());
        let mut senders = vec![self.start_sender(point, &there)?];
        if let Some(back) = &back {
            senders.push(self.start_sender(point, back)?);
        }
        for mut sender in senders {
            sender.wait_good(most, self.stop)?;
        }
        let (after, seconds) = (ProcessorAccount::read(), clock.elapsed().as_secs_f64());
        let there = self.measured(there, most)?;
        let back = back.map(|back| self.measured(back, most)).transpose()?;
        let sender_core = match self.hosts.other() {
            Some(_) => sender_host(&self.file(Way::There, "sent")).core,
            None => after.since(&before, self.sender_core),
        };
        let receiver_core = after.since(&before, self.receiver_core);
        Ok(MeasuredPoint {
            sender_core,
            receiver_core,
            interrupts_per_second: after.interrupts_since(&before).map(|count| count as f64 / seconds),
            // The ends have changed places.
            back: back.map(|back| {
                Box::new(MeasuredPoint { sender_core: receiver_core, receiver_core: sender_core, ..back })
            }),
            ..there
        })
    }

    fn measured(&self, mut listening: Listening, most: Duration) -> Result<MeasuredPoint, MeasureError> {
        let status = listening.receiver.wait(most, self.stop)?;
        let received = self.file(listening.way, "received");
        if listening.method == LinkMethod::Trains {
            // Its status is bad where something was lost, which the report says.
            return train_link::read(&self.file(listening.way, "sent"), &received);
        }
        // What is wrong with a report says more than the status.
        let measured = reports::read(&received)?;
        listening.receiver.check(status)?;
        Ok(measured)
    }

    /// The report of one end.
    fn file(&self, way: Way, name: &str) -> PathBuf {
        let way = match way {
            Way::There => "",
            Way::Back => "-back",
        };
        self.folder.join(format!("{name}{way}.json"))
    }

    /// The receiver's end and its core, then those of the sender.
    fn ends(&self, way: Way) -> [(End, usize); 2] {
        let ends = [(End::Receiver, self.receiver_core), (End::Sender, self.sender_core)];
        match way {
            Way::There => ends,
            Way::Back => [ends[1], ends[0]],
        }
    }

    fn start_receiver(&self, point: &LinkPoint, way: Way) -> Result<Listening, MeasureError> {
        for name in ["sent", "received"] {
            // What is read in the end must not be of the point before.
            let _ = std::fs::remove_file(self.file(way, name));
        }
        let [(end, core), _] = self.ends(way);
        let mut command = self.hosts.command(end, &self.program);
        if point.method == LinkMethod::Trains {
            train_link::receive(&mut command, point, (self.hosts.address(end), core), IDLE);
            command.arg("--sent").arg(self.file(way, "sent"));
            command.arg("--report").arg(self.file(way, "received"));
            let mut receiver = Program::start(command, "evforge train receive")?;
            let address = receiver.address_of_module()?;
            return Ok(Listening { way, method: point.method, receiver, address });
        }
        let between = point.pulses.map_or(Duration::ZERO, |pulses| pulses.period());
        let idle = nanoseconds(IDLE.saturating_add(between));
        command.args(["receive", "--overwrite", "--idle", &idle, "--port", "0"]);
        command.args(["--address", &self.hosts.address(end).to_string(), "--core", &core.to_string()]);
        command.args(["--work", &nanoseconds(point.work), "--for", &nanoseconds(point.time + PATIENCE)]);
        if point.buffer > 0 {
            command.args(["--buffer", &format!("{}B", point.buffer)]);
        }
        if let Some(batch) = point.batch {
            command.args(["--batch", &batch.to_string()]);
        }
        command.args(point.method.receiver_options());
        if point.method.names_interface() {
            command.arg(self.hosts.interface_of(end).unwrap_or("lo"));
        }
        command.arg("--sent").arg(self.file(way, "sent")).arg("--report").arg(self.file(way, "received"));
        let mut receiver = Program::start(command, "evforge receive")?;
        let address = receiver.address()?;
        Ok(Listening { way, method: point.method, receiver, address })
    }

    fn start_sender(&self, point: &LinkPoint, to: &Listening) -> Result<Program, MeasureError> {
        let [_, (end, core)] = self.ends(to.way);
        let mut command: Command = self.hosts.command(end, &self.program);
        if point.method == LinkMethod::Trains {
            train_link::send(&mut command, point, to.address, core);
            command.arg("--report").arg(self.file(to.way, "sent"));
            return Program::start(command, "evforge train send");
        }
        command.args(["send", "--overwrite", "--quiet", "--size", &format!("{}B", point.size)]);
        command.args(["--to", &to.address.to_string()]);
        command.args(["--core", &core.to_string(), "--for", &nanoseconds(point.time)]);
        match point.rate {
            Some(rate) => command.args(["--rate", &format!("{rate}pps")]),
            None => command.arg("--unpaced"),
        };
        if let Some(pulses) = point.pulses {
            command.args(["--pulses", &format!("{}mHz", pulses.frequency.millihertz)]);
            command.args(["--peak-factor", &pulses.peak_factor.to_string()]);
        }
        if let Some(packets) = point.packets {
            command.args(["--packets", &packets.to_string()]);
        }
        if let Some(bytes) = point.bytes {
            command.args(["--bytes", &format!("{bytes}B")]);
        }
        if point.buffer > 0 && !point.method.can_lose() {
            command.args(["--buffer", &format!("{}B", point.buffer)]);
        }
        command.args(point.method.sender_options()).arg("--report").arg(self.file(to.way, "sent"));
        Program::start(command, "evforge send")
    }
}

//! Trains of several senders to several receivers at once: which pair loses packets, in the first packets or later, and where the time of
//! the receiving threads goes. The experiment of the European XFEL's slides *10GE network tests with UDP*.

mod findings;
mod plots;
mod rounds;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use rounds::{LossyPairs, TrainRound, TrainRounds};

use crate::error::MeasureError;
use crate::measurement::Measurement;
use crate::session::Session;
use evforge_core::quantity::{Rate, grouped};
use evforge_lab::measured_trains::TrainsPlan;

/// What one host cannot answer.
const NEEDS_MACHINES: &str = "What needs real machines: senders, receivers and switch are all this host here. The slides' questions are about several hosts, each with \
     a network card that has rings and interrupts of its own, and about a switch whose buffers fill up when senders meet at one port. Whether packets \
     are lost there, on all machines, few or none, and how long a card and its driver need to warm up, can only be measured between such hosts: \
     `evforge train send` on each sender and `evforge train receive --senders N` on each receiver make the same reports.";

/// Rounds as a result; `has_namespaces` if each program had a network namespace of its own.
///
/// # Errors
/// If a column is missing from its table, which would be a fault of evforge.
pub fn result(
    session: Session,
    plan: &TrainsPlan,
    has_namespaces: bool,
    rounds: &TrainRounds,
) -> Result<Measurement, MeasureError> {
    let tables = vec![
        table::pairs(rounds),
        table::receivers(rounds),
        table::senders(rounds),
        table::ledger(rounds),
        table::profile(rounds),
        table::slides(plan, rounds),
    ];
    let mut result = with_settings(session, plan).end(verdict::verdict(rounds));
    result.findings.extend(findings::all(plan, rounds));
    result.limits = limits(has_namespaces);
    result.plots = plots::all(rounds, &tables)?;
    result.tables = tables;
    Ok(result)
}

fn with_settings(session: Session, plan: &TrainsPlan) -> Session {
    let rate = match plan.rate {
        Rate::Packets(rate) => format!("{} packets/s", grouped(rate)),
        Rate::Bits(rate) => format!("{} Mbit/s of UDP payload", rate as f64 / 1e6),
    };
    let train = match plan.packets_per_train {
        Some(packets) => format!("cut off behind {} packets", grouped(packets.into())),
        None => format!("{} packets", grouped(plan.packets_of_train().unwrap_or(0))),
    };
    let cores = |cores: &[usize]| match cores {
        [] => "any".to_owned(),
        cores => cores.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    };
    let faults: Vec<String> = plan.faults.iter().map(ToString::to_string).collect();
    let session = session
        .setting("senders", plan.senders.to_string())
        .setting("receivers", plan.receivers.to_string())
        .setting("images in a train", format!("{} of {} B", plan.images, plan.image_bytes))
        .setting("train", train)
        .setting("data of a train in each packet", format!("{} B", plan.data_bytes))
        .setting("trains of each pair in each run", plan.trains.to_string())
        .setting("rate of each sender within a train", rate)
        .setting("pause between trains", format!("{:?}", plan.pause))
        .setting("sent together", format!("what is due within {:?}", plan.burst))
        .setting("warm-up", format!("the first {} packets of each pair", grouped(plan.warm_up())))
        .setting("receive buffer", format!("{} B", plan.buffer))
        .setting(
            "cores",
            format!("senders {}, receivers {}", cores(&plan.sender_cores), cores(&plan.receiver_cores)),
        );
    match faults.is_empty() {
        true => session,
        false => session
            .setting("losses provoked", format!("at sender {}: {}", plan.faulty_sender, faults.join(" "))),
    }
}

fn limits(has_namespaces: bool) -> Vec<String> {
    let mut limits = vec![
        NEEDS_MACHINES.to_owned(),
        "There is no wire and no network card: neither limits the rate, loses a frame or makes an interrupt.".to_owned(),
        "The sender's core does the kernel's work of receiving (softirq) while it sends.".to_owned(),
        "All programs share the cores, caches and memory of this host. Where there are fewer cores than programs, they wait for each other, which \
         no sender or receiver of its own host does: their time and their losses are those of this host."
            .to_owned(),
    ];
    if !has_namespaces {
        limits.push(
            "Loopback hands packets on by itself, with an MTU of 65536: there is no fragmentation and no switch.".to_owned(),
        );
    }
    limits
}

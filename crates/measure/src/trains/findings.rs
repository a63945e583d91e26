//! The slides' questions, answered in words.

use super::rounds::{LossyPairs, TrainRounds};
use crate::observer::Difference;
use crate::table::Cell;
use evforge_core::quantity::grouped;
use evforge_lab::measured_trains::{Flow, TrainReceiver, TrainsPlan};
use std::collections::BTreeSet;

/// Packets that must come so that none missing shows a rate below the slides' 10⁻⁹, with 95 % confidence.
const NEEDED: u64 = 3_000_000_000;

/// All of them, the most important one first.
pub(super) fn all(plan: &TrainsPlan, rounds: &TrainRounds) -> Vec<String> {
    let flows = rounds.flows();
    let mut all = vec![place(&flows), time(plan, rounds)];
    all.extend(later_rate(rounds));
    all.extend(locations(rounds));
    all.push(trains(rounds));
    all.push(speed(rounds));
    all.extend(reader(rounds));
    all.extend(cost_of_profile(rounds));
    all
}

fn list(numbers: &BTreeSet<u16>, what: &str) -> String {
    let each: Vec<String> = numbers.iter().map(u16::to_string).collect();
    format!("{what}{} {}", if numbers.len() == 1 { "" } else { "s" }, each.join(", "))
}

/// A share with its bounds: `12 of 1 000 (1.2e-2)`, `none of 1 000 (below 3.0e-3 with 95 % confidence)`.
fn share(part: u64, whole: u64) -> String {
    match Cell::counted_share(part, whole) {
        Cell::Measured { value, .. } if value > 0.0 => {
            format!("{} of {} ({value:.1e})", grouped(part), grouped(whole))
        }
        Cell::Measured { high, .. } => {
            format!("none of {} (below {high:.1e} with 95 % confidence)", grouped(whole))
        }
        _ => "no packets".to_owned(),
    }
}

/// Where packets are lost: all machines, few, none.
fn place(flows: &[Flow]) -> String {
    let (packets, missing) =
        (flows.iter().map(|flow| flow.packets).sum(), flows.iter().map(Flow::missing).sum());
    let worst = flows.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let worst = worst.filter(|flow| flow.missing() > 0).map_or(String::new(), |flow| {
        format!(
            "; most from sender {} to receiver {}: {}",
            flow.sender,
            flow.receiver,
            share(flow.missing(), flow.packets)
        )
    });
    let machines = match LossyPairs::of(flows) {
        LossyPairs::None => format!("on no machine, in no pair ({})", flows.len()),
        LossyPairs::All => format!("on all machines, in all pairs ({})", flows.len()),
        LossyPairs::Few { pairs, senders, receivers } => format!(
            "on few machines, in {pairs} of {} pairs: {}, {}",
            flows.len(),
            list(&senders, "sender"),
            list(&receivers, "receiver")
        ),
    };
    format!(
        "Where are packets lost? {}{worst}. Missing of all packets: {}.",
        capital(&machines),
        share(missing, packets)
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn ratio(flow: &Flow) -> f64 {
    flow.missing() as f64 / flow.packets.max(1) as f64
}

/// When: in the first packets, or later.
fn time(plan: &TrainsPlan, rounds: &TrainRounds) -> String {
    let (early, late) = (rounds.sum(|flow| flow.warm_up_missing), rounds.sum(Flow::later_missing));
    let words = match (early, late) {
        (0, 0) => "Never",
        (_, 0) => "In the warm-up only",
        (0, _) => "After the warm-up only",
        _ => "In the warm-up and later",
    };
    format!(
        "When? {words}. Warm-up, the first {} packets of each pair in each run: {}. Later: {}.",
        grouped(plan.warm_up()),
        share(early, rounds.sum(|flow| flow.warm_up_packets)),
        share(late, rounds.sum(Flow::later_packets))
    )
}

/// What is too few packets for the slides' rate.
fn later_rate(rounds: &TrainRounds) -> Option<String> {
    let later = rounds.sum(Flow::later_packets);
    (later < NEEDED).then(|| {
        format!(
            "The slides found less than 1e-9 after the warm-up, in runs of up to 5e9 packets. To show that takes {} packets of which none is missing; here were {}.",
            grouped(NEEDED),
            grouped(later)
        )
    })
}

/// What is known of what is missing.
fn locations(rounds: &TrainRounds) -> Option<String> {
    let missing = rounds.sum(Flow::missing);
    if missing == 0 {
        return None;
    }
    let of_receivers = |count: fn(&TrainReceiver) -> u64| -> u64 {
        rounds.runs().flat_map(|run| &run.receivers).map(count).sum()
    };
    let lost = rounds.sum(Flow::lost);
    let socket = of_receivers(|receiver| receiver.socket_losses);
    let backlog: u64 = rounds.runs().map(|run| run.backlog_losses).sum();
    let parts = [
        (rounds.sum(Flow::not_sent), "not sent, on purpose"),
        (lost, "sent, and did not come"),
        (rounds.sum(|flow| flow.packets_late), "came when their train had been given up"),
        (rounds.sum(|flow| flow.packets_rejected), "came and were of no use"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    let counted = match lost {
        0 => String::new(),
        _ => format!(
            " Of those that did not come, receive buffers of sockets say that they had no room for {}, queues of cores for {} (of all programs of the host).",
            grouped(socket),
            grouped(backlog)
        ),
    };
    Some(format!(
        "What happened to the {} that are missing: {}.{counted}",
        grouped(missing),
        parts.join(", ")
    ))
}

fn trains(rounds: &TrainRounds) -> String {
    let (made, good) = (rounds.sum(|flow| flow.trains), rounds.sum(|flow| flow.trains_good));
    let (incomplete, unseen) = (rounds.sum(|flow| flow.trains_incomplete), rounds.sum(Flow::trains_unseen));
    format!(
        "Trains: {} of {} came whole and good ({:.3} %); {} incomplete, {} of which nothing came.",
        grouped(good),
        grouped(made),
        100.0 * good as f64 / made.max(1) as f64,
        grouped(incomplete),
        grouped(unseen)
    )
}

fn speed(rounds: &TrainRounds) -> String {
    let all = Cell::measured(&rounds.rate_of(|_| true));
    let (_, receivers) = rounds.counts();
    let of = |receiver: usize| {
        let rates = rounds.rate_of(|flow| usize::from(flow.receiver) == receiver);
        rates.iter().sum::<f64>() / rates.len().max(1) as f64
    };
    let each: Vec<f64> = (0..receivers).map(of).collect();
    let (least, most) =
        (each.iter().copied().fold(f64::INFINITY, f64::min), each.iter().copied().fold(0.0, f64::max));
    format!(
        "At what rate? {:.0} Mbit/s of UDP payload came to all receivers together, pauses included; {least:.0} to {most:.0} Mbit/s to each.",
        all.value().unwrap_or(0.0)
    )
}

/// Where the time of the receiving threads goes.
fn reader(rounds: &TrainRounds) -> Option<String> {
    let time = rounds.time(None)?;
    let us = |part: f64| Some(format!("{:.2} us", time.us_per_packet(part)?));
    let working = time.fetching + time.assembling + time.housekeeping;
    Some(format!(
        "Where does the reader thread spend its time? {:.1} % waiting for packets. It works {} for each packet: {} fetching it from the kernel, {} putting it into \
         its train, {} on the rest.",
        time.percent(time.waiting),
        us(working)?,
        us(time.fetching)?,
        us(time.assembling)?,
        us(time.housekeeping)?
    ))
}

/// What the profile costs.
fn cost_of_profile(rounds: &TrainRounds) -> Option<String> {
    let ratio = rounds.cost_of_profile();
    let value = ratio.value()?;
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let cost = match (Difference::of(&ratio), ratio.interval()) {
        (Difference::None, Some((low, high))) => format!(
            "no difference of the processor time for each packet ({:+.1} to {:+.1} % with 95 % confidence)",
            percent(low),
            percent(high)
        ),
        (_, Some((low, high))) => format!(
            "{:+.1} % of the processor time for each packet ({:+.1} to {:+.1} % with 95 % confidence)",
            percent(value),
            percent(low),
            percent(high)
        ),
        (_, None) => format!(
            "{:+.1} % of the processor time for each packet in one round: nobody can say whether that is noise",
            percent(value)
        ),
    };
    Some(format!(
        "What does the profile of the reader cost? {}. The slides' run of 1e6 packets took 12.21 s with time profile and 6.6 s without: as much as eight pauses of \
         0.7 s between trains explain.",
        capital(&cost)
    ))
}

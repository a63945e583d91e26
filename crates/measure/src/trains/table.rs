//! The tables.

use super::rounds::{ReaderTime, TrainRounds};
use crate::table::{Cell, Column, Table};
use evforge_core::quantity::Rate;
use evforge_lab::measured_trains::{Flow, MeasuredTrains, TrainReceiver, TrainSender, TrainsPlan};

fn whole(count: u64) -> Cell {
    Cell::Number(count as f64)
}

/// A column of counts.
fn counts(name: &str, title: &str) -> Column {
    Column::measured(name, title, "").decimals(0)
}

fn number(value: impl Into<f64>) -> Cell {
    Cell::Number(value.into())
}

/// Each pair: where, and when.
pub(super) fn pairs(rounds: &TrainRounds) -> Table {
    let columns = vec![
        Column::key("sender", "Sender", "").decimals(0),
        Column::key("receiver", "Receiver", "").decimals(0),
        counts("packets", "Packets"),
        counts("missing", "Missing"),
        Column::measured("ratio", "Missing of all", ""),
        counts("warm_up_missing", "In the warm-up"),
        Column::measured("warm_up_ratio", "Of the warm-up", ""),
        counts("later_missing", "Later"),
        Column::measured("later_ratio", "Of the later ones", ""),
        counts("trains", "Trains"),
        counts("trains_good", "Whole and good"),
        counts("trains_incomplete", "Incomplete"),
        counts("trains_unseen", "Of which nothing came"),
        Column::measured("rate", "Came", "Mbit/s").decimals(1),
    ];
    let mut table = Table::new("pairs", "Each pair of sender and receiver, over all runs", columns);
    for (place, flow) in rounds.flows().iter().enumerate() {
        table.rows.push(vec![
            number(flow.sender),
            number(flow.receiver),
            whole(flow.packets),
            whole(flow.missing()),
            Cell::counted_share(flow.missing(), flow.packets),
            whole(flow.warm_up_missing),
            Cell::counted_share(flow.warm_up_missing, flow.warm_up_packets),
            whole(flow.later_missing()),
            Cell::counted_share(flow.later_missing(), flow.later_packets()),
            whole(flow.trains),
            whole(flow.trains_good),
            whole(flow.trains_incomplete),
            whole(flow.trains_unseen()),
            rounds.rates(place),
        ]);
    }
    table
}

/// Each receiver: its rate, its losses, the time of its receiving thread.
pub(super) fn receivers(rounds: &TrainRounds) -> Table {
    let columns = vec![
        Column::key("receiver", "Receiver", "").decimals(0),
        Column::measured("rate", "Came", "Mbit/s").decimals(1),
        counts("packets", "Packets that came"),
        Column::measured("ratio", "Missing of all", ""),
        counts("trains_good", "Good trains"),
        Column::measured("live", "Good of all trains", ""),
        counts("late", "Late packets"),
        counts("socket_losses", "No room in the receive buffer"),
        counts("without_buffer", "No memory for their train"),
        Column::measured("waiting", "Waiting", "%").decimals(2),
        Column::measured("fetching", "Fetching", "%").decimals(2),
        Column::measured("assembling", "Assembling", "%").decimals(2),
        Column::measured("housekeeping", "Housekeeping", "%").decimals(2),
        Column::measured("processor", "Processor time", "ns/packet").decimals(0),
        Column::measured("batch", "Packets fetched at once", "").decimals(2),
    ];
    let mut table = Table::new(
        "receivers",
        "Each receiver, over all runs; shares of time in those with a profile",
        columns,
    );
    let flows = rounds.flows();
    for receiver in 0..rounds.counts().1 {
        let is_here = |flow: &Flow| usize::from(flow.receiver) == receiver;
        let of_pairs =
            |count: fn(&Flow) -> u64| -> u64 { flows.iter().filter(|flow| is_here(flow)).map(count).sum() };
        let sum = |count: fn(&TrainReceiver) -> u64| -> u64 { rounds.receiver(receiver).map(count).sum() };
        let time = rounds.time(Some(receiver));
        let percent = |part: fn(&ReaderTime) -> f64| {
            time.map_or(Cell::Missing, |time| Cell::Number(time.percent(part(&time))))
        };
        let ns = |one: &TrainReceiver| (one.packets > 0).then(|| 1e9 * one.processor / one.packets as f64);
        let with_profile = || rounds.receiver(receiver).filter(|one| one.batches > 0);
        let batches: u64 = with_profile().map(|one| one.batches).sum();
        let packets: u64 = with_profile().map(|one| one.packets).sum();
        table.rows.push(vec![
            number(receiver as f64),
            Cell::measured(&rounds.rate_of(is_here)),
            whole(sum(|one| one.packets)),
            Cell::counted_share(of_pairs(Flow::missing), of_pairs(|flow| flow.packets)),
            whole(sum(|one| one.trains_good)),
            Cell::counted_share(of_pairs(|flow| flow.trains_good), of_pairs(|flow| flow.trains)),
            whole(of_pairs(|flow| flow.packets_late)),
            whole(sum(|one| one.socket_losses)),
            whole(sum(|one| one.without_buffer)),
            percent(|time| time.waiting),
            percent(|time| time.fetching),
            percent(|time| time.assembling),
            percent(|time| time.housekeeping),
            Cell::measured(&rounds.receiver(receiver).filter_map(ns).collect::<Vec<_>>()),
            if batches > 0 { Cell::Number(packets as f64 / batches as f64) } else { Cell::Missing },
        ]);
    }
    table
}

/// Each sender: what it sent, and how punctually.
pub(super) fn senders(rounds: &TrainRounds) -> Table {
    let columns = vec![
        Column::key("sender", "Sender", "").decimals(0),
        Column::measured("rate", "Sent", "Mbit/s").decimals(1),
        counts("trains", "Trains"),
        counts("packets", "Packets"),
        Column::measured("ratio", "Missing at receivers", ""),
        counts("host_losses", "Lost by its host"),
        Column::measured("lateness", "Behind schedule, mean", "us").decimals(1),
        Column::measured("latest", "At most", "ms").decimals(1),
    ];
    let mut table = Table::new("senders", "Each sender, over all runs", columns);
    let flows = rounds.flows();
    for sender in 0..rounds.counts().0 {
        let of_pairs = |count: fn(&Flow) -> u64| -> u64 {
            flows.iter().filter(|flow| usize::from(flow.sender) == sender).map(count).sum()
        };
        let each = |figure: fn(&TrainSender) -> f64| {
            Cell::measured(&rounds.sender(sender).map(figure).collect::<Vec<_>>())
        };
        let latest = rounds.sender(sender).map(|one| one.largest_lateness_ns / 1e6).fold(0.0, f64::max);
        table.rows.push(vec![
            number(sender as f64),
            each(|one| one.bits_per_second / 1e6),
            whole(rounds.sender(sender).map(|one| one.trains).sum()),
            whole(rounds.sender(sender).map(|one| one.packets).sum()),
            Cell::counted_share(of_pairs(Flow::missing), of_pairs(|flow| flow.packets)),
            whole(rounds.sender(sender).map(|one| one.host_losses).sum()),
            each(|one| one.mean_lateness_ns / 1e3),
            Cell::Number(latest),
        ]);
    }
    table
}

/// Packets and trains from the senders to the receivers: what is on a line with a mark is a part of what is above it.
pub(super) fn ledger(rounds: &TrainRounds) -> Table {
    let columns = vec![Column::key("what", "What", ""), counts("count", "Count")];
    let mut table =
        Table::new("ledger", "The ledger of packets and trains, over all pairs and runs", columns);
    let of_receivers = |count: fn(&TrainReceiver) -> u64| -> u64 {
        rounds.runs().flat_map(|run| &run.receivers).map(count).sum()
    };
    let rows = [
        ("packets of all trains", rounds.sum(|flow| flow.packets)),
        ("– not sent, on purpose", rounds.sum(Flow::not_sent)),
        ("– sent", rounds.sum(|flow| flow.packets_given)),
        ("packets sent", rounds.sum(|flow| flow.packets_given)),
        ("– did not come", rounds.sum(Flow::lost)),
        ("– came", rounds.sum(Flow::arrived)),
        ("packets that came", rounds.sum(Flow::arrived)),
        ("– in their trains", rounds.sum(|flow| flow.packets_in_trains)),
        ("– late: their train had been given up", rounds.sum(|flow| flow.packets_late)),
        ("– a second time", rounds.sum(|flow| flow.packets_repeated)),
        ("– of no use", rounds.sum(|flow| flow.packets_rejected)),
        ("packets missing in trains", rounds.sum(Flow::missing)),
        ("– in the warm-up", rounds.sum(|flow| flow.warm_up_missing)),
        ("– later", rounds.sum(Flow::later_missing)),
        ("trains made", rounds.sum(|flow| flow.trains)),
        ("– whole and good", rounds.sum(|flow| flow.trains_good)),
        ("– whole and of no use", rounds.sum(|flow| flow.trains_rejected)),
        ("– incomplete", rounds.sum(|flow| flow.trains_incomplete)),
        ("– of which nothing came", rounds.sum(Flow::trains_unseen)),
        (
            "packets that senders' hosts took and did not send",
            rounds.runs().flat_map(|run| &run.senders).map(|one| one.host_losses).sum(),
        ),
        ("packets that receive buffers had no room for", of_receivers(|one| one.socket_losses)),
        (
            "packets that queues of cores had no room for, of the whole host",
            rounds.runs().map(|run| run.backlog_losses).sum(),
        ),
        ("packets of others", of_receivers(|one| one.foreign)),
    ];
    table.rows = rows.into_iter().map(|(what, count)| vec![Cell::text(what), whole(count)]).collect();
    table
}

/// The receiving threads with the profile and without, a round each.
pub(super) fn profile(rounds: &TrainRounds) -> Table {
    let columns = vec![
        Column::key("round", "Round", ""),
        Column::measured("on", "With profile", "ns/packet").decimals(0),
        Column::measured("off", "Without", "ns/packet").decimals(0),
        Column::measured("ratio", "With over without", "").decimals(3),
    ];
    let mut table = Table::new(
        "profile",
        "Processor time of all receiving threads for each packet, by their profile",
        columns,
    );
    let ns = |run: &MeasuredTrains| run.ns_per_packet().map_or(Cell::Missing, Cell::Number);
    for (number, round) in (1..).zip(&rounds.0) {
        let (on, off) = (ns(&round.profiled), ns(&round.plain));
        let ratio = match (on.value(), off.value()) {
            (Some(on), Some(off)) if off > 0.0 => Cell::Number(on / off),
            _ => Cell::Missing,
        };
        table.rows.push(vec![Cell::text(number.to_string()), on, off, ratio]);
    }
    let all = |of: fn(&super::TrainRound) -> &MeasuredTrains| {
        Cell::measured(&rounds.0.iter().filter_map(|round| of(round).ns_per_packet()).collect::<Vec<_>>())
    };
    table.rows.push(vec![
        Cell::text("all"),
        all(|round| &round.profiled),
        all(|round| &round.plain),
        rounds.cost_of_profile(),
    ]);
    table
}

/// The slides' figures next to those of here.
pub(super) fn slides(plan: &TrainsPlan, rounds: &TrainRounds) -> Table {
    let columns = vec![
        Column::key("what", "What", ""),
        Column::key("unit", "Unit", ""),
        Column::exact("slides", "Slides", ""),
        Column::measured("here", "Here", ""),
    ];
    let mut table = Table::new("slides", "The slides' experiment and this one", columns);
    let rate = match plan.rate {
        Rate::Bits(rate) => Cell::Number(rate as f64 / 1e9),
        Rate::Packets(rate) => Cell::Number(rate as f64 * 8.0 * (plan.data_bytes + 8) as f64 / 1e9),
    };
    let later = Cell::counted_share(rounds.sum(Flow::later_missing), rounds.sum(Flow::later_packets));
    let slides = |value: f64| Cell::Number(value);
    let rows = [
        ("packets of a train", "", slides(131_030.0), whole(plan.packets_of_train().unwrap_or(0))),
        ("data of a train in each packet", "B", slides(8192.0), whole(plan.data_bytes)),
        ("pause between trains", "s", slides(0.7), Cell::Number(plan.pause.as_secs_f64())),
        ("rate of a sender within a train", "Gbit/s", slides(9.9), rate),
        (
            "packets of the longest run",
            "",
            slides(5e9),
            whole(rounds.runs().map(|run| run.sum(|flow| flow.packets)).max().unwrap_or(0)),
        ),
        ("missing after the warm-up (slides: less than)", "", slides(1e-9), later),
    ];
    table.rows = rows
        .into_iter()
        .map(|(what, unit, slides, here)| vec![Cell::text(what), Cell::text(unit), slides, here])
        .collect();
    table
}

//! Rounds, and what they say together.

use crate::table::Cell;
use evforge_lab::measured_trains::{Flow, MeasuredTrains, TrainReceiver, TrainSender};
use std::collections::BTreeSet;

/// A round: the same plan with the profile of the receiving threads, and without.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainRound {
    /// With it.
    pub profiled: MeasuredTrains,
    /// Without.
    pub plain: MeasuredTrains,
}

/// All rounds of one plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainRounds(pub Vec<TrainRound>);

/// Where the time of receiving threads went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReaderTime {
    /// Waiting for packets.
    pub waiting: f64,
    /// Fetching them from the kernel.
    pub fetching: f64,
    /// Putting them into trains.
    pub assembling: f64,
    /// The rest.
    pub housekeeping: f64,
    /// Packets that came.
    pub packets: u64,
}

impl ReaderTime {
    /// All of it.
    pub(super) fn total(&self) -> f64 {
        self.waiting + self.fetching + self.assembling + self.housekeeping
    }

    /// A part of it, in percent.
    pub(super) fn percent(&self, part: f64) -> f64 {
        100.0 * part / self.total()
    }

    /// A part of it, in microseconds for each packet; none if no packet came.
    pub(super) fn us_per_packet(&self, part: f64) -> Option<f64> {
        (self.packets > 0).then(|| 1e6 * part / self.packets as f64)
    }
}

/// Which pairs lose packets: the slides' *all machines, few machines, no machine*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossyPairs {
    /// None of them.
    None,
    /// Not all: those with these senders and these receivers.
    Few {
        /// How many pairs.
        pairs: usize,
        /// Senders with a pair that loses packets.
        senders: BTreeSet<u16>,
        /// Receivers with such a pair.
        receivers: BTreeSet<u16>,
    },
    /// All of them.
    All,
}

impl LossyPairs {
    /// Of these pairs.
    pub fn of(flows: &[Flow]) -> Self {
        let lossy = || flows.iter().filter(|flow| flow.missing() > 0);
        match lossy().count() {
            0 => Self::None,
            pairs if pairs == flows.len() => Self::All,
            pairs => Self::Few {
                pairs,
                senders: lossy().map(|flow| flow.sender).collect(),
                receivers: lossy().map(|flow| flow.receiver).collect(),
            },
        }
    }
}

impl TrainRounds {
    /// All runs, with and without profile.
    pub fn runs(&self) -> impl Iterator<Item = &MeasuredTrains> {
        self.0.iter().flat_map(|round| [&round.profiled, &round.plain])
    }

    /// Each pair, over all runs: its counts.
    pub fn flows(&self) -> Vec<Flow> {
        let mut all: Vec<Flow> = Vec::new();
        for run in self.runs() {
            for (place, flow) in run.flows.iter().enumerate() {
                match all.get_mut(place) {
                    Some(sum) => sum.accumulate(flow),
                    None => all.push(*flow),
                }
            }
        }
        all
    }

    /// Sum of a count over all pairs and runs.
    pub(super) fn sum(&self, count: impl Fn(&Flow) -> u64) -> u64 {
        self.runs().map(|run| run.sum(&count)).fold(0, u64::saturating_add)
    }

    /// Megabits per second that came of a pair, a run each.
    pub(super) fn rates(&self, place: usize) -> Cell {
        let rates = self.runs().filter_map(|run| Some(run.flows.get(place)?.bits_per_second / 1e6));
        Cell::measured(&rates.collect::<Vec<_>>())
    }

    /// Megabits per second that came of all pairs that are chosen together, a run each.
    pub(super) fn rate_of(&self, chosen: impl Fn(&Flow) -> bool) -> Vec<f64> {
        let of_run = |run: &MeasuredTrains| {
            let flows = run.flows.iter().filter(|flow| chosen(flow));
            flows.map(|flow| flow.bits_per_second / 1e6).sum()
        };
        self.runs().map(of_run).collect()
    }

    /// A sender, in each run.
    pub(super) fn sender(&self, number: usize) -> impl Iterator<Item = &TrainSender> {
        self.runs().filter_map(move |run| run.senders.get(number))
    }

    /// A receiver, in each run.
    pub(super) fn receiver(&self, number: usize) -> impl Iterator<Item = &TrainReceiver> {
        self.runs().filter_map(move |run| run.receivers.get(number))
    }

    /// How many senders and receivers there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        self.runs().next().map_or((0, 0), |run| (run.senders.len(), run.receivers.len()))
    }

    /// Processor time for each packet with the profile over that without, in pairs of the same round.
    pub fn cost_of_profile(&self) -> Cell {
        let ratio = |round: &TrainRound| {
            let (with, without) = (round.profiled.ns_per_packet()?, round.plain.ns_per_packet()?);
            (without > 0.0).then(|| with / without)
        };
        Cell::ratio(&self.0.iter().filter_map(ratio).collect::<Vec<_>>())
    }

    /// Where the time of receiving threads went in the runs with a profile: of one receiver, or of all. None without a profile.
    pub(super) fn time(&self, receiver: Option<usize>) -> Option<ReaderTime> {
        let mut time = ReaderTime::default();
        let (mut receiving, mut processor) = (0.0, 0.0);
        for run in self.runs() {
            let chosen = run.receivers.iter().enumerate();
            let chosen = chosen.filter(|(number, _)| receiver.is_none_or(|wanted| wanted == *number));
            for (one, of) in chosen.filter_map(|(_, one)| Some((one, one.time?))) {
                receiving += of.receiving;
                processor += one.processor;
                time.assembling += of.assembling;
                time.housekeeping += of.housekeeping;
                time.packets += one.packets;
            }
        }
        // A thread that waits uses no processor; that it was held up by others counts as waiting where it fetches packets.
        time.fetching = (processor - time.assembling - time.housekeeping).clamp(0.0, receiving);
        time.waiting = receiving - time.fetching;
        (time.total() > 0.0).then_some(time)
    }

    /// What does not add up; none if everything does.
    pub(super) fn imbalance(&self) -> Option<String> {
        let within = (1..).zip(self.runs());
        let within = within.filter_map(|(number, run)| Some((number, run.imbalance()?))).next();
        if let Some((number, found)) = within {
            return Some(format!("run {number}: {found}"));
        }
        let (senders, receivers) = self.counts();
        let lacks = |run: &MeasuredTrains| {
            run.flows.len() != senders * receivers
                || run.senders.len() != senders
                || run.receivers.len() != receivers
        };
        self.runs().any(lacks).then(|| "a run lacks a pair, a sender or a receiver".to_owned())
    }
}

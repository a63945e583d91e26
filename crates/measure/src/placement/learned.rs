//! Whether something is a rule, by measured assignments.

use super::spread::{Figure, Spread};
use evforge_lab::placement::{Assignment, MeasuredAssignment, Rule, Topology};

/// What measurements say of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleFinding {
    /// The rule.
    pub rule: Rule,
    /// The conclusion.
    pub outcome: RuleOutcome,
    /// Assignments that follow it.
    pub followers: Option<Side>,
    /// Assignments that break it.
    pub breakers: Option<Side>,
}

/// The conclusion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOutcome {
    /// The best assignment that breaks it is clearly worse than the best that follows it.
    Found,
    /// It is not: the intervals overlap, or it is better.
    NotFound,
    /// Nobody can say, for this reason.
    Untested(String),
}

/// Assignments on one side of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// How many there are.
    pub count: usize,
    /// The best one.
    pub best: Assignment,
    /// Its figure.
    pub figure: Spread,
    /// The median of the figures of all.
    pub median: f64,
}

impl RuleFinding {
    /// Holds a rule against measurements. `known` are rules found before, which all of these follow.
    pub(super) fn of(
        rule: Rule,
        measured: &[(MeasuredAssignment, Option<Spread>)],
        topology: &Topology,
        figure: Figure,
    ) -> Self {
        let side = |is_followed: bool| {
            let chosen = measured.iter().filter(|(measured, _)| {
                rule.is_followed(&measured.assignment, topology) == Some(is_followed)
            });
            Side::of(chosen, figure)
        };
        let says_nothing =
            measured.iter().any(|(measured, _)| rule.is_followed(&measured.assignment, topology).is_none());
        let has = |is_followed: bool| {
            measured
                .iter()
                .any(|(measured, _)| rule.is_followed(&measured.assignment, topology) == Some(is_followed))
        };
        let (followers, breakers) = (side(true), side(false));
        let untested = |reason: &str| RuleOutcome::Untested(reason.to_owned());
        let outcome = match (&followers, &breakers) {
            _ if says_nothing && !(has(true) && has(false)) => untested(nothing_to_say(rule, topology)),
            _ if !has(false) => untested("every assignment follows it"),
            _ if !has(true) => untested("every assignment breaks it"),
            (Some(followers), Some(breakers)) => {
                match followers.figure.is_clearly_better(&breakers.figure, figure) {
                    true => RuleOutcome::Found,
                    false => RuleOutcome::NotFound,
                }
            }
            _ => untested("assignments were measured once: two rounds at least tell how much figures vary"),
        };
        Self { rule, outcome, followers, breakers }
    }

    /// What was found, in a sentence with its figures.
    pub fn sentence(&self, figure: Figure) -> String {
        let sentence = self.rule.sentence();
        let what = match figure {
            Figure::Shortfall => "lost",
            Figure::Rate => "had a highest rate of",
        };
        let best = |side: &Option<Side>| {
            side.as_ref().map_or("nothing measured".to_owned(), |side| {
                format!("{what} {} ({})", side.figure.text(figure), side.best)
            })
        };
        let (followers, breakers) = (best(&self.followers), best(&self.breakers));
        match &self.outcome {
            RuleOutcome::Found => format!(
                "Rule: {sentence} ({}). The best assignment that follows it {followers}; the best one that breaks it {breakers}.",
                self.rule
            ),
            RuleOutcome::NotFound => format!(
                "No rule: {sentence} ({}). The best assignment that follows it {followers}; the best one that breaks it {breakers}.",
                self.rule
            ),
            RuleOutcome::Untested(reason) => format!("Untested: {sentence} ({}): {reason}.", self.rule),
        }
    }
}

impl Side {
    fn of<'a>(
        chosen: impl Iterator<Item = &'a (MeasuredAssignment, Option<Spread>)>,
        figure: Figure,
    ) -> Option<Self> {
        let mut known: Vec<(&Assignment, Spread)> =
            chosen.filter_map(|(measured, spread)| Some((&measured.assignment, (*spread)?))).collect();
        known.sort_by(|(_, one), (_, other)| one.order(other, figure));
        let &(best, spread) = known.first()?;
        let median = known.get(known.len() / 2).map_or(spread.value, |(_, spread)| spread.value);
        Some(Self { count: known.len(), best: best.clone(), figure: spread, median })
    }
}

/// Why a rule says nothing of any assignment.
fn nothing_to_say(rule: Rule, topology: &Topology) -> &'static str {
    match rule {
        Rule::WorkerNoSiblingOfReceiver | Rule::WorkerNoSiblingOfInterrupt | Rule::WorkersNoSiblings
            if !topology.has_siblings() =>
        {
            "no two of these logical cores are hardware threads of one"
        }
        Rule::WorkersApart => "there is one worker",
        Rule::WorkersNoSiblings => "there is one worker, or all share a logical core",
        Rule::WorkerOffSender | Rule::ReceiverOffSender => "the sender is not on this host",
        Rule::WorkerAlone | Rule::WorkerOffInterrupt | Rule::ReceiverOffInterrupt => {
            "the core of the interrupt is not known"
        }
        Rule::WorkerNoSiblingOfInterrupt => {
            "the core of the interrupt is not known, or every worker is on it"
        }
        Rule::OneCache => "which cores share a last-level cache is not known",
        Rule::NodeOfCard => "the NUMA node of the card is not known, or there is no card",
        Rule::WorkerNoSiblingOfReceiver => "every worker shares the logical core of the receiving thread",
        Rule::WorkerOffReceiver => "nothing was measured",
    }
}

#[cfg(test)]
mod tests {
    use super::super::spread::tests::{assignment, found, lossy};
    use super::*;
    use evforge_lab::placement::LogicalCore;

    fn cores(count: usize, threads: usize) -> Topology {
        let logical =
            |number| LogicalCore { number, core: number / threads * threads, cache: Some(0), node: None };
        Topology { cores: (0..count).map(logical).collect(), interrupts: [0].into(), card_node: None }
    }

    fn with_spreads(
        all: Vec<MeasuredAssignment>,
        figure: Figure,
    ) -> Vec<(MeasuredAssignment, Option<Spread>)> {
        all.into_iter().map(|measured| (measured.clone(), Spread::of(&measured, figure))).collect()
    }

    /// All of the paper's 16 assignments, losing as the paper says: unless the worker has its position alone.
    fn paper(rounds: &[f64]) -> Vec<(MeasuredAssignment, Option<Spread>)> {
        let topology = cores(4, 2);
        let mut all = Vec::new();
        for receiver in 0..4 {
            for worker in 0..4 {
                let assignment = assignment(0, receiver, &[worker]);
                let is_good = Rule::WorkerAlone.is_followed(&assignment, &topology) == Some(true);
                let shares: Vec<f64> =
                    rounds.iter().map(|share| if is_good { 0.0 } else { *share }).collect();
                all.push(lossy(assignment, &shares));
            }
        }
        with_spreads(all, Figure::Shortfall)
    }

    fn outcome(rule: Rule, measured: &[(MeasuredAssignment, Option<Spread>)]) -> RuleOutcome {
        RuleFinding::of(rule, measured, &cores(4, 2), Figure::Shortfall).outcome
    }

    #[test]
    fn the_papers_measurements_give_the_papers_rule_and_no_other() {
        let measured = paper(&[0.2, 0.05, 0.4]);
        assert_eq!(outcome(Rule::WorkerAlone, &measured), RuleOutcome::Found);
        // What it consists of is found as well.
        assert_eq!(outcome(Rule::WorkerOffReceiver, &measured), RuleOutcome::Found);
        assert_eq!(outcome(Rule::WorkerOffInterrupt, &measured), RuleOutcome::Found);
        // Receiving and interrupt threads may share a position, and siblings do not matter, says the paper.
        assert_eq!(outcome(Rule::ReceiverOffInterrupt, &measured), RuleOutcome::NotFound);
        assert_eq!(outcome(Rule::WorkerNoSiblingOfReceiver, &measured), RuleOutcome::NotFound);
        assert_eq!(outcome(Rule::WorkerNoSiblingOfInterrupt, &measured), RuleOutcome::NotFound);
        for rule in [Rule::WorkersApart, Rule::NodeOfCard, Rule::WorkerOffSender, Rule::OneCache] {
            assert!(matches!(outcome(rule, &measured), RuleOutcome::Untested(_)), "{rule}");
        }
        let finding = RuleFinding::of(Rule::WorkerAlone, &measured, &cores(4, 2), Figure::Shortfall);
        let (followers, breakers) = (finding.followers.clone().unwrap(), finding.breakers.clone().unwrap());
        assert_eq!((followers.count, breakers.count), (9, 7));
        let said = finding.sentence(Figure::Shortfall);
        assert!(said.starts_with("Rule: each worker has") && said.contains("nothing (< 1.0e-6)"), "{said}");
    }

    #[test]
    fn what_one_loaded_round_shows_is_no_rule() {
        assert_eq!(outcome(Rule::WorkerAlone, &paper(&[0.9, 0.0, 0.0])), RuleOutcome::NotFound);
        let RuleOutcome::Untested(reason) = outcome(Rule::WorkerAlone, &paper(&[0.9])) else { panic!() };
        assert!(reason.contains("measured once"), "{reason}");
    }

    #[test]
    fn the_interrupts_core_is_learned_from_where_it_was_and_not_known_before() {
        // The same threads with the interrupt on either core: whoever shares with it loses.
        let mut all = Vec::new();
        for interrupt in [0, 1] {
            for receiver in [0, 1] {
                for worker in [0, 1] {
                    let is_bad = receiver == interrupt || worker == interrupt;
                    let shares = if is_bad { [0.98, 0.97, 0.99] } else { [0.0; 3] };
                    all.push(lossy(assignment(interrupt, receiver, &[worker]), &shares));
                }
            }
        }
        let topology = cores(2, 1);
        let measured = with_spreads(all, Figure::Shortfall);
        let outcome = |rule| RuleFinding::of(rule, &measured, &topology, Figure::Shortfall).outcome;
        assert_eq!(outcome(Rule::ReceiverOffInterrupt), RuleOutcome::Found);
        assert_eq!(outcome(Rule::WorkerOffInterrupt), RuleOutcome::Found);
        assert_eq!(outcome(Rule::WorkerOffReceiver), RuleOutcome::NotFound);
        let RuleOutcome::Untested(reason) = outcome(Rule::WorkerNoSiblingOfReceiver) else { panic!() };
        assert!(reason.contains("hardware threads of one"), "{reason}");
        // With it where nothing suffers from it, nothing is learned of it.
        let calm: Vec<MeasuredAssignment> =
            measured.iter().map(|(measured, _)| lossy(measured.assignment.clone(), &[0.0; 3])).collect();
        let calm = with_spreads(calm, Figure::Shortfall);
        let finding = RuleFinding::of(Rule::ReceiverOffInterrupt, &calm, &topology, Figure::Shortfall);
        assert_eq!(finding.outcome, RuleOutcome::NotFound);
    }

    #[test]
    fn a_worker_is_not_called_alone_where_nobody_knows_the_interrupt() {
        let unknown = |receiver, worker: usize, shares: &[f64]| {
            let assignment = assignment(0, receiver, &[worker]);
            lossy(Assignment { interrupt: Default::default(), ..assignment }, shares)
        };
        let all = vec![unknown(0, 1, &[0.0; 3]), unknown(1, 1, &[0.5; 3])];
        let measured = with_spreads(all, Figure::Shortfall);
        let RuleOutcome::Untested(reason) = outcome(Rule::WorkerAlone, &measured) else { panic!() };
        assert!(reason.contains("interrupt is not known"), "{reason}");
        assert_eq!(outcome(Rule::WorkerOffReceiver, &measured), RuleOutcome::Found);
    }

    #[test]
    fn rules_are_found_by_rates_too() {
        let rates = |rate: f64| [Some(rate), Some(1.01 * rate), Some(0.99 * rate)];
        let all = vec![
            found(assignment(0, 0, &[1]), &rates(1e5)),
            found(assignment(0, 1, &[1]), &rates(5e4)),
            found(assignment(0, 1, &[0]), &[Some(7e4), None, Some(1e4)]),
        ];
        let finding =
            RuleFinding::of(Rule::WorkerAlone, &with_spreads(all, Figure::Rate), &cores(2, 1), Figure::Rate);
        assert_eq!(finding.outcome, RuleOutcome::Found);
        assert!(finding.sentence(Figure::Rate).contains("100.0 kpps"), "{}", finding.sentence(Figure::Rate));
    }
}

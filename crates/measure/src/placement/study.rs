//! What was measured so far, and the rules found.

use super::learned::{RuleFinding, RuleOutcome};
use super::spread::{Figure, Spread};
use evforge_lab::placement::{MeasuredAssignment, OfferedRate, Rule, Topology};

/// The assignments of some streams, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementStage {
    /// Streams.
    pub streams: usize,
    /// Assignments without any rule.
    pub possible: usize,
    /// Rules that chose among them.
    pub rules: Vec<Rule>,
    /// Those that were measured, the best one first, with the figure and its interval, if there is one.
    pub measured: Vec<(MeasuredAssignment, Option<Spread>)>,
    /// What they say of rules.
    pub findings: Vec<RuleFinding>,
}

/// Stages of more and more streams, and the rules found so far.
#[derive(Clone, Debug)]
pub struct PlacementStudy {
    topology: Topology,
    figure: Figure,
    rules: Vec<Rule>,
    stages: Vec<PlacementStage>,
}

impl PlacementStudy {
    /// Nothing measured yet; `given` are rules that are taken as found.
    pub fn new(topology: Topology, rate: OfferedRate, given: &[Rule]) -> Self {
        let figure = match rate {
            OfferedRate::Search(_) => Figure::Rate,
            OfferedRate::Unpaced | OfferedRate::Of(_) => Figure::Shortfall,
        };
        Self { topology, figure, rules: given.to_vec(), stages: Vec::new() }
    }

    /// The positions.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What assignments are compared by.
    pub fn figure(&self) -> Figure {
        self.figure
    }

    /// The rules found so far, and those given: what is measured next follows them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What was measured so far.
    pub fn stages(&self) -> &[PlacementStage] {
        &self.stages
    }

    /// Takes the measurements of some streams, chosen among `possible` assignments, and looks for rules in them.
    pub fn add(&mut self, streams: usize, possible: usize, measured: Vec<MeasuredAssignment>) {
        let figure = self.figure;
        let with_spread = |measured: MeasuredAssignment| {
            let spread = Spread::of(&measured, figure);
            (measured, spread)
        };
        let mut measured: Vec<(MeasuredAssignment, Option<Spread>)> =
            measured.into_iter().map(with_spread).collect();
        measured.sort_by(|(_, one), (_, other)| match (one, other) {
            (Some(one), Some(other)) => one.order(other, figure),
            // What has no interval stays behind, in order.
            (one, other) => other.is_some().cmp(&one.is_some()),
        });
        let chosen_by = self.rules.clone();
        let open = Rule::ALL.into_iter().filter(|rule| !chosen_by.contains(rule));
        let findings: Vec<RuleFinding> =
            open.map(|rule| RuleFinding::of(rule, &measured, &self.topology, figure)).collect();
        let found = findings.iter().filter(|finding| finding.outcome == RuleOutcome::Found);
        self.rules.extend(found.map(|finding| finding.rule));
        self.stages.push(PlacementStage { streams, possible, rules: chosen_by, measured, findings });
    }
}

#[cfg(test)]
mod tests {
    use super::super::spread::tests::lossy;
    use super::*;
    use evforge_lab::placement::{Enumeration, LogicalCore};

    #[test]
    fn rules_of_one_stream_choose_the_assignments_of_two() {
        let logical = |number| LogicalCore { number, core: number / 2 * 2, cache: Some(0), node: None };
        let topology =
            Topology { cores: (0..4).map(logical).collect(), interrupts: [0].into(), card_node: None };
        let mut study = PlacementStudy::new(topology.clone(), OfferedRate::Unpaced, &[]);
        let interrupts = [topology.interrupts.clone()];
        let of = |streams: usize, rules: &[Rule]| {
            Enumeration { topology: &topology, streams, interrupts: &interrupts, sender: None, rules }
                .assignments()
                .unwrap()
        };
        let one = of(1, study.rules());
        let measure = |assignment: &evforge_lab::placement::Assignment| {
            let is_good = Rule::WorkerAlone.is_followed(assignment, &topology) == Some(true);
            lossy(assignment.clone(), if is_good { &[0.0; 3] } else { &[0.3, 0.4, 0.35] })
        };
        study.add(1, one.len(), one.iter().map(measure).collect());
        assert!(study.rules().contains(&Rule::WorkerAlone), "{:?}", study.rules());
        assert!(!study.rules().contains(&Rule::ReceiverOffInterrupt));
        let stage = &study.stages()[0];
        assert_eq!((stage.measured.len(), stage.possible), (16, 16));
        // The best ones first.
        assert!(stage.measured[..9].iter().all(|(_, spread)| spread.unwrap().value == 0.0));
        assert!(stage.measured[9].1.unwrap().value > 0.3);
        assert_eq!(of(2, study.rules()).len(), 6);
        // A rule that was found is not looked for again.
        let two = of(2, study.rules());
        study.add(2, 40, two.iter().map(measure).collect());
        assert!(study.stages()[1].findings.iter().all(|finding| finding.rule != Rule::WorkerAlone));
    }
}

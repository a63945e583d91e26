//! Which assignment to use, or why none is named.

use super::spread::{Figure, Spread};
use super::study::PlacementStage;
use crate::counted::streams;
use evforge_lab::placement::{Assignment, MeasuredAssignment};

/// Which assignment to use.
#[derive(Clone, Debug, PartialEq)]
pub enum Recommendation {
    /// This one: it was without loss in every round, and every other one is clearly worse.
    Use(Assignment),
    /// None is named: these cannot be told apart. The first is the best one by its figure alone.
    NotTold(Vec<Assignment>),
    /// None was without loss in every round.
    NoneLossFree,
    /// None is named, as there was one round: nobody knows by how much figures vary.
    MeasuredOnce,
}

/// True if it was without loss in every round, and as fast as packets were sent.
pub(super) fn is_loss_free(measured: &MeasuredAssignment, figure: Figure) -> bool {
    let is_good = |round: &evforge_lab::placement::PlacementRound| match figure {
        Figure::Shortfall => round.measured.is_sustained(),
        Figure::Rate => round.found.as_ref().is_some_and(|found| found.rate.is_some()),
    };
    !measured.rounds.is_empty() && measured.rounds.iter().all(is_good)
}

impl Recommendation {
    /// Of the assignments of some streams.
    pub fn of(stage: &PlacementStage, figure: Figure) -> Self {
        if !stage.measured.iter().any(|(measured, _)| is_loss_free(measured, figure)) {
            return Self::NoneLossFree;
        }
        let known: Option<Vec<(&MeasuredAssignment, Spread)>> =
            stage.measured.iter().map(|(measured, spread)| Some((measured, (*spread)?))).collect();
        let Some((best, rest)) = known.as_ref().and_then(|known| known.split_first()) else {
            return Self::MeasuredOnce;
        };
        let as_good: Vec<Assignment> = std::iter::once(best)
            .chain(rest.iter().filter(|(_, spread)| !best.1.is_clearly_better(spread, figure)))
            .map(|(measured, _)| measured.assignment.clone())
            .collect();
        match as_good.as_slice() {
            [only] if is_loss_free(best.0, figure) => Self::Use(only.clone()),
            [_] => Self::NoneLossFree,
            _ => Self::NotTold(as_good),
        }
    }

    /// In a sentence; with the options of `evforge drop receive`, and the keys of `evforge run`.
    pub fn sentence(&self, count: usize, figure: Figure) -> String {
        let streams = streams(count);
        match self {
            Self::Use(assignment) => format!(
                "For {streams} use: evforge drop receive --streams {count} {}. For evforge run: {}.",
                assignment.options(),
                run_keys(assignment)
            ),
            Self::NotTold(assignments) => {
                let listed: Vec<String> = assignments.iter().take(6).map(ToString::to_string).collect();
                let more = match assignments.len().saturating_sub(listed.len()) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let advice = match figure {
                    Figure::Shortfall => "Offer a higher --rate, or measure more --rounds on a quiet host",
                    Figure::Rate => "Measure more --rounds, or longer (--for), on a quiet host",
                };
                format!(
                    "For {streams} none is recommended: {} assignments cannot be told apart, as their intervals overlap ({}{more}). {advice}.",
                    assignments.len(),
                    listed.join("; ")
                )
            }
            Self::NoneLossFree => {
                format!("For {streams} none is recommended: none was without loss in every round.")
            }
            Self::MeasuredOnce => format!(
                "For {streams} none is recommended: each was measured once, and nobody knows by how much figures vary. Give --rounds 3 or more."
            ),
        }
    }
}

/// Keys of `[threads]`, as `--set` takes them.
fn run_keys(assignment: &Assignment) -> String {
    let mut keys =
        vec!["input.threads=2".to_owned(), format!("threads.receive.core={}", assignment.receiver)];
    if assignment.interrupt.contains(&assignment.receiver) {
        keys.push("threads.receive.share_interrupt_core=true".to_owned());
    }
    keys.push(format!("threads.form.count={}", assignment.workers.len()));
    keys.push(format!("threads.form.core=[{}]", assignment.workers_text()));
    keys.iter().map(|key| format!("--set {key}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::spread::tests::{assignment, found, lossy};
    use super::super::study::PlacementStudy;
    use super::*;
    use evforge_lab::measured_link::LossFreeSearch;
    use evforge_lab::placement::{LogicalCore, OfferedRate, Topology};

    fn of(all: Vec<MeasuredAssignment>) -> Recommendation {
        let is_search = all[0].rounds[0].found.is_some();
        let rate =
            if is_search { OfferedRate::Search(LossFreeSearch::default()) } else { OfferedRate::Unpaced };
        let logical = |number| LogicalCore { number, core: number, cache: None, node: None };
        let topology =
            Topology { cores: (0..4).map(logical).collect(), interrupts: [0].into(), card_node: None };
        let mut study = PlacementStudy::new(topology, rate, &[]);
        study.add(1, all.len(), all);
        Recommendation::of(&study.stages()[0], study.figure())
    }

    #[test]
    fn one_that_is_clearly_better_is_named_with_options_and_keys() {
        let (good, bad) = (assignment(0, 0, &[1]), assignment(0, 1, &[1]));
        let recommended = of(vec![lossy(bad, &[0.2, 0.1, 0.3]), lossy(good.clone(), &[0.0; 3])]);
        assert_eq!(recommended, Recommendation::Use(good));
        let said = recommended.sentence(1, Figure::Shortfall);
        assert!(said.contains("drop receive --streams 1 --workers --cores 0 --worker-cores 1"), "{said}");
        assert!(
            said.contains("--set threads.receive.core=0 --set threads.receive.share_interrupt_core=true"),
            "{said}"
        );
        assert!(said.contains("--set threads.form.core=[1]"), "{said}");
    }

    #[test]
    fn where_intervals_overlap_none_is_named_and_that_is_said() {
        let (one, two) = (assignment(0, 0, &[1]), assignment(0, 2, &[1]));
        let both = of(vec![lossy(one.clone(), &[0.0; 3]), lossy(two.clone(), &[0.0; 3])]);
        assert_eq!(both, Recommendation::NotTold(vec![one.clone(), two.clone()]));
        let said = both.sentence(1, Figure::Shortfall);
        assert!(said.contains("none is recommended: 2 assignments cannot be told apart"), "{said}");
        // The better one by its mean, on a loaded machine: 10 % apart, and each varies by more.
        let one = found(one, &[Some(1.1e5), Some(0.9e5), Some(1.3e5)]);
        let two = found(two, &[Some(1.0e5), Some(0.8e5), Some(1.2e5)]);
        assert!(matches!(of(vec![two, one]), Recommendation::NotTold(all) if all.len() == 2));
    }

    #[test]
    fn without_loss_and_without_rounds_none_is_named() {
        let (one, two) = (assignment(0, 0, &[1]), assignment(0, 2, &[1]));
        let lost = of(vec![lossy(one.clone(), &[1e-3; 3]), lossy(two.clone(), &[0.5; 3])]);
        assert_eq!(lost, Recommendation::NoneLossFree);
        assert_eq!(of(vec![found(one.clone(), &[Some(1e5), None])]), Recommendation::NoneLossFree);
        assert_eq!(of(vec![lossy(one, &[0.0]), lossy(two, &[0.5])]), Recommendation::MeasuredOnce);
    }
}

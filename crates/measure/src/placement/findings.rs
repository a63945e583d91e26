//! Measured assignments as a result.

use super::learned::RuleOutcome;
use super::recommendation::{Recommendation, is_loss_free};
use super::spread::Figure;
use super::study::{PlacementStage, PlacementStudy};
use super::tables;
use crate::counted::streams;
use crate::losses::lost_by_location;
use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use evforge_lab::placement::{MeasuredAssignment, Rule};
use evforge_lab::two_hosts::TwoHosts;
use std::time::Duration;

/// How near to the limit of its work a worker with a core of its own has to come, in percent.
const NEAR: f64 = 5.0;

/// How assignments were measured, as far as it is said in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementSetting {
    /// How long each measurement took to send.
    pub time: Duration,
    /// Time that is spent on each packet.
    pub work: Duration,
    /// The interrupt's position was chosen, by RPS.
    pub is_steered: bool,
    /// The sender's core, if it is on this host.
    pub sender: Option<usize>,
}

/// The measurement as a result.
pub fn result(
    session: Session,
    hosts: &TwoHosts,
    study: &PlacementStudy,
    setting: &PlacementSetting,
) -> Measurement {
    let figure = study.figure();
    let session = session
        .setting("topology", study.topology().sentence())
        .setting("time of each measurement", format!("{:?}", setting.time))
        .setting("work of a worker for each packet", format!("{:?}", setting.work));
    let is_loaded = session.fingerprint().load.as_ref().is_some_and(|load| load.is_loaded());
    let mut result = session.end(verdict(study));
    for stage in study.stages().iter().filter(|stage| !stage.measured.is_empty()) {
        let mut said = Recommendation::of(stage, figure).sentence(stage.streams, figure);
        if is_loaded {
            said += " The host was loaded: measure again before you rely on it.";
        }
        result.findings.push(said);
    }
    result.findings.extend(study.stages().iter().map(chosen));
    let of_rules = |is_wanted: fn(&RuleOutcome) -> bool| {
        let with_stage = |stage: &'_ PlacementStage| {
            let wanted = stage.findings.iter().filter(|finding| is_wanted(&finding.outcome));
            let said =
                wanted.map(|finding| format!("{}: {}", streams(stage.streams), finding.sentence(figure)));
            said.collect::<Vec<_>>()
        };
        study.stages().iter().flat_map(with_stage).collect::<Vec<_>>()
    };
    result.findings.extend(of_rules(|outcome| *outcome == RuleOutcome::Found));
    result.findings.extend(of_rules(|outcome| *outcome == RuleOutcome::NotFound));
    result.findings.extend(untested(study));
    result.findings.extend(against_the_work(study, setting.work));
    let lost: Vec<_> = measured(study).map(tables::lost_where).collect();
    result.findings.extend(lost_by_location(&lost));
    result.limits = limits(hosts, setting);
    result.tables =
        vec![tables::assignments(study, setting.work), tables::rules(study), tables::cores(study)];
    result.plots.push(tables::plot(study));
    result
}

fn measured(study: &PlacementStudy) -> impl Iterator<Item = &MeasuredAssignment> {
    study.stages().iter().flat_map(|stage| &stage.measured).map(|(measured, _)| measured)
}

/// Good if some assignment was without loss in every round, for every number of streams.
fn verdict(study: &PlacementStudy) -> Verdict {
    let figure = study.figure();
    let good = |stage: &PlacementStage| {
        stage.measured.iter().filter(|(measured, _)| is_loss_free(measured, figure)).count()
    };
    let counts: Vec<String> = study
        .stages()
        .iter()
        .map(|stage| {
            format!("{} of {} assignments of {}", good(stage), stage.measured.len(), streams(stage.streams))
        })
        .collect();
    let sentence = format!("Without loss in every round: {}", counts.join(", "));
    match !study.stages().is_empty() && study.stages().iter().all(|stage| good(stage) > 0) {
        true => Verdict::good(sentence),
        false => Verdict::bad(sentence),
    }
}

/// How many assignments were measured, and which rules left the others out.
fn chosen(stage: &PlacementStage) -> String {
    let PlacementStage { possible, rules, measured, .. } = stage;
    let streams = streams(stage.streams);
    let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
    match (rules.as_slice(), measured.len()) {
        ([], count) => format!("{streams}: all {count} assignments were measured."),
        (_, 0) => format!(
            "{streams}: none of {possible} assignments follows all rules ({}): they need more cores.",
            names.join(", ")
        ),
        (_, count) => format!(
            "{streams}: {count} of {possible} assignments were measured, those that follow the rules {}.",
            names.join(", ")
        ),
    }
}

/// Rules that nothing could be said of for any number of streams, those with the same reason in a sentence.
fn untested(study: &PlacementStudy) -> Vec<String> {
    let mut sentences: Vec<(String, Vec<&str>)> = Vec::new();
    for rule in Rule::ALL {
        let of_rule =
            || study.stages().iter().flat_map(|stage| &stage.findings).filter(|finding| finding.rule == rule);
        let is_tested = of_rule().any(|finding| !matches!(finding.outcome, RuleOutcome::Untested(_)));
        let reason = of_rule().find_map(|finding| match &finding.outcome {
            RuleOutcome::Untested(reason) if !is_tested => Some(reason.clone()),
            _ => None,
        });
        let Some(reason) = reason else { continue };
        match sentences.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rules)) => rules.push(rule.name()),
            None => sentences.push((reason, vec![rule.name()])),
        }
    }
    sentences
        .into_iter()
        .map(|(reason, rules)| format!("Untested, as {reason}: {}.", rules.join(", ")))
        .collect()
}

/// How near the highest rate comes to one packet in the time of the work, where the worker has its core alone.
fn against_the_work(study: &PlacementStudy, work: Duration) -> Vec<String> {
    let mut sentences = Vec::new();
    for measured in measured(study) {
        let is_alone = Rule::WorkerAlone.is_followed(&measured.assignment, study.topology()) == Some(true);
        let shares = tables::of_limit(measured, work);
        if !is_alone || shares.is_empty() || study.figure() != Figure::Rate {
            continue;
        }
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        let rounds = measured.rounds.len();
        let is_near = shares.len() == rounds && (share - 100.0).abs() <= NEAR;
        sentences.push(format!(
            "{}: the worker has its core alone, and spends {work:?} on each packet. Found {:.1} kpps in {} of {rounds} rounds, {:+.1} % of the {:.1} kpps that \
             this allows: {} {NEAR} %.",
            measured.assignment,
            share / 100.0 / work.as_secs_f64() / 1e3,
            shares.len(),
            share - 100.0,
            1e-3 / work.as_secs_f64(),
            if is_near { "within" } else { "NOT within" }
        ));
    }
    sentences
}

fn limits(hosts: &TwoHosts, setting: &PlacementSetting) -> Vec<String> {
    let general = if setting.is_steered { hosts.cannot_show_steered() } else { hosts.cannot_show() };
    let mut limits: Vec<String> = general.into_iter().map(str::to_owned).collect();
    limits.extend(hosts.of_pieces().map(str::to_owned));
    if setting.is_steered {
        limits.push(
            "A veth has no interrupts. In their place, the kernel's work on incoming packets was steered to a core (RPS): protocols and the socket \
             are there, but taking packets from the link stays on the sender's core. Packets are not joined (GRO off), so that each costs that core \
             as much as one from a card that joins none."
                .to_owned(),
        );
    }
    if let Some(core) = setting.sender {
        limits.push(format!(
            "The sender is on core {core} of this host, and whoever shares that core slows it down: rules about the sender are about this \
             measurement, and not about a host that only receives."
        ));
    }
    limits.push(format!(
        "Each assignment was measured for {:?} a round (the paper: an hour). A loss that is rarer than the upper bounds here is not seen.",
        setting.time
    ));
    limits.push("Packets are received by sockets; the paper received by AF_XDP.".to_owned());
    limits
}

#[cfg(test)]
mod tests {
    use super::super::spread::tests::{assignment, found, lossy};
    use super::*;
    use evforge_lab::measured_link::LossFreeSearch;
    use evforge_lab::placement::{LogicalCore, OfferedRate, Topology};

    const SETTING: PlacementSetting = PlacementSetting {
        time: Duration::from_secs(1),
        work: Duration::from_micros(10),
        is_steered: true,
        sender: Some(0),
    };

    fn study(rate: OfferedRate) -> PlacementStudy {
        let logical = |number| LogicalCore { number, core: number, cache: Some(0), node: Some(0) };
        let topology = Topology {
            cores: (0..2).map(logical).collect(),
            interrupts: Default::default(),
            card_node: None,
        };
        PlacementStudy::new(topology, rate, &[])
    }

    fn measured(study: &PlacementStudy) -> Measurement {
        let session = Session::without_host("placement", "Placement", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), study, &SETTING);
        result.check().unwrap();
        result
    }

    #[test]
    fn rules_recommendation_and_locations_are_said_with_figures() {
        let mut study = study(OfferedRate::Unpaced);
        let good = lossy(assignment(0, 0, &[1]), &[0.0; 3]);
        let bad = lossy(assignment(1, 0, &[1]), &[0.97, 0.98, 0.99]);
        study.add(1, 2, vec![bad, good]);
        study.add(2, 12, Vec::new());
        let result = measured(&study);
        assert!(!result.verdict.is_good, "none of 2 streams: {:?}", result.verdict);
        let says = |part: &str| {
            assert!(result.findings.iter().any(|said| said.contains(part)), "{part}: {:#?}", result.findings)
        };
        says("--cores 0 --worker-cores 1");
        says("1 stream: Rule: no worker is on the core of the interrupt");
        says("2 streams: none of 12 assignments follows all rules");
        says("hardware threads of one: worker-no-sibling-of-receiver, worker-no-sibling-of-interrupt");
        says("Lost packets by location: 2 940 000 own queue.");
        assert!(result.limits.iter().any(|limit| limit.contains("no interrupts")), "{:?}", result.limits);
        let table = result.table("assignments").unwrap();
        let of = |row: usize, name: &str| table.rows[row][table.column(name).unwrap()].clone();
        assert!(of(0, "figure").is_upper_bound() && of(1, "figure").value().is_some_and(|loss| loss > 0.9));
        assert_eq!(
            (of(0, "loss_free_rounds"), of(1, "loss_free_rounds")),
            (Cell::text("3 of 3"), Cell::text("0 of 3"))
        );
        assert_eq!(of(1, "locations"), Cell::text("2 940 000 own queue"));
        assert_eq!(result.table("cores").unwrap().rows.len(), 2 * 2);
        let points = &result.plots[0].lines[0].points;
        assert!(points.len() == 2 && points[0].y == 0.0 && points[0].high.is_some_and(|high| high > 0.0));
    }

    #[test]
    fn the_rate_found_is_held_against_that_of_the_work() {
        let mut study = study(OfferedRate::Search(LossFreeSearch::default()));
        let near = found(assignment(0, 0, &[1]), &[Some(98e3), Some(97e3), Some(99e3)]);
        let far = found(assignment(0, 1, &[1]), &[Some(48e3), Some(47e3), Some(49e3)]);
        study.add(1, 2, vec![near, far]);
        let result = measured(&study);
        assert!(result.verdict.is_good);
        let of_work: Vec<&String> =
            result.findings.iter().filter(|said| said.contains("on each packet")).collect();
        assert_eq!(of_work.len(), 1, "only where the worker is alone: {of_work:?}");
        assert!(
            of_work[0].contains("Found 98.0 kpps in 3 of 3 rounds, -2.0 % of the 100.0 kpps")
                && of_work[0].contains(": within 5 %"),
            "{of_work:?}"
        );
        let mut study = self::study(OfferedRate::Search(LossFreeSearch::default()));
        study.add(1, 1, vec![found(assignment(0, 0, &[1]), &[Some(80e3), Some(81e3)])]);
        assert!(measured(&study).findings.iter().any(|said| said.contains("NOT within 5 %")));
        // A round without a rate is not left out.
        let mut study = self::study(OfferedRate::Search(LossFreeSearch::default()));
        study.add(1, 1, vec![found(assignment(0, 0, &[1]), &[Some(99e3), None])]);
        let said = measured(&study).findings;
        assert!(
            said.iter().any(|said| said.contains("in 1 of 2 rounds") && said.contains("NOT within 5 %")),
            "{said:?}"
        );
    }

    use crate::table::Cell;
}

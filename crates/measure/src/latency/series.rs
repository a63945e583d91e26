//! What was measured of a detector, a destination and a load.

use evforge_lab::measured_formation::Destination;
use evforge_lab::measured_latency::{LatencyPoint, LatencySpread};
use evforge_lab::measured_link::LossFree;

/// A search for the highest loss-free rate, of which loads are shares.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedRate {
    /// Name of the configuration.
    pub name: String,
    /// Where events went.
    pub into: Destination,
    /// What was found.
    pub found: LossFree,
}

/// Events of a batch that are looked at until they are handed on. Those of the last batch wait for the end of the run: they must be few
/// among all.
const LAST_BATCH: f64 = 16.0;

/// A detector, a destination and a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySeries {
    /// Name of the configuration.
    pub name: String,
    /// Where its events go.
    pub into: Destination,
    /// The load as it was asked for: `50 %`, `20 kpps`.
    pub load: String,
    /// How many times faster than simulated packets are sent; none of a capture.
    pub speed: Option<f64>,
    /// What was measured, a round each.
    pub rounds: Vec<LatencyPoint>,
}

/// Up to where a latency goes. All begin at the arrival of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The event is handed on.
    Event,
    /// The output has taken it.
    Output,
    /// A broker of Kafka has acknowledged it.
    Broker,
    /// A browser has a picture with it.
    Browser,
}

impl Stage {
    /// All of them, in the order of an event.
    pub const ALL: [Self; 4] = [Self::Event, Self::Output, Self::Broker, Self::Browser];

    /// What has happened then, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "event handed on",
            Self::Output => "taken by the output",
            Self::Broker => "acknowledged by the broker",
            Self::Browser => "picture in a browser",
        }
    }

    /// What a point has measured up to here; none if it was not.
    pub fn of(self, point: &LatencyPoint) -> Option<&LatencySpread> {
        match self {
            Self::Event => point.to_event.as_ref(),
            Self::Output => point.to_output.as_ref(),
            Self::Broker => point.to_broker.as_ref(),
            Self::Browser => point.to_browser.as_ref(),
        }
    }
}

impl LatencySeries {
    /// True if there was a round without loss.
    pub fn is_loss_free(&self) -> bool {
        self.rounds.iter().any(LatencyPoint::is_loss_free)
    }

    /// Rounds without loss.
    pub fn loss_free_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| round.is_loss_free()).count()
    }

    /// The rounds that figures are of: those without loss, or all if there is none.
    pub(super) fn counted(&self) -> impl Iterator<Item = &LatencyPoint> + Clone {
        let all = !self.is_loss_free();
        self.rounds.iter().filter(move |round| all || round.is_loss_free())
    }

    /// A figure of a stage, of each round that has it.
    pub(super) fn values(&self, stage: Stage, figure: impl Fn(&LatencySpread) -> Option<f64>) -> Vec<f64> {
        self.counted().filter_map(|round| stage.of(round)).filter_map(figure).collect()
    }

    /// The median of half of the events at a stage, in seconds.
    pub(super) fn half(&self, stage: Stage) -> Option<f64> {
        crate::table::Cell::median(&self.values(stage, |spread| Some(spread.p50))).value()
    }

    /// True if the last batch, which waits for the end of the run, is in the 99 % of the events that were looked at until they were
    /// handed on.
    pub(super) fn is_short(&self) -> bool {
        self.values(Stage::Event, |spread| Some(spread.events as f64))
            .iter()
            .any(|events| LAST_BATCH > 0.01 * events)
    }

    /// Of the last stage that was measured, within which 99 % of the events were there, in seconds: the median over rounds. None if
    /// that is the end of the run and not the load.
    pub(super) fn last_p99(&self) -> Option<f64> {
        let is_of_load = |stage: &&Stage| **stage != Stage::Event || !self.is_short();
        let of = |stage: &Stage| {
            crate::table::Cell::median(&self.values(*stage, |spread| Some(spread.p99))).value()
        };
        Stage::ALL.iter().rev().filter(is_of_load).find_map(of)
    }

    /// `freia into nexus at 50 %`.
    pub(super) fn title(&self) -> String {
        format!("{} into {} at {}", self.name, self.into, self.load)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use evforge_lab::measured_formation::FormationPoint;
    use evforge_lab::measured_link::MeasuredPoint;

    /// Six rounds at half load; 99 % within twice as long as half of the events.
    pub(in crate::latency) fn series(
        into: Destination,
        event: f64,
        output: Option<f64>,
        lost: u64,
    ) -> LatencySeries {
        let spread = |p50: f64| LatencySpread {
            events: 100,
            p50,
            p99: 2.0 * p50,
            p999: Some(3.0 * p50),
            largest: Some(4.0 * p50),
        };
        let packets = MeasuredPoint {
            sent: 1000,
            received: 1000 - lost,
            lost,
            sent_per_second: 500.0,
            ..MeasuredPoint::default()
        };
        let point = LatencyPoint {
            formation: FormationPoint { packets, ..FormationPoint::default() },
            to_event: Some(spread(event)),
            to_output: output.map(spread),
            to_broker: None,
            to_browser: None,
            shown: None,
        };
        LatencySeries {
            name: "freia".into(),
            into,
            load: "50 %".into(),
            speed: Some(4.0),
            rounds: vec![point; 6],
        }
    }

    #[test]
    fn figures_are_those_of_rounds_without_loss_as_long_as_there_is_one() {
        let mut mixed = series(Destination::Nexus, 0.01, Some(0.02), 0);
        mixed.rounds.extend(series(Destination::Nexus, 5.0, Some(6.0), 3).rounds);
        assert_eq!(
            (mixed.loss_free_rounds(), mixed.half(Stage::Event), mixed.last_p99()),
            (6, Some(0.01), Some(0.04))
        );
        assert_eq!(series(Destination::Nexus, 5.0, None, 3).half(Stage::Event), Some(5.0));
    }
}

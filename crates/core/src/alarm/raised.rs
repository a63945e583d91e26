//! The alarms that the state of a run raises.

use super::kind::{Alarm, AlarmKind, without_numbers};
use crate::feed::{Feed, FeedState};
use crate::output_state::OutputState;
use crate::quantity::grouped;
use crate::run_state::{InputFaultKind, RunState};

impl RunState {
    /// Everything that needs a person, data at risk first.
    pub fn alarms(&self) -> Vec<Alarm> {
        self.alarms_with(&self.feed)
    }

    /// The same with this `feed`: whoever took note of the state a while ago knows that nothing has come since.
    pub fn alarms_with(&self, feed: &Feed) -> Vec<Alarm> {
        let mut alarms: Vec<Alarm> = feed_alarm(feed).into_iter().collect();
        alarms.extend(self.detector_failure.as_ref().map(|why| {
            let text = format!("the detector has failed, and forms no further events: {why}");
            Alarm::new(AlarmKind::DetectorFailed, "the detector has failed", text)
        }));
        let is_over = matches!(feed.state, FeedState::Ended(_) | FeedState::Failed(_));
        if !is_over {
            let place = self.losses.place();
            alarms.extend(self.recent_losses.iter().map(|loss| loss.alarm(&place)));
            alarms.extend(self.health.alarms());
        }
        alarms.extend(self.input_alarms());
        let unaccounted = self.ledger.unaccounted();
        if unaccounted > 0 {
            let count = grouped(unaccounted);
            let text =
                format!("{count} packets, readouts or events are unaccounted for: evforge has a fault");
            alarms.push(Alarm::of(AlarmKind::Unaccounted, format!("{count} unaccounted"), text));
        }
        alarms.extend(self.outputs.iter().filter_map(OutputState::alarm));
        let sentence = |kind, short: &str, text: &Option<String>| {
            text.as_ref().map(|text| Alarm::new(kind, short, text.clone()))
        };
        alarms.extend(sentence(AlarmKind::RunStopped, "an output has stopped the run", &self.stopped_by));
        alarms.extend(sentence(AlarmKind::Recording, "the recording is not whole", &self.record_alarm));
        alarms.sort_by_key(|alarm| alarm.kind.rank());
        alarms
    }

    /// How many alarms of each kind are raised, in the order of their declaration.
    pub fn alarm_counts(&self) -> impl Iterator<Item = (AlarmKind, u64)> + use<> {
        let alarms = self.alarms();
        let count = move |kind| alarms.iter().filter(|alarm| alarm.kind == kind).count() as u64;
        AlarmKind::ALL.iter().map(move |&kind| (kind, count(kind)))
    }

    /// What is wrong with receiving and with what came.
    pub fn input_alarms(&self) -> impl Iterator<Item = Alarm> + '_ {
        let receiving = self.receiving.iter().map(|text| {
            Alarm::new(AlarmKind::Receiving, "receiving is disturbed", text.clone())
                .about(without_numbers(text))
        });
        let faults = self.faults.iter().map(|fault| {
            let (kind, short) = match fault.kind {
                InputFaultKind::Unplaced => (AlarmKind::Unplaced, "readouts without a place"),
                InputFaultKind::Incomplete => (AlarmKind::InputFault, "the input is incomplete"),
                InputFaultKind::NoUse => (AlarmKind::InputFault, "the input is of no use"),
                InputFaultKind::NoEvent => (AlarmKind::InputFault, "no event was formed"),
            };
            Alarm::new(kind, short, fault.text.clone()).about(without_numbers(&fault.text))
        });
        receiving.chain(faults)
    }
}

/// What the feed says that a person has to know.
fn feed_alarm(feed: &Feed) -> Option<Alarm> {
    let kind = match feed.state {
        FeedState::Failed(_) => AlarmKind::InputFailed,
        FeedState::Stalled => AlarmKind::NoData,
        FeedState::Rejecting(_) => AlarmKind::Rejecting,
        FeedState::Waiting | FeedState::Live | FeedState::Ended(_) => return None,
    };
    Some(Alarm::of(kind, feed.in_short(), feed.sentence()))
}

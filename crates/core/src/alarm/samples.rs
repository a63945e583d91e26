//! States that raise alarms, for tests of those who show them.

use super::health::{DiskSpace, HostHealth};
use super::recent_loss::RecentLoss;
use crate::counter::CounterSnapshot;
use crate::feed::FeedState;
use crate::output_state::OutputState;
use crate::run_state::{InputFault, RunState};
use std::time::Duration;

crate::counters! {
    /// Counters of a detector and an output with something wrong.
    struct Wrong: "toy" {
        readouts: Enters(Readouts), Readouts, "Readouts that nobody accounts for.";
        events_late: Information, Events, "Late events.";
    }
}

/// States of runs which together raise every kind of alarm.
pub fn states_with_every_alarm() -> Vec<RunState> {
    let wrong = CounterSnapshot::of(&Wrong { readouts: 3, events_late: 1 });
    let output = |id: &str| OutputState { id: id.into(), name: id.into(), ..OutputState::default() };
    let mut outputs = ["failed", "refused", "dropped", "waiting", "late"].map(output);
    outputs[0].failure = Some("gone".into());
    outputs[1].counters.failed = 1;
    outputs[2].counters.dropped = 1;
    outputs[3].waiting = Some("no space".into());
    outputs[4].own = wrong.clone();
    let disk = |folder: &str, free| DiskSpace { folder: folder.into(), free, size: 100_000_000_000 };
    let mut run = RunState {
        detector_failure: Some("the plugin".into()),
        recent_losses: vec![RecentLoss { source: "FEC 1".into(), lost: 3, lasted: Duration::from_secs(2) }],
        health: HostHealth {
            disks: vec![
                disk("/full", 1_000_000_000),
                disk("/low", 5_000_000_000),
                disk("/good", 50_000_000_000),
            ],
            clock_synchronised: Some(false),
        },
        receiving: vec!["eth0 was down once".into()],
        faults: vec![
            InputFault::no_use("packets of another format"),
            InputFault::unplaced("2 % of the hits"),
        ],
        outputs: outputs.to_vec(),
        stopped_by: Some("nexus has stopped the run".into()),
        record_alarm: Some("the recording cannot be written any more".into()),
        ..RunState::default()
    };
    run.ledger.counters = wrong;
    let why = || "they are of another format".to_owned();
    [FeedState::Stalled, FeedState::Rejecting(why()), FeedState::Failed(why())]
        .map(|state| {
            let mut run = run.clone();
            run.feed.state = state;
            run
        })
        .to_vec()
}

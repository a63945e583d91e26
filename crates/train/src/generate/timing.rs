//! The timing system: which train comes when; and who sends it to whom.

use evforge_core::quantity::Frequency;

/// The accelerator's trains: 10 Hz.
pub const TRAIN_FREQUENCY: Frequency = Frequency { millihertz: 10_000 };

/// What the timing system tells, at a time in nanoseconds after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingSignal {
    /// The run begins.
    Start {
        /// When: with the first train.
        at_ns: u64,
    },
    /// A train.
    Train {
        /// When.
        at_ns: u64,
        /// Its index, from 0.
        index: u64,
        /// Its number.
        train: u64,
    },
    /// The run has ended.
    Stop {
        /// When: the time at which the next train would have come, or that of the command to stop if that is earlier.
        at_ns: u64,
    },
}

impl TimingSignal {
    /// When it is told.
    pub const fn at_ns(&self) -> u64 {
        match *self {
            Self::Start { at_ns } | Self::Train { at_ns, .. } | Self::Stop { at_ns } => at_ns,
        }
    }
}

/// What the timing system is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingSettings {
    /// Trains in a second. With 0 there is the first train alone.
    pub frequency: Frequency,
    /// When the first train comes, in nanoseconds after the start.
    pub first_ns: u64,
    /// Number of the first train.
    pub first_train: u64,
    /// Trains of the run; none goes on until it is stopped.
    pub trains: Option<u64>,
}

impl Default for TimingSettings {
    /// 10 Hz from now on.
    fn default() -> Self {
        Self { frequency: TRAIN_FREQUENCY, first_ns: 0, first_train: 1, trains: None }
    }
}

/// Stands in for the timing system: start, trains with their numbers, stop. It has no clock; who has one asks when the next signal is
/// due.
#[derive(Clone, Debug)]
pub struct TimingSystem {
    settings: TimingSettings,
    /// Trains told.
    told: u64,
    stage: Stage,
    /// When it was told to stop.
    stopped: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Running,
    Ended,
}

impl TimingSystem {
    /// Before its start.
    pub const fn new(settings: TimingSettings) -> Self {
        Self { settings, told: 0, stage: Stage::Before, stopped: None }
    }

    /// Stops the run: no train at or after this time.
    pub fn stop(&mut self, now_ns: u64) {
        self.stopped = Some(self.stopped.map_or(now_ns, |earlier| earlier.min(now_ns)));
    }

    /// When the train with this index comes: the first whole nanosecond, computed from the start each time, so that nothing adds up.
    pub fn train_ns(&self, index: u64) -> u64 {
        begin_ns(self.settings.frequency, index).saturating_add(self.settings.first_ns)
    }

    /// Number of the train with this index.
    pub const fn train(&self, index: u64) -> u64 {
        self.settings.first_train.wrapping_add(index)
    }

    /// When the next signal is due; none after the stop.
    pub fn due_ns(&self) -> Option<u64> {
        self.peek().map(|signal| signal.at_ns())
    }

    /// The next signal; none after the stop.
    pub fn peek(&self) -> Option<TimingSignal> {
        let next = self.train_ns(self.told);
        match self.stage {
            Stage::Before => Some(TimingSignal::Start { at_ns: self.settings.first_ns }),
            Stage::Running if let Some(stopped) = self.stopped.filter(|&stopped| stopped <= next) => {
                // Never before what has been told.
                let last =
                    self.told.checked_sub(1).map_or(self.settings.first_ns, |last| self.train_ns(last));
                Some(TimingSignal::Stop { at_ns: stopped.max(last) })
            }
            Stage::Running if self.settings.trains.is_some_and(|trains| self.told >= trains) => {
                Some(TimingSignal::Stop { at_ns: next })
            }
            Stage::Running => {
                Some(TimingSignal::Train { at_ns: next, index: self.told, train: self.train(self.told) })
            }
            Stage::Ended => None,
        }
    }

    /// Tells the next signal if it is due.
    pub fn tell(&mut self, now_ns: u64) -> Option<TimingSignal> {
        let signal = self.peek().filter(|signal| signal.at_ns() <= now_ns)?;
        match signal {
            TimingSignal::Start { .. } => self.stage = Stage::Running,
            TimingSignal::Train { .. } => self.told += 1,
            TimingSignal::Stop { .. } => self.stage = Stage::Ended,
        }
        Some(signal)
    }
}

/// When the period with this index begins, in nanoseconds after the first one.
pub(super) fn begin_ns(frequency: Frequency, index: u64) -> u64 {
    // Nanoseconds of a thousand seconds: frequencies are in millihertz.
    let times = u128::from(index) * 1_000_000_000_000;
    let begin = match frequency.millihertz {
        0 if index == 0 => 0,
        0 => u128::MAX,
        millihertz => times.div_ceil(millihertz.into()),
    };
    u64::try_from(begin).unwrap_or(u64::MAX)
}

/// Trains dealt in turn: builder *i* sends train *t* to node (*t* + *i*) modulo N.
///
/// So no two of up to N builders send to the same node at the same time, and each node gets whole trains: of *N* following trains one
/// of each builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundRobin {
    /// Number of the builder, from 0.
    pub builder: u64,
    /// Nodes N (0 is taken for 1).
    pub nodes: u64,
}

impl RoundRobin {
    /// The node, from 0, that the train with this number goes to.
    pub const fn node(&self, train: u64) -> u64 {
        let nodes = if self.nodes == 0 { 1 } else { self.nodes };
        (train % nodes + self.builder % nodes) % nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(timing: &mut TimingSystem, until_ns: u64) -> Vec<TimingSignal> {
        std::iter::from_fn(|| timing.tell(until_ns)).collect()
    }

    #[test]
    fn start_trains_every_100_ms_and_stop() {
        let settings =
            TimingSettings { first_ns: 5, first_train: 70, trains: Some(3), ..TimingSettings::default() };
        let mut timing = TimingSystem::new(settings);
        assert_eq!((timing.due_ns(), timing.tell(4)), (Some(5), None));
        let told = signals(&mut timing, 100_000_004);
        let train = |at_ns, index, train| TimingSignal::Train { at_ns, index, train };
        assert_eq!(told, [TimingSignal::Start { at_ns: 5 }, train(5, 0, 70)]);
        assert_eq!(timing.due_ns(), Some(100_000_005));
        let rest =
            [train(100_000_005, 1, 71), train(200_000_005, 2, 72), TimingSignal::Stop { at_ns: 300_000_005 }];
        assert_eq!(signals(&mut timing, u64::MAX), rest);
        assert_eq!((timing.due_ns(), timing.tell(u64::MAX)), (None, None));
    }

    #[test]
    fn no_train_comes_after_the_command_to_stop() {
        let mut timing = TimingSystem::new(TimingSettings::default());
        assert_eq!(signals(&mut timing, 150_000_000).len(), 3);
        timing.stop(170_000_000);
        timing.stop(190_000_000);
        assert_eq!(signals(&mut timing, u64::MAX), [TimingSignal::Stop { at_ns: 170_000_000 }]);
        // On the very time of a train: it does not come any more. Before the start: start and stop, and no train.
        let mut timing = TimingSystem::new(TimingSettings { first_ns: 10, ..TimingSettings::default() });
        timing.stop(10);
        assert_eq!(
            signals(&mut timing, u64::MAX),
            [TimingSignal::Start { at_ns: 10 }, TimingSignal::Stop { at_ns: 10 }]
        );
        // A command that comes late is not told before what has been told.
        let mut timing = TimingSystem::new(TimingSettings::default());
        assert_eq!(signals(&mut timing, 100_000_000).len(), 3);
        timing.stop(30);
        assert_eq!(timing.peek(), Some(TimingSignal::Stop { at_ns: 100_000_000 }));
    }

    #[test]
    fn a_frequency_that_divides_nothing_does_not_drift() {
        let frequency = Frequency { millihertz: 14_000 };
        let timing = TimingSystem::new(TimingSettings { frequency, ..TimingSettings::default() });
        assert_eq!(timing.train_ns(1), 71_428_572);
        assert_eq!(timing.train_ns(14_000_000), 1_000_000_000_000_000);
        let never = TimingSystem::new(TimingSettings {
            frequency: Frequency { millihertz: 0 },
            ..TimingSettings::default()
        });
        assert_eq!((never.train_ns(0), never.train_ns(1)), (0, u64::MAX));
        assert_eq!(timing.train_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn no_two_builders_send_to_the_same_node_at_a_time() {
        for nodes in [1, 2, 7, 16] {
            for train in [0, 1, 1_000_000_001, u64::MAX] {
                let node = |builder| RoundRobin { builder, nodes }.node(train);
                let mut found: Vec<_> = (0..nodes).map(node).collect();
                found.sort_unstable();
                assert_eq!(found, (0..nodes).collect::<Vec<_>>(), "{nodes} nodes, train {train}");
            }
            // Over N trains each node gets one of each builder.
            for builder in 0..nodes {
                let mut found: Vec<_> =
                    (100..100 + nodes).map(|train| RoundRobin { builder, nodes }.node(train)).collect();
                found.sort_unstable();
                assert_eq!(found, (0..nodes).collect::<Vec<_>>());
            }
        }
        assert_eq!(RoundRobin { builder: 3, nodes: 4 }.node(6), 1);
        assert_eq!(RoundRobin { builder: 3, nodes: 0 }.node(6), 0);
    }
}

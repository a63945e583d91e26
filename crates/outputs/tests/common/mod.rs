//! An output that does what a test tells it to, and batches for it.
#![allow(dead_code)]

use evforge_core::event::{Event, EventBatch};
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_net::clock::SystemClock;
use evforge_outputs::{OnWaiting, OutputSet, QueueSettings, WhenFull};
use evforge_testkit::patience::patience;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// What an output answers to a call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Yes,
    NotNow,
    Retry,
    Final,
    Panic,
}

/// What the test and its output share.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Answers to come, by call; `Yes` when there are none left.
    pub(crate) take: VecDeque<Answer>,
    pub(crate) poll: VecDeque<Answer>,
    pub(crate) finish: VecDeque<Answer>,
    /// As long as this is set, every `take` answers `NotNow`.
    pub(crate) is_stalled: bool,
    pub(crate) calls: Vec<&'static str>,
    pub(crate) times: Vec<u64>,
    pub(crate) committed: u64,
}

#[derive(Clone, Default)]
pub(crate) struct Scripted(Arc<Mutex<Script>>);

impl Scripted {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn stalled() -> Self {
        let output = Self::default();
        output.script().is_stalled = true;
        output
    }

    fn answer(answer: Option<Answer>, call: &str) -> Result<bool, OutputError> {
        match answer {
            None | Some(Answer::Yes) => Ok(true),
            Some(Answer::NotNow) => Ok(false),
            Some(Answer::Retry) => Err(OutputError::Retry(format!("{call} cannot be done now"))),
            Some(Answer::Final) => Err(OutputError::Final(format!("{call} has failed"))),
            Some(Answer::Panic) => panic!("asked for by the test"),
        }
    }
}

impl Output for Scripted {
    fn name(&self) -> String {
        "scripted".into()
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        let mut script = self.script();
        script.calls.push("take");
        if script.is_stalled {
            return Ok(Taken::NotNow);
        }
        let answer = script.take.pop_front();
        drop(script);
        if !Self::answer(answer, "take")? {
            return Ok(Taken::NotNow);
        }
        let mut script = self.script();
        script.times.extend(batch.times_ns());
        script.committed += batch.len() as u64;
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        let answer = self.script().poll.pop_front();
        Self::answer(answer, "poll").map(drop)
    }

    fn progress(&self) -> OutputProgress {
        OutputProgress { committed: self.script().committed, ..OutputProgress::default() }
    }

    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.script().calls.push("finish");
        let answer = self.script().finish.pop_front();
        Self::answer(answer, "finish").map(drop)
    }

    fn abandon(&mut self) -> Option<String> {
        self.script().calls.push("abandon");
        Some("what is left".into())
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::start())
}

/// A queue for so many events.
pub(crate) fn queue(events: u64, when_full: WhenFull) -> QueueSettings {
    QueueSettings { events, when_full, finish_within: patience(), ..QueueSettings::COMPLETE }
}

pub(crate) fn start(outputs: &[(&Scripted, QueueSettings)], is_live: bool) -> OutputSet {
    let output = |(index, (output, queue)): (usize, &(&Scripted, QueueSettings))| {
        (format!("output_{index}"), Box::new((*output).clone()) as Box<dyn Output>, *queue)
    };
    let outputs = outputs.iter().enumerate().map(output).collect();
    let silent: OnWaiting = Arc::new(|_| {});
    OutputSet::start(outputs, is_live, &clock(), &silent).expect("threads")
}

/// Batches of `size` events with the times `range`.
pub(crate) fn batches(range: std::ops::Range<u64>, size: usize) -> Vec<PulsedBatch> {
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    let mut stage = PulseStage::new(settings);
    let mut all = Vec::new();
    let times: Vec<u64> = range.collect();
    for times in times.chunks(size) {
        let mut events = EventBatch::new(size);
        for &time_ns in times {
            assert!(events.push(Event { time_ns, pixel_id: 1 }));
        }
        stage.hand_on(&events, None, &mut |batch| all.push(batch));
    }
    all
}

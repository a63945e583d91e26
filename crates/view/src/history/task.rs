//! The history of a run while it is shown: read once a second, in a thread of its own.

use super::kept::{LIVE_FRACTION, VIEW_EVENTS};
use super::recorder::Readings;
use super::series::Point;
use crate::accumulator::InputState;
use crate::at_work::{NotDone, at_work};
use crate::client::stopped;
use crate::lock::lock;
use crate::shared::Shared;
use evforge_metrics::{Reading, Value, run_metrics};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Events are looked at so often: a second then has its smallest and its largest rate.
const LOOKS: Duration = Duration::from_millis(200);

/// The rates of events of a second.
#[derive(Debug)]
struct Window {
    events: u64,
    at: Instant,
    /// Smallest and largest rate, events and seconds.
    seen: Option<(f64, f64, u64, f64)>,
}

impl Window {
    fn look(&mut self, events: u64, at: Instant) {
        let seconds = at.saturating_duration_since(self.at).as_secs_f64();
        if seconds < 0.01 {
            return;
        }
        let more = events.saturating_sub(self.events);
        let rate = more as f64 / seconds;
        let (min, max, all, time) = self.seen.unwrap_or((rate, rate, 0, 0.0));
        self.seen = Some((min.min(rate), max.max(rate), all + more, time + seconds));
        (self.events, self.at) = (events, at);
    }

    fn take(&mut self) -> Option<Point> {
        let (min, max, events, seconds) = self.seen.take()?;
        let point = |value: f64| Point::of(value);
        let (min, mean, max) = (point(min)?, point(events as f64 / seconds)?, point(max)?);
        Some(Point { min: min.min, mean: mean.mean.clamp(min.min, max.max), max: max.max })
    }
}

/// Keeps the history until the run is not shown any more.
pub(crate) async fn record(shared: Arc<Shared>, mut is_over: watch::Receiver<bool>) {
    let mut ticks = interval(LOOKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut window = Window { events: shared.events(), at: Instant::now(), seen: None };
    let mut last = shared.series.second().saturating_sub(1);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut is_over) => return,
        }
        window.look(shared.events(), Instant::now());
        let ended = shared.series.second().saturating_sub(1);
        if ended <= last {
            continue;
        }
        let before = std::mem::replace(&mut last, ended);
        let (shared, events) = (Arc::clone(&shared), window.take());
        // The host is asked, which may take its time: pictures go on meanwhile.
        match at_work(move || take(&shared, before, ended, events)).await {
            Ok(()) => {}
            // What was told in this second is told again in the next.
            Err(NotDone::NoThread) => last = before,
            // It has said so itself; the page goes on without a history.
            Err(NotDone::Panicked) => return,
        }
    }
}

/// Takes what was told in a second. Readings are made before anything is locked.
fn take(shared: &Shared, before: u64, second: u64, events: Option<Point>) {
    let host = shared.host.readings();
    let streams = shared.streams();
    let host = Readings { origin: 0, stream: String::new(), at: Instant::now(), readings: host };
    let is_new = |origin, at| lock(&shared.series.recorder).is_new(origin, at);
    let of_streams: Vec<Readings> = streams
        .iter()
        .enumerate()
        .filter_map(|(place, stream)| {
            let state = stream.state().filter(|state| is_new(place + 1, state.at))?;
            let readings = run_metrics(&state.run);
            Some(Readings { origin: place + 1, stream: stream.stream.clone(), at: state.at, readings })
        })
        .collect();
    let is_running = streams.iter().any(|stream| stream.input() == InputState::Running);
    let values = shared.beam.points(Instant::now(), is_running);
    let mut recorder = lock(&shared.series.recorder);
    // After the end there is no rate of events, as there are no states any more.
    if let Some(point) = events.filter(|_| is_running) {
        let reading = Reading::of(&VIEW_EVENTS, &[], Value::Whole(0));
        recorder.take_own(second, before, &reading, point);
    }
    recorder.take(second, &host);
    recorder.take_values(second, before, &values);
    for readings in &of_streams {
        recorder.take(second, readings);
        recorder.take_live_fraction(
            second,
            &readings.stream,
            &Reading::of(&LIVE_FRACTION, &[], Value::Whole(0)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_the_rates_that_were_seen_in_it() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut window = Window { events: 100, at: start, seen: None };
        for (ms, events) in [(200, 100), (400, 500), (600, 500), (1000, 900)] {
            window.look(events, at(ms));
        }
        let point = window.take().unwrap();
        assert_eq!((point.min, point.mean, point.max), (0.0, 800.0, 2000.0));
        assert_eq!(window.take(), None);
    }
}

//! A run that is looked at in one way.

use super::Observer;
use super::polling::Polling;
use crate::measured_formation::{
    Destination, FormationLoad, FormationPoint, FormationRunner, ReadyRun, Watch,
};
use crate::measured_link::{MeasureError, MeasuredPoint, ThreadTimes};
use crate::page_client::{PageClient, Wants};
use std::time::Duration;

/// What was measured of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedPoint {
    /// Packets and their rates.
    pub packets: MeasuredPoint,
    /// Events formed.
    pub events: u64,
    /// Processor time of all threads of the run since it was ready, to 10 ms.
    pub processor: Duration,
    /// The same by thread, to 50 ms at the end.
    pub threads: ThreadTimes,
    /// How often it was looked at: answers of metrics, readings of tables, updates that browsers were shown.
    pub looks: u64,
    /// Updates that browsers have missed.
    pub skipped: u64,
    /// Pictures per second of the browser that got fewest; none without browsers, or if one had no two updates.
    pub pictures_per_second: Option<f64>,
    /// Bytes of pictures per second of the browser that got most; likewise.
    pub bytes_per_second: Option<f64>,
}

impl ObservedPoint {
    /// Processor time of all threads for each packet received, in nanoseconds; none if no packet came.
    pub fn ns_per_packet(&self) -> Option<f64> {
        per_packet(self.processor, self.packets.received)
    }

    /// The same of all threads of a name.
    pub fn thread_ns_per_packet(&self, thread: &str) -> Option<f64> {
        per_packet(self.threads.named(thread), self.packets.received)
    }
}

fn per_packet(time: Duration, packets: u64) -> Option<f64> {
    (packets > 0).then(|| time.as_nanos() as f64 / packets as f64)
}

/// The order in which a round runs this many ways to look: begun at another one each round, so that what the round itself does to
/// the machine meets all alike.
pub fn order_of_round(round: usize, ways: usize) -> Vec<usize> {
    (0..ways).map(|place| (round + place) % ways).collect()
}

/// Runs a load that is looked at.
pub struct ObserverRunner<'a>(FormationRunner<'a>);

/// Whoever looks at a run.
struct Lookers {
    browsers: Vec<PageClient>,
    polling: Option<Polling>,
}

impl Watch for Lookers {
    fn all_sent(&self) {
        self.polling.iter().for_each(Polling::stop);
    }
}

impl<'a> ObserverRunner<'a> {
    /// Runs as `formation` does.
    pub const fn new(formation: FormationRunner<'a>) -> Self {
        Self(formation)
    }

    /// The same run that nobody looks at: for the search of a rate.
    ///
    /// # Errors
    /// As [`ObserverRunner::run`].
    pub fn unobserved(
        &self,
        load: &FormationLoad,
        rate: Option<u64>,
    ) -> Result<FormationPoint, MeasureError> {
        let options = self.options(Observer::Nothing);
        let run = self.0.run_watched(load, Destination::Nothing, rate, &options, |_| Ok(()))?;
        Ok(run.point)
    }

    /// Sends the load once at this many packets per second, to a run that is looked at like this.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or its report lacks something; if `stop` is set; if whoever looks does not see
    /// what it should.
    pub fn run(
        &self,
        load: &FormationLoad,
        observer: Observer,
        rate: u64,
    ) -> Result<ObservedPoint, MeasureError> {
        let begin = |ready: &ReadyRun| {
            let browsers = (0..observer.browsers())
                .filter_map(|_| Some(PageClient::open(ready.page?, observer.wants())));
            let polling = match (observer, ready.page) {
                (Observer::PolledCounters, _) => Some(Polling::of_tables()?),
                (Observer::Metrics, Some(page)) => Some(Polling::of_metrics(page)?),
                _ => None,
            };
            Ok(Lookers { browsers: browsers.collect::<Result<_, _>>()?, polling })
        };
        let run = self.0.run_watched(load, observer.into(), Some(rate), &self.options(observer), begin)?;
        let Lookers { browsers, polling } = run.watch;
        let mut looks = 0;
        let mut skipped = 0;
        let mut rates = Vec::new();
        for browser in browsers {
            let seen = browser.finish()?;
            looks += seen.updates.len() as u64;
            skipped += seen.skipped;
            rates.push(seen.rates());
        }
        // Of all browsers, or of none.
        let rates: Vec<(f64, f64)> = rates.into_iter().collect::<Option<_>>().unwrap_or_default();
        if let Some(polling) = polling {
            looks += polling.finish()?;
        }
        Ok(ObservedPoint {
            packets: run.point.packets,
            events: run.point.events,
            processor: run.processor,
            threads: run.threads,
            looks,
            skipped,
            pictures_per_second: rates.iter().map(|(pictures, _)| *pictures).reduce(f64::min),
            bytes_per_second: rates.iter().map(|(_, bytes)| *bytes).reduce(f64::max),
        })
    }

    fn options(&self, observer: Observer) -> Vec<String> {
        let counters = format!("receive.loss_counters=\"{}\"", observer.loss_counters());
        let mut options = vec!["--set".to_owned(), counters];
        if observer.wants() == Wants::Regions {
            // Twice as often as it is by default.
            options.extend(["--set".to_owned(), "outputs.view.interval=\"100ms\"".to_owned()]);
        }
        if observer.browsers() > 0 {
            // All of them come from this host.
            let seats = format!("outputs.view.max_browsers_per_address={}", observer.browsers() + 1);
            options.extend(["--set".to_owned(), seats]);
        }
        if observer == Observer::Monitor {
            options
                .extend(["--monitor".to_owned(), self.0.folder.join("monitor.json").display().to_string()]);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_all_ways_and_begins_at_another_one() {
        assert_eq!(order_of_round(0, 3), [0, 1, 2]);
        assert_eq!(order_of_round(1, 3), [1, 2, 0]);
        assert_eq!(order_of_round(5, 3), [2, 0, 1]);
    }

    #[test]
    fn processor_time_is_for_each_packet_that_came() {
        let packets = MeasuredPoint { received: 1000, ..MeasuredPoint::default() };
        let point =
            ObservedPoint { packets, processor: Duration::from_millis(2), ..ObservedPoint::default() };
        assert_eq!((point.ns_per_packet(), point.thread_ns_per_packet("x")), (Some(2000.0), Some(0.0)));
        assert_eq!(ObservedPoint::default().ns_per_packet(), None);
    }
}

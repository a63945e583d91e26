//! A point of the latency, run.

use super::LatencySpread;
use super::arrivals::ArrivalWatch;
use super::seen::until_shown;
use crate::measured_formation::{
    Destination, FormationLoad, FormationPoint, FormationRunner, ReadyRun, Watch, WatchedRun,
};
use crate::measured_link::MeasureError;
use crate::measured_link::reports::wrong;
use crate::page_client::{PageClient, PageSeen, Wants};
use serde_json::Value;

/// Has the kernel stamp each packet when it arrives, so that the time in the socket's buffer is part of the latency.
const KERNEL_STAMPS: &str = "receive.kernel_stamps=true";

/// What was measured at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPoint {
    /// Packets, events and processor time.
    pub formation: FormationPoint,
    /// From the arrival of packets until their events were handed on, as the run says; none if no event was formed.
    pub to_event: Option<LatencySpread>,
    /// Until the output had taken them, as the run says; none without an output.
    pub to_output: Option<LatencySpread>,
    /// Until a broker of Kafka had acknowledged them, as the run says; none of another output.
    pub to_broker: Option<LatencySpread>,
    /// Until a browser had a picture with them, by the clock of this process; none without a page, without an interface of the run's
    /// own (over loopback, where other packets are counted as well), and if packets were lost.
    pub to_browser: Option<LatencySpread>,
    /// What the browser was shown; none without a page.
    pub shown: Option<PageSeen>,
}

impl LatencyPoint {
    /// True if no packet was lost, and the output took every event.
    pub fn is_loss_free(&self) -> bool {
        self.formation.packets.is_whole()
    }
}

/// Runs points.
pub struct LatencyRunner<'a> {
    formation: FormationRunner<'a>,
}

/// What looks at a run meanwhile.
struct PageWatch {
    browser: Option<PageClient>,
    arrivals: Option<ArrivalWatch>,
}

impl Watch for PageWatch {}

impl<'a> LatencyRunner<'a> {
    /// Runs as `formation` does, with the kernel's stamps.
    pub fn new(mut formation: FormationRunner<'a>) -> Self {
        formation.keys.push(KERNEL_STAMPS.to_owned());
        Self { formation }
    }

    /// What it runs with, for the search of rates under the same conditions.
    pub fn formation(&self) -> &FormationRunner<'a> {
        &self.formation
    }

    /// Sends the load once, at this many packets per second, to a run that hands its events to `into`. A page has one browser.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or its report lacks something; if `stop` is set; if the page has not shown every
    /// event of a run that lost nothing.
    pub fn run(
        &self,
        load: &FormationLoad,
        into: Destination,
        rate: u64,
    ) -> Result<LatencyPoint, MeasureError> {
        let begin = |ready: &ReadyRun| {
            let browser = ready.page.map(|page| PageClient::open(page, Wants::Everything)).transpose()?;
            let interface = self.formation.hosts.interface().filter(|_| browser.is_some());
            Ok(PageWatch { browser, arrivals: interface.map(ArrivalWatch::begin).transpose()? })
        };
        let run = self.formation.run_watched(load, into, Some(rate), &[], begin)?;
        point(run)
    }
}

fn point(run: WatchedRun<PageWatch>) -> Result<LatencyPoint, MeasureError> {
    let of_report = |problem: String| wrong(&run.file, problem);
    let Spreads { to_event, to_output, to_broker } = spreads(&run.report).map_err(of_report)?;
    let shown = run.watch.browser.map(PageClient::finish).transpose()?;
    let arrivals = run.watch.arrivals.map(ArrivalWatch::finish).transpose()?;
    let is_whole = run.point.packets.is_whole();
    let to_browser = match shown.as_ref().zip(arrivals.as_ref()).filter(|_| is_whole) {
        Some((shown, arrivals)) => until_shown(shown, arrivals, run.point.events).map_err(of_report)?,
        None => None,
    };
    Ok(LatencyPoint { formation: run.point, to_event, to_output, to_broker, to_browser, shown })
}

/// What a run says of its latencies.
struct Spreads {
    to_event: Option<LatencySpread>,
    to_output: Option<LatencySpread>,
    to_broker: Option<LatencySpread>,
}

/// To events, and to the output, of which there is one at most.
fn spreads(report: &Value) -> Result<Spreads, String> {
    let to_event = LatencySpread::of_report(&report["streams"][0]["latency"])?;
    let outputs = report["outputs"].as_array().ok_or("has no outputs")?;
    let (to_output, to_broker) = match &outputs[..] {
        [] => (None, None),
        [output] => {
            (LatencySpread::of_report(&output["latency"])?, LatencySpread::of_kafka(&output["counters"])?)
        }
        several => return Err(format!("has {} outputs, expected one at most", several.len())),
    };
    Ok(Spreads { to_event, to_output, to_broker })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_latencies_of_a_report_are_those_of_its_stream_and_of_its_only_output() {
        let latency =
            |p50: f64| json!({"events": 9, "p50_s": p50, "p99_s": 1.0, "p99.9_s": 1.0, "largest_s": 1.0});
        let mut report =
            json!({"streams": [{"latency": latency(0.25)}], "outputs": [{"latency": latency(0.5)}]});
        let halves = |report: &Value| {
            let Spreads { to_event, to_output, .. } = spreads(report)?;
            Ok::<_, String>((to_event.map(|spread| spread.p50), to_output.map(|spread| spread.p50)))
        };
        assert_eq!(halves(&report), Ok((Some(0.25), Some(0.5))));
        report["outputs"] = json!([]);
        assert_eq!(halves(&report), Ok((Some(0.25), None)));
        report["outputs"] = json!([{}, {}]);
        assert!(halves(&report).unwrap_err().contains("2 outputs"));
        assert!(halves(&json!({"streams": [{}]})).is_err());
    }
}

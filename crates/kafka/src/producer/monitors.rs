//! Histograms of beam monitors as da00 and hs01.
//!
//! da00 has the names of the ESS (`frame_time`, `signal`, `reference_time`, `frame_total`) and what was counted since the message before:
//! whoever adds the messages up has the sum. hs01 has what was counted since the start of the run.

use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorKind};
use evforge_messages::da00::Variable;
use evforge_messages::hs01::{Counts, Dimension};
use evforge_messages::{Da00, Data, Encoder, Hs01};

/// What was counted up to the last message of each monitor, in parts.
#[derive(Debug, Default)]
pub(super) struct MonitorsSent {
    /// Values, which are whole numbers for monitors that send events.
    values: Vec<Vec<f64>>,
}

/// What a monitor has counted since its last message.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) counts: Vec<f64>,
    total: f64,
    values: Vec<f64>,
}

impl MonitorsSent {
    /// What the monitor with this index has counted since its last message; none if nothing.
    pub(super) fn difference(&mut self, index: usize, monitor: &BeamMonitorData) -> Option<Difference> {
        if self.values.len() <= index {
            self.values.resize(index + 1, Vec::new());
        }
        let values: Vec<f64> = monitor.counts().iter().map(|&parts| monitor.value(parts)).collect();
        let before = &self.values[index];
        let old = before.iter().copied().chain(std::iter::repeat(0.0));
        let counts: Vec<f64> = values.iter().zip(old).map(|(now, before)| now - before).collect();
        let total = counts.iter().sum();
        counts.iter().any(|&count| count != 0.0).then_some(Difference { counts, total, values })
    }

    /// The message with this difference was sent.
    pub(super) fn sent(&mut self, index: usize, difference: Difference) {
        if let Some(known) = self.values.get_mut(index) {
            *known = difference.values;
        }
    }
}

/// What was counted since the message before, as da00.
pub(super) fn as_da00<'e>(
    encoder: &'e mut Encoder,
    monitor: &BeamMonitorData,
    difference: &Difference,
    reference_time: i64,
) -> &'e [u8] {
    let plan = monitor.plan();
    let edges: Vec<i64> = plan.histogram.edges_ns().map(|edge| edge.round() as i64).collect();
    let counts: Vec<i64> = difference.counts.iter().map(|&count| count as i64).collect();
    let is_whole = difference.counts.iter().all(|count| count.fract() == 0.0);
    let signal = if is_whole { Data::from(&counts) } else { Data::from(&difference.counts) };
    let (bins, bounds) = ([counts.len() as i64], [edges.len() as i64]);
    let (reference, total) = ([reference_time], [difference.total]);
    // What the integrating ones are called in reports is no unit that scipp knows.
    let unit = if plan.kind == BeamMonitorKind::Integrating { "arbitrary units" } else { "counts" };
    let data = vec![
        Variable::new("signal", Some(unit), vec!["frame_time"], &bins, signal),
        Variable::new("frame_time", Some("ns"), vec!["frame_time"], &bounds, &edges),
        Variable::single("reference_time", Some("ns"), &reference),
        Variable::single("frame_total", Some(unit), &total),
    ];
    Da00 { source_name: &plan.name, timestamp: reference_time, data }.encode(encoder)
}

/// What was counted since the start of the run, as hs01.
pub(super) fn as_hs01<'e>(
    encoder: &'e mut Encoder,
    monitor: &BeamMonitorData,
    now: i64,
    start: i64,
) -> &'e [u8] {
    let plan = monitor.plan();
    let edges: Vec<f64> = plan.histogram.edges_ns().collect();
    let values: Vec<f64> = monitor.counts().iter().map(|&parts| monitor.value(parts)).collect();
    // At most a million.
    let shape = [values.len() as i32];
    let dimension = Dimension {
        length: shape[0],
        unit: Some("ns"),
        label: Some("time_of_flight"),
        bin_boundaries: Some(Counts::Float64((&edges).into())),
    };
    Hs01 {
        source: Some(&plan.name),
        timestamp: now,
        dim_metadata: vec![dimension],
        last_metadata_timestamp: start,
        current_shape: (&shape).into(),
        data: Some(Counts::Float64((&values).into())),
        info: Some("counted since the start of the run"),
        ..Hs01::default()
    }
    .encode(encoder)
}

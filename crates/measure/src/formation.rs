//! The formation of events over the wire: the highest rate at which every packet is received and every event handed on, per detector and
//! destination of the events. Table 4 of the EFU paper.
//!
//! Points are measured by [`evforge_lab::measured_formation`]; here they become a [`Measurement`].

use crate::measurement::{Measurement, Verdict};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use evforge_lab::measured_formation::{Destination, FormationPoint, HighestRate};
use evforge_lab::two_hosts::TwoHosts;

/// A row of Table 4 of the EFU paper: real captures as fast as possible, rates as Grafana showed them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperRow {
    /// The detector, as the shipped configuration is called.
    pub detector: &'static str,
    /// Thousands of packets per second; none: a benchmark without a network.
    pub packets: Option<f64>,
    /// Millions of readouts per second.
    pub readouts: f64,
    /// Millions of events per second (Gd-GEM: the higher of the two that are given).
    pub events: f64,
    /// Cores.
    pub cores: f64,
}

/// Table 4 of the EFU paper.
pub const PAPER: [PaperRow; 4] = [
    PaperRow { detector: "gdgem-srs", packets: None, readouts: 18.6, events: 1.0, cores: 1.0 },
    PaperRow { detector: "multigrid", packets: Some(86.0), readouts: 3.0, events: 2.46, cores: 1.0 },
    PaperRow { detector: "multiblade", packets: Some(82.0), readouts: 5.6, events: 2.31, cores: 2.0 },
    PaperRow { detector: "sonde-module", packets: Some(94.0), readouts: 23.5, events: 23.5, cores: 2.0 },
];

/// The rates of a detector and a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct FormationRates {
    /// Name of the configuration.
    pub name: String,
    /// What is sent: `simulated`, or the name of a capture.
    pub input: String,
    /// Where its events go.
    pub into: Destination,
    /// A search each.
    pub rounds: Vec<HighestRate>,
}

impl FormationRates {
    fn over_rounds(&self, figure: impl Fn(&FormationPoint) -> f64) -> Cell {
        let points = self.rounds.iter().filter(|round| round.found.rate.is_some());
        Cell::measured(&points.filter_map(|round| round.point.as_ref()).map(figure).collect::<Vec<f64>>())
    }

    fn is_found(&self) -> bool {
        self.rounds.iter().any(|round| round.found.rate.is_some() && round.point.is_some())
    }
}

/// The rates as a result.
pub fn result(session: Session, hosts: &TwoHosts, rates: &[FormationRates]) -> Measurement {
    let mut result = session.end(verdict(rates));
    result.findings = rates.iter().filter_map(against_the_paper).collect();
    result.limits = hosts.cannot_show().into_iter().map(str::to_owned).collect();
    result.limits.push(
        "The sender shares the processor with the run: a rate is that of both together, and a detector that is formed faster than packets \
         can be sent is limited by the sender."
            .to_owned(),
    );
    result.limits.push(
        "The paper replayed captures of real detectors; what is called simulated here is none, and a readout is not the same \
         work in every capture."
            .to_owned(),
    );
    result.tables.push(table(rates));
    result
}

fn verdict(rates: &[FormationRates]) -> Verdict {
    let without: Vec<String> = rates
        .iter()
        .filter(|rates| !rates.is_found())
        .map(|rates| format!("{} into {}", rates.name, rates.into))
        .collect();
    if without.is_empty() && !rates.is_empty() {
        return Verdict::good(
            "A loss-free rate was found for every detector and destination; no packet, readout or event is unaccounted for",
        );
    }
    Verdict::bad(format!("No loss-free rate was found for {}", without.join(", ")))
}

/// The paper's events were sent to Kafka: of the destinations, that is the one to compare with.
fn against_the_paper(rates: &FormationRates) -> Option<String> {
    let paper = PAPER.iter().find(|row| row.detector == rates.name)?;
    let readouts = rates.over_rounds(|point| point.per_second(point.readouts) / 1e6).value()?;
    let events = rates.over_rounds(|point| point.per_second(point.events) / 1e6).value()?;
    Some(format!(
        "{} ({}) into {}: {readouts:.1} M readouts/s and {events:.2} M events/s; Table 4 has {} and {}.",
        rates.name, rates.input, rates.into, paper.readouts, paper.events
    ))
}

fn table(rates: &[FormationRates]) -> Table {
    let columns = vec![
        Column::key("configuration", "Configuration", ""),
        Column::key("input", "Input", ""),
        Column::key("into", "Events go to", ""),
        Column::measured("packets", "Packets", "k/s").decimals(1),
        Column::measured("readouts", "Readouts", "M/s").decimals(2),
        Column::measured("events", "Events", "M/s").decimals(3),
        Column::measured("speed", "User data", "Gb/s").decimals(2),
        Column::measured("cores", "Cores used", "").decimals(2),
        Column::measured("limit", "Limited by", ""),
        Column::exact("paper_packets", "Table 4: packets", "k/s").decimals(0),
        Column::exact("paper_readouts", "Table 4: readouts", "M/s").decimals(1),
        Column::exact("paper_events", "Table 4: events", "M/s").decimals(2),
        Column::exact("paper_cores", "Table 4: cores", "").decimals(0),
    ];
    let mut table =
        Table::new("formation", "Highest rates without loss, from UDP to events (Table 4)", columns);
    for rates in rates {
        let paper = PAPER.iter().find(|row| row.detector == rates.name);
        let printed =
            |figure: fn(&PaperRow) -> Option<f64>| paper.and_then(figure).map_or(Cell::Missing, Cell::Number);
        let is_senders = rates.rounds.iter().all(|round| round.found.is_senders_limit);
        table.rows.push(vec![
            Cell::text(&rates.name),
            Cell::text(&rates.input),
            Cell::text(rates.into.name()),
            rates.over_rounds(|point| point.packets.sent_per_second / 1e3),
            rates.over_rounds(|point| point.per_second(point.readouts) / 1e6),
            rates.over_rounds(|point| point.per_second(point.events) / 1e6),
            rates.over_rounds(|point| 8.0 * point.per_second(point.bytes) / 1e9),
            rates.over_rounds(FormationPoint::cores),
            Cell::text(if is_senders { "sender" } else { "run" }),
            printed(|row| row.packets),
            printed(|row| Some(row.readouts)),
            printed(|row| Some(row.events)),
            printed(|row| Some(row.cores)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_lab::measured_link::LossFree;
    use evforge_lab::measured_link::MeasuredPoint;
    use std::time::Duration;

    fn rates(rate: Option<f64>) -> FormationRates {
        let packets =
            MeasuredPoint { sent: 1000, received: 1000, sent_per_second: 500.0, ..MeasuredPoint::default() };
        let point = FormationPoint {
            packets,
            bytes: 2_000_000,
            readouts: 4_000_000,
            events: 3_000_000,
            seconds: 2.0,
            processor: Duration::from_secs(3),
        };
        let found = LossFree { rate, is_senders_limit: false, tried: Vec::new() };
        FormationRates {
            name: "multigrid".into(),
            input: "simulated".into(),
            into: Destination::Nothing,
            rounds: vec![HighestRate { found, point: rate.map(|_| point) }],
        }
    }

    fn measured(rates: &[FormationRates]) -> Measurement {
        let session = Session::without_host("formation", "Formation", &["evforge".to_owned()]);
        let result = result(session, &TwoHosts::on_loopback(), rates);
        result.check().unwrap();
        result
    }

    #[test]
    fn rates_stand_next_to_those_of_table_4() {
        let result = measured(&[rates(Some(500.0))]);
        assert!(result.verdict.is_good);
        let table = result.table("formation").unwrap();
        let value = |name: &str| table.rows[0][table.column(name).unwrap()].value();
        assert_eq!((value("packets"), value("readouts"), value("events")), (Some(0.5), Some(2.0), Some(1.5)));
        assert_eq!(
            (value("cores"), value("speed"), value("paper_events")),
            (Some(1.5), Some(0.008), Some(2.46))
        );
        assert!(result.findings[0].contains("Table 4 has 3 and 2.46"), "{:?}", result.findings);
    }

    #[test]
    fn a_detector_without_a_loss_free_rate_is_named() {
        let result = measured(&[rates(None)]);
        assert!(!result.verdict.is_good);
        assert!(result.verdict.sentence.contains("multigrid into nothing"), "{}", result.verdict.sentence);
    }
}

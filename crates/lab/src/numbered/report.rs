//! What came, joined with what was sent.

use super::receive::Received;
use super::sent::{SentFlow, SentReport};
use crate::loss::with_report;
use evforge_core::ledger::PacketLedger;
use evforge_net::losses::{self, LossBreakdown, LossCounts, LossLocation};
use std::net::SocketAddr;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Where it came from.
    pub source: SocketAddr,
    /// Its number in the headers.
    pub flow: u16,
    /// Its packets.
    pub packets: PacketLedger,
    /// Payload bytes received.
    pub bytes: u64,
    /// True if the sender's report says how many were sent; else packets lost after the last one are not in `packets`.
    pub is_reported: bool,
}

/// What came, and what was sent.
#[derive(Clone, Debug)]
pub struct ReceiveReport {
    /// What came.
    pub received: Received,
    /// The senders' reports.
    pub sent: Vec<SentReport>,
    /// The flows: those received, then those of which nothing came.
    pub flows: Vec<FlowReport>,
    /// What is wrong with the senders' reports, in sentences.
    pub mismatches: Vec<String>,
}

impl ReceiveReport {
    /// Joins what was received with the reports of all senders. A flow belongs to a sender if its source is the same; where
    /// addresses were translated on the way, port and number are enough if they belong to one flow only.
    pub fn new(received: Received, sent: Vec<SentReport>) -> Self {
        let all: Vec<SentFlow> = sent.iter().flat_map(|report| report.flows.iter().copied()).collect();
        let mut is_found = vec![false; all.len()];
        let mut mismatches = Vec::new();
        let mut flows = Vec::new();
        for flow in received.account.flows() {
            let same = |sent: &SentFlow| sent.flow == flow.flow && sent.source == flow.source;
            let alike = |sent: &SentFlow| sent.flow == flow.flow && sent.source.port() == flow.source.port();
            let exact = all.iter().position(same);
            let only = || {
                let mut found = all.iter().enumerate().filter(|(_, sent)| alike(sent));
                found.next().filter(|_| found.next().is_none()).map(|(index, _)| index)
            };
            let index = exact.or_else(only).filter(|&index| !std::mem::replace(&mut is_found[index], true));
            if index.is_none() && !sent.is_empty() {
                mismatches.push(format!(
                    "flow {} from {} is in no sender's report: is it of this run?",
                    flow.flow, flow.source
                ));
            }
            flows.push(FlowReport {
                source: flow.source,
                flow: flow.flow,
                packets: with_report(flow.sequence(), index.map(|index| all[index].packets)),
                bytes: flow.bytes,
                is_reported: index.is_some(),
            });
        }
        for (sent, _) in all.iter().zip(&is_found).filter(|(sent, is_found)| !**is_found && sent.packets > 0)
        {
            flows.push(FlowReport {
                source: sent.source,
                flow: sent.flow,
                packets: with_report(Default::default(), Some(sent.packets)),
                bytes: 0,
                is_reported: true,
            });
        }
        mismatches.extend(received.alarms.iter().cloned());
        Self { received, sent, flows, mismatches }
    }

    /// The packets of all flows.
    pub fn packets(&self) -> PacketLedger {
        let mut all = PacketLedger { sent: Some(0), ..PacketLedger::default() };
        self.flows.iter().for_each(|flow| all.add(&flow.packets));
        all
    }

    /// True if the senders say of every flow how many packets there were.
    pub fn is_exact(&self) -> bool {
        !self.flows.is_empty() && self.flows.iter().all(|flow| flow.is_reported)
    }

    /// UDP datagrams per second between the first packet and the last; 0 before the second.
    pub fn packets_per_second(&self) -> f64 {
        self.per_second(self.received.account.counters().packets_received)
    }

    /// Bits of UDP payload per second; 0 before the second packet.
    pub fn bits_per_second(&self) -> f64 {
        self.per_second(self.received.account.counters().bytes_received) * 8.0
    }

    /// Processor time of the receiving thread for each packet, in nanoseconds; none before the first packet.
    pub fn processor_ns(&self) -> Option<f64> {
        let packets = self.received.account.counters().packets_received;
        (packets > 0).then(|| self.received.processor.as_nanos() as f64 / packets as f64)
    }

    /// Where packets were lost. The counters of a sender's host are the host's, with other traffic: they explain no more than
    /// is missing.
    pub fn losses(&self) -> LossBreakdown {
        let mut losses = losses::join(&LossCounts {
            sequence: self.packets().lost,
            receiver: self.received.losses,
            host: self.received.host,
            numbered: true,
            ..LossCounts::default()
        });
        losses.explain(LossLocation::Sender, self.lost_at_senders());
        losses
    }

    /// What the senders' hosts say they lost of all they sent meanwhile.
    pub fn lost_at_senders(&self) -> u64 {
        self.sent.iter().fold(0, |sum, report| sum.saturating_add(report.losses.sum()))
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.received.account.seconds();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

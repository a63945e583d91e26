//! What a sender's report says was sent to this node.

use evforge_lab::link::train::SentReport;
use evforge_pipeline::report::grouped;
use evforge_train::assembly::AssemblyCounters;
use evforge_train::node::ModulePort;
use serde_json::{Value, json};
use std::path::Path;

/// What was sent to the ports of this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SentHere {
    datagrams: u64,
    /// Trains sent without any damage; none where modules send to several nodes, as reports do not say which trains each got.
    undamaged: Option<u64>,
}

impl SentHere {
    /// Reads a report. Why it cannot be read is said in a sentence: what was received is worth its report nevertheless.
    pub(super) fn read(path: &Path, modules: &[ModulePort]) -> Result<Self, String> {
        let report = SentReport::read(path).map_err(|error| error.to_string())?;
        let is_here = |port: u16| modules.iter().any(|module| module.port == port);
        let mut here = Self { datagrams: 0, undamaged: Some(0) };
        let mut is_named = false;
        for module in &report.modules {
            let nodes = module.nodes.iter().filter(|node| is_here(node.destination.port()));
            let (count, datagrams) =
                nodes.fold((0, 0), |(count, sum), node| (count + 1, sum + node.datagrams));
            is_named |= count > 0;
            here.datagrams += datagrams;
            let undamaged = module.counters.get("trains_undamaged").copied();
            here.undamaged = if count == module.nodes.len() {
                here.undamaged.zip(undamaged).map(|(sum, one)| sum + one)
            } else {
                None
            };
        }
        if !is_named {
            return Err(format!(
                "{}: nothing was sent to the ports of this node: is it the report of this run?",
                path.display()
            ));
        }
        Ok(here)
    }

    /// What did not come, in sentences.
    pub(super) fn missing(&self, received: &AssemblyCounters) -> Vec<String> {
        let mut findings = Vec::new();
        if self.datagrams != received.packets_received {
            let (sent, came) = (grouped(self.datagrams), grouped(received.packets_received));
            findings.push(format!("{sent} packets were sent to here, and {came} came"));
        }
        if let Some(undamaged) = self.undamaged.filter(|undamaged| *undamaged != received.trains_good) {
            let (sent, came) = (grouped(undamaged), grouped(received.trains_good));
            findings.push(format!("{sent} trains were sent to here without damage, and {came} are good"));
        }
        findings
    }

    /// As JSON.
    pub(super) fn json(&self) -> Value {
        json!({"packets": self.datagrams, "trains_undamaged": self.undamaged})
    }
}

//! Who runs on which logical core.

use evforge_host::cores::to_list;
use std::collections::BTreeSet;
use std::fmt;

/// Which logical core each has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    /// The kernel's work on incoming packets: those of the card's interrupt; none if it is not known where it is.
    pub interrupt: BTreeSet<usize>,
    /// The sender, if it is on this host.
    pub sender: Option<usize>,
    /// The thread that receives all streams.
    pub receiver: usize,
    /// The worker of each stream, in order.
    pub workers: Vec<usize>,
}

impl Assignment {
    /// Options of `evforge drop receive`.
    pub fn options(&self) -> String {
        format!("--workers --cores {} --worker-cores {}", self.receiver, self.workers_text())
    }

    /// The workers' cores, separated by commas.
    pub fn workers_text(&self) -> String {
        self.workers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    }

    /// The interrupt's cores as a list; `unknown` if there is none.
    pub fn interrupt_text(&self) -> String {
        match self.interrupt.is_empty() {
            true => "unknown".to_owned(),
            false => to_list(&self.interrupt),
        }
    }

    /// How many streams there are.
    pub fn streams(&self) -> usize {
        self.workers.len()
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = if self.workers.len() == 1 { "worker" } else { "workers" };
        write!(
            f,
            "interrupt {}, receiver {}, {workers} {}",
            self.interrupt_text(),
            self.receiver,
            self.workers_text()
        )
    }
}

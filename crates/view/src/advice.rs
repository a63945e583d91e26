//! What to look at while no packets come: the newest findings about the host.

use crate::lock::lock;
use crate::protocol::AdviceState;
use evforge_outputs::{HostAdvice, HostFinding};
use std::sync::{Arc, Mutex};

/// More would not be read.
const MOST: usize = 5;

/// Whom to ask, and what was found last.
#[derive(Debug)]
pub(crate) struct Advice {
    pub(crate) of: Option<Arc<dyn HostAdvice>>,
    told: Mutex<Vec<AdviceState>>,
}

impl Advice {
    pub(crate) fn new(of: Option<Arc<dyn HostAdvice>>) -> Self {
        Self { of, told: Mutex::default() }
    }

    /// What was found; nothing while packets come.
    pub(crate) fn told(&self) -> Vec<AdviceState> {
        lock(&self.told).clone()
    }

    /// Takes the newest findings in the place of those before.
    pub(crate) fn tell(&self, findings: Vec<HostFinding>) {
        *lock(&self.told) = findings.into_iter().take(MOST).map(of_finding).collect();
    }
}

fn of_finding(finding: HostFinding) -> AdviceState {
    let HostFinding { subject, found, wanted, fix } = finding;
    AdviceState { subject, found, wanted, fix }
}

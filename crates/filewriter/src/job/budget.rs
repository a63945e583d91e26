//! What jobs may take: a start of few kilobytes can ask for more memory and disk than there is, and ends the jobs next to it then.

use super::error::JobError;
use crate::file::Cost;
use std::sync::{Arc, Mutex, PoisonError};

/// What a job may take: 3300 logs with their alarms, or 200 banks of events, in their usual chunks.
const OF_JOB: Cost = Cost { modules: 10_000, bytes: 2 << 30 };
/// What all jobs of a writer may take together.
const OF_ALL: Cost = Cost { modules: 2 * OF_JOB.modules, bytes: 2 * OF_JOB.bytes };

/// What all jobs of a writer take.
#[derive(Debug, Default)]
pub struct Budget(Mutex<Cost>);

/// The part of a job, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    cost: Cost,
}

impl Budget {
    /// The part of a job that has nothing yet.
    ///
    /// # Errors
    /// If it asks for more than a job may take, or than the others leave.
    pub(super) fn take(self: &Arc<Self>, cost: Cost) -> Result<Share, JobError> {
        let refuse = |what: String| Err(JobError::Structure(what));
        if let Some((found, most)) = excess(cost, OF_JOB) {
            return refuse(format!(
                "the structure asks for {found}, where a job may take {most}: give smaller chunk_size, shapes and arrays, or fewer modules"
            ));
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let with_others = sum(*all, cost);
        if let Some((found, most)) = excess(with_others, OF_ALL) {
            return refuse(format!(
                "with the jobs that run it would be {found}, where all together may take {most}: start it when another one has ended"
            ));
        }
        *all = with_others;
        Ok(Share { budget: Arc::clone(self), cost })
    }

    /// The part of a job whose file is there: it was allowed once.
    pub(super) fn hold(self: &Arc<Self>, cost: Cost) -> Share {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *all = sum(*all, cost);
        Share { budget: Arc::clone(self), cost }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = self.budget.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.modules = all.modules.saturating_sub(self.cost.modules);
        all.bytes = all.bytes.saturating_sub(self.cost.bytes);
    }
}

fn sum(one: Cost, other: Cost) -> Cost {
    Cost { modules: one.modules + other.modules, bytes: one.bytes.saturating_add(other.bytes) }
}

/// What is too much, and what would not be.
fn excess(cost: Cost, most: Cost) -> Option<(String, String)> {
    let mib = |bytes: u64| format!("{} MiB", bytes.div_ceil(1 << 20));
    if cost.modules > most.modules {
        return Some((format!("{} modules", cost.modules), most.modules.to_string()));
    }
    let found = format!("{} of memory and of the disk in {} modules", mib(cost.bytes), cost.modules);
    (cost.bytes > most.bytes).then(|| (found, mib(most.bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Base, FilePlan, Storage};
    use crate::structure::{self, RunTimes};
    use serde_json::{Value, json};

    #[test]
    fn jobs_together_take_no_more_than_all_may_and_give_it_back() {
        let budget = Arc::new(Budget::default());
        let jobs = [budget.take(OF_JOB).unwrap(), budget.take(OF_JOB).unwrap()];
        let one = Cost { modules: 1, bytes: 1 };
        let why = budget.take(one).unwrap_err().to_string();
        assert!(why.contains("20001 modules") && why.contains("another one has ended"), "{why}");
        let no_module = budget.take(Cost { modules: 0, bytes: 1 << 20 }).unwrap_err().to_string();
        assert!(no_module.contains("4097 MiB"), "{no_module}");
        // One whose file is there goes on.
        let held = budget.hold(one);
        drop((jobs, held));
        assert_eq!(*budget.0.lock().unwrap(), Cost::default());
        assert!(budget.take(Cost { bytes: OF_JOB.bytes + 1, ..one }).is_err() && budget.take(one).is_ok());
    }

    #[test]
    fn a_large_instrument_with_usual_chunks_is_no_large_job() {
        let module = |kind: &str, number: usize| {
            let config = json!({"topic": "t", "source": format!("{kind}-{number}")});
            json!({"type": "group", "name": format!("{kind}-{number}"), "children": [{"module": kind, "config": config}]})
        };
        let logs = (0..3000).map(|number| module("f144", number));
        let children: Vec<Value> = logs.chain((0..60).map(|number| module("ev44", number))).collect();
        let plan = FilePlan {
            path: "nowhere/run.nxs".into(),
            base: Base::Nothing,
            structure: structure::parse(&json!({ "children": children }).to_string()).unwrap(),
            times: RunTimes { start_ms: 0, stop_ms: None },
            storage: Storage::default(),
        };
        let cost = plan.cost(0).unwrap();
        assert_eq!(cost.modules, 3 * 3000 + 60);
        Arc::new(Budget::default()).take(cost).unwrap();
        assert!(cost.bytes > 1 << 30, "{cost:?}: the chunks count");
    }
}

//! The place of the run that is asked: there may be one, none, and then another.

use crate::control::{Control, Refusal, RunFacts};
use std::sync::{Arc, PoisonError, RwLock};

/// Which run is asked now. Clones are the same place.
#[derive(Clone, Default)]
pub struct ControlSlot {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// What is known without a run.
    facts: RunFacts,
    run: RwLock<Option<Arc<dyn Control>>>,
}

impl std::fmt::Debug for ControlSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlSlot").field("has_run", &self.run().is_ok()).finish_non_exhaustive()
    }
}

impl ControlSlot {
    /// Without a run. As long as there is none, `facts` say which program is asked and how it is configured.
    pub fn new(facts: RunFacts) -> Self {
        Self { shared: Arc::new(Shared { facts, run: RwLock::default() }) }
    }

    /// With this run.
    pub fn of(run: Arc<dyn Control>) -> Self {
        let slot = Self::new(run.facts().clone());
        slot.set(Some(run));
        slot
    }

    /// From now on this run is asked, or none.
    pub fn set(&self, run: Option<Arc<dyn Control>>) {
        *self.shared.run.write().unwrap_or_else(PoisonError::into_inner) = run;
    }

    /// The run that is asked.
    ///
    /// # Errors
    /// [`Refusal::NoRun`] if there is none at the moment.
    pub fn run(&self) -> Result<Arc<dyn Control>, Refusal> {
        // Nobody holds the lock while a run answers.
        self.shared.run.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Refusal::NoRun)
    }

    /// What is known of the run, or of the program if there is none.
    pub fn facts(&self) -> RunFacts {
        self.run().map_or_else(|_| self.shared.facts.clone(), |run| run.facts().clone())
    }
}

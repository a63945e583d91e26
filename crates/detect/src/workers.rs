//! Threads that share the work of a step.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Does several pieces of work at the same time.
pub trait Workers: Send + Sync + std::fmt::Debug {
    /// How many pieces are worked on at the same time.
    fn count(&self) -> usize;

    /// Does `work` for each number below `pieces` once, in any order, and returns when all is done.
    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync));

    /// Does `work` on this thread, while the others are ready for the pieces that it has for them.
    fn attend(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// Does one piece after the other on the thread that asks: as if there were this many threads.
#[derive(Clone, Copy, Debug)]
pub struct InTurn(pub usize);

impl Workers for InTurn {
    fn count(&self) -> usize {
        self.0
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).for_each(work);
    }
}

/// What one worker at a time has. Nobody waits for it: pieces of work are dealt out once.
#[derive(Debug, Default, get_size2::GetSize)]
pub(crate) struct OfOneWorker<T>(Mutex<T>);

impl<T> OfOneWorker<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// For the worker whose it is.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // If another piece has panicked, its panic comes out of `Workers::run`.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Between steps, when there are no workers.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

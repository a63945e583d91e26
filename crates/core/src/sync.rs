//! Locks, conditions and flags of what several threads share: those of the standard library, or, in models, those of loom.
//!
//! A model (`make models`, with `--cfg loom`) runs a few steps of two or three threads in every order that the memory model of C++ allows, the
//! reordered stores of an ARM processor among them. What a model is to see must come from here.
//!
//! No time passes in a model: who waits for a condition does so until it is told, so that a forgotten notification is a deadlock there and
//! not a delay. A wait of no time returns at once in both.

#[cfg(loom)]
pub use self::modelled::Condvar;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
#[cfg(loom)]
pub use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
mod modelled {
    use super::MutexGuard;
    use std::sync::{LockResult, PoisonError};
    use std::time::Duration;

    /// As that of the standard library, in a model.
    #[derive(Debug)]
    pub struct Condvar(loom::sync::Condvar);

    impl Default for Condvar {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Condvar {
        /// One that nobody waits for.
        pub fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        /// Wakes one of those who wait.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all who wait.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }

        /// Waits until it is told.
        pub fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            time: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, ())> {
            if time.is_zero() {
                return Ok((guard, ()));
            }
            Ok((self.0.wait(guard).unwrap_or_else(PoisonError::into_inner), ()))
        }

        /// Waits while `condition` holds.
        pub fn wait_timeout_while<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            time: Duration,
            mut condition: impl FnMut(&mut T) -> bool,
        ) -> LockResult<(MutexGuard<'a, T>, ())> {
            while !time.is_zero() && condition(&mut *guard) {
                guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            Ok((guard, ()))
        }
    }
}

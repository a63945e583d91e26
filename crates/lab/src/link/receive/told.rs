//! What is told of a link while it is received, from thread to thread.

use super::{Arrivals, Dropped, LinkAccount, LinkProgress, StreamLosses};
use evforge_net::session::{Attend, SessionProgress};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often accounts are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// What is told of a link while it is received.
#[derive(Debug)]
pub(super) struct Told<A> {
    packets: AtomicU64,
    bytes: AtomicU64,
    irregularities: AtomicU64,
    /// Dropped on the way to a worker.
    dropped: AtomicU64,
    dropped_bytes: AtomicU64,
    /// Somebody wants to see the account.
    is_asked: AtomicBool,
    /// Somebody wants to see what its receiver lost.
    losses_are_asked: AtomicBool,
    shown: Mutex<Option<Box<A>>>,
    losses: Mutex<StreamLosses>,
}

impl<A> Default for Told<A> {
    fn default() -> Self {
        Self {
            packets: AtomicU64::default(),
            bytes: AtomicU64::default(),
            irregularities: AtomicU64::default(),
            dropped: AtomicU64::default(),
            dropped_bytes: AtomicU64::default(),
            is_asked: AtomicBool::default(),
            losses_are_asked: AtomicBool::default(),
            shown: Mutex::default(),
            losses: Mutex::default(),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: LinkAccount> Told<A> {
    /// Tells what an account has counted; some nanoseconds.
    pub(super) fn tell(&self, account: &A) {
        self.packets.store(account.packets(), Ordering::Relaxed);
        self.bytes.store(account.bytes(), Ordering::Relaxed);
        self.irregularities.store(account.irregularities(), Ordering::Relaxed);
    }

    /// Tells what was dropped on the way to a worker.
    pub(super) fn tell_dropped(&self, dropped: &Dropped) {
        self.dropped.store(dropped.packets, Ordering::Relaxed);
        self.dropped_bytes.store(dropped.bytes, Ordering::Relaxed);
    }

    /// Shows the account if somebody has asked for it: that copies it.
    pub(super) fn show_if_asked(&self, account: &A) {
        if self.is_asked.swap(false, Ordering::Relaxed) {
            *lock(&self.shown) = Some(Box::new(account.clone()));
        }
    }

    /// Tells what was lost if somebody has asked for it: `losses` may have to ask the kernel.
    pub(super) fn tell_losses_if_asked(&self, losses: impl FnOnce() -> StreamLosses) {
        if self.losses_are_asked.swap(false, Ordering::Relaxed) {
            *lock(&self.losses) = losses();
        }
    }

    /// What was dropped so far on the way to a worker; not when.
    fn dropped(&self) -> Dropped {
        Dropped {
            packets: self.dropped.load(Ordering::Relaxed),
            bytes: self.dropped_bytes.load(Ordering::Relaxed),
            arrivals: Arrivals::default(),
        }
    }
}

/// Watches all links in the caller's thread.
pub(super) struct Watcher<'a, A, W, S> {
    told: &'a [Told<A>],
    shows_accounts: bool,
    asked: Instant,
    watch: W,
    show: S,
}

impl<'a, A, W, S> Watcher<'a, A, W, S>
where
    A: LinkAccount,
    W: FnMut(&LinkProgress),
    S: FnMut(usize, &mut A, &Dropped, StreamLosses),
{
    /// Has `watch` and `show` called, the second only if accounts are to be shown.
    pub(super) fn new(told: &'a [Told<A>], shows_accounts: bool, watch: W, show: S) -> Self {
        Self { told, shows_accounts, asked: Instant::now(), watch, show }
    }

    /// Says how it goes, and shows the accounts that have been asked for.
    pub(super) fn attend(&mut self, progress: &SessionProgress<'_>) -> Attend {
        let sum = |what: fn(&Told<A>) -> &AtomicU64| -> u64 {
            self.told.iter().map(|told| what(told).load(Ordering::Relaxed)).sum()
        };
        (self.watch)(&LinkProgress {
            elapsed: progress.elapsed,
            packets: sum(|told| &told.packets) + sum(|told| &told.dropped),
            bytes: sum(|told| &told.bytes) + sum(|told| &told.dropped_bytes),
            irregularities: sum(|told| &told.irregularities),
        });
        if self.shows_accounts && self.asked.elapsed() >= SHOWN_EVERY {
            self.asked = Instant::now();
            for told in self.told {
                told.losses_are_asked.store(true, Ordering::Relaxed);
                told.is_asked.store(true, Ordering::Relaxed);
            }
        }
        for (number, told) in self.told.iter().enumerate() {
            let shown = lock(&told.shown).take();
            if let Some(mut account) = shown {
                let losses = *lock(&told.losses);
                (self.show)(number, &mut account, &told.dropped(), losses);
            }
        }
        Attend::Pause
    }
}

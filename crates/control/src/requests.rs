//! What the thread that forms events is asked for: requests that wait, and wishes that are flags.
//!
//! That thread looks at a flag before each slab, and waits for nobody. Whatever was asked for before it looked is done then; whatever comes
//! later sets the flag again.

use evforge_core::sync::{AtomicBool, AtomicU32, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Nothing is done any more.
    Ended,
    /// So many wait already.
    Full(usize),
}

/// Requests in the order in which they came.
#[derive(Debug)]
pub struct Requests<R> {
    /// Whether anything is in the queue.
    asked: AtomicBool,
    queue: Mutex<Queue<R>>,
    most: usize,
}

#[derive(Debug)]
struct Queue<R> {
    requests: VecDeque<R>,
    has_ended: bool,
}

impl<R> Requests<R> {
    /// Of which at most so many wait.
    pub fn new(most: usize) -> Self {
        let queue = Queue { requests: VecDeque::new(), has_ended: false };
        Self { asked: AtomicBool::new(false), queue: Mutex::new(queue), most }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<R>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a request behind those that wait.
    ///
    /// # Errors
    /// If nothing is done any more, or too many wait.
    pub fn put(&self, request: R) -> Result<(), NotTaken> {
        let mut queue = self.lock();
        if queue.has_ended {
            return Err(NotTaken::Ended);
        }
        if queue.requests.len() >= self.most {
            return Err(NotTaken::Full(self.most));
        }
        queue.requests.push_back(request);
        self.asked.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether there is something to be done: the look before each slab.
    #[inline]
    pub fn are_there(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Has `serve` do all of them, without the lock: nobody who asks waits for what is done.
    pub fn serve(&self, mut serve: impl FnMut(R)) {
        // Before the first is taken: one that comes behind the last sets it again.
        self.asked.store(false, Ordering::Relaxed);
        loop {
            let Some(request) = self.lock().requests.pop_front() else { break };
            serve(request);
        }
    }

    /// Nothing is done any more: what waits is dropped, and nothing is taken.
    pub fn end(&self) {
        let mut queue = self.lock();
        queue.has_ended = true;
        queue.requests.clear();
    }
}

/// Wishes that need no answer, and are the same however often they are said: a copy of what was gathered, and to begin again.
///
/// All are in one word: with a flag for each, one who sees a flag that two have set sees what only one of them has set before it.
#[derive(Debug)]
pub struct Wishes(AtomicU32);

const COPY: u32 = 1;
const FORGET: u32 = 2;

/// What was wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wished {
    /// What has been gathered is to be forgotten before it is copied.
    pub forget: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self(AtomicU32::new(0))
    }
}

impl Wishes {
    /// A copy is wanted.
    pub fn ask(&self) {
        self.0.fetch_or(COPY, Ordering::Relaxed);
    }

    /// What was gathered is to be forgotten, and a copy of what is there then is wanted.
    pub fn forget(&self) {
        self.0.fetch_or(COPY | FORGET, Ordering::Relaxed);
    }

    /// What has been wished for since this was called last; none if nothing.
    #[inline]
    pub fn take(&self) -> Option<Wished> {
        // Mostly there is nothing, and reading costs no other core anything.
        if self.0.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let wished = self.0.swap(0, Ordering::Relaxed);
        (wished != 0).then_some(Wished { forget: wished & FORGET != 0 })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_served_in_order_up_to_the_end() {
        let requests = Requests::new(2);
        assert!(!requests.are_there());
        assert_eq!(
            (requests.put(1), requests.put(2), requests.put(3)),
            (Ok(()), Ok(()), Err(NotTaken::Full(2)))
        );
        assert!(requests.are_there());
        let mut served = Vec::new();
        requests.serve(|request| served.push(request));
        assert_eq!(served, [1, 2]);
        assert!(!requests.are_there());
        requests.end();
        assert_eq!(requests.put(4), Err(NotTaken::Ended));
    }

    #[test]
    fn wishes_are_taken_once() {
        let wishes = Wishes::default();
        assert_eq!(wishes.take(), None);
        wishes.ask();
        wishes.ask();
        assert_eq!((wishes.take(), wishes.take()), (Some(Wished { forget: false }), None));
        wishes.forget();
        assert_eq!((wishes.take(), wishes.take()), (Some(Wished { forget: true }), None));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::thread;
    use std::sync::Arc;

    /// A request that was put before the last look is served, and each once; one that comes during it is seen at the next look.
    #[test]
    fn no_request_is_forgotten() {
        loom::model(|| {
            let requests = Arc::new(Requests::new(8));
            let asking = Arc::clone(&requests);
            let asks = thread::spawn(move || (1..=2).for_each(|request| asking.put(request).unwrap()));
            let mut served = Vec::new();
            // As the forming thread does, which comes by from time to time.
            if requests.are_there() {
                requests.serve(|request| served.push(request));
            }
            asks.join().unwrap();
            if requests.are_there() {
                requests.serve(|request| served.push(request));
            }
            assert_eq!(served, [1, 2]);
        });
    }

    /// To forget is never taken for a mere copy, and never gets lost behind one.
    #[test]
    fn no_wish_is_forgotten() {
        loom::model(|| {
            let wishes = Arc::new(Wishes::default());
            let (forgetting, asking) = (Arc::clone(&wishes), Arc::clone(&wishes));
            let forgets = thread::spawn(move || forgetting.forget());
            let asks = thread::spawn(move || asking.ask());
            let first = wishes.take();
            forgets.join().unwrap();
            asks.join().unwrap();
            let second = wishes.take();
            let taken: Vec<Wished> = first.into_iter().chain(second).collect();
            assert!(!taken.is_empty());
            assert_eq!(taken.iter().filter(|wished| wished.forget).count(), 1, "{taken:?}");
        });
    }
}

//! Work that may take its time, in threads of its own: pictures and answers go on meanwhile.

use tokio::sync::{Semaphore, oneshot};

/// Threads at a time, for requests that a run answers, readings of the host, looks of scripts; other work waits.
pub(crate) const MOST_THREADS: usize = 16;
static PLACES: Semaphore = Semaphore::const_new(MOST_THREADS);

/// The work was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotDone {
    /// The system gives no thread. It may in a moment.
    #[error("the system gives no further thread now: ask again later")]
    NoThread,
    /// It panicked, and has said so itself.
    #[error("the work for it has failed: please report this")]
    Panicked,
}

/// Does `work` in a thread. (Tokio's own threads for this end the page's thread if the system gives none.)
///
/// # Errors
/// If it was not done.
pub(crate) async fn at_work<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotDone> {
    // Never closed.
    let place = PLACES.acquire().await.map_err(|_| NotDone::NoThread)?;
    let (give, take) = oneshot::channel();
    let thread = std::thread::Builder::new().name("page work".into()).spawn(move || {
        let _place = place;
        // Whoever asked may have gone.
        let _ = give.send(work());
    });
    thread.map_err(|_| NotDone::NoThread)?;
    take.await.map_err(|_| NotDone::Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_and_a_panic_is_only_its_own() {
        assert_eq!(at_work(|| 7).await, Ok(7));
        assert_eq!(at_work(|| assert!(std::hint::black_box(false))).await, Err(NotDone::Panicked));
        // More than there are places, one after the other.
        for number in 0..2 * MOST_THREADS {
            assert_eq!(at_work(move || number).await, Ok(number));
        }
    }
}

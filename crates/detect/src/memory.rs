//! Working memory that is there before the first packet comes.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether memory is written to when it is taken.
static TOUCHES: AtomicBool = AtomicBool::new(false);

/// From now on, a detector that is built writes to its working memory once: the system provides pages at the first touch, and that
/// must not happen while packets wait. Those of a file wait for nobody, and a run over one takes only the pages that it uses.
pub fn touch_in_advance() {
    TOUCHES.store(true, Ordering::Relaxed);
}

/// An empty vector with room for `capacity` elements.
pub(crate) fn room_for<T: Clone>(element: T, capacity: usize) -> Vec<T> {
    let mut vector = Vec::with_capacity(capacity);
    if TOUCHES.load(Ordering::Relaxed) {
        vector.resize(capacity, element);
        vector.clear();
    }
    vector
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Pages that this thread was given so far.
    fn page_faults() -> u64 {
        let about = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux");
        let (_, numbers) = about.rsplit_once(')').expect("a name in parentheses");
        numbers.split_whitespace().nth(7).and_then(|count| count.parse().ok()).expect("a number")
    }

    fn faults_of_a_large_vector() -> u64 {
        let before = page_faults();
        let vector = room_for(1_u64, 8 << 20);
        assert!(vector.is_empty() && vector.capacity() >= 8 << 20);
        page_faults() - before
    }

    #[test]
    fn pages_are_there_in_advance_only_where_that_is_asked_for() {
        let without = faults_of_a_large_vector();
        touch_in_advance();
        // Large pages are 2 MB, and the vector 64 MB.
        let with = faults_of_a_large_vector();
        assert!(without < 16 && with >= 32, "{without} page faults, and {with}");
    }
}

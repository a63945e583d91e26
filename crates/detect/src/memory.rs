//! Working memory that is there before the first packet comes.

/// An empty vector whose memory has been written to once: the system provides pages at the first touch, and
/// that must not happen while packets wait.
pub(crate) fn touched<T: Clone>(element: T, capacity: usize) -> Vec<T> {
    let mut vector = vec![element; capacity];
    vector.clear();
    vector
}

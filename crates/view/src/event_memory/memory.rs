//! The chunks of a stream, as many as there is room for.

use super::chunk::Chunk;
use crate::lock::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How far somebody has read a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Number of the next chunk.
    chunk: u64,
    /// Events before it.
    events: u64,
}

/// What has come since a position.
#[derive(Debug, Default)]
pub(crate) struct NewChunks {
    pub(crate) chunks: Vec<Arc<Chunk>>,
    /// Events that had come and were gone before they were read.
    pub(crate) missed: u64,
}

/// The newest chunks of a stream: one writer, any number of readers.
#[derive(Debug)]
pub(crate) struct EventMemory {
    most_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: VecDeque<Arc<Chunk>>,
    bytes: usize,
    /// Number of the oldest chunk.
    first: u64,
}

impl EventMemory {
    /// Room for chunks of `most_bytes` together.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, kept: Mutex::default() }
    }

    /// Adds the newest chunk; the oldest ones go where there is no room.
    pub(super) fn add(&self, chunk: Chunk) {
        let bytes = chunk.bytes();
        let chunk = Arc::new(chunk);
        // Freed after the lock: readers and the writer wait for pointers only.
        let mut gone = Vec::new();
        let mut kept = lock(&self.kept);
        while kept.bytes + bytes > self.most_bytes {
            let Some(oldest) = kept.chunks.pop_front() else { break };
            kept.bytes -= oldest.bytes();
            kept.first += 1;
            gone.push(oldest);
        }
        kept.bytes += bytes;
        kept.chunks.push_back(chunk);
        drop(kept);
    }

    /// The position from which everything that is kept is read.
    pub(crate) fn oldest(&self) -> Position {
        let kept = lock(&self.kept);
        Position { chunk: kept.first, events: kept.chunks.front().map_or(0, |chunk| chunk.first_event) }
    }

    /// What has come since `position`, at most `most` chunks, and the position behind it.
    pub(crate) fn since(&self, position: &mut Position, most: usize) -> NewChunks {
        let kept = lock(&self.kept);
        let from = position.chunk.max(kept.first);
        let chunks: Vec<_> =
            kept.chunks.iter().skip((from - kept.first) as usize).take(most).cloned().collect();
        drop(kept);
        let Some((first, last)) = chunks.first().zip(chunks.last()) else { return NewChunks::default() };
        let missed = first.first_event.saturating_sub(position.events);
        *position =
            Position { chunk: from + chunks.len() as u64, events: last.first_event + last.len() as u64 };
        NewChunks { chunks, missed }
    }

    /// When the oldest kept chunk came, in milliseconds since the Unix epoch; none if nothing has come.
    pub(crate) fn oldest_ms(&self) -> Option<u64> {
        lock(&self.kept).chunks.front().map(|chunk| chunk.opened_ms)
    }

    /// True if the first event that came is still there, or none has come.
    pub(crate) fn is_whole(&self) -> bool {
        lock(&self.kept).chunks.front().is_none_or(|chunk| chunk.first_event == 0)
    }

    /// Events that are kept.
    pub(crate) fn events(&self) -> u64 {
        let kept = lock(&self.kept);
        let ends = kept.chunks.front().zip(kept.chunks.back());
        ends.map_or(0, |(first, last)| last.first_event + last.len() as u64 - first.first_event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(first_event: u64, events: usize) -> Chunk {
        let opened_ms = 1000 + first_event;
        Chunk {
            first_event,
            opened_ms,
            pixels: vec![1; events],
            flights_ns: vec![5; events],
            ..Chunk::default()
        }
    }

    #[test]
    fn the_oldest_chunks_go_and_who_had_not_read_them_knows_how_many_events_those_were() {
        let memory = EventMemory::new(3 * chunk(0, 10).bytes());
        let mut early = memory.oldest();
        assert!(memory.is_whole());
        for number in 0..5 {
            memory.add(chunk(10 * number, 10));
        }
        assert_eq!((memory.events(), memory.oldest_ms(), memory.is_whole()), (30, Some(1020), false));
        let mut whole = memory.oldest();
        let new = memory.since(&mut early, 2);
        assert_eq!((new.missed, new.chunks.len(), new.chunks[0].first_event), (20, 2, 20));
        let new = memory.since(&mut early, 2);
        assert_eq!((new.missed, new.chunks.len()), (0, 1));
        assert!(memory.since(&mut early, 2).chunks.is_empty());
        assert_eq!(memory.since(&mut whole, 9).missed, 0);
        assert_eq!(whole, early);
    }

    #[test]
    fn a_chunk_that_is_larger_than_the_memory_is_alone_in_it() {
        let memory = EventMemory::new(1);
        memory.add(chunk(0, 10));
        memory.add(chunk(10, 20));
        assert_eq!((memory.events(), memory.oldest_ms()), (20, Some(1010)));
    }
}

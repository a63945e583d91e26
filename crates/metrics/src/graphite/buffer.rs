//! Blocks of lines that wait to be sent, and those that were sent just now.
//!
//! The protocol of carbon has no answers: what was written to a connection that then breaks may or may not have arrived. So
//! what was written within the last [`KEPT`] is kept, and sent again over the next connection. A value that carbon gets twice
//! replaces itself, because its time is the same.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// For so long what was sent is kept: longer than the system tries to deliver it before it breaks the connection
/// (`sender.rs`, `UNDELIVERED`).
pub(super) const KEPT: Duration = Duration::from_secs(15);

evforge_core::counters! {
    /// Counters of sending to Graphite.
    pub struct GraphiteCounters: "graphite" {
        lines_sent: Information, Times, "Lines written to a connection, each the first time.";
        lines_sent_again: Information, Times, "Lines written once more after a connection broke, because nobody knows whether they had arrived.";
        lines_dropped: Information, Times, "Lines dropped, the oldest first, because Graphite was away for longer than the buffer lasts, or at the end of the run.";
        lines_waiting: Now, Times, "Lines that wait to be sent.";
        graphite_connections: Information, Times, "Connections made.";
        graphite_connections_lost: Information, Times, "Connections that broke.";
        graphite_attempts_failed: Information, Times, "Attempts to connect that failed.";
    }
}

/// Lines of one interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) text: Arc<str>,
    lines: u64,
    was_sent: bool,
}

/// What waits and what was sent just now; all times are of one clock that never goes back.
#[derive(Debug)]
pub(super) struct Buffer {
    waiting: VecDeque<Block>,
    sent: VecDeque<(Duration, Block)>,
    bytes: usize,
    most_bytes: usize,
    pub(super) counters: GraphiteCounters,
}

impl Buffer {
    /// Holds at most that many bytes, and one block in any case.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            bytes: 0,
            most_bytes,
            counters: GraphiteCounters::default(),
        }
    }

    /// Adds a block. What was sent makes room first, then the oldest that waits.
    pub(super) fn push(&mut self, text: &str) {
        let lines = text.lines().count() as u64;
        self.bytes += text.len();
        self.waiting.push_back(Block { text: text.into(), lines, was_sent: false });
        while self.bytes > self.most_bytes {
            if let Some((_, block)) = self.sent.pop_front() {
                self.bytes -= block.text.len();
            } else if self.waiting.len() > 1 {
                self.drop_oldest();
            } else {
                break;
            }
        }
        self.count_waiting();
    }

    fn drop_oldest(&mut self) {
        if let Some(block) = self.waiting.pop_front() {
            self.bytes -= block.text.len();
            // What was sent already most likely arrived.
            if !block.was_sent {
                self.counters.lines_dropped += block.lines;
            }
        }
    }

    /// The next block to be sent.
    pub(super) fn next(&self) -> Option<Block> {
        self.waiting.front().cloned()
    }

    /// The block that was next has been written whole at `now`. Does nothing if it made room for others meanwhile.
    pub(super) fn written(&mut self, block: &Block, now: Duration) {
        while self.sent.front().is_some_and(|(at, _)| now.saturating_sub(*at) > KEPT) {
            self.bytes -= self.sent.pop_front().map_or(0, |(_, block)| block.text.len());
        }
        let lines = block.lines;
        match self.waiting.front() {
            Some(front) if Arc::ptr_eq(&front.text, &block.text) => {
                if let Some(mut block) = self.waiting.pop_front() {
                    block.was_sent = true;
                    self.sent.push_back((now, block));
                }
            }
            // It was dropped while it was written, and counted so.
            _ if !block.was_sent => self.counters.lines_dropped -= lines,
            _ => {}
        }
        let count =
            if block.was_sent { &mut self.counters.lines_sent_again } else { &mut self.counters.lines_sent };
        *count += lines;
        self.count_waiting();
    }

    /// The connection broke at `now`: what was sent within [`KEPT`] waits again, before everything else.
    pub(super) fn connection_lost(&mut self, now: Duration) {
        self.counters.graphite_connections_lost += 1;
        while let Some((at, block)) = self.sent.pop_back() {
            if now.saturating_sub(at) <= KEPT {
                self.waiting.push_front(block);
            } else {
                self.bytes -= block.text.len();
            }
        }
        self.count_waiting();
    }

    /// It is over: what still waits is dropped, and counted.
    pub(super) fn give_up(&mut self) {
        while !self.waiting.is_empty() {
            self.drop_oldest();
        }
        self.count_waiting();
    }

    /// Nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn count_waiting(&mut self) {
        self.counters.lines_waiting = self.waiting.iter().map(|block| block.lines).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn send(buffer: &mut Buffer, now: Duration) -> Option<String> {
        let block = buffer.next()?;
        buffer.written(&block, now);
        Some(block.text.to_string())
    }

    #[test]
    fn what_was_sent_just_now_is_sent_again_after_a_break_and_what_is_older_is_not() {
        let mut buffer = Buffer::new(1000);
        for (second, text) in [(1, "a\n"), (20, "b\n"), (21, "c\n")] {
            buffer.push(text);
            assert_eq!(send(&mut buffer, at(second)).as_deref(), Some(text));
        }
        buffer.push("d\n");
        buffer.connection_lost(at(30));
        let again: Vec<_> = std::iter::from_fn(|| send(&mut buffer, at(31))).collect();
        assert_eq!(again, ["b\n", "c\n", "d\n"]);
        let counters = buffer.counters;
        assert_eq!((counters.lines_sent, counters.lines_sent_again, counters.lines_dropped), (4, 2, 0));
    }

    #[test]
    fn what_is_too_much_is_dropped_the_oldest_first_and_counted() {
        let mut buffer = Buffer::new(8);
        for text in ["a\n", "b\nb\n", "c\n", "d\n", "e\n"] {
            buffer.push(text);
        }
        assert_eq!((buffer.counters.lines_dropped, buffer.counters.lines_waiting), (3, 3));
        assert_eq!(buffer.next().map(|block| block.text.to_string()).as_deref(), Some("c\n"));
        buffer.give_up();
        assert_eq!((buffer.counters.lines_dropped, buffer.bytes), (6, 0));
    }

    #[test]
    fn a_single_block_always_has_room() {
        let mut buffer = Buffer::new(1);
        buffer.push("long\n");
        assert_eq!(send(&mut buffer, at(1)).as_deref(), Some("long\n"));
    }

    proptest! {
        /// Whatever happens, every line was sent, waits or was dropped, and the bytes are those that are there.
        #[test]
        fn every_line_is_somewhere(steps in prop::collection::vec((0_u8..5, 1_usize..4), 1..200)) {
            let mut buffer = Buffer::new(30);
            let (mut made, mut now, mut writing) = (0_u64, Duration::ZERO, None);
            for (step, lines) in steps {
                now += Duration::from_secs(lines as u64);
                match step {
                    0 | 1 => {
                        made += lines as u64;
                        buffer.push(&"line\n".repeat(lines));
                    }
                    2 => writing = buffer.next(),
                    3 => if let Some(block) = writing.take() { buffer.written(&block, now) },
                    _ => {
                        writing = None;
                        buffer.connection_lost(now);
                    }
                }
                let fresh: u64 = buffer.waiting.iter().filter(|block| !block.was_sent).map(|block| block.lines).sum();
                let counters = buffer.counters;
                prop_assert_eq!(counters.lines_sent + counters.lines_dropped + fresh, made);
                let kept = buffer.waiting.iter().chain(buffer.sent.iter().map(|(_, block)| block));
                prop_assert_eq!(buffer.bytes, kept.map(|block| block.text.len()).sum::<usize>());
                prop_assert!(buffer.bytes <= 30 || buffer.waiting.len() == 1);
            }
        }
    }
}

//! A window that slides over a file: the bytes of one record, in one piece.

use std::io::{self, Read};

/// Bytes read ahead at once. Few where files are made by a fuzzer, which are short: their ends are met more often, and no time is
/// spent on memory.
pub(super) const READ_AHEAD: usize = if cfg!(fuzzing) { 4096 } else { 1 << 20 };

/// The bytes of an input from the current position on, as many as have been asked for.
pub(super) struct Window {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: u64,
}

impl Window {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, buffer: vec![0; READ_AHEAD], start: 0, end: 0, position: 0 }
    }

    /// Where in the input the window begins.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What has been read from the current position on.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reads until `count` bytes are in the window or the input ends; returns how many there are. Memory grows
    /// with what there is, not with what a damaged length asks for; the caller bounds `count`.
    pub(super) fn require(&mut self, count: usize) -> io::Result<usize> {
        if self.end - self.start >= count {
            return Ok(self.end - self.start);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < count {
            if self.end == self.buffer.len() {
                // Not beyond what is asked for: twice the largest record would be a lot.
                let most = count.next_multiple_of(READ_AHEAD);
                self.buffer.resize((2 * self.buffer.len()).min(most), 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end)
    }

    /// Moves on by `count` bytes, all of which must be in the window.
    pub(super) fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time and is interrupted now and then.
    struct Dribble(u32);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.0 > 40 {
                return Ok(0);
            }
            buffer[0] = self.0 as u8;
            Ok(1)
        }
    }

    /// Found by fuzzing: a length that is not true cost as much memory and time as if it were.
    #[test]
    fn memory_grows_with_the_input_and_not_with_what_is_asked_for() {
        let input = std::io::repeat(7).take(3 * READ_AHEAD as u64);
        let mut window = Window::new(Box::new(input));
        assert_eq!(window.require(64 * READ_AHEAD).unwrap(), 3 * READ_AHEAD);
        assert_eq!(window.buffer.len(), 4 * READ_AHEAD);
        assert!(window.bytes().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn small_reads_are_gathered_and_the_end_is_seen() {
        let mut window = Window::new(Box::new(Dribble(0)));
        assert_eq!(window.require(4).unwrap(), 4);
        assert_eq!(window.bytes(), [1, 2, 4, 5]);
        window.advance(3);
        assert_eq!(window.require(2).unwrap(), 2);
        assert_eq!((window.bytes(), window.position()), (&[5, 7][..], 3));
        assert!(window.require(READ_AHEAD + 1).unwrap() < 40);
    }
}

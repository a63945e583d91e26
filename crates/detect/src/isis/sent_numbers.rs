//! Which of the last numbers of a board's frames have been seen: all messages of a frame have the same.

/// Numbers before the newest that are remembered.
const REMEMBERED: u32 = 128;

/// The newest number, and which of those before it have been seen.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub struct SentNumbers {
    newest: Option<u32>,
    /// The latest time of a frame.
    latest_ns: u64,
    /// Bit n is the number n before the newest.
    seen: u128,
}

impl SentNumbers {
    /// True the first time that the number of a frame of this time comes. One that is far from the newest counts as new, and one
    /// behind it that is of a later time: the board has started over.
    #[inline]
    pub fn is_new(&mut self, number: u32, time_ns: u64) -> bool {
        let Some(newest) = self.newest else {
            (self.newest, self.seen, self.latest_ns) = (Some(number), 1, time_ns);
            return true;
        };
        let behind = newest.wrapping_sub(number);
        let is_later = time_ns > self.latest_ns;
        self.latest_ns = self.latest_ns.max(time_ns);
        if behind < REMEMBERED && !is_later {
            let is_new = self.seen & (1 << behind) == 0;
            self.seen |= 1 << behind;
            return is_new;
        }
        let ahead = number.wrapping_sub(newest);
        self.seen = if ahead < REMEMBERED { self.seen << ahead | 1 } else { 1 };
        self.newest = Some(number);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut numbers = SentNumbers::default();
        let mut new = |number| numbers.is_new(number, 0);
        assert!(new(u32::MAX - 1) && !new(u32::MAX - 1));
        assert!(new(1) && new(0) && new(u32::MAX) && !new(0) && !new(u32::MAX - 1));
        assert!(new(1_000_000) && !new(1_000_000) && new(1_000_127) && !new(1_000_000) && new(1_000_001));
        // A board that has started over: at the same number, and at one before.
        let mut new = |number, time| numbers.is_new(number, time);
        assert!(new(1_000_127, 5) && !new(1_000_127, 5) && new(1_000_120, 6) && new(1_000_121, 7));
    }
}

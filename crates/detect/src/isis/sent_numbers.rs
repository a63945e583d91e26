//! Which of the last numbers of a board's frames have been seen: all messages of a frame have the same.

/// Numbers before the newest that are remembered.
const REMEMBERED: u32 = 128;

/// The newest number, and which of those before it have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentNumbers {
    newest: Option<u32>,
    /// Bit n is the number n before the newest.
    seen: u128,
}

impl SentNumbers {
    /// True the first time that a number comes. One that is far from the newest counts as new.
    #[inline]
    pub fn is_new(&mut self, number: u32) -> bool {
        let Some(newest) = self.newest else {
            (self.newest, self.seen) = (Some(number), 1);
            return true;
        };
        let behind = newest.wrapping_sub(number);
        if behind < REMEMBERED {
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
        let mut new = |number| numbers.is_new(number);
        assert!(new(u32::MAX - 1) && !new(u32::MAX - 1));
        assert!(new(1) && new(0) && new(u32::MAX) && !new(0) && !new(u32::MAX - 1));
        assert!(new(1_000_000) && !new(1_000_000) && new(1_000_127) && !new(1_000_000) && new(1_000_001));
    }
}

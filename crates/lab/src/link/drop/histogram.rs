//! How often each 16-bit word occurred.

/// Rows and columns: the upper byte of a word is its row, the lower one its column (XDP paper, chapter on long
/// duration tests).
pub const SIDE: usize = 256;

/// Different words.
pub const WORDS: usize = SIDE * SIDE;

/// Counts of all 16-bit words of the payloads of a stream. A word is two successive bytes of one payload, the upper
/// one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordHistogram {
    counts: Box<[u64; WORDS]>,
    odd_bytes: u64,
}

impl Default for WordHistogram {
    fn default() -> Self {
        let counts = vec![0; WORDS].into_boxed_slice();
        // As long as it must be.
        let counts = counts.try_into().unwrap_or_else(|_| Box::new([0; WORDS]));
        Self { counts, odd_bytes: 0 }
    }
}

impl WordHistogram {
    /// Counts the words of one payload. A last byte without a partner is counted for itself.
    #[inline]
    pub fn count(&mut self, payload: &[u8]) {
        let (words, rest) = payload.as_chunks::<2>();
        for word in words {
            self.counts[usize::from(u16::from_be_bytes(*word))] += 1;
        }
        self.odd_bytes += rest.len() as u64;
    }

    /// Counts each word from `first` to `last` this often more; counts that do not fit are the largest there is.
    pub fn add(&mut self, first: u16, last: u16, count: u64) {
        for word in first..=last {
            let known = &mut self.counts[usize::from(word)];
            *known = known.saturating_add(count);
        }
    }

    /// The counts, that of word 0 first.
    pub fn counts(&self) -> &[u64; WORDS] {
        &self.counts
    }

    /// Last bytes without a partner, which are in no count.
    pub fn odd_bytes(&self) -> u64 {
        self.odd_bytes
    }

    /// All words counted.
    pub fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_upper_byte_first_and_odd_bytes_are_apart() {
        let mut histogram = WordHistogram::default();
        histogram.count(&[0x12, 0x34, 0x12, 0x34, 0xFF, 0xFF, 7]);
        histogram.count(&[]);
        assert_eq!(histogram.counts()[0x1234], 2);
        assert_eq!(histogram.counts()[0xFFFF], 1);
        assert_eq!((histogram.sum(), histogram.odd_bytes()), (3, 1));
    }
}

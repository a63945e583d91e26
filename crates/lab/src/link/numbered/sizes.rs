//! Sizes of packets: one, several in turn, or a mixture.

use evforge_core::packet::LARGEST_PAYLOAD;
use evforge_core::quantity::ByteSize;
use evforge_wire::numbered::NumberedLayout;
use std::fmt;
use std::str::FromStr;

/// The smallest packet of all layouts.
const SMALLEST: usize = NumberedLayout::Udptx.header_bytes();
/// Longest list, with all repetitions.
const MOST: usize = 65_536;

/// Payload sizes of successive packets, from the beginning again when all have had their turn.
///
/// As text: sizes with commas between them, each with the number of packets before it if it is not one:
/// `7x64B,1472B` is seven packets of 64 bytes and one of 1472.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    runs: Vec<(usize, usize)>,
    turn: usize,
}

/// A text is no list of sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// A size that no packet can have.
    #[error(
        "a numbered packet of {0} bytes is impossible: {SMALLEST} bytes, those of a header, to {LARGEST_PAYLOAD} bytes"
    )]
    Size(u64),
    /// No or too many packets.
    #[error("a list has sizes of 1 to {MOST} packets")]
    Count,
    /// The text is something else.
    #[error("`{0}` is no size: expected sizes as in 1472B or 64B,9kB or 7x64B,1472B")]
    Text(String),
}

impl Sizes {
    /// Packets of one size.
    ///
    /// # Errors
    /// If no packet can have it.
    pub fn all(size: usize) -> Result<Self, SizesError> {
        Self::new(vec![(1, size)])
    }

    fn new(runs: Vec<(usize, usize)>) -> Result<Self, SizesError> {
        if let Some(&(_, size)) = runs.iter().find(|(_, size)| !(SMALLEST..=LARGEST_PAYLOAD).contains(size)) {
            return Err(SizesError::Size(size as u64));
        }
        let turn = runs.iter().try_fold(0_usize, |sum, &(count, _)| sum.checked_add(count));
        match turn {
            Some(turn) if (1..=MOST).contains(&turn) && runs.iter().all(|&(count, _)| count > 0) => {
                Ok(Self { runs, turn })
            }
            _ => Err(SizesError::Count),
        }
    }

    /// The size of the packet with this number.
    pub fn of(&self, packet: u64) -> usize {
        // A turn has at most 65 536 packets.
        let mut place = (packet % self.turn as u64) as usize;
        for &(count, size) in &self.runs {
            if place < count {
                return size;
            }
            place -= count;
        }
        SMALLEST
    }

    /// The largest one.
    pub fn largest(&self) -> usize {
        self.runs.iter().map(|&(_, size)| size).max().unwrap_or(SMALLEST)
    }

    /// The smallest one.
    pub fn smallest(&self) -> usize {
        self.runs.iter().map(|&(_, size)| size).min().unwrap_or(SMALLEST)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        let bytes: usize = self.runs.iter().map(|&(count, size)| count * size).sum();
        bytes as f64 / self.turn as f64
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (count, size)) in self.runs.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match count {
                1 => write!(f, "{comma}{size}B")?,
                _ => write!(f, "{comma}{count}x{size}B")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let wrong = || SizesError::Text(text.to_owned());
        let runs = text.split(',').map(|part| {
            let (count, size) = match part.split_once('x') {
                Some((count, size)) => (count.trim().parse().map_err(|_| wrong())?, size),
                None => (1, part),
            };
            let size = size.trim().parse::<ByteSize>().map_err(|_| wrong())?.bytes;
            Ok((count, usize::try_from(size).map_err(|_| SizesError::Size(size))?))
        });
        Self::new(runs.collect::<Result<_, SizesError>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_follow_one_another_in_turn() {
        let sizes: Sizes = "2x64B, 1472B".parse().unwrap();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|packet| sizes.of(packet)), [64, 64, 1472, 64, 64, 1472]);
        assert_eq!(
            (sizes.largest(), sizes.mean(), sizes.to_string().as_str()),
            (1472, 1600.0 / 3.0, "2x64B,1472B")
        );
        assert_eq!("9kB".parse(), Sizes::all(9000));
    }

    #[test]
    fn impossible_lists_are_explained() {
        let explained = |text: &str| text.parse::<Sizes>().unwrap_err().to_string();
        assert!(explained("3B").contains("4 bytes"), "{}", explained("3B"));
        assert!(explained("70kB").contains("65507"));
        assert!(explained("0x64B").contains("1 to 65536 packets"));
        assert!(explained("65537x64B").contains("1 to 65536 packets"));
        for wrong in ["", "64", "x64B", "64B,", "many"] {
            assert!(explained(wrong).contains("expected sizes"), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_a_list_or_an_error(text in "[0-9xkB,. ]{0,20}") {
            if let Ok(sizes) = text.parse::<Sizes>() {
                prop_assert_eq!(sizes.to_string().parse(), Ok(sizes));
            }
        }
    }
}

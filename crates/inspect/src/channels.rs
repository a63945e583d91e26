//! Which numbers were seen: of channels, and ranges of values.

use std::fmt;

/// Channels that are told apart; larger ones are seen as the largest.
const MOST: usize = 4096;

/// A set of channel numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    words: Vec<u64>,
}

impl Channels {
    /// Adds a channel.
    pub fn insert(&mut self, channel: u16) {
        let channel = usize::from(channel).min(MOST - 1);
        let place = channel / 64;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        self.words[place] |= 1 << (channel % 64);
    }

    /// The channels in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        let in_word = |(place, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| (64 * place + bit) as u16)
        };
        self.words.iter().enumerate().flat_map(in_word)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The least and the largest one.
    pub fn ends(&self) -> Option<(u16, u16)> {
        Some((self.iter().next()?, self.iter().last()?))
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ends() {
            None => f.write_str("no channel"),
            Some((only, last)) if only == last => write!(f, "channel {only}"),
            Some((first, last)) => write!(f, "channels {first}-{last} ({} of them)", self.len()),
        }
    }
}

/// The least and the largest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span(Option<(u64, u64)>);

impl Span {
    /// Takes a value.
    pub fn take(&mut self, value: impl Into<u64>) {
        let value = value.into();
        let (least, largest) = self.0.unwrap_or((value, value));
        self.0 = Some((least.min(value), largest.max(value)));
    }

    /// The least and the largest one.
    pub fn ends(self) -> Option<(u64, u64)> {
        self.0
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some((only, largest)) if only == largest => write!(f, "{only}"),
            Some((least, largest)) => write!(f, "{least}-{largest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_counted_and_shown_with_their_range() {
        let mut channels = Channels::default();
        assert_eq!((channels.to_string().as_str(), channels.ends()), ("no channel", None));
        channels.insert(61);
        assert_eq!(channels.to_string(), "channel 61");
        for channel in [3, 61, 64, u16::MAX] {
            channels.insert(channel);
        }
        assert_eq!(channels.iter().collect::<Vec<_>>(), [3, 61, 64, 4095]);
        assert_eq!(channels.to_string(), "channels 3-4095 (4 of them)");
    }

    #[test]
    fn a_span_has_its_ends() {
        let mut span = Span::default();
        assert_eq!(span.to_string(), "none");
        span.take(5_u16);
        assert_eq!(span.to_string(), "5");
        span.take(2_u32);
        assert_eq!((span.to_string().as_str(), span.ends()), ("2-5", Some((2, 5))));
    }
}

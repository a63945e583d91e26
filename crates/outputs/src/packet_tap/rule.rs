//! Which packets an output wants.

use evforge_core::packet::PacketOrigin;
use std::collections::HashMap;
use std::net::SocketAddr;

/// Streams that are counted one by one; all further ones are counted together.
const STREAMS: usize = 4096;

/// Of every so many packets of a stream the first few. A stream is what comes from one address and port to one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRule {
    every: u64,
    consecutive: u64,
}

impl SampleRule {
    /// All packets.
    pub const ALL: Self = Self { every: 1, consecutive: 1 };

    /// Of `every` packets the first `consecutive` ones.
    ///
    /// # Errors
    /// If one of them is 0, or there are more to be taken than packets; in words for a person.
    pub fn new(every: u64, consecutive: u64) -> Result<Self, String> {
        if every == 0 || consecutive == 0 || consecutive > every {
            return Err(format!(
                "of every {every} packets the first {consecutive} cannot be taken: both numbers must be 1 or more, and the \
                 second at most the first; 1000 and 1 take one packet in a thousand, 1 and 1 take all"
            ));
        }
        Ok(Self { every, consecutive })
    }

    /// True if it takes every packet.
    pub fn is_all(self) -> bool {
        self.every == self.consecutive
    }
}

/// Applies a rule to packets. What it chooses depends on the packets of each stream alone, and not on how streams interleave or
/// how packets are cut into slabs.
#[derive(Debug)]
pub(super) struct Choice {
    rule: SampleRule,
    /// The first one is of all streams that are too many.
    streams: Vec<Stream>,
    places: HashMap<(SocketAddr, u16), usize>,
    /// Where the last packet was counted: the next one is likely of the same stream.
    last: usize,
}

#[derive(Debug)]
struct Stream {
    from_to: Option<(SocketAddr, u16)>,
    /// The place of its next packet among `every`.
    place: u64,
}

impl Choice {
    pub(super) fn new(rule: SampleRule) -> Self {
        Self { rule, streams: vec![Stream { from_to: None, place: 0 }], places: HashMap::new(), last: 0 }
    }

    /// True if the next packet, which has this origin, is chosen.
    pub(super) fn takes(&mut self, origin: &PacketOrigin) -> bool {
        if self.rule.is_all() {
            return true;
        }
        let from_to = (origin.source, origin.destination_port);
        if self.streams[self.last].from_to != Some(from_to) {
            self.last = self.find(from_to);
        }
        let stream = &mut self.streams[self.last];
        let takes = stream.place < self.rule.consecutive;
        stream.place = if stream.place + 1 == self.rule.every { 0 } else { stream.place + 1 };
        takes
    }

    fn find(&mut self, from_to: (SocketAddr, u16)) -> usize {
        if let Some(&place) = self.places.get(&from_to) {
            return place;
        }
        if self.streams.len() > STREAMS {
            return 0;
        }
        self.streams.push(Stream { from_to: Some(from_to), place: 0 });
        self.places.insert(from_to, self.streams.len() - 1);
        self.streams.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(address: [u8; 4], port: u16) -> PacketOrigin {
        PacketOrigin { source: (address, 9000).into(), destination_port: port, ..PacketOrigin::default() }
    }

    #[test]
    fn each_stream_is_counted_by_itself_however_they_interleave() {
        let mut choice = Choice::new(SampleRule::new(4, 2).unwrap());
        let (one, two) = (origin([10, 0, 0, 1], 9000), origin([10, 0, 0, 1], 9001));
        let taken: Vec<bool> =
            [one, one, two, one, one, two, two, one].iter().map(|of| choice.takes(of)).collect();
        assert_eq!(taken, [true, true, true, false, false, true, false, true]);
    }

    #[test]
    fn spoofed_sources_take_no_more_memory_than_the_table_and_are_counted_together() {
        let mut choice = Choice::new(SampleRule::new(1000, 1).unwrap());
        let taken =
            (0..100_000u32).filter(|number| choice.takes(&origin(number.to_be_bytes(), 9000))).count();
        assert_eq!(choice.streams.len(), STREAMS + 1);
        assert_eq!(taken, STREAMS + (100_000 - STREAMS).div_ceil(1000));
    }

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        for (every, consecutive) in [(0, 0), (0, 1), (1, 0), (3, 4)] {
            assert!(SampleRule::new(every, consecutive).unwrap_err().contains("1000 and 1"));
        }
        assert!(SampleRule::ALL.is_all() && SampleRule::new(7, 7).unwrap().is_all());
        assert!(!SampleRule::new(7, 6).unwrap().is_all());
    }
}

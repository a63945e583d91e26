//! Whose trains come over TCP, and how far each is in its sequence.

use super::settings::{AssemblySettings, TrainContent};
use super::train_numbers::TrainNumbers;
use std::collections::HashMap;

/// A sender and one of its modules, as its streams say. It may come back in another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamSource {
    pub(crate) sender: u64,
    pub(crate) module: u8,
}

/// What is known of a source.
#[derive(Debug)]
pub(crate) struct Line {
    /// The place in its sequence that comes next; none before its first train.
    pub(crate) next: Option<u64>,
    pub(crate) numbers: Option<TrainNumbers>,
    /// Connections that it has at this moment.
    connections: usize,
    /// When it was used last, in the order of all uses.
    used: u64,
}

/// The sources, twice as many as there may be connections: those without one make room, the one first that was used least lately.
#[derive(Debug)]
pub(crate) struct StreamSources {
    lines: HashMap<StreamSource, Line>,
    most: usize,
    uses: u64,
    forgotten: u64,
    settings: AssemblySettings,
}

impl StreamSources {
    pub(crate) fn new(settings: AssemblySettings) -> Self {
        let most = settings.sources.saturating_mul(2);
        Self { lines: HashMap::with_capacity(most), most, uses: 0, forgotten: 0, settings }
    }

    /// A connection says that it is of this source.
    pub(crate) fn enter(&mut self, source: StreamSource) {
        if self.lines.len() >= self.most && !self.lines.contains_key(&source) {
            let idle = self.lines.iter().filter(|(_, line)| line.connections == 0);
            let oldest = idle.min_by_key(|(_, line)| line.used).map(|(source, _)| *source);
            self.forgotten += u64::from(oldest.and_then(|oldest| self.lines.remove(&oldest)).is_some());
        }
        self.line(source).connections += 1;
    }

    /// The connection has ended.
    pub(crate) fn leave(&mut self, source: StreamSource) {
        let line = self.line(source);
        line.connections = line.connections.saturating_sub(1);
    }

    /// What is known of a source that has a connection.
    pub(crate) fn line(&mut self, source: StreamSource) -> &mut Line {
        self.uses += 1;
        let used = self.uses;
        let numbers = || match self.settings.content {
            TrainContent::Images(images) => {
                images.stride.map(|stride| TrainNumbers::new(stride, images.largest_gap))
            }
            TrainContent::Packets(_) => None,
        };
        let line = self.lines.entry(source).or_insert_with(|| Line {
            next: None,
            numbers: numbers(),
            connections: 0,
            used,
        });
        line.used = used;
        line
    }

    /// How many are known, and how many made room for another one.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.lines.len() as u64, self.forgotten]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_wire::train::TrainDetector;

    #[test]
    fn those_without_a_connection_make_room_and_those_with_one_stay() {
        let settings = AssemblySettings { sources: 2, ..AssemblySettings::new(TrainDetector::Lpd, 1) };
        let mut sources = StreamSources::new(settings);
        let source = |sender| StreamSource { sender, module: 1 };
        sources.enter(source(0));
        sources.line(source(0)).next = Some(7);
        for sender in 1..1000 {
            sources.enter(source(sender));
            sources.line(source(sender)).next = Some(sender);
            sources.leave(source(sender));
        }
        assert_eq!(sources.counts(), [4, 996]);
        assert_eq!((sources.line(source(0)).next, sources.line(source(999)).next), (Some(7), Some(999)));
        sources.enter(source(5));
        assert_eq!(sources.line(source(5)).next, None, "it has been forgotten");
    }
}

//! What came from each source: who loses packets, and when.

use crate::assembly::{AssembledTrain, PacketFate, TrainOutcome, TrainSource};
use std::collections::HashMap;
use std::ops::Range;

/// The first trains of a source that are looked at packet by packet.
const FIRST_TRAINS: usize = 64;
/// Ranges of missing packets that are kept of the first trains of a source, together. Of the first 1000 packets no more than 500 ranges
/// can be missing, and some where a train ends.
const HOLES: usize = 1024;

/// Packets and trains of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Trains that are whole and good.
    pub trains_good: u64,
    /// Trains that are whole and of no use.
    pub trains_rejected: u64,
    /// Trains that are not whole.
    pub trains_incomplete: u64,
    /// Packets that are in one of these trains.
    pub packets_in_trains: u64,
    /// Packets that their open train had already.
    pub packets_repeated: u64,
    /// Packets of trains that had been closed.
    pub packets_late: u64,
    /// Packets that are of no use.
    pub packets_rejected: u64,
}

/// One of the first trains of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstTrain {
    /// Number of its frame.
    pub frame: u32,
    /// Packets that are there.
    pub packets: u32,
    /// Packets up to its last one, or up to the last one seen: those behind it did not come.
    pub span: u32,
    /// Ranges of packets that are missing, in their order, as far as is known.
    pub missing: Vec<Range<u32>>,
    /// Below this packet all that are missing are known: `span`; less if there are too many ranges; 0 if an incomplete train was dropped.
    pub known: u32,
}

/// What came from one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceReport {
    /// Who.
    pub source: TrainSource,
    /// How much.
    pub counts: SourceCounts,
    /// Its first 64 trains, in the order in which they were closed.
    pub first_trains: Vec<FirstTrain>,
}

impl SourceCounts {
    /// All packets that came.
    pub const fn packets(&self) -> u64 {
        self.packets_in_trains + self.packets_repeated + self.packets_late + self.packets_rejected
    }

    fn add(&mut self, train: &AssembledTrain) {
        let report = train.report();
        self.packets_in_trains += u64::from(report.packets);
        match report.outcome {
            TrainOutcome::Good => self.trains_good += 1,
            TrainOutcome::Incomplete(_) => self.trains_incomplete += 1,
            TrainOutcome::WrongContent(_) | TrainOutcome::WrongNumber(_) => self.trains_rejected += 1,
        }
    }

    fn note(&mut self, fate: PacketFate) {
        match fate {
            // It counts with its train.
            PacketFate::Used => {}
            PacketFate::Repeated => self.packets_repeated += 1,
            PacketFate::Late => self.packets_late += 1,
            PacketFate::Rejected(_) => self.packets_rejected += 1,
        }
    }
}

/// All sources of a receiving thread, as many as may be; others are added up.
#[derive(Debug)]
pub(super) struct BySource {
    all: Vec<SourceReport>,
    places: HashMap<TrainSource, usize>,
    most: usize,
    further: SourceCounts,
}

impl BySource {
    /// Up to so many sources.
    pub(super) fn new(most: usize) -> Self {
        let places = HashMap::with_capacity(most);
        Self { all: Vec::with_capacity(most), places, most, further: SourceCounts::default() }
    }

    /// A packet that is in no train.
    #[cold]
    pub(super) fn note(&mut self, source: TrainSource, fate: PacketFate) {
        match self.place(source) {
            Some(place) => self.all[place].counts.note(fate),
            None => self.further.note(fate),
        }
    }

    /// A train that was closed.
    pub(super) fn close(&mut self, train: &AssembledTrain) {
        let Some(place) = self.place(train.report().source) else { return self.further.add(train) };
        let source = &mut self.all[place];
        source.counts.add(train);
        if source.first_trains.len() < FIRST_TRAINS {
            let kept = source.first_trains.iter().map(|train| train.missing.len()).sum();
            source.first_trains.push(first(train, HOLES.saturating_sub(kept)));
        }
    }

    fn place(&mut self, source: TrainSource) -> Option<usize> {
        if let Some(place) = self.places.get(&source) {
            return Some(*place);
        }
        if self.all.len() == self.most {
            return None;
        }
        let place = self.all.len();
        self.all.push(SourceReport { source, counts: SourceCounts::default(), first_trains: Vec::new() });
        self.places.insert(source, place);
        Some(place)
    }

    /// The sources, in the order in which they came, and what came from others.
    pub(super) fn end(self) -> (Vec<SourceReport>, SourceCounts) {
        (self.all, self.further)
    }
}

/// What is kept of one of the first trains, with at most so many ranges.
fn first(train: &AssembledTrain, most: usize) -> FirstTrain {
    let report = train.report();
    let (frame, packets, span) = (report.frame, report.packets, report.packets + report.missing);
    if report.missing > 0 && train.bytes().is_none() {
        return FirstTrain { frame, packets, span, missing: Vec::new(), known: 0 };
    }
    let mut missing: Vec<_> = train.missing_packets().take(most + 1).collect();
    let left_out = if missing.len() > most { missing.pop() } else { None };
    FirstTrain { frame, packets, span, missing, known: left_out.map_or(span, |range| range.start) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::{Assembly, AssemblySettings, IncompletePolicy, PacketFault, TrainContent};
    use evforge_wire::train::PacketTrailer;

    /// An assembly of trains of so many packets with 8 bytes each.
    fn assembly(packets: u32, incomplete: IncompletePolicy) -> Assembly {
        let mut settings = AssemblySettings::new(evforge_wire::train::TrainDetector::Lpd, 1);
        (settings.content, settings.data_bytes) = (TrainContent::Packets(packets), 8);
        (settings.largest_train, settings.incomplete) = (8 * packets as usize, incomplete);
        Assembly::new(settings).expect("settings")
    }

    fn datagram(frame: u32, packet: u32, packets: u32) -> Vec<u8> {
        let (is_first, is_last) = (packet == 0, packet + 1 == packets);
        let trailer = PacketTrailer { frame, packet, is_first, is_last };
        [&[7; 8][..], &trailer.to_bytes()].concat()
    }

    /// Packets of frames in their order, as they come from a source, and what is kept of it.
    fn taken(packets: u32, policy: IncompletePolicy, come: &[(u32, u32)]) -> SourceReport {
        let (mut assembly, mut by_source) = (assembly(packets, policy), BySource::new(2));
        let source = TrainSource::Module(3);
        for (frame, packet) in come {
            let datagram = datagram(*frame, *packet, packets);
            let fate = assembly.take(source, 1, &datagram, &mut |train| {
                by_source.close(&train);
                train.into_buffer()
            });
            if fate != PacketFate::Used {
                by_source.note(source, fate);
            }
        }
        assembly.finish(2, &mut |train| {
            by_source.close(&train);
            train.into_buffer()
        });
        let (mut all, further) = by_source.end();
        let counters = assembly.counters();
        let report = all.remove(0);
        assert_eq!((report.counts.packets(), further), (counters.packets_received, SourceCounts::default()));
        assert_eq!(report.counts.trains_good, counters.trains_good);
        report
    }

    #[test]
    fn each_hole_of_the_first_trains_is_named_and_every_packet_counts_once() {
        let come = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 3), (1, 1), (1, 1), (1, 2)];
        let report = taken(4, IncompletePolicy::Mark, &come);
        let counts = report.counts;
        assert_eq!((counts.trains_good, counts.trains_incomplete), (1, 1));
        assert_eq!((counts.packets_in_trains, counts.packets_repeated, counts.packets_late), (6, 1, 1));
        let whole = FirstTrain { frame: 0, packets: 4, span: 4, missing: Vec::new(), known: 4 };
        let holes = FirstTrain { frame: 1, packets: 2, span: 4, missing: vec![0..1, 3..4], known: 4 };
        assert_eq!(report.first_trains, [whole, holes.clone()]);
        let dropped = taken(4, IncompletePolicy::Drop, &come);
        assert_eq!(dropped.first_trains[1], FirstTrain { missing: Vec::new(), known: 0, ..holes });
    }

    #[test]
    fn what_is_kept_is_bounded_and_says_how_far_it_goes() {
        let every_other: Vec<(u32, u32)> = (0..2000).map(|at| (0, 2 * at + 1)).collect();
        let report = taken(4000, IncompletePolicy::Mark, &every_other);
        let first = &report.first_trains[0];
        assert_eq!((first.missing.len(), first.known, first.span), (HOLES, 2 * HOLES as u32, 4000));
        let many: Vec<(u32, u32)> = (0..100).map(|frame| (frame, 0)).collect();
        let report = taken(1, IncompletePolicy::Mark, &many);
        assert_eq!((report.first_trains.len(), report.counts.trains_good), (FIRST_TRAINS, 100));
    }

    #[test]
    fn sources_beyond_the_most_are_added_up() {
        let mut by_source = BySource::new(2);
        for module in 0..5 {
            by_source.note(TrainSource::Module(module), PacketFate::Rejected(PacketFault::TooShort));
            by_source.note(TrainSource::Module(module), PacketFate::Late);
        }
        let (all, further) = by_source.end();
        assert_eq!((all.len(), further.packets(), further.packets_late), (2, 6, 3));
        assert!(all.iter().all(|report| report.counts.packets() == 2));
    }
}

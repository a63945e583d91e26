//! Several files as one: one after the other, or merged by their time stamps.

use std::path::Path;
use std::time::Duration;

use evforge_core::counter::CounterSnapshot;
use evforge_core::packet::{ArrivalClock, Packet, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};

/// A file with the packets that have been read ahead.
struct OpenFile {
    source: Box<dyn PacketSource>,
    slab: PacketSlab,
    next: usize,
    at_end: bool,
}

impl OpenFile {
    fn new(source: Box<dyn PacketSource>) -> Self {
        Self { source, slab: PacketSlab::new(1024, 2 << 20), next: 0, at_end: false }
    }

    /// Makes sure that a packet has been read, unless the file has none left.
    fn read_ahead(&mut self) -> Result<(), SourceError> {
        while self.next >= self.slab.len() && !self.at_end {
            self.slab.clear();
            self.next = 0;
            self.at_end = self.source.fill(&mut self.slab)? == Fill::End;
        }
        Ok(())
    }

    /// The next packet that has been read.
    fn peek(&self) -> Option<Packet<'_>> {
        self.slab.batch().get(self.next)
    }
}

/// Which packet comes next.
enum Order {
    OneByOne(Stamps),
    ByStamp,
}

/// Several files as one source.
pub struct JoinedFiles {
    files: Vec<OpenFile>,
    order: Order,
    /// The file that the last packet came from.
    current: usize,
    packets: u64,
}

impl JoinedFiles {
    /// The packets of all files, one file after the other, in the order given.
    ///
    /// Stamps never go back from one file to the next: a file whose first packet is stamped before the last packet of the
    /// file before it has all its stamps moved, so that it begins when the other one ends. Files of one recording, which
    /// follow one another, keep their stamps. With a `pause`, every further file begins so long after the last packet of
    /// the one before, whatever its stamps say.
    pub fn one_by_one(sources: Vec<Box<dyn PacketSource>>, pause: Option<Duration>) -> Self {
        Self::new(sources, Order::OneByOne(Stamps { pause, shift: None, last_ns: None }))
    }

    /// The packets of all files, of which each must have time stamps: the packet with the earliest stamp comes first, of
    /// equal ones that of the file named first. Packets of one file keep their order.
    pub fn by_stamp(sources: Vec<Box<dyn PacketSource>>) -> Self {
        Self::new(sources, Order::ByStamp)
    }

    fn new(sources: Vec<Box<dyn PacketSource>>, order: Order) -> Self {
        Self { files: sources.into_iter().map(OpenFile::new).collect(), order, current: 0, packets: 0 }
    }

    /// Makes the file with the next packet the current one; false if all are at their end.
    fn find_next(&mut self) -> Result<bool, SourceError> {
        match &mut self.order {
            Order::OneByOne(stamps) => {
                while let Some(file) = self.files.get_mut(self.current) {
                    file.read_ahead()?;
                    if file.peek().is_some() {
                        return Ok(true);
                    }
                    if self.current + 1 == self.files.len() {
                        break;
                    }
                    self.current += 1;
                    stamps.shift = None;
                }
                Ok(false)
            }
            Order::ByStamp => {
                let earliest = earliest(&mut self.files)?;
                self.current = earliest.unwrap_or(self.current);
                Ok(earliest.is_some())
            }
        }
    }
}

/// The stamps of files that are read one after the other.
struct Stamps {
    pause: Option<Duration>,
    /// What is added to the stamps of the current file, once its first stamp is known.
    shift: Option<i128>,
    last_ns: Option<u64>,
}

impl Stamps {
    /// The stamp of a packet of the current file.
    fn moved(&mut self, stamp_ns: u64) -> u64 {
        let stamp = i128::from(stamp_ns);
        let (pause, last) = (self.pause, self.last_ns);
        let shift = *self.shift.get_or_insert_with(|| match (last.map(i128::from), pause) {
            (None, _) => 0,
            (Some(last), Some(pause)) => last + i128::try_from(pause.as_nanos()).unwrap_or(0) - stamp,
            (Some(last), None) => (last - stamp).max(0),
        });
        // Saturates for stamps of the next centuries.
        let moved = u64::try_from((stamp + shift).max(0)).unwrap_or(u64::MAX);
        self.last_ns = self.last_ns.max(Some(moved));
        moved
    }
}

/// The file with the earliest packet; none if all are at their end.
fn earliest(files: &mut [OpenFile]) -> Result<Option<usize>, SourceError> {
    let mut earliest: Option<(u64, usize)> = None;
    for (number, file) in files.iter_mut().enumerate() {
        file.read_ahead()?;
        let Some(packet) = file.peek() else { continue };
        if packet.origin.arrival_clock == ArrivalClock::None {
            return Err(format!(
                "{} cannot be merged with other files: it has packets without a time stamp. Give the files one after the \
                 other",
                file.source.path().display()
            )
            .into());
        }
        let candidate = (packet.origin.arrival_ns, number);
        earliest = Some(earliest.map_or(candidate, |found| found.min(candidate)));
    }
    Ok(earliest.map(|(_, number)| number))
}

impl PacketSource for JoinedFiles {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        let before = slab.len();
        loop {
            match self.find_next() {
                Ok(true) => {}
                Ok(false) => return Ok(Fill::End),
                Err(_) if slab.len() > before => return Ok(Fill::More),
                Err(error) => return Err(error),
            }
            let file = &mut self.files[self.current];
            let Some(packet) = file.peek() else { continue };
            if !slab.has_room_for(packet.bytes.len()) {
                return Ok(Fill::More);
            }
            let mut origin = packet.origin;
            if let Order::OneByOne(stamps) = &mut self.order
                && origin.arrival_clock != ArrivalClock::None
            {
                origin.arrival_ns = stamps.moved(origin.arrival_ns);
            }
            slab.push(packet.bytes, packet.original_length as usize, origin);
            file.next += 1;
            self.packets += 1;
        }
    }

    fn path(&self) -> &Path {
        self.files.get(self.current).map_or(Path::new("no file"), |file| file.source.path())
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn position(&self) -> u64 {
        self.files.iter().map(|file| file.source.position()).sum()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.files.iter().map(|file| file.source.total_bytes()).sum()
    }

    fn stage(&self) -> &'static str {
        self.files.get(self.current).map_or("capture", |file| file.source.stage())
    }

    /// Those of all files together.
    fn counters(&self) -> CounterSnapshot {
        let all = self.files.iter().map(|file| file.source.counters());
        all.fold(CounterSnapshot::default(), |sum, counters| sum.merge(&counters))
    }

    fn is_stopped(&self) -> bool {
        self.files.iter().any(|file| file.source.is_stopped())
    }
}

#[cfg(test)]
mod tests {
    use evforge_core::packet::PacketOrigin;
    use evforge_testkit::properties::cases;
    use proptest::prelude::*;

    use super::*;
    use crate::capture::{CaptureReader, PcapngWriter};

    /// A capture with packets of these stamps, which tell their file and number.
    fn file(folder: &Path, number: usize, stamps: &[u64]) -> Box<dyn PacketSource> {
        let path = folder.join(format!("{number}.pcapng"));
        let mut writer = PcapngWriter::create(&path).unwrap();
        for (index, &arrival_ns) in stamps.iter().enumerate() {
            let bytes = [number as u8, index as u8];
            let arrival_clock = ArrivalClock::Capture;
            let origin = PacketOrigin { arrival_ns, arrival_clock, ..PacketOrigin::default() };
            writer.write(&Packet { bytes: &bytes, original_length: 2, origin }).unwrap();
        }
        writer.finish().unwrap();
        Box::new(CaptureReader::open(&path).unwrap())
    }

    /// File, number and stamp of all packets, read with a small slab.
    fn all(mut source: impl PacketSource) -> Vec<(u8, u8, u64)> {
        let mut slab = PacketSlab::new(3, 0);
        let mut found = Vec::new();
        loop {
            slab.clear();
            let fill = source.fill(&mut slab).unwrap();
            let packets = slab.batch();
            found.extend(packets.iter().map(|p| (p.bytes[0], p.bytes[1], p.origin.arrival_ns)));
            if fill == Fill::End {
                assert_eq!(source.packets(), found.len() as u64);
                assert_eq!(Some(source.position()), source.total_bytes());
                return found;
            }
        }
    }

    #[test]
    fn one_after_the_other_keeps_distances_and_never_goes_back() {
        let folder = tempfile::tempdir().unwrap();
        let files = || {
            [&[100, 200][..], &[250, 260], &[10, 30], &[]]
                .into_iter()
                .enumerate()
                .map(|(number, stamps)| file(folder.path(), number, stamps))
                .collect()
        };
        let stamps = |sequence| all(sequence).into_iter().map(|(_, _, stamp)| stamp).collect::<Vec<_>>();
        assert_eq!(stamps(JoinedFiles::one_by_one(files(), None)), [100, 200, 250, 260, 260, 280]);
        let pause = Some(Duration::from_nanos(7));
        assert_eq!(stamps(JoinedFiles::one_by_one(files(), pause)), [100, 200, 207, 217, 224, 244]);
        assert!(all(JoinedFiles::one_by_one(Vec::new(), None)).is_empty());
    }

    #[test]
    fn files_without_stamps_cannot_be_merged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pkts");
        std::fs::write(&path, [1, 0, 0, 0, 9]).unwrap();
        let unstamped = Box::new(CaptureReader::open(&path).unwrap());
        let mut merged = JoinedFiles::by_stamp(vec![file(folder.path(), 0, &[5]), unstamped]);
        let text = merged.fill(&mut PacketSlab::new(9, 0)).unwrap_err().to_string();
        assert!(text.contains("x.pkts cannot be merged"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(12)))]

        #[test]
        fn merged_files_have_every_packet_once_in_order_of_time(
            files in proptest::collection::vec(proptest::collection::vec(0..50_u64, 0..30), 1..5),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut expected = Vec::new();
            let mut sources = Vec::new();
            for (number, stamps) in files.iter().enumerate() {
                let mut stamps = stamps.clone();
                stamps.sort_unstable();
                sources.push(file(folder.path(), number, &stamps));
                let numbered = stamps.iter().enumerate();
                expected.extend(numbered.map(|(index, &stamp)| (number as u8, index as u8, stamp)));
            }
            expected.sort_by_key(|&(file, index, stamp)| (stamp, file, index));
            prop_assert_eq!(all(JoinedFiles::by_stamp(sources)), expected);
        }
    }
}

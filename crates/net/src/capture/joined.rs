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

/// What both kinds have in common.
#[derive(Default)]
struct Files {
    files: Vec<OpenFile>,
    /// The file that the last packet came from.
    current: usize,
    packets: u64,
}

impl Files {
    fn new(sources: Vec<Box<dyn PacketSource>>) -> Self {
        Self { files: sources.into_iter().map(OpenFile::new).collect(), ..Self::default() }
    }

    fn path(&self) -> &Path {
        self.files.get(self.current).map_or(Path::new("no file"), |file| file.source.path())
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

    fn counters(&self) -> CounterSnapshot {
        self.files.get(self.current).map(|file| file.source.counters()).unwrap_or_default()
    }

    fn is_stopped(&self) -> bool {
        self.files.iter().any(|file| file.source.is_stopped())
    }
}

/// Files read one after the other, in the order given.
///
/// Stamps never go back from one file to the next: a file whose first packet is stamped before the last packet of the
/// file before it has all its stamps moved, so that it begins when the other one ends. Files of one recording, which
/// follow one another, keep their stamps.
pub struct FileSequence {
    files: Files,
    pause: Option<Duration>,
    /// What is added to the stamps of the current file, once its first stamp is known.
    shift: Option<i128>,
    last_ns: Option<u64>,
}

impl FileSequence {
    /// The packets of all files. With a `pause`, every further file begins so long after the last packet of the one
    /// before, whatever its stamps say.
    pub fn new(sources: Vec<Box<dyn PacketSource>>, pause: Option<Duration>) -> Self {
        Self { files: Files::new(sources), pause, shift: None, last_ns: None }
    }

    /// The stamp of a packet of the current file.
    fn stamp(&mut self, stamp_ns: u64) -> u64 {
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

impl PacketSource for FileSequence {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        let before = slab.len();
        loop {
            let number = self.files.current;
            let Some(file) = self.files.files.get_mut(number) else { return Ok(Fill::End) };
            match file.read_ahead() {
                Ok(()) => {}
                Err(_) if slab.len() > before => return Ok(Fill::More),
                Err(error) => return Err(error),
            }
            let Some(packet) = file.peek() else {
                if number + 1 == self.files.files.len() {
                    return Ok(Fill::End);
                }
                self.files.current += 1;
                self.shift = None;
                continue;
            };
            if !slab.has_room_for(packet.bytes.len()) {
                return Ok(Fill::More);
            }
            let mut origin = packet.origin;
            let stamped = origin.arrival_clock != ArrivalClock::None;
            if stamped {
                origin.arrival_ns = self.stamp(origin.arrival_ns);
            }
            // Borrowed anew: the stamp needed the whole.
            if let Some(packet) = self.files.files[number].peek() {
                slab.push(packet.bytes, packet.original_length as usize, origin);
            }
            self.files.files[number].next += 1;
            self.files.packets += 1;
        }
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    fn packets(&self) -> u64 {
        self.files.packets
    }

    fn position(&self) -> u64 {
        self.files.position()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.files.total_bytes()
    }

    fn stage(&self) -> &'static str {
        self.files.stage()
    }

    /// Those of the current file.
    fn counters(&self) -> CounterSnapshot {
        self.files.counters()
    }

    fn is_stopped(&self) -> bool {
        self.files.is_stopped()
    }
}

/// Files read side by side: the packet with the earliest stamp comes first, of equal ones that of the file named first.
/// Packets of one file keep their order.
pub struct MergedFiles {
    files: Files,
}

impl MergedFiles {
    /// The packets of all files, of which each must have time stamps.
    pub fn new(sources: Vec<Box<dyn PacketSource>>) -> Self {
        Self { files: Files::new(sources) }
    }

    /// The file with the earliest packet; none if all are at their end.
    fn earliest(&mut self) -> Result<Option<usize>, SourceError> {
        let mut earliest: Option<(u64, usize)> = None;
        for (number, file) in self.files.files.iter_mut().enumerate() {
            file.read_ahead()?;
            let Some(packet) = file.peek() else { continue };
            if packet.origin.arrival_clock == ArrivalClock::None {
                return Err(format!(
                    "{} cannot be merged with other files: it has packets without a time stamp. Give the files one \
                     after the other",
                    file.source.path().display()
                )
                .into());
            }
            let candidate = (packet.origin.arrival_ns, number);
            earliest = Some(earliest.map_or(candidate, |found| found.min(candidate)));
        }
        Ok(earliest.map(|(_, number)| number))
    }
}

impl PacketSource for MergedFiles {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        let before = slab.len();
        loop {
            let number = match self.earliest() {
                Ok(Some(number)) => number,
                Ok(None) => return Ok(Fill::End),
                Err(_) if slab.len() > before => return Ok(Fill::More),
                Err(error) => return Err(error),
            };
            self.files.current = number;
            let file = &mut self.files.files[number];
            let Some(packet) = file.peek() else { continue };
            if !slab.push(packet.bytes, packet.original_length as usize, packet.origin) {
                return Ok(Fill::More);
            }
            file.next += 1;
            self.files.packets += 1;
        }
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    fn packets(&self) -> u64 {
        self.files.packets
    }

    fn position(&self) -> u64 {
        self.files.position()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.files.total_bytes()
    }

    fn stage(&self) -> &'static str {
        self.files.stage()
    }

    /// Those of the file that the last packet came from.
    fn counters(&self) -> CounterSnapshot {
        self.files.counters()
    }

    fn is_stopped(&self) -> bool {
        self.files.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use evforge_core::packet::PacketOrigin;
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
        assert_eq!(stamps(FileSequence::new(files(), None)), [100, 200, 250, 260, 260, 280]);
        let pause = Some(Duration::from_nanos(7));
        assert_eq!(stamps(FileSequence::new(files(), pause)), [100, 200, 207, 217, 224, 244]);
        assert!(all(FileSequence::new(Vec::new(), None)).is_empty());
    }

    #[test]
    fn files_without_stamps_cannot_be_merged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pkts");
        std::fs::write(&path, [1, 0, 0, 0, 9]).unwrap();
        let unstamped = Box::new(CaptureReader::open(&path).unwrap());
        let mut merged = MergedFiles::new(vec![file(folder.path(), 0, &[5]), unstamped]);
        let text = merged.fill(&mut PacketSlab::new(9, 0)).unwrap_err().to_string();
        assert!(text.contains("x.pkts cannot be merged"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

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
            prop_assert_eq!(all(MergedFiles::new(sources)), expected);
        }
    }
}

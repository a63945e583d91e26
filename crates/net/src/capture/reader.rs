//! Reading capture files into slabs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::packet::{ArrivalClock, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_core::quantity::grouped;

use super::counters::CaptureCounters;
use super::error::CaptureError;
use super::format::Format;
use super::pipe::{Pipe, is_stop};
use super::record::{Fault, Record};
use super::window::Window;

/// Reads the UDP packets of one capture file, in the order of the file.
pub struct CaptureReader {
    path: PathBuf,
    window: Window,
    /// None until the beginning of a pipe has come.
    format: Option<Format>,
    /// Reading has ended because it was asked for.
    stopped: bool,
    total_bytes: Option<u64>,
    /// The UDP ports of which packets are delivered; all if there are none.
    ports: Vec<u16>,
    /// Packets to other ports, by port, as far as there is room.
    others: BTreeMap<u16, u64>,
    counters: CaptureCounters,
}

/// Other ports of which packets are counted one by one.
const OTHER_PORTS: usize = 256;
/// Those of them that are named.
const NAMED_PORTS: usize = 8;

impl CaptureReader {
    /// Opens a capture file and recognises its format (see the [module](crate::capture)). A pipe works as
    /// well; its length is unknown then.
    ///
    /// # Errors
    /// If the path cannot be read, is a directory or an empty file, is in no known format, is too short for
    /// its own header, or is a pcap file of a link type that cannot be read.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let opened = File::open(path).and_then(|file| file.metadata().map(|about| (file, about)));
        let (file, about) = opened.map_err(|source| CaptureError::Open { path: path.to_owned(), source })?;
        if about.is_dir() {
            return Err(CaptureError::Directory { path: path.to_owned() });
        }
        Self::over(path, Box::new(file), about.is_file().then_some(about.len()))
    }

    /// As [`CaptureReader::open`], for an input that may be silent for ever. A pipe is opened without waiting for its writer,
    /// and read until `stop` is set: then it ends ([`PacketSource::is_stopped`]), whether or not anything has come. What its first
    /// bytes are is found when they are read.
    ///
    /// # Errors
    /// As [`CaptureReader::open`], but those of a pipe's first bytes.
    pub fn open_until(path: &Path, stop: &Arc<AtomicBool>) -> Result<Self, CaptureError> {
        let failed = |source| CaptureError::Open { path: path.to_owned(), source };
        let about = path.metadata().map_err(failed)?;
        if about.is_file() || about.is_dir() {
            return Self::open(path);
        }
        let pipe = Pipe::open(path, stop).map_err(failed)?;
        Ok(Self::unread(path, Box::new(pipe), None))
    }

    /// Reads a capture from any input, such as one in memory; `path` is for the messages and for the name of a
    /// `.pkts` file, and the length of the input is unknown.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn from_reader(path: &Path, input: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        Self::over(path, Box::new(input), None)
    }

    /// Reads from any input; `path` is for the messages and for the name of a `.pkts` file.
    fn over(
        path: &Path,
        input: Box<dyn Read + Send>,
        total_bytes: Option<u64>,
    ) -> Result<Self, CaptureError> {
        let mut reader = Self::unread(path, input, total_bytes);
        reader.begin()?;
        Ok(reader)
    }

    fn unread(path: &Path, input: Box<dyn Read + Send>, total_bytes: Option<u64>) -> Self {
        Self {
            path: path.to_owned(),
            window: Window::new(input),
            format: None,
            stopped: false,
            total_bytes,
            ports: Vec::new(),
            others: BTreeMap::new(),
            counters: CaptureCounters::default(),
        }
    }

    /// Recognises the format.
    fn begin(&mut self) -> Result<(), CaptureError> {
        let recognised = match self.window.require(1) {
            Ok(0) => return Err(CaptureError::Empty { path: self.path.clone() }),
            Ok(_) => Format::recognise(&self.path, &mut self.window),
            Err(source) => Err(Fault::Read(source)),
        };
        let format = recognised.map_err(|fault| explain(&self.path, &self.window, &self.counters, fault))?;
        self.format = Some(format);
        Ok(())
    }

    /// Delivers only packets sent to this UDP port; others are counted. Packets of a `.pkts` file, which
    /// knows no ports, are all delivered.
    #[must_use]
    pub fn only_port(self, port: u16) -> Self {
        self.only_ports([port])
    }

    /// The same for several ports; all packets are delivered if there are none.
    #[must_use]
    pub fn only_ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.ports = ports.into_iter().collect();
        self
    }

    /// What was sent to ports that are not read, in a sentence; none if nothing was.
    fn others_in_words(&self) -> Option<String> {
        let mut others: Vec<_> = self.others.iter().map(|(port, packets)| (*packets, *port)).collect();
        others.sort_by_key(|(packets, port)| (std::cmp::Reverse(*packets), *port));
        let named = others.iter().take(NAMED_PORTS);
        let named: Vec<String> =
            named.map(|(packets, port)| format!("{} to port {port}", grouped(*packets))).collect();
        let rest = self.counters.other_port
            - others.iter().take(NAMED_PORTS).map(|(packets, _)| packets).sum::<u64>();
        let rest = if rest > 0 { format!(", {} to further ports", grouped(rest)) } else { String::new() };
        let read: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        (self.counters.other_port > 0).then(|| {
            format!(
                "only port {} of the capture is read; not read: {}{rest}. --port N reads another one",
                read.join(", "),
                named.join(", ")
            )
        })
    }

    /// Copies packets behind those that are in `slab` already, until it is full or the file ends. A packet
    /// that does not fit any more is the first of the next call.
    ///
    /// # Errors
    /// If the file is truncated or damaged, or cannot be read on. All packets before that place have been
    /// delivered by earlier calls: a call that has copied packets never fails, the next one does. Calling
    /// again after an error reports it again.
    pub fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, CaptureError> {
        if self.stopped {
            return Ok(Fill::End);
        }
        match self.fill_on(slab) {
            Err(CaptureError::Read { source, .. }) if is_stop(&source) => {
                self.stopped = true;
                Ok(Fill::End)
            }
            filled => filled,
        }
    }

    fn fill_on(&mut self, slab: &mut PacketSlab) -> Result<Fill, CaptureError> {
        if self.format.is_none() {
            self.begin()?;
        }
        let before = slab.len();
        loop {
            match self.step(slab) {
                Ok(Some(Fill::More)) => return Ok(Fill::More),
                Ok(Some(Fill::End)) => return Ok(Fill::End),
                Ok(None) => {}
                Err(_) if slab.len() > before => return Ok(Fill::More),
                Err(fault) => return Err(explain(&self.path, &self.window, &self.counters, fault)),
            }
        }
    }

    /// What has been read and skipped so far.
    pub fn counters(&self) -> &CaptureCounters {
        &self.counters
    }

    /// Bytes of the file that have been dealt with.
    pub fn position(&self) -> u64 {
        self.window.position()
    }

    /// Bytes of the file when it was opened; none for a pipe.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deals with one record; a packet that does not fit stays the next record.
    fn step(&mut self, slab: &mut PacketSlab) -> Result<Option<Fill>, Fault> {
        // It has begun: without a format there is nothing to read.
        let Some(format) = &mut self.format else { return Ok(Some(Fill::End)) };
        let Some(length) = format.next_record(&mut self.window)? else {
            return Ok(Some(Fill::End));
        };
        let is_portless = matches!(format, Format::Pkts(_));
        match format.decode(&self.window.bytes()[..length])? {
            Record::Packet { bytes, original_length, origin } => {
                let port = origin.destination_port;
                if !self.ports.is_empty() && !self.ports.contains(&port) && !is_portless {
                    self.counters.other_port += 1;
                    if self.others.len() < OTHER_PORTS || self.others.contains_key(&port) {
                        *self.others.entry(port).or_default() += 1;
                    }
                } else {
                    if !slab.push(bytes, original_length, origin) {
                        return Ok(Some(Fill::More));
                    }
                    self.counters.packets += 1;
                    self.counters.bytes += bytes.len() as u64;
                    self.counters.cut += u64::from(original_length > bytes.len());
                    self.counters.unstamped += u64::from(origin.arrival_clock == ArrivalClock::None);
                }
                self.counters.frames += 1;
            }
            Record::Skipped(reason) => self.counters.count_skipped(reason),
            Record::Other => {}
        }
        self.window.advance(length);
        Ok(None)
    }
}

impl PacketSource for CaptureReader {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        Ok(CaptureReader::fill(self, slab)?)
    }

    fn path(&self) -> &Path {
        CaptureReader::path(self)
    }

    fn packets(&self) -> u64 {
        self.counters.packets
    }

    fn position(&self) -> u64 {
        CaptureReader::position(self)
    }

    fn total_bytes(&self) -> Option<u64> {
        CaptureReader::total_bytes(self)
    }

    fn stage(&self) -> &'static str {
        CaptureCounters::STAGE
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn hints(&self) -> Vec<String> {
        self.others_in_words().into_iter().collect()
    }

    fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// The fault as a person needs it: with file, place and the packets before.
fn explain(path: &Path, window: &Window, counters: &CaptureCounters, fault: Fault) -> CaptureError {
    let (path, position, packets) = (path.to_owned(), window.position(), counters.packets);
    match fault {
        Fault::Read(source) => CaptureError::Read { path, position, packets, source },
        Fault::Truncated { expected, needed, left } => {
            CaptureError::Truncated { path, position, expected, needed, left, packets }
        }
        Fault::Corrupt { found, expected } => {
            CaptureError::Corrupt { path, position, found, expected, packets }
        }
        Fault::UnknownLink(number) => CaptureError::UnknownLink { path, number },
        Fault::Unrecognised => {
            let first_bytes = window.bytes().iter().copied().take(16).collect();
            CaptureError::Unrecognised { path, first_bytes }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drain(name: &str, bytes: Vec<u8>) -> (u64, Result<(), CaptureError>) {
        let mut reader = match CaptureReader::over(name.as_ref(), Box::new(std::io::Cursor::new(bytes)), None)
        {
            Ok(reader) => reader,
            Err(error) => return (0, Err(error)),
        };
        let mut slab = PacketSlab::new(3, 0);
        let mut delivered = 0;
        loop {
            slab.clear();
            let fill = reader.fill(&mut slab);
            delivered += slab.len() as u64;
            let counters = *reader.counters();
            assert_eq!(counters.frames, counters.packets + counters.skipped());
            assert_eq!(counters.packets, delivered);
            match fill {
                Ok(Fill::More) => assert!(!slab.is_empty()),
                Ok(Fill::End) => return (delivered, Ok(())),
                Err(error) => {
                    assert!(slab.is_empty());
                    assert!(!error.to_string().is_empty());
                    return (delivered, Err(error));
                }
            }
        }
    }

    /// Bytes that look like the format for a while: a sound beginning, then blocks whose words are small
    /// numbers as often as anything else.
    fn plausible() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![0..80_u32, any::<u32>(), Just(0x0a0d_0d0a), Just(0x0045_0008)];
        proptest::collection::vec(word, 0..60)
            .prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    const PCAPNG: &[u8] = &[
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255,
        255, 255, 255, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4, 0, 20, 0, 0, 0,
    ];
    const PCAP: &[u8] =
        &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];

    /// An enhanced packet block around arbitrary content, with lengths that agree.
    fn framed(content: &[u8], captured: u32) -> Vec<u8> {
        let padded = content.len().next_multiple_of(4);
        let length = (32 + padded as u32).to_le_bytes();
        let mut block = [&6_u32.to_le_bytes()[..], &length, &[0; 12], &captured.to_le_bytes()].concat();
        block.extend(captured.to_le_bytes());
        block.extend(content);
        block.resize(28 + padded, 0);
        block.extend(length);
        block
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for (name, beginning) in [("x.pkts", &[][..]), ("x", PCAPNG), ("x", PCAP), ("x", &PCAPNG[..4])] {
                let _ = drain(name, [beginning, &bytes].concat());
            }
        }

        #[test]
        fn plausible_bytes_never_panic(bytes in plausible(), cut in 0..300_usize) {
            for (name, beginning) in [("x.pkts", &[][..]), ("x", PCAPNG), ("x", PCAP), ("x", &PCAP[..20])] {
                let mut all = [beginning, &bytes].concat();
                all.truncate(cut.max(beginning.len()));
                let _ = drain(name, all);
            }
        }

        #[test]
        fn hostile_frames_are_skipped_and_what_follows_is_found(
            content in proptest::collection::vec(any::<u8>(), 0..80), captured in 0..120_u32,
        ) {
            let mut file = PCAPNG.to_vec();
            file.extend(framed(&content, captured));
            file.extend(framed(&content, content.len() as u32));
            let (_, end) = drain("x", file);
            prop_assert!(end.is_ok(), "{}", end.unwrap_err());
        }
    }

    #[test]
    fn a_payload_length_beyond_udp_is_damage() {
        let (packets, end) = drain("x.pkts", vec![1, 0, 0, 0, 7, 0, 0, 1, 0]);
        let text = end.unwrap_err().to_string();
        assert_eq!(packets, 1);
        assert!(text.contains("damaged at byte 5: found a payload length of 65536 bytes"), "{text}");
    }

    #[test]
    fn a_truncated_file_gives_what_it_has_and_then_says_so() {
        let (packets, end) = drain("x.pkts", vec![1, 0, 0, 0, 7, 1, 0, 0, 0, 8, 3, 0, 0, 0, 9]);
        let text = end.unwrap_err().to_string();
        assert_eq!(packets, 2);
        assert!(text.contains("at byte 10 a length and payload of 7 bytes begins"), "{text}");
        assert!(text.contains("only 5 bytes are left") && text.contains("The 2 packets before it"), "{text}");
    }
}

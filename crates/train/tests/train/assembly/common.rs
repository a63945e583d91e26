//! Trains and their datagrams, and an assembly that is looked at after every datagram.

use evforge_core::counter::CounterSnapshot;
use evforge_train::assembly::{
    AssembledTrain, Assembly, AssemblyCounters, AssemblySettings, ImageContent, IncompletePolicy, PacketFate,
    TrainBuffer, TrainContent, TrainReport, TrainSource,
};
use evforge_wire::train::{ImageDescriptor, PacketTrailer, TrainHeader, TrainLayout, TrainTrailer};
use std::time::Duration;

/// Small images, so that a test has many trains: a train of four has 17 packets.
pub(crate) const IMAGE_BYTES: usize = 1000;
pub(crate) const SPECIFIC_BYTES: u32 = 416;
pub(crate) const DATA_BYTES: usize = 280;
pub(crate) const IMAGES: usize = 4;
pub(crate) const MODULE: TrainSource = TrainSource::Module(3);

pub(crate) fn settings() -> AssemblySettings {
    AssemblySettings {
        data_bytes: DATA_BYTES,
        largest_train: train(1, IMAGES).len() + 500,
        open_trains: 2,
        open_trains_of_source: 2,
        buffers: 4,
        sources: 1,
        remembered_trains: 8,
        remembered_for: Duration::from_secs(1),
        time_out: Duration::from_millis(200),
        content: TrainContent::Images(ImageContent {
            image_bytes: IMAGE_BYTES,
            specific_bytes: SPECIFIC_BYTES,
            stride: Some(1),
            largest_gap: 1000,
        }),
        incomplete: IncompletePolicy::Drop,
    }
}

pub(crate) fn layout(images: usize) -> TrainLayout {
    TrainLayout::new(&header(1, images), IMAGE_BYTES).expect("a layout")
}

fn header(number: u64, images: usize) -> TrainHeader {
    TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: number,
        data: 0,
        detector_link: 3,
        builder_link: 0,
        images: images as u64,
        specific_bytes: SPECIFIC_BYTES,
        builder_bytes: 0,
        reserved: [0; 8],
    }
}

/// A train whose bytes tell its number and their place; none of its pixels is 0.
pub(crate) fn train(number: u64, images: usize) -> Vec<u8> {
    let header = header(number, images);
    let layout = TrainLayout::new(&header, IMAGE_BYTES).expect("a layout");
    let mut bytes: Vec<u8> =
        (0..layout.total()).map(|at| ((at as u64 * 7).wrapping_add(number) % 255) as u8 + 1).collect();
    let descriptors: Vec<ImageDescriptor> = (0..images)
        .map(|image| ImageDescriptor {
            cell: image as u16 + 1,
            pulse: image as u64 + 1,
            status: 1,
            length: 9,
        })
        .collect();
    layout.write_ends(&header, &descriptors, &TrainTrailer::default(), &mut bytes);
    bytes
}

/// The datagrams of a train.
pub(crate) fn datagrams(frame: u32, train: &[u8]) -> Vec<Vec<u8>> {
    let packets = train.len().div_ceil(DATA_BYTES);
    let pieces = train.chunks(DATA_BYTES).zip(0_u32..);
    pieces
        .map(|(data, packet)| {
            let is_last = packet as usize + 1 == packets;
            let trailer = PacketTrailer { frame, packet, is_first: packet == 0, is_last };
            [data, &trailer.to_bytes()].concat()
        })
        .collect()
}

/// The same datagram with another trailer.
pub(crate) fn with_trailer(datagram: &[u8], trailer: PacketTrailer) -> Vec<u8> {
    [&datagram[..datagram.len() - PacketTrailer::BYTES], &trailer.to_bytes()].concat()
}

/// An assembly of which every law is checked after every datagram, and what it handed on.
pub(crate) struct Watched {
    pub(crate) assembly: Assembly,
    pub(crate) closed: Vec<TrainReport>,
    /// Bytes of those that were handed on.
    pub(crate) bytes: Vec<(u32, Vec<u8>)>,
    /// Trains that are not given back.
    pub(crate) kept: Vec<AssembledTrain>,
    pub(crate) keeps: bool,
    pub(crate) now_ns: u64,
}

impl Watched {
    pub(crate) fn new(settings: AssemblySettings) -> Self {
        let assembly = Assembly::new(settings).expect("settings");
        Self { assembly, closed: vec![], bytes: vec![], kept: vec![], keeps: false, now_ns: 1_000_000_000 }
    }

    pub(crate) fn take(&mut self, source: TrainSource, datagram: &[u8]) -> PacketFate {
        self.now_ns += 1000;
        let Self { assembly, closed, bytes, kept, keeps, now_ns } = self;
        let fate =
            assembly.take(source, *now_ns, datagram, &mut |train| note(train, closed, bytes, kept, *keeps));
        self.check();
        fate
    }

    pub(crate) fn take_all(&mut self, source: TrainSource, datagrams: &[Vec<u8>]) {
        for datagram in datagrams {
            self.take(source, datagram);
        }
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now_ns += time.as_nanos() as u64;
        let Self { assembly, closed, bytes, kept, keeps, now_ns } = self;
        assembly.expire(*now_ns, &mut |train| note(train, closed, bytes, kept, *keeps));
        self.check();
    }

    pub(crate) fn finish(&mut self) {
        let Self { assembly, closed, bytes, kept, keeps, now_ns } = self;
        assembly.finish(*now_ns, &mut |train| note(train, closed, bytes, kept, *keeps));
        self.check();
    }

    pub(crate) fn counters(&self) -> AssemblyCounters {
        self.assembly.counters()
    }

    /// The laws hold, and no buffer was lost.
    fn check(&self) {
        let counters = self.counters();
        assert_eq!(CounterSnapshot::of(&counters).unaccounted(), 0, "{counters:?}");
        let lent = counters.buffers_free + counters.trains_open + self.kept.len() as u64;
        assert_eq!(lent, self.assembly.settings().buffers as u64, "buffers");
        let closed = counters.trains_opened - counters.trains_open;
        assert_eq!(self.closed.len() as u64, closed, "every train that closed was reported");
    }
}

fn note(
    train: AssembledTrain,
    closed: &mut Vec<TrainReport>,
    bytes: &mut Vec<(u32, Vec<u8>)>,
    kept: &mut Vec<AssembledTrain>,
    keeps: bool,
) -> Option<TrainBuffer> {
    closed.push(*train.report());
    bytes.extend(train.bytes().map(|bytes| (train.report().frame, bytes.to_vec())));
    if keeps && train.bytes().is_some() {
        kept.push(train);
        return None;
    }
    train.into_buffer()
}

//! A train as a message of the bridge, version 2.2: for each module two frames with texts and numbers, and two for each array.

use std::ops::Range;
use std::sync::Arc;

use evforge_wire::train::{Train, TrainDetector};

use super::pack::Map;

/// The bytes of a frame.
#[derive(Clone, Debug)]
enum Frame {
    Own(Vec<u8>),
    /// A part of a train, which is not copied.
    Part(Arc<[u8]>, Range<usize>),
}

/// What a client gets for one train, of one module or of several.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    frames: Vec<Frame>,
}

impl Message {
    /// The frames.
    pub(super) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().map(|frame| match frame {
            Frame::Own(bytes) => bytes.as_slice(),
            Frame::Part(bytes, range) => &bytes[range.clone()],
        })
    }

    /// What all modules say, one after the other.
    pub(super) fn joined(modules: impl Iterator<Item = Self>) -> Self {
        Self { frames: modules.flat_map(|module| module.frames).collect() }
    }

    /// The train of a module, whose images have the size of the detector's.
    pub(super) fn new(train: &Train<'_>, detector: TrainDetector, source: &str, arrival_ns: u64) -> Self {
        let mut frames = Vec::with_capacity(24);
        let (header, layout) = (train.header(), train.layout());
        let (seconds, nanoseconds) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000);
        let metadata = Map::new()
            .text("source", source)
            .real("timestamp", arrival_ns as f64 * 1e-9)
            .text("timestamp.sec", &seconds.to_string())
            // In attoseconds.
            .text("timestamp.frac", &format!("{nanoseconds:09}000000000"))
            .number("timestamp.tid", header.train);
        let start = Map::new().text("source", source).text("content", "msgpack").map("metadata", metadata);
        let values = Map::new()
            .number("header.trainId", header.train)
            .number("header.dataId", header.data)
            .number("header.linkId", u64::from(header.builder_link) << 32 | u64::from(header.detector_link))
            .number("header.majorTrainFormatVersion", header.major_version.into())
            .number("header.minorTrainFormatVersion", header.minor_version.into())
            .number("header.pulseCount", header.images)
            .number("trailer.status", train.trailer().status);
        frames.extend([start, values].map(|map| Frame::Own(map.into_bytes())));

        let bytes: Arc<[u8]> = train.bytes().into();
        let images = layout.images();
        let mut array = |path: &str, kind: &str, shape: &[usize], content: Frame| {
            let start = Map::new()
                .text("source", source)
                .text("content", "array")
                .text("path", path)
                .text("dtype", kind)
                .numbers("shape", shape);
            frames.extend([Frame::Own(start.into_bytes()), content]);
        };
        let [values, rows, columns] = detector.shape();
        // Everything in a train is little-endian, and so is what `<` says.
        let part = |range: Range<usize>| Frame::Part(Arc::clone(&bytes), range);
        array("image.data", "<u2", &[images, values, rows, columns], part(layout.all_images()));
        array("image.cellId", "<u2", &[images, 1], part(layout.cells()));
        array("image.pulseId", "<u8", &[images, 1], part(layout.pulses()));
        array("image.status", "<u2", &[images, 1], part(layout.statuses()));
        array("image.length", "<u4", &[images, 1], part(layout.lengths()));
        let numbers = header.train.to_le_bytes().repeat(images);
        array("image.trainId", "<u8", &[images, 1], Frame::Own(numbers));
        array("detector.data", "|u1", &[train.specific().len()], part(layout.specific()));
        array("trailer.checksum", "|i1", &[16], Frame::Own(train.trailer().checksum.to_vec()));
        Self { frames }
    }
}

//! The arrays of a file but the images themselves: where each lies, and what it takes of a train.

use evforge_wire::train::{ImageDescriptor, Train, TrainHeader, TrainTrailer};
use hdf5_metno::types::{IntSize, TypeDescriptor};

const U8: TypeDescriptor = TypeDescriptor::Unsigned(IntSize::U1);
const U16: TypeDescriptor = TypeDescriptor::Unsigned(IntSize::U2);
const U32: TypeDescriptor = TypeDescriptor::Unsigned(IntSize::U4);
const U64: TypeDescriptor = TypeDescriptor::Unsigned(IntSize::U8);
const I8: TypeDescriptor = TypeDescriptor::Integer(IntSize::U1);
const I32: TypeDescriptor = TypeDescriptor::Integer(IntSize::U4);

/// Parts of a source, each with an index and an entry in the list of sources.
pub(super) const PARTS: [&str; 4] = ["detector", "header", "image", "trailer"];
/// The images themselves; `*` is the source.
pub(super) const IMAGES: &str = "INSTRUMENT/*/image/data";
/// The detector's own block, whose size is that of the first train.
pub(super) const SPECIFIC: &str = "INSTRUMENT/*/detector/data";

/// A train, and its place in the file.
pub(super) struct Row<'a> {
    pub(super) train: &'a Train<'a>,
    /// Its time of arrival, in nanoseconds since 1970.
    pub(super) arrival_ns: u64,
    /// Trains before it in the file.
    pub(super) trains: u64,
    /// Images before it in the file.
    pub(super) images: u64,
    /// Images of it in the file.
    pub(super) count: u64,
}

impl Row<'_> {
    fn header(&self) -> &TrainHeader {
        self.train.header()
    }

    /// So many bytes from this one on: of the header's or, counted from the end, of the trailer's, which are there.
    fn header_bytes(&self, from: usize, bytes: usize) -> &[u8] {
        self.train.bytes().get(from..from + bytes).unwrap_or_default()
    }

    fn trailer_bytes(&self, from: usize, bytes: usize) -> &[u8] {
        let start = self.train.bytes().len().saturating_sub(TrainTrailer::BYTES);
        self.train.bytes().get(start + from..start + from + bytes).unwrap_or_default()
    }
}

/// An array with a row for each train or for each image.
pub(super) struct Column<Fill> {
    /// Its path; `*` is the source.
    pub(super) path: &'static str,
    pub(super) value: TypeDescriptor,
    /// The shape of a row.
    pub(super) row: &'static [usize],
    /// Appends a row.
    pub(super) fill: Fill,
}

/// What a train gives to an array.
pub(super) type OfTrain = fn(&Row<'_>, &mut Vec<u8>);
/// What an image of a train gives to an array.
pub(super) type OfImage = fn(&Row<'_>, &ImageDescriptor, &mut Vec<u8>);

const fn train(
    path: &'static str,
    value: TypeDescriptor,
    row: &'static [usize],
    fill: OfTrain,
) -> Column<OfTrain> {
    Column { path, value, row, fill }
}

const fn image(path: &'static str, value: TypeDescriptor, fill: OfImage) -> Column<OfImage> {
    Column { path, value, row: &[1], fill }
}

fn put<const BYTES: usize>(to: &mut Vec<u8>, value: [u8; BYTES]) {
    to.extend_from_slice(&value);
}

/// Arrays with a row for each train, but those of `INDEX`.
pub(super) fn of_trains() -> Vec<Column<OfTrain>> {
    let mut all = vec![train(SPECIFIC, U8, &[], |row, to| to.extend_from_slice(row.train.specific()))];
    for path in
        ["INSTRUMENT/*/detector/trainId", "INSTRUMENT/*/header/trainId", "INSTRUMENT/*/trailer/trainId"]
    {
        all.push(train(path, U64, &[], |row, to| put(to, row.header().train.to_ne_bytes())));
    }
    all.extend([
        train("INSTRUMENT/*/header/dataId", U64, &[], |row, to| put(to, row.header().data.to_ne_bytes())),
        train("INSTRUMENT/*/header/linkId", U64, &[], |row, to| {
            let (low, high) = (row.header().detector_link, row.header().builder_link);
            put(to, (u64::from(high) << 32 | u64::from(low)).to_ne_bytes());
        }),
        train("INSTRUMENT/*/header/magicNumberBegin", I8, &[8], |row, to| {
            to.extend_from_slice(row.header_bytes(0, 8));
        }),
        train("INSTRUMENT/*/header/majorTrainFormatVersion", U32, &[], |row, to| {
            put(to, row.header().major_version.to_ne_bytes());
        }),
        train("INSTRUMENT/*/header/minorTrainFormatVersion", U32, &[], |row, to| {
            put(to, row.header().minor_version.to_ne_bytes());
        }),
        train("INSTRUMENT/*/header/pulseCount", U64, &[], |row, to| {
            put(to, row.header().images.to_ne_bytes());
        }),
        train("INSTRUMENT/*/header/reserved", U8, &[16], |row, to| {
            to.extend_from_slice(row.header_bytes(48, 16));
        }),
        train("INSTRUMENT/*/trailer/checksum", I8, &[16], |row, to| {
            to.extend_from_slice(row.trailer_bytes(0, 16));
        }),
        train("INSTRUMENT/*/trailer/magicNumberEnd", I8, &[8], |row, to| {
            to.extend_from_slice(row.trailer_bytes(24, 8));
        }),
        train("INSTRUMENT/*/trailer/status", U64, &[], |row, to| {
            put(to, row.train.trailer().status.to_ne_bytes());
        }),
    ]);
    all
}

/// Arrays with a row for each image.
pub(super) fn of_images() -> Vec<Column<OfImage>> {
    vec![
        image("INSTRUMENT/*/image/trainId", U64, |row, _, to| put(to, row.header().train.to_ne_bytes())),
        image("INSTRUMENT/*/image/pulseId", U64, |_, image, to| put(to, image.pulse.to_ne_bytes())),
        image("INSTRUMENT/*/image/cellId", U16, |_, image, to| put(to, image.cell.to_ne_bytes())),
        image("INSTRUMENT/*/image/length", U32, |_, image, to| put(to, image.length.to_ne_bytes())),
        image("INSTRUMENT/*/image/status", U16, |_, image, to| put(to, image.status.to_ne_bytes())),
    ]
}

/// The arrays of `INDEX`: written when what they point at is there.
pub(super) fn of_index() -> Vec<Column<OfTrain>> {
    let mut all = vec![
        train("INDEX/trainId", U64, &[], |row, to| put(to, row.header().train.to_ne_bytes())),
        train("INDEX/timestamp", U64, &[], |row, to| put(to, row.arrival_ns.to_ne_bytes())),
        train("INDEX/flag", I32, &[], |_, to| put(to, 1_i32.to_ne_bytes())),
        train("INDEX/origin", I32, &[], |_, to| put(to, (-1_i32).to_ne_bytes())),
        train("INDEX/*/image/first", U64, &[], |row, to| put(to, row.images.to_ne_bytes())),
        train("INDEX/*/image/count", U64, &[], |row, to| put(to, row.count.to_ne_bytes())),
    ];
    for path in ["INDEX/*/detector/first", "INDEX/*/header/first", "INDEX/*/trailer/first"] {
        all.push(train(path, U64, &[], |row, to| put(to, row.trains.to_ne_bytes())));
    }
    for path in ["INDEX/*/detector/count", "INDEX/*/header/count", "INDEX/*/trailer/count"] {
        all.push(train(path, U64, &[], |_, to| put(to, 1_u64.to_ne_bytes())));
    }
    all
}

/// The path of an array of this source.
pub(super) fn path_for(path: &str, source: &str) -> String {
    path.replace('*', source)
}

//! Trains of the European XFEL: images of a detector for one train of pulses, cut into UDP packets.
//!
//! Source: public receivers of DSSC and LPD and the EXtra-data package, whose layouts agree; no specification is public. A *train* is one
//! block of bytes ([`TrainLayout`]): a header, images, descriptors of each image, a block of the detector's own, a trailer. The *train
//! transfer protocol* cuts it into equal pieces, and ends each datagram with a [`PacketTrailer`]: which train, which piece, first, last.
//!
//! ```text
//!  header 64 │ N images │ cells, pulses, statuses, lengths │ detector's own │ builder's own │ trailer 32
//!  └──────────── piece 0 + trailer ─┴─ piece 1 + trailer ─┴─ … ─┴─ last piece, shorter + trailer ─┘
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | one datagram | [`TrainPacket`], [`PacketTrailer`], [`PacketRejection`] |
//! | shape of an image, bytes of the detector's own block | [`TrainDetector`] |
//! | where each block of a train lies | [`TrainLayout`] |
//! | a train: checked, its blocks borrowed | [`Train`], [`TrainRejection`] |
//! | what stands before each train over TCP | [`StreamHeader`], [`StreamRejection`] |
//! | a train written | [`TrainHeader::write`], [`TrainLayout::write_ends`], [`ImageDescriptor`] |
//!
//! Everything is little-endian. The 16 bytes of checksum are opaque: how they are computed is not public, so nothing here verifies them.

mod detector;
mod header;
mod layout;
mod packet;
mod stream;
mod view;

pub use detector::TrainDetector;
pub use header::{BEGIN_MAGIC, END_MAGIC, TrainHeader, TrainTrailer};
pub use layout::{ImageDescriptor, TrainLayout};
pub use packet::{DATA_BYTES, PacketRejection, PacketTrailer, TrainPacket};
pub use stream::{StreamHeader, StreamRejection};
pub use view::{Train, TrainRejection};

/// Every block of a train begins at a multiple of this many bytes.
pub const ALIGNMENT: usize = 32;

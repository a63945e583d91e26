//! Recording packets at full rate: received in one thread, written by another.
//!
//! ```text
//! receiving thread                    recording thread
//!   RecordInlet ── full slabs ──────►  RecordingWriter ──► run-0001.pcapng, run-0002.pcapng, …
//!       ▲ ◄─────── empty slabs ──────────────┘
//! ```
//!
//! The queue between them is a fixed number of slabs that go round: nothing is allocated per packet, and whoever
//! receives never waits. When the disk is slower than the wire the slabs run out; then the newest slab is dropped
//! whole, and counted in packets and bytes at the place "record queue". So
//! `received = written + dropped + not written` holds at the end of every recording, where *not written* are packets
//! that reached the recording thread when writing had failed.

mod disk_file;
mod names;
mod queue;
mod report;
mod rotation;
mod writer;

pub use disk_file::DiskFiles;
pub use names::FileNames;
pub use queue::{RecordInlet, RecordQueue, Recorder};
pub use report::{InletCounts, RECORD_QUEUE, RecordCounters, RecordedFile, Recording};
pub use rotation::Rotation;
pub use writer::{RecordingFile, RecordingFiles, RecordingWriter};

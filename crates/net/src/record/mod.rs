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
//! that reached the recording thread when writing had failed, or no further file could be opened, or that were in a
//! file that somebody removed.
//!
//! A recording whose disk is full waits: what has been taken stays in memory, the queue fills and drops, and as soon as
//! there is space it goes on in the same file. One that cannot open its next file, because others have used up the
//! descriptors of the process, counts what it cannot write, reports it, and tries again every second.

mod closing;
mod disk_file;
mod finish;
mod full_disk;
mod inlet;
mod names;
mod queue;
mod recording_file;
mod report;
mod reserve;
mod rotation;
mod thread;
mod writer;

pub use disk_file::DiskFiles;
pub use finish::{FinishError, FinishedRecording, finish_recording};
pub use inlet::RecordInlet;
pub use names::FileNames;
pub use queue::{RecordQueue, Recorder};
pub use recording_file::{RecordingFile, RecordingFiles};
pub use report::{InletCounts, RECORD_QUEUE, RecordCounters, RecordedFile, Recording};
pub use rotation::Rotation;
pub use writer::RecordingWriter;

//! What a recording tells about itself.

use std::path::PathBuf;

use evforge_core::counter::{CounterSet, Law};

/// The name of the place where packets are lost when the disk is slower than the wire.
pub const RECORD_QUEUE: &str = evforge_core::losses::LossLocation::RecordQueue.name();

evforge_core::counters! {
    /// Counters of a recording. At its end, `received = written + dropped + not_written`.
    pub struct RecordCounters: "record" {
        record_received: Enters(Packets), Packets, "Packets handed to the recorder.";
        record_received_bytes: Information, Bytes, "Their payload bytes.";
        record_written: Leaves(Packets), Packets, "Packets written into the files of the recording.";
        record_written_bytes: Information, Bytes, "Their payload bytes.";
        record_dropped: Discarded(Packets), Packets, "Packets that the recorder dropped because its queue was full: the disk, or the recording thread for want of a core, is slower than the wire.";
        record_dropped_bytes: Information, Bytes, "Their payload bytes.";
        record_dropped_slabs: Information, Times, "Times that a piece of memory full of packets was dropped whole because the recorder's queue was full.";
        record_not_written: Discarded(Packets), Packets, "Packets that were not written because writing had failed (the disk is full, or gone), because no further file could be opened for a time, or because somebody removed their file while it was written.";
        record_files: Information, Times, "Files of the recording.";
        record_file_bytes: Information, Bytes, "Bytes of the recording's files.";
    }
}

impl RecordCounters {
    /// Packets received less those written, dropped and not written: 0, or the recorder has lost some without saying
    /// so. To be asked when a recording has ended.
    pub fn unaccounted(&self) -> i128 {
        self.imbalance(Law::Packets)
    }
}

/// What was handed to the recorder at one inlet, and what of it was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InletCounts {
    /// Packets handed over.
    pub received: u64,
    /// Their payload bytes.
    pub received_bytes: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Their payload bytes.
    pub dropped_bytes: u64,
    /// Slabs dropped, each with all its packets.
    pub dropped_slabs: u64,
}

impl InletCounts {
    /// Adds what happened at another inlet.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.dropped += other.dropped;
        self.dropped_bytes += other.dropped_bytes;
        self.dropped_slabs += other.dropped_slabs;
    }
}

/// A file of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedFile {
    /// Its name.
    pub path: PathBuf,
    /// Packets in it.
    pub packets: u64,
    /// Their payload bytes.
    pub payload_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// The arrival stamp of its first packet, in nanoseconds since the Unix epoch.
    pub first_ns: u64,
    /// The arrival stamp of its last packet.
    pub last_ns: u64,
    /// False if writing failed: what is in the file is whole, but what came later is not.
    pub complete: bool,
}

/// A recording that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What happened to the packets.
    pub counters: RecordCounters,
    /// The same for each inlet, in their order.
    pub inlets: Vec<InletCounts>,
    /// The files, in the order in which they were begun.
    pub files: Vec<RecordedFile>,
    /// Why writing ended before the recording did, if that happened.
    pub failure: Option<String>,
    /// What went wrong first where writing went on: no further file could be opened for a time, or a file was removed
    /// or could not get its name.
    pub interruption: Option<String>,
}

impl Recording {
    /// True if everything that was handed over and not dropped by the queue is in files that have their names.
    pub fn is_whole(&self) -> bool {
        self.failure.is_none() && self.interruption.is_none() && self.counters.record_not_written == 0
    }
}

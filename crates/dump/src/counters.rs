//! What has been read from a dump, and what was left out and why.

evforge_core::counters! {
    /// Counters of reading a dump: `rows = readouts + external_triggers + out_of_range`.
    pub struct DumpCounters: "dump" {
        rows: Information, Readouts, "Rows read from the dump.";
        readouts: Information, Readouts, "Rows that were put into packets as readouts.";
        external_triggers: Information, Readouts, "Rows that only mark an external trigger; the mark was put into the packets.";
        out_of_range: Information, Readouts, "Rows left out: a value is larger than the electronics can send.";
        stamps_rounded: Information, Readouts, "Readouts whose time stamp is no whole number of ticks of the electronics: the nearest tick was taken.";
        triggers_split: Information, Times, "Triggers with more readouts than a packet has room for: they were continued in the next packet, as another trigger of the same time.";
        packets: Information, Packets, "Packets made of the rows and delivered.";
        bytes: Information, Bytes, "Payload bytes of the packets delivered.";
    }
}

evforge_core::counters! {
    /// Counters of dumping the readouts of a capture: `readouts_in + external_triggers = rows_written + ` all reasons
    /// from `without_marker` on.
    pub struct RecordingCounters: "dump" {
        packets_in: Information, Packets, "Packets whose readouts were to be dumped.";
        packets_rejected: Information, Packets, "Packets left out: they are not of the configured format, or damaged.";
        triggers_rejected: Information, Times, "Triggers left out: damaged, or without a time.";
        readouts_in: Information, Readouts, "Readouts found in the other packets.";
        external_triggers: Information, Times, "External triggers: each is a row of its own.";
        rows_written: Information, Readouts, "Rows written into the dump.";
        without_marker: Information, Readouts, "Readouts left out: their chip has sent no time marker yet.";
        without_time: Information, Readouts, "Readouts left out: their trigger offset has no meaning, or their time lies before the start of the clock.";
        without_column: Information, Readouts, "Readouts left out: a number does not fit into its column of the dump.";
    }
}

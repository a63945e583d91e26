//! What the writer counts.

evforge_core::counters! {
    /// Counters of the event file writer. events_taken = events + events_outside_epoch + events_outside_pulse +
    /// events_outside_monitors + events_lost; in each file of a run, and in all together.
    pub struct NexusCounters: "nexus" {
        events_taken: Information, Events, "Events handed to the file writer.";
        events: Information, Events, "Events put into the file.";
        events_late: Information, Events, "Events of those that are in the group events_late of the file: their pulse is earlier than the newest one before them.";
        events_outside_epoch: Information, Events, "Events not written because their time cannot be expressed in nanoseconds since 1970.";
        events_outside_pulse: Information, Events, "Events not written because they lie before the pulse that the readout gave them, or more than 2.147 s behind it.";
        events_outside_monitors: Information, Events, "Events not written because their pixel belongs to no group of the file: neither to a panel nor to a beam monitor with events.";
        events_lost: Information, Events, "Events that were in a file and are not any more: it was damaged, and could not be brought back to its last commit.";
        events_without_pixel: Information, Events, "Events written whose pixel id is not one of the detector's.";
        pulses: Information, Times, "Pulse records put into the file, with and without events.";
        pulses_late: Information, Times, "Pulse records of those that are in the group events_late.";
        pulses_told: Information, Times, "Pulse records whose time the readout reported; all others are of the configured train.";
        pulses_outside_epoch: Information, Times, "Pulses of the readout not written because their time, or that of their last event, cannot be expressed in nanoseconds since 1970.";
        empty_pulses: Information, Times, "Pulse records without events; those of the readout count once they have ended.";
        commits: Information, Times, "Times at which everything taken was brought to the file.";
        syncs: Information, Times, "Commits of which the disk has confirmed that it has them.";
        ledger_rows: Information, Times, "Observations of the ledger put into the file.";
        ledger_rows_left_out: Information, Times, "Observations of the ledger that are not in the file: there was no room for too long, or the file was damaged.";
        files_damaged: Information, Times, "Files that were damaged when the disk refused a write: another one continues from the last commit.";
    }
}

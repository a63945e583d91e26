//! What the writer counts.

evforge_core::counters! {
    /// Counters of the event file writer. events_taken = events + events_outside_epoch +
    /// events_outside_pulse + events_outside_monitors.
    pub struct NexusCounters: "nexus" {
        events_taken: Information, Events, "Events handed to the file writer.";
        events: Information, Events, "Events put into the file.";
        events_outside_epoch: Information, Events, "Events not written because their time cannot be expressed in nanoseconds since 1970.";
        events_outside_pulse: Information, Events, "Events not written because they lie before the pulse that the readout gave them, or more than 2.147 s behind it.";
        events_outside_monitors: Information, Events, "Events not written because their pixel belongs to none of the beam monitors with events.";
        events_without_pixel: Information, Events, "Events written whose pixel id is not one of the detector's.";
        pulses: Information, Times, "Pulse records put into the file, with and without events.";
        pulses_told: Information, Times, "Pulse records whose time the readout told; all others are of the configured train.";
        pulses_outside_epoch: Information, Times, "Pulses of the readout not written because their time, or that of their last event, cannot be expressed in nanoseconds since 1970.";
        empty_pulses: Information, Times, "Pulse records without events; those of the readout count once they have ended.";
        gaps_not_filled: Information, Times, "Jumps of the clock ahead that were too long to be filled with empty pulses.";
        empty_pulses_left_out: Information, Times, "Empty pulses not written for those jumps.";
        backward_steps: Information, Times, "Times at which an event, or a pulse of the readout, came from earlier than the pulse before it.";
        clock_restarts: Information, Times, "Backward steps so long that the clock must have started over.";
        records_before_first_pulse: Information, Times, "Pulse records opened for events before the first pulse of the train.";
        commits: Information, Times, "Times at which everything taken was brought to the file.";
        ledger_rows: Information, Times, "Observations of the ledger put into the file.";
    }
}

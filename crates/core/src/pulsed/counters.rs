//! What the stage that assigns pulses counts.

crate::counters! {
    /// Counters of the stage between forming and the outputs.
    pub struct PulseCounters: "assigning pulses" {
        events_handed_on: Information, Events, "Events handed on to the outputs, each with its pulse and its time since it.";
        events_before_their_pulse: Information, Events, "Events earlier than the pulse that the readout gave them: they have no time of flight.";
        events_too_long_after_pulse: Information, Events, "Events more than 2.147 s after their pulse, the most that files and messages can express.";
        pulses_handed_on: Information, Times, "Pulses handed on to the outputs, with and without events.";
        pulses_told: Information, Times, "Pulses whose time the readout reported; all others are of the configured train.";
        pulses_without_events: Information, Times, "Pulses in which no event came; those that the readout reports count once they have ended.";
        pulses_without_date: Information, Times, "Pulses that cannot be expressed in nanoseconds since 1970.";
        gaps_not_filled: Information, Times, "Jumps of the clock ahead that were too long to be filled with empty pulses of the train.";
        empty_pulses_left_out: Information, Times, "Empty pulses of the train left out for those jumps.";
        pulse_steps_back: Information, Times, "Times at which an event, or a pulse of the readout, came from earlier than the pulse before it.";
        pulse_clock_restarts: Information, Times, "Steps back so long that the clock must have started over.";
        references_before_first_pulse: Information, Times, "Reference times made for events without a pulse: those before the first of the train, and those for which the readout reports none.";
    }
}

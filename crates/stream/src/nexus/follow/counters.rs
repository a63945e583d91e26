//! What is counted while a file is followed.

evforge_core::counters! {
    /// Counters of a file that is followed: events_read = events_shown + events_outside_epoch, in every snapshot.
    pub struct FollowCounters: "following a file" {
        events_read: Enters(Events), Events, "Events read from the file.";
        events_shown: Leaves(Events), Events, "Events of it that were handed on.";
        events_outside_epoch: Discarded(Events), Events, "Events left out because their time, or that of their pulse, is before 1970.";
        pulses_read: Information, Times, "Pulses read, with and without events, of all groups.";
        pulses_of_bad_index: Information, Times, "Pulses whose event_index points to no events, or back: their events cannot be told apart.";
        events_without_pulse: Information, Events, "Events of the file before the first one that a pulse points to: they have no time.";
        groups_not_read: Information, Times, "Groups of events, and numberings of pixels, that cannot be read.";
        events_waiting: Now, Events, "Events in the file that have not been read yet.";
    }
}

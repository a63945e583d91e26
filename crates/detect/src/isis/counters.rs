//! What is counted of the streaming readout of ISIS.

evforge_core::counters! {
    /// Counters of the streaming readout of ISIS.
    pub struct IsisCounters: "isis" {
        packets_without_message: Discarded(Packets), Packets, "Packets in which no message can be used; why is counted with the messages.";
        packets_with_rest: Information, Packets, "Packets that do not end with a message or with zeros; their messages are used.";
        messages: Information, Times, "Messages that were read, those of no use included.";
        messages_of_version_1: Information, Times, "Sound messages of version 1.";
        messages_of_version_2: Information, Times, "Sound messages of version 2.";
        version_changes: Information, Times, "Messages of another version than the one before.";
        messages_header_cut: Information, Times, "Messages of no use: the packet ends within their header.";
        messages_malformed: Information, Times, "Messages of no use: their second word is that of neither version.";
        messages_too_short: Information, Times, "Messages of no use: their length is less than that of their header.";
        messages_beyond_packet: Information, Times, "Messages of no use: their length goes beyond the end of the packet.";
        messages_of_wrong_version: Information, Times, "Messages of no use: of a version that isis.format excludes.";
        messages_of_unknown_type: Information, Times, "Messages of no use: of a type that does not exist.";
        messages_without_valid_time: Information, Times, "Messages of no use: their time does not exist.";
        messages_with_half_event: Information, Times, "Messages of no use: an odd number of words behind the header.";
        messages_with_wrong_widths: Information, Times, "Messages of no use: position, diagnostic and channel have more than 32 bits together.";
        messages_of_sample_environment: Information, Times, "Messages of the sample environment, which have no events and are not read.";
        messages_end_of_run: Information, Times, "Messages that say that the run has ended.";
        messages_veto: Information, Times, "Messages of frames that the hardware has vetoed.";
        messages_paused: Information, Times, "Messages of pause frames.";
        messages_unknown_board: Information, Times, "Messages of boards that nothing is known of, or for which there is no room (isis.max_boards).";
        readouts: Enters(Readouts), Readouts, "Events in sound messages.";
        unknown_board: Discarded(Readouts), Readouts, "Events of boards that nothing is known of, or for which there is no room.";
        without_meaning: Discarded(Readouts), Readouts, "Events of boards that do not say what their events mean: control boards.";
        unwired_channel: Discarded(Readouts), Readouts, "Events of channels that the wiring table does not have.";
        no_event: Discarded(Readouts), Readouts, "Words of version 2 that do not begin as an event does.";
        id_too_large: Discarded(Readouts), Readouts, "Events whose id does not fit 31 bits.";
        time_too_long: Discarded(Readouts), Readouts, "Events whose time of flight does not fit 31 bits of nanoseconds.";
        late: Discarded(Readouts), Readouts, "Events of frames that had been closed: they make no second frame.";
        repeated: Discarded(Readouts), Readouts, "Events of messages that had come before.";
        unconfirmed_jump: Discarded(Readouts), Readouts, "Events of a message with a jump in time that the board's next message did not confirm.";
        held_in_quarantine: Held(Readouts), Readouts, "Events of messages with a jump in time that wait for the board's next message to confirm it.";
        hits: Joins(Readouts, Hits), Hits, "Events with an id and a time.";
        hits_in_events: Leaves(Hits), Hits, "Events that were handed on.";
        held: Held(Hits), Hits, "Events in frames that are open at this moment.";
        events: HandedOut, Events, "Events handed on.";
        frames: Information, Times, "Frames handed on.";
        frames_complete: Information, Times, "Frames of which every board has sent all events that it announced.";
        frames_incomplete: Information, Times, "Frames of which something is missing although every board has gone on.";
        frames_late: Information, Times, "Frames closed because their time was up (isis.frames.lag), with a board that had neither sent everything nor gone on.";
        board_frames_partial: Information, Times, "Frames of single boards of which events are missing.";
        board_frames_absent: Information, Times, "Frames of single boards that did not come although they were expected.";
        events_missing: Information, Readouts, "Events that boards announced for a frame, and that had not come when it was closed.";
        events_beyond_announced: Information, Readouts, "Events that boards sent beyond those that they announced for a frame; they are handed on.";
        announcements_differ: Information, Times, "Messages that announce another number of events for their frame than one before.";
        frames_period_differs: Information, Times, "Frames of which boards told different periods: that of the control board counts, else of the last in the list.";
        frames_charge_differs: Information, Times, "Frames of which boards told different charges; the same.";
        messages_late: Information, Times, "Messages of frames that had been closed.";
        messages_repeated: Information, Times, "Messages that had come before.";
        messages_not_compared: Information, Times, "Messages of frames with more of them than are compared with the ones before.";
        forward_jumps: Information, Times, "Confirmed steps ahead of a board's time by more than isis.frames.forward_jump.";
        clock_restarts: Information, Times, "Restarts of a board's clock.";
        forced_closings: Information, Times, "Frames closed early for want of room: an alarm.";
    }
}

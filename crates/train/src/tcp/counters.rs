//! What happens to connections.

evforge_core::counters! {
    /// Connections over which trains come.
    pub struct StreamCounters: "streams of trains" {
        connections_accepted: Enters(Outputs), Times, "Connections that senders of trains have made.";
        connections_ended: Leaves(Outputs), Times, "Connections that their senders have closed between two trains.";
        connections_stopped: Leaves(Outputs), Times, "Connections that were open when the run ended.";
        connections_replaced: Leaves(Outputs), Times, "Connections that were closed to make room: no train was announced by them, or nothing had come for a minute, and another one was made.";
        connections_refused: Discarded(Outputs), Times, "Connections that were closed at once, because there were as many as may be.";
        connections_cut_off: Discarded(Outputs), Times, "Connections that ended inside a train, or inside what stands before one.";
        connections_silent: Discarded(Outputs), Times, "Connections that were closed: nothing came for the time-out, inside a train or inside what stands before one.";
        connections_wrong_magic: Discarded(Outputs), Times, "Connections that were closed: not the magic number where a train should be announced.";
        connections_other_version: Discarded(Outputs), Times, "Connections that were closed: another version of the framing.";
        connections_wrong_module: Discarded(Outputs), Times, "Connections that were closed: a module above 255.";
        connections_wrong_size: Discarded(Outputs), Times, "Connections that were closed: a train without bytes, or one above the largest train, was announced.";
        connections_other_source: Discarded(Outputs), Times, "Connections that were closed: a train of another sender or module than the one before.";
        connections_sequence_back: Discarded(Outputs), Times, "Connections that were closed: the place of a train in its sequence was not above that of the one before.";
        connections_open: Held(Outputs), Times, "Connections that are open at this moment.";
        connections_failed: Information, Times, "Times at which the system could not give a connection: no descriptor or no thread was left.";
        trains_skipped: Information, Trains, "Trains that are missing in the sequence of a sender, between two that came.";
        trains_before: Information, Trains, "Trains in the sequence of a sender before its first one that came: of before this run, or lost.";
        waits_for_buffer: Information, Times, "Times at which a connection waited because no buffer was free for its train: TCP then holds its sender back.";
    }
}

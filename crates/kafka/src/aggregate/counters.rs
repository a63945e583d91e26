//! What is counted while frames are put together.

evforge_core::counters! {
    /// Counters of frames put together. In every snapshot: messages_read = of frames + left out by reason, and events_read = sent + waiting +
    /// left out by reason.
    pub struct AggregateCounters: "frames of topics" {
        messages_read: Enters(Packets), Messages, "Messages read from the topic of raw messages.";
        messages_of_frames: Leaves(Packets), Messages, "Messages whose frame had not left: they are part of it.";
        messages_late: Discarded(Packets), Messages, "Messages of frames that had left. They make no second frame.";
        messages_too_old: Discarded(Packets), Messages, "Messages of times so long ago that nobody knows any more whether their frame has left.";
        messages_done_before: Discarded(Packets), Messages, "Messages read again after a restart that are in a frame that was sent, or were left out, before.";
        messages_refused: Discarded(Packets), Messages, "Messages that are damaged, or of no schema that is read; by reason under \"messages\".";
        messages_of_other_schemas: Discarded(Packets), Messages, "Messages of other schemas than pu00 and ev44.";
        messages_of_several_pulses: Discarded(Packets), Messages, "ev44 with another number of reference times than one.";
        messages_without_pixels: Discarded(Packets), Messages, "ev44 with times of flight and no pixels.";
        messages_without_time: Discarded(Packets), Messages, "Messages whose reference time is 0.";
        messages_of_the_future: Discarded(Packets), Messages, "Messages whose reference time is more than a minute later than now.";
        charges_refused: Information, Messages, "Proton charges that are no number from 0 to 1000 µAh: taken as not told.";
        events_read: Enters(Events), Events, "Events in the messages, but for those read again after a restart.";
        events_sent: Leaves(Events), Events, "Events of frames that were sent, and acknowledged.";
        events_waiting: Held(Events), Events, "Events of frames that have not been acknowledged yet.";
        events_late: Discarded(Events), Events, "Events of messages that came late.";
        events_too_old: Discarded(Events), Events, "Events of messages that are too old.";
        events_refused: Discarded(Events), Events, "Events of ev44 with several pulses, without pixels, without time or of the future.";
        events_without_metadata: Discarded(Events), Events, "Events of frames that were dropped because their period or charge is not known, as --without-metadata drop asks for.";
        frames_begun: Information, Times, "Frames of which a message came.";
        frames_passed: Information, Times, "Frames that left because all partitions and sources had gone on to later ones.";
        frames_expired: Information, Times, "Frames that left because their time was up.";
        frames_early: Information, Times, "Frames that left because there was no room for further ones.";
        frames_at_end: Information, Times, "Frames that left because the program was ended.";
        frames_without_metadata: Information, Times, "Frames that left and whose period or charge nobody has told.";
        frames_dropped: Information, Times, "Those of them that were not sent.";
        frames_sent: Information, Times, "Frames that were sent, and acknowledged.";
        frames_waiting: Now, Times, "Frames that have not been acknowledged yet.";
        messages_sent: Information, Messages, "Messages of frames (pu00 and ev44) that were sent, and acknowledged.";
        bytes_sent: Information, Bytes, "Bytes of these.";
        transactions: Information, Times, "Transactions that were committed: frames and offsets together.";
        transactions_aborted: Information, Times, "Transactions that the brokers did not take, and whose frames were sent again.";
        messages_deleted: Information, Messages, "Messages that the brokers had deleted before they were read.";
    }
}

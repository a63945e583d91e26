//! What is counted of topics with events.

evforge_core::counters! {
    /// Counters of the events of topics: messages_read = used + noted + left out by reason, and the same of events, in every snapshot.
    pub struct EventTopicCounters: "events of topics" {
        messages_read: Enters(Packets), Messages, "Messages read from the topics.";
        messages_of_events: Leaves(Packets), Messages, "Messages of events (ev44, ev42), which were used.";
        messages_noted: Leaves(Packets), Messages, "Messages of values and histograms (f142, f144, pu00, da00, hs00, hs01), of which the newest value or the sum was noted.";
        messages_duplicated: Discarded(Packets), Messages, "Messages that came a second time: the same source, the same number, the same bytes.";
        messages_refused: Discarded(Packets), Messages, "Messages that are damaged, or of no schema that is read; by reason under \"messages\".";
        messages_of_other_schemas: Discarded(Packets), Messages, "Messages of other schemas, which nothing is shown of.";
        messages_lost: Information, Messages, "Messages that are missing between the numbers of their sources.";
        messages_of_untold_sources: Information, Messages, "Messages of sources that came when there were too many to be told apart: whether some are missing, or came twice, is not known.";
        messages_behind: Now, Messages, "Messages in the topics that have not been read yet, when it was asked last.";
        bytes: Information, Bytes, "Bytes of all messages read.";
        events_read: Enters(Events), Events, "Events in the messages.";
        events_shown: Leaves(Events), Events, "Events that were handed on.";
        events_outside_epoch: Discarded(Events), Events, "Events left out because their time, or that of their pulse, is before 1970 or too late.";
        events_of_unknown_monitors: Discarded(Events), Events, "Events of beam monitors that no picture is there for: the configuration does not know the source.";
        pulses_read: Information, Times, "Pulses in the messages, with and without events; one in several messages counts for each.";
    }
}

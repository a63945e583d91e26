//! What is counted of topics with events.

evforge_core::counters! {
    /// Counters of the events of topics: messages_read = used + noted + of ledgers + left out by reason, and the same of events, in every snapshot.
    pub struct EventTopicCounters: "events of topics" {
        messages_read: Enters(Packets), Messages, "Messages read from the topics.";
        messages_of_events: Leaves(Packets), Messages, "Messages of events (ev44, ev42), which were used.";
        messages_noted: Leaves(Packets), Messages, "Messages of values and histograms (f142, f144, un00, tdct, pu00, vc00, da00, hs00, hs01), of which the newest value, the sum or the spectrum was noted.";
        messages_of_ledgers: Leaves(Packets), Messages, "Messages of the ledgers of runs, of which the newest was noted.";
        messages_duplicated: Discarded(Packets), Messages, "Messages that came a second time: the same source, the same number, the same bytes.";
        messages_refused: Discarded(Packets), Messages, "Messages that are damaged, or of no schema that is read; by reason under \"messages\".";
        messages_of_other_schemas: Discarded(Packets), Messages, "Messages of other schemas, which nothing is shown of.";
        messages_of_too_many_names: Discarded(Packets), Messages, "Messages of values, pulses or ledgers whose name is one too many: 256 values, 16 sources of pulses and 256 sources and modules of runs are noted.";
        messages_with_long_names: Discarded(Packets), Messages, "Messages of values whose name is longer than 200 bytes.";
        messages_without_numbers: Discarded(Packets), Messages, "Messages of values that are no number: texts, arrays, NaN, histograms without counts, ledgers without packets.";
        messages_of_the_future: Discarded(Packets), Messages, "Messages of values whose time is more than a day later than now.";
        charges_refused: Information, Messages, "Proton charges that are no number from 0 to 1000 µAh; their pulses are counted.";
        spectra_left_out: Information, Messages, "Messages of histograms whose sum was noted and whose spectrum was not: there are 32 at most.";
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

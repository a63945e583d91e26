//! What the Kafka output counts.

evforge_core::counters! {
    /// Counters of a Kafka output. In every snapshot, of events: taken = acknowledged + pending + left out + failed (see
    /// the counters of any output), and of messages: produced = acknowledged + waiting + failed by reason.
    pub struct KafkaCounters: "kafka" {
        messages_produced: Information, Times, "Messages made, with events or of any other kind.";
        messages_acknowledged: Information, Times, "Messages that the brokers have acknowledged.";
        messages_waiting: Now, Times, "Messages that wait to be acknowledged: in memory, sent, or in the spill.";
        bytes_produced: Information, Bytes, "Bytes of the messages made.";
        bytes_acknowledged: Information, Bytes, "Bytes of the messages that the brokers have acknowledged.";
        failed_timed_out: Information, Times, "Messages given up because no broker acknowledged them within message.timeout.ms.";
        failed_too_large: Information, Times, "Messages that the brokers refused because they are too large.";
        failed_unknown_topic: Information, Times, "Messages whose topic or partition does not exist any more.";
        failed_not_authorised: Information, Times, "Messages that this client may not write.";
        failed_purged: Information, Times, "Messages that were not acknowledged at the end of the run, or after a failure, and are not on disk.";
        failed_other: Information, Times, "Messages that failed for another reason, which the log names.";
        requests_retried: Information, Times, "Requests that had to be sent to a broker again.";
        broker_outages: Information, Times, "Times at which no broker answered any more.";
        event_messages: Information, Times, "Messages with events (ev44 or ev42).";
        closed_by_pulse: Information, Times, "Messages with events closed because the next pulse began.";
        closed_by_events: Information, Times, "Messages with events closed because they had as many as one may have.";
        closed_by_time: Information, Times, "Messages with events closed because nothing had come for a while.";
        closed_at_end: Information, Times, "Messages with events closed at the end of the run.";
        empty_pulses_sent: Information, Times, "Pulses without events that were sent.";
        metadata_messages: Information, Times, "Messages with the metadata of a pulse (pu00).";
        veto_messages: Information, Times, "Messages with the vetoes of events (da00).";
        veto_name_messages: Information, Times, "Messages with the vetoes of frames and their names (vc00).";
        frames_outside_epoch: Information, Times, "Frames not announced because their time cannot be expressed in nanoseconds since 1970.";
        ledger_messages: Information, Times, "Messages with the ledger (da00).";
        monitor_messages: Information, Times, "Messages with histograms of beam monitors (da00, hs01).";
        status_messages: Information, Times, "Messages with the state of this program (x5f2).";
        value_messages: Information, Times, "Messages with values for a control system (da00).";
        sample_messages: Information, Times, "Messages with raw packets (ar51).";
        side_messages_left_out: Information, Times, "Messages about the run (ledger, status, values) for which there was no room.";
        events_outside_epoch: Information, Events, "Events not sent because their time cannot be expressed in nanoseconds since 1970.";
        events_outside_pulse: Information, Events, "Events not sent because they lie before the pulse that the readout gave them, or more than 2.147 s behind it.";
        events_outside_sources: Information, Events, "Events not sent because their pixel belongs to no source.";
        events_vetoed: Information, Events, "Events not sent because a veto marks them, as the configuration asks for.";
        events_without_pixel: Information, Events, "Events sent whose pixel id is not one of the detector's.";
        spilled_messages: Information, Times, "Messages that went to the disk: there was no room in memory, or the run ended before they were acknowledged.";
        spilled_bytes: Now, Bytes, "Bytes of the spill at this moment.";
        spill_resent: Information, Times, "Messages that an earlier run had left in the spill, and that were sent now.";
        spill_already_there: Information, Times, "Messages that an earlier run had left in the spill, and that the topic has already.";
        acknowledged_after_p50: Information, Microseconds, "From the arrival of packets until their events were acknowledged: half of the messages were faster.";
        acknowledged_after_p99: Information, Microseconds, "From the arrival of packets until their events were acknowledged: 99 % of the messages were faster.";
    }
}

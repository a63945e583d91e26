//! What a SoNDe pipeline counts. The table in `docs/counters.md`, the report and the metrics are made from
//! this declaration.

evforge_core::counters! {
    /// Counters of a SoNDe pipeline.
    pub struct SondeCounters: "sonde" {
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        packets_wrong_version: Discarded(Packets), Packets, "Packets with a version other than 0.";
        packets_wrong_length: Discarded(Packets), Packets, "Packets whose header announces another length.";
        packets_unknown_type: Discarded(Packets), Packets, "Packets of a type that has no readouts.";
        packets_no_room_for_an_event: Discarded(Packets), Packets, "Packets of type 0xD4 too short for one event.";
        packets_wrong_count: Discarded(Packets), Packets, "Packets that do not hold as many readouts as they declare.";
        packets_unknown_module: Discarded(Packets), Packets, "Packets of a group or system that the configuration does not mention.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used: triggers, or samples of type 0xD4.";
        no_such_channel: Discarded(Readouts), Readouts, "Readouts of channels that do not exist.";
        masked: Discarded(Readouts), Readouts, "Readouts of channels that the configuration leaves out.";
        hits: Joins(Readouts, Hits), Hits, "Readouts with a pixel.";
        late: Discarded(Hits), Hits, "Hits that came after their time had been closed (order by time).";
        unconfirmed_jump: Discarded(Hits), Hits, "Hits with a jump in time that the next packet did not confirm (order by time).";
        hits_in_events: Leaves(Hits), Hits, "Hits that left as events.";
        held: Held(Hits), Hits, "Hits that wait at this moment for their time (order by time).";
        events: HandedOut, Events, "Events formed.";
        amplitude_samples: Information, Times, "Amplitudes in packets of types 0xD5 and 0xD4.";
        forward_jumps: Information, Times, "Confirmed steps ahead of a module's clock by more than sorting.forward_jump.";
        clock_restarts: Information, Times, "Restarts of a module's clock.";
        forced_closings: Information, Times, "Times that waiting hits were closed early for want of room: an alarm.";
    }
}

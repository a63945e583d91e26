//! What a pipeline of sampled channels counts. The table in `docs/counters.md`, the report and the metrics are
//! made from this declaration.

evforge_core::counters! {
    /// Counters of a pipeline of sampled channels.
    pub struct AdcReadoutCounters: "adc_readout" {
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        packets_wrong_length: Discarded(Packets), Packets, "Packets whose header announces another length.";
        packets_unknown_type: Discarded(Packets), Packets, "Packets that are neither data nor a heartbeat.";
        packets_no_heartbeat_time: Discarded(Packets), Packets, "Heartbeats too short for their time.";
        heartbeats: Information, Packets, "Heartbeats: packets without data.";
        packets_wrong_filler: Information, Packets, "Packets with something else than filler behind their last run; the runs are used.";
        packets_wrong_trailer: Information, Packets, "Packets that do not end as they should; their runs are used.";
        readouts: Enters(Readouts), Readouts, "Runs of samples in the packets used, faulty ones included.";
        no_run: Discarded(Readouts), Readouts, "Places where a run should begin and does not; the rest of the packet is lost.";
        wrong_run_length: Discarded(Readouts), Readouts, "Runs of an impossible length; the rest of the packet is lost.";
        wrong_run_trailer: Discarded(Readouts), Readouts, "Runs that do not end as they should.";
        unknown_channel: Discarded(Readouts), Readouts, "Runs of channels that the configuration does not have.";
        empty_run: Discarded(Readouts), Readouts, "Runs without samples.";
        hits: Joins(Readouts, Hits), Hits, "Runs with a peak.";
        hits_in_events: Leaves(Hits), Hits, "Peaks that left as events.";
        held: Held(Hits), Hits, "Peaks that wait for their time at this moment: 0 unless pulses arrive on a channel.";
        events: HandedOut, Events, "Events formed.";
        samples: Information, Times, "Samples of the runs used.";
        averages: Information, Times, "Points of averaged waveforms made.";
        samples_not_averaged: Information, Times, "Samples dropped from a mean because the oversampling changed.";
    }
}

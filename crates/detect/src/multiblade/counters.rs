//! What a Multi-Blade pipeline counts. The table in `docs/counters.md`, the report and the metrics are made from
//! this declaration.

evforge_core::counters! {
    /// Counters of a Multi-Blade pipeline.
    pub struct MultiBladeCounters: "multiblade" {
        packets_empty: Discarded(Packets), Packets, "Packets without a single record.";
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        packets_wrong_version: Discarded(Packets), Packets, "Packets of another version of jadaq than the configured one.";
        packets_with_waveforms: Discarded(Packets), Packets, "Packets of waveforms, which are not used.";
        packets_unknown_element_type: Discarded(Packets), Packets, "Packets with a type of elements that does not exist.";
        packets_ragged: Discarded(Packets), Packets, "Packets whose content is not a whole number of readouts, or not the number that the header says.";
        packets_unmapped_digitizer: Discarded(Packets), Packets, "Packets of a digitizer that the configuration does not mention (jadaq).";
        packets_impossible_time: Discarded(Packets), Packets, "Packets whose global time is too large to be one.";
        end_of_run_records: Information, Times, "Records that say that the run is over; they are not readouts.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        unmapped_digitizer: Discarded(Readouts), Readouts, "Readouts of digitisers that the configuration does not mention (records).";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that nothing is wired to.";
        masked: Discarded(Readouts), Readouts, "Readouts of channels that the configuration masks.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        impossible_time: Discarded(Readouts), Readouts, "Readouts whose time is too large to be one.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts placed on a wire or strip, with a time.";
        group_too_large: Discarded(Hits), Hits, "Hits of windows that reached sorting.max_group_hits.";
        only_wires: Discarded(Hits), Hits, "Hits of windows without any strip.";
        only_strips: Discarded(Hits), Hits, "Hits of windows without any wire.";
        not_adjacent: Discarded(Hits), Hits, "Hits of windows whose wires or strips are not neighbours and do not make two neutrons.";
        ambiguous: Discarded(Hits), Hits, "Hits of windows with two groups of wires and of strips whose amplitudes do not tell which belong together.";
        cluster_too_wide: Discarded(Hits), Hits, "Hits of clusters with more than window.max_wires or window.max_strips.";
        amplitude_mismatch: Discarded(Hits), Hits, "Hits of clusters whose wires and strips differ in amplitude by more than window.max_amplitude_ratio.";
        no_amplitude: Discarded(Hits), Hits, "Hits of clusters with a plane whose amplitudes are all zero.";
        outside_geometry: Discarded(Hits), Hits, "Hits of events outside the logical geometry.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment: for their time or in an open window.";
        windows: Information, Clusters, "Time windows of cassettes that were closed.";
        separated: Information, Clusters, "Windows that were found to be two neutrons.";
        events: Information, Events, "Events formed.";
    }
}

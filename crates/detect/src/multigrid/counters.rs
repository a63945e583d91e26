//! What the pipelines of a Multi-Grid count besides packets. The table in `docs/counters.md`, the report and the
//! metrics are made from these declarations.

evforge_core::counters! {
    /// Counters of a Multi-Grid read out by VMMR modules.
    pub struct MesytecCounters: "multigrid" {
        packets_not_readout_data: Discarded(Packets), Packets, "Packets of the SIS3153 that are no readout data: requests, acknowledgements, heartbeats.";
        packets_too_short: Discarded(Packets), Packets, "Packets without room for a trigger.";
        packets_damaged: Discarded(Packets), Packets, "Packets discarded as a whole because the framing of a trigger in them is damaged (discard_damaged_packets).";
        triggers: Information, Times, "Triggers in the packets used, rejected ones included.";
        external_triggers: Information, Times, "External triggers: pulses of the source.";
        damaged_triggers: Information, Times, "Places in packets where the framing of a trigger is damaged.";
        words_in_damage: Information, Times, "Words passed over because of damaged framing.";
        rejected_words_missing: Information, Times, "Triggers rejected because a header announces more words than there are.";
        rejected_unknown_word: Information, Times, "Triggers rejected because of a word of unknown type.";
        rejected_no_time: Information, Times, "Triggers rejected because they have no time.";
        readouts: Enters(Readouts), Readouts, "Readouts in the triggers that could be framed.";
        in_rejected_triggers: Discarded(Readouts), Readouts, "Readouts of triggers that were then rejected.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that no wire or grid is wired to.";
        masked: Discarded(Readouts), Readouts, "Readouts of masked channels.";
        outside_limits: Discarded(Readouts), Readouts, "Readouts whose rescaled amplitude is not within the limits of their channel.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts placed on a wire or a grid.";
        no_wire: Discarded(Hits), Hits, "Hits of triggers in which no wire has a signal.";
        no_grid: Discarded(Hits), Hits, "Hits of triggers in which wires have a signal and no grid has.";
        outside_geometry: Discarded(Hits), Hits, "Hits of triggers whose position is outside the logical geometry.";
        double_neutron: Discarded(Hits), Hits, "Hits of triggers dropped as two neutrons at once.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        double_neutrons: Information, Events, "Triggers recognised as two neutrons at once, kept or dropped.";
        triggers_without_event: Information, Times, "Triggers with readouts that made no event.";
    }
}

evforge_core::counters! {
    /// Counters of the Multi-Grid demonstrator at CNCS.
    pub struct CncsCounters: "multigrid-cncs" {
        packets_without_groups: Discarded(Packets), Packets, "Packets in which no group of ten words was found.";
        error_bytes: Information, Bytes, "Bytes that belong to no group of ten words.";
        readouts: Enters(Readouts), Readouts, "Readouts: groups of ten words.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude of the wire or the grid.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts above the thresholds.";
        double_neutron: Discarded(Hits), Hits, "Hits dropped as two neutrons at once.";
        outside_geometry: Discarded(Hits), Hits, "Hits whose wire and grid have no pixel in common.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        double_neutrons: Information, Events, "Readouts recognised as two neutrons at once, kept or dropped.";
    }
}

evforge_core::counters! {
    /// Counters of columns whose hits meet in windows of time.
    pub struct ColumnCounters: "multigrid-columns" {
        group_too_large: Discarded(Hits), Hits, "Hits of windows that reached sorting.max_group_hits.";
        only_wires: Discarded(Hits), Hits, "Hits of windows without any grid, and of clusters of wires that no cluster of grids belongs to.";
        only_grids: Discarded(Hits), Hits, "Hits of windows without any wire, and of clusters of grids that no cluster of wires belongs to.";
        ambiguous: Discarded(Hits), Hits, "Hits of ambiguous pairs that are dropped.";
        grid_span_too_large: Discarded(Hits), Hits, "Hits of windows whose grids lie further apart than max_grid_span.";
        no_amplitude: Discarded(Hits), Hits, "Hits of windows with a plane whose amplitudes are all zero.";
        outside_geometry: Discarded(Hits), Hits, "Hits of windows whose position is outside the logical geometry.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment: for their time or in an open window.";
        windows: Information, Clusters, "Windows of columns that were closed, those that were too large not among them.";
        ambiguous_pairs: Information, Clusters, "Pairs of a cluster of wires and one of grids where another pairing would be nearly as good.";
    }
}

//! What a Gd-GEM counts. The table in `docs/counters.md`, the report and the metrics are made from these
//! declarations.

evforge_core::counters! {
    /// Packets and readouts of a Gd-GEM with SRS.
    pub struct GdGemCounters: "gdgem" {
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        packets_unexpected_end_of_frame: Discarded(Packets), Packets, "End-of-frame packets in a format that has none.";
        packets_wrong_data_id: Discarded(Packets), Packets, "Packets whose data id is not that of the configured format.";
        packets_no_such_fec: Discarded(Packets), Packets, "Packets with an impossible FEC number.";
        packets_unmapped_fec: Discarded(Packets), Packets, "Packets of a FEC that the configuration does not mention.";
        packets_without_readouts: Discarded(Packets), Packets, "Packets that end after their header.";
        packets_ragged: Discarded(Packets), Packets, "Packets whose content is not a whole number of readouts.";
        end_of_frame_packets: Information, Packets, "Packets that only end a frame (VMM2).";
        no_data_packets: Information, Packets, "Packets that announce no data (VMM2).";
        markers: Information, Times, "Time markers of chips (VMM3, VMM3a).";
        markers_unknown_chip: Information, Times, "Time markers ignored because their chip does not exist; they belong to the triggered mode.";
        event_counters: Information, Times, "Markers that number a trigger (triggered mode).";
        event_counter_steps: Information, Times, "Event counters that do not follow the one before on their chip (triggered mode): triggers are missing.";
        trigger_times: Information, Times, "Markers with the time of a trigger (triggered mode).";
        relative_times: Information, Times, "Markers with the relative time of a trigger (triggered mode).";
        markers_without_meaning: Information, Times, "Markers whose relative time is beyond its range (triggered mode); ignored.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        no_marker: Discarded(Readouts), Readouts, "Readouts that came before the first time marker of their chip.";
        latency_violation: Discarded(Readouts), Readouts, "Readouts whose trigger offset shows that the chip could not keep up.";
        undefined_offset: Discarded(Readouts), Readouts, "Readouts whose trigger offset has no defined meaning.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that no strip is wired to.";
        masked: Discarded(Readouts), Readouts, "Readouts of channels that the configuration masks.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        before_clock_zero: Discarded(Readouts), Readouts, "Readouts whose time lies before the start of the electronics' clock.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts placed on a strip, with a time.";
    }
}

evforge_core::counters! {
    /// Counters of tracks, whatever electronics read them out.
    pub struct TrackCounters: "tracks" {
        group_too_large: Discarded(Hits), Hits, "Hits of time groups larger than sorting.max_group_hits.";
        cluster_too_small: Discarded(Hits), Hits, "Hits of clusters with fewer hits than clustering.min_hits.";
        matching_full: Discarded(Hits), Hits, "Hits of clusters that found no room to wait for the other plane.";
        only_x: Discarded(Hits), Hits, "Hits of clusters on x without a partner on y.";
        only_y: Discarded(Hits), Hits, "Hits of clusters on y without a partner on x.";
        only_u: Discarded(Hits), Hits, "Hits of clusters on a third plane, u, that belong to none on x or y.";
        too_wide_x: Discarded(Hits), Hits, "Hits of events that span more strips on x than position.spans.max_x.";
        too_narrow_x: Discarded(Hits), Hits, "Hits of events that span fewer strips on x than position.spans.min_x.";
        too_long_x: Discarded(Hits), Hits, "Hits of events that take longer on x than position.spans.max_time.";
        too_wide_y: Discarded(Hits), Hits, "Hits of events that span more strips on y than position.spans.max_y.";
        too_narrow_y: Discarded(Hits), Hits, "Hits of events that span fewer strips on y than position.spans.min_y.";
        too_long_y: Discarded(Hits), Hits, "Hits of events that take longer on y than position.spans.max_time.";
        too_few_hits: Discarded(Hits), Hits, "Hits of events with fewer hits on a plane than position.minimum_hits.";
        too_uncertain: Discarded(Hits), Hits, "Hits of events beyond a limit of the position's uncertainty.";
        amplitude_mismatch: Discarded(Hits), Hits, "Hits of events whose amplitudes on x and y differ by more than matching.max_amplitude_ratio.";
        ambiguous: Discarded(Hits), Hits, "Hits of ambiguous pairs, with matching.ambiguous = \"drop\".";
        outside_geometry: Discarded(Hits), Hits, "Hits of events outside the logical geometry.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment: for their time or for a partner.";
        clusters_x: Information, Clusters, "Clusters formed on x.";
        clusters_y: Information, Clusters, "Clusters formed on y.";
        clusters_u: Information, Clusters, "Clusters formed on a third plane, u.";
        clusters_of_pads: Information, Clusters, "Clusters formed of pads.";
        clusters_wider_than_overlap: Information, Clusters, "Clusters that may go on beyond what their region of a partition sees; their time groups were clustered whole.";
        joined_clusters: Information, Clusters, "Clusters that were joined with another one of their plane, because they are close in time: where they are of several neutrons, these have one event together.";
        ambiguous_pairs: Information, Clusters, "Pairs of clusters for which another pairing would be nearly as good.";
        crowded_sets: Information, Times, "Sets of clusters that were paired before they were complete, because they had more than 64 on a plane, or 32 with a third plane.";
        confirmed_events: Information, Events, "Events of x and y that a third plane, u, confirms.";
        unconfirmed_events: Information, Events, "Events of x and y that a third plane, u, does not confirm.";
        events_from_u: Information, Events, "Events of x or y and u: the coordinate that was not seen is computed from u.";
        events: HandedOut, Events, "Events formed.";
    }
}

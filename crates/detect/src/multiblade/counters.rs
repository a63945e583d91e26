//! What the analysis of a Multi-Blade counts, whatever its readout.

evforge_core::counters! {
    /// Hits of the cassettes, by what happened to them.
    pub struct CassetteCounters: "cassettes" {
        group_too_large: Discarded(Hits), Hits, "Hits of windows that reached sorting.max_group_hits.";
        only_wires: Discarded(Hits), Hits, "Hits of windows without any strip, and of clusters of wires that no cluster of strips belongs to.";
        only_strips: Discarded(Hits), Hits, "Hits of windows without any wire, and of clusters of strips that no cluster of wires belongs to.";
        not_adjacent: Discarded(Hits), Hits, "Hits of windows whose wires or strips are not neighbours and do not make two neutrons.";
        ambiguous: Discarded(Hits), Hits, "Hits of windows with two groups of wires and of strips whose amplitudes do not tell which belong together, and of ambiguous pairs that are dropped.";
        cluster_too_wide: Discarded(Hits), Hits, "Hits of clusters with more than window.max_wires or window.max_strips.";
        amplitude_mismatch: Discarded(Hits), Hits, "Hits of clusters whose wires and strips differ in amplitude by more than window.max_amplitude_ratio.";
        no_amplitude: Discarded(Hits), Hits, "Hits of clusters with a plane whose amplitudes are all zero.";
        outside_geometry: Discarded(Hits), Hits, "Hits of events outside the logical geometry.";
        hits_in_events: Leaves(Hits), Hits, "Hits of the events that were formed.";
        held: Held(Hits), Hits, "Hits that wait at this moment: for their time or in an open window.";
        windows: Information, Clusters, "Time windows of cassettes that were closed.";
        separated: Information, Clusters, "Windows that were found to be two neutrons.";
        ambiguous_pairs: Information, Clusters, "Pairs of a cluster of wires and one of strips where another pairing would be nearly as good.";
        events: HandedOut, Events, "Events formed.";
    }
}

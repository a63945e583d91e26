//! What beam monitors count. The table in `docs/counters.md`, the report and the metrics are made from these
//! declarations.

evforge_core::counters! {
    /// Records of beam monitors.
    pub struct BeamMonitorCounters: "beam monitors" {
        packets_ragged: Discarded(Packets), Packets, "Packets whose content is not a whole number of records.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        impossible_fibre: Discarded(Readouts), Readouts, "Readouts with a fibre above 23.";
        impossible_fen: Discarded(Readouts), Readouts, "Readouts with a FEN above 23.";
        wrong_length: Discarded(Readouts), Readouts, "Readouts whose length field is not 20.";
        wrong_time_fraction: Discarded(Readouts), Readouts, "Readouts with more ticks than a second has.";
        unknown_kind: Discarded(Readouts), Readouts, "Readouts of a kind that does not exist.";
        wrong_ring: Discarded(Readouts), Readouts, "Readouts of another ring than that of the monitors.";
        far_from_pulse: Discarded(Readouts), Readouts, "Readouts more than 10 s before or after the pulse of their packet: their times are damaged.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of a FEN and channel that the configuration does not mention.";
        wrong_kind: Discarded(Readouts), Readouts, "Readouts of another kind than their monitor is configured to be.";
        outside_monitor: Discarded(Readouts), Readouts, "Readouts whose place is outside their monitor.";
        below_threshold: Discarded(Readouts), Readouts, "Single neutrons with too small an amplitude.";
        integrated_before_pulse: Information, Readouts, "Readouts of integrating monitors without a time of flight, because they are earlier than the previous pulse of their packet: their value counts as later than all bins.";
        integrated_too_late: Information, Readouts, "Readouts of integrating monitors further after their pulse than max_time_of_flight: their value counts as later than all bins.";
        integrated: Leaves(Readouts), Readouts, "Readouts of integrating monitors whose value is in the sum of their monitor.";
        hits: Joins(Readouts, Hits), Hits, "Single neutrons, each a hit of its own.";
        without_samples: Information, Readouts, "Readouts of integrating monitors that name no samples: their value is not divided.";
        relaxed_record_length: Information, Readouts, "Readouts used although their length is given in bits (ess.accept).";
    }
}

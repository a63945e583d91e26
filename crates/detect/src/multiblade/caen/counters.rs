//! What the readout of CAEN digitisers counts before its hits reach their cassettes. The table in
//! `docs/counters.md`, the report and the metrics are made from this declaration.

evforge_core::counters! {
    /// Packets and readouts of a Multi-Blade with CAEN digitisers.
    pub struct MultiBladeCounters: "multiblade" {
        packets_empty: Discarded(Packets), Packets, "Packets without a single record.";
        packets_too_short: Discarded(Packets), Packets, "Packets too short for their header.";
        packets_wrong_version: Discarded(Packets), Packets, "Packets of another version of jadaq than the configured one.";
        packets_with_waveforms: Discarded(Packets), Packets, "Packets of waveforms, which are not used.";
        packets_unknown_element_type: Discarded(Packets), Packets, "Packets with a type of elements that does not exist.";
        packets_ragged: Discarded(Packets), Packets, "Packets whose content is not a whole number of readouts, or not the number given in the header.";
        packets_unmapped_digitizer: Discarded(Packets), Packets, "Packets of a digitizer that the configuration does not mention (jadaq).";
        packets_impossible_time: Discarded(Packets), Packets, "Packets whose global time is too large to be one.";
        end_of_run_records: Information, Times, "Records that announce the end of the run; they are not readouts.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        unmapped_digitizer: Discarded(Readouts), Readouts, "Readouts of digitisers that the configuration does not mention (records).";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that nothing is wired to.";
        masked: Discarded(Readouts), Readouts, "Readouts of channels that the configuration masks.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        impossible_time: Discarded(Readouts), Readouts, "Readouts whose time is too large to be one.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts placed on a wire or strip, with a time.";
    }
}

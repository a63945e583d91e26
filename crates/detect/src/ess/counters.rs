//! What the pipelines of the ESS readout count, whatever their detector. The table in `docs/counters.md`, the
//! report and the metrics are made from these declarations.

evforge_core::counters! {
    /// Headers of packets, by the rules of section 1.
    pub struct HeaderCounters: "ess header" {
        packets_empty: Discarded(Packets), Packets, "Packets without a single byte.";
        packets_wrong_size: Discarded(Packets), Packets, "Packets too short for the header of their version.";
        packets_wrong_padding: Discarded(Packets), Packets, "Packets whose first byte is not 0.";
        packets_wrong_version: Discarded(Packets), Packets, "Packets with a header version other than 0 and 1.";
        packets_wrong_cookie: Discarded(Packets), Packets, "Packets without the letters ESS.";
        packets_wrong_length: Discarded(Packets), Packets, "Packets whose length field is not the number of bytes received.";
        packets_wrong_type: Discarded(Packets), Packets, "Packets of another detector type than the configured one.";
        packets_wrong_output_queue: Discarded(Packets), Packets, "Packets with an output queue that does not exist.";
        packets_time_source: Discarded(Packets), Packets, "Packets whose time-source flags mark their times as unreliable.";
        packets_wrong_time_fraction: Discarded(Packets), Packets, "Packets with a pulse or previous pulse of more ticks than a second has.";
        packets_pulse_too_far: Discarded(Packets), Packets, "Packets whose pulse is before the previous one or too far after it.";
        version_0_packets: Information, Packets, "Packets used that have a header of version 0.";
        version_1_packets: Information, Packets, "Packets used that have a header of version 1.";
        heartbeats: Information, Packets, "Packets used that have no readouts and only tell the pulse.";
        relaxed_type: Information, Packets, "Packets used although they are of another detector type (ess.accept).";
        relaxed_output_queue: Information, Packets, "Packets used although their output queue does not exist (ess.accept).";
        relaxed_timing: Information, Packets, "Packets used although time source and synchronisation source disagree (ess.accept).";
        relaxed_time_status: Information, Packets, "Packets used although time source and timing status disagree (ess.accept).";
        relaxed_even_fibre_sync: Information, Packets, "Packets used although the even fibre has lost synchronisation (ess.accept).";
        relaxed_odd_fibre_sync: Information, Packets, "Packets used although the odd fibre has lost synchronisation (ess.accept).";
        relaxed_header_length: Information, Packets, "Packets used although their length field also counts the UDP header (ess.accept).";
        relaxed_time_fraction: Information, Packets, "Packets used although a pulse has more ticks than a second has (ess.accept).";
        relaxed_pulse_distance: Information, Packets, "Packets used although the pulse is too far from the previous one (ess.accept).";
    }
}

evforge_core::counters! {
    /// The health of the time source: what the headers say about pulses and synchronisation.
    pub struct TimeSourceCounters: "time source" {
        pulses: Information, Times, "Pulses reported by the headers, over all output queues.";
        pulses_absent: Information, Times, "Times that at least one pulse was reported by no packet of the queue: the previous pulse is not the one seen last.";
        pulses_repeated: Information, Times, "Pulses that are reported as their own previous pulse.";
        pulses_backwards: Information, Times, "Pulses earlier than the one reported before by the same queue.";
        pulses_irregular: Information, Times, "Pulses whose distance from the previous one is not the period within 1 percent: ess.pulse_period, or the one that most pulses have.";
        pulses_late: Information, Times, "Pulses that no queue had reported before their time was closed: events may be filed under the pulse before.";
        pulses_unconfirmed: Information, Times, "Pulses with a forward jump in time that the next packet did not confirm.";
        pulses_refused: Information, Times, "Pulses that found no room to wait for their time.";
        time_source_timing: Information, Packets, "Packets whose time source and synchronisation source disagree, used or not.";
        time_source_status: Information, Packets, "Packets whose time source and timing status disagree, used or not.";
        even_fibre_sync_lost: Information, Packets, "Packets that report that the even fibre has lost synchronisation, used or not.";
        odd_fibre_sync_lost: Information, Packets, "Packets that report that the odd fibre has lost synchronisation, used or not.";
        packets_without_pulse: Information, Packets, "Packets with the pulse time 0: the readout knows of no pulse.";
        readouts_before_pulse: Information, Readouts, "Readouts earlier than the pulse of their packet: they belong to an earlier pulse.";
        readouts_before_previous_pulse: Information, Readouts, "Readouts earlier than the previous pulse of their packet.";
    }
}

evforge_core::counters! {
    /// VMM3a records.
    pub struct VmmCounters: "vmm3a readouts" {
        packets_ragged: Discarded(Packets), Packets, "Packets whose content is not a whole number of records.";
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        impossible_fibre: Discarded(Readouts), Readouts, "Readouts with a fibre above 23.";
        impossible_fen: Discarded(Readouts), Readouts, "Readouts with a FEN above 23.";
        wrong_length: Discarded(Readouts), Readouts, "Readouts whose length field is not 20.";
        wrong_time_fraction: Discarded(Readouts), Readouts, "Readouts with more ticks than a second has.";
        impossible_bunch_crossing: Discarded(Readouts), Readouts, "Readouts with a bunch crossing counter above 4095.";
        impossible_amplitude: Discarded(Readouts), Readouts, "Readouts with an amplitude above 1023.";
        impossible_chip: Discarded(Readouts), Readouts, "Readouts with a VMM above 15.";
        impossible_channel: Discarded(Readouts), Readouts, "Readouts with a channel above 63.";
        clustered_readouts: Discarded(Readouts), Readouts, "Clusters that the firmware has made of several channels (GEO bit 6), which are no readouts of a channel.";
        calibration_readouts: Discarded(Readouts), Readouts, "Readouts of the calibration mode, which are no neutrons.";
        unmapped_ring: Discarded(Readouts), Readouts, "Readouts of rings that the configuration does not mention.";
        unmapped_fen: Discarded(Readouts), Readouts, "Readouts of FENs that the configuration does not mention on their ring.";
        unmapped_hybrid: Discarded(Readouts), Readouts, "Readouts of hybrids that the configuration does not mention on their FEN.";
        unmapped_channel: Discarded(Readouts), Readouts, "Readouts of channels that nothing is wired to.";
        masked: Discarded(Readouts), Readouts, "Readouts of channels that the configuration masks.";
        below_threshold: Discarded(Readouts), Readouts, "Readouts with too small an amplitude.";
        far_from_pulse: Discarded(Readouts), Readouts, "Readouts more than 10 s before or after the pulse of their packet: their times are damaged.";
        impossible_time: Discarded(Readouts), Readouts, "Readouts whose corrected time lies before 1970.";
        hits: Joins(Readouts, Hits), Hits, "Hits: readouts placed on the detector, with a time.";
        over_threshold: Information, Readouts, "Readouts that crossed the chip's own threshold.";
        full_scale: Information, Readouts, "Hits with the largest amplitude there is.";
        relaxed_record_length: Information, Readouts, "Readouts used although their length is given in bits (ess.accept).";
    }
}

evforge_core::counters! {
    /// Events on their way to their pulses.
    pub struct FilingCounters: "pulses" {
        events_formed: Enters(Events), Events, "Events formed, with or without a pulse.";
        before_first_pulse: Information, Events, "Events handed out without a pulse, because no earlier one is known: they have no time of flight.";
        time_of_flight_too_long: Information, Events, "Events handed out without a pulse, because the latest one is more than max_time_of_flight before them: they have no time of flight.";
        events_filed: Leaves(Events), Events, "Events handed out, with or without a pulse.";
        held_events: Held(Events), Events, "Events that wait at this moment.";
        pulses_filed: Information, Times, "Pulses handed out, with or without events.";
    }
}

evforge_core::counters! {
    /// Hits that are a neutron each: of beam monitors and tubes.
    pub struct NeutronCounters: "neutrons" {
        hits_in_events: Leaves(Hits), Hits, "Neutrons put into order.";
        held: Held(Hits), Hits, "Neutrons that wait for their time at this moment.";
    }
}

evforge_core::counters! {
    /// Neutrons that come too soon after another one.
    pub struct DeadTimeCounters: "dead time" {
        piled_up: Discarded(Hits), Hits, "Neutrons within the dead time of their tubes after another one (dead_time).";
    }
}

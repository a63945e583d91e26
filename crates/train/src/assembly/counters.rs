//! What the assembly counts.

evforge_core::counters! {
    /// Counters of the assembly of trains.
    pub struct AssemblyCounters: "assembling trains" {
        packets_received: Enters(Packets), Packets, "Datagrams handed to the assembly.";
        packets_in_good_trains: Leaves(Packets), Packets, "Packets in trains that are whole and good.";
        packets_in_kept_trains: Leaves(Packets), Packets, "Packets in incomplete trains that were handed on all the same.";
        packets_in_rejected_trains: Discarded(Packets), Packets, "Packets in trains that are whole, and were rejected for their content or their number.";
        packets_in_dropped_trains: Discarded(Packets), Packets, "Packets in incomplete trains that were not handed on.";
        packets_in_open_trains: Held(Packets), Packets, "Packets in trains that are open at this moment.";
        packets_repeated: Discarded(Packets), Packets, "Packets that their open train had already.";
        packets_late: Discarded(Packets), Packets, "Packets of trains that had been closed.";
        packets_too_short: Discarded(Packets), Packets, "Datagrams with fewer than the 8 bytes of a packet's trailer.";
        packets_empty: Discarded(Packets), Packets, "Datagrams with a packet's trailer and no data.";
        packets_too_long: Discarded(Packets), Packets, "Packets with more data than data_bytes.";
        packets_cut: Discarded(Packets), Packets, "Packets with less data than data_bytes that are not the last of their train.";
        packets_beyond_largest: Discarded(Packets), Packets, "Packets whose data would lie beyond the largest train.";
        packets_wrong_first: Discarded(Packets), Packets, "Packets marked as the first that have another number than 0, or have number 0 and are not marked.";
        packets_of_further_sources: Discarded(Packets), Packets, "Packets of sources beyond the number of sources.";
        packets_without_buffer: Discarded(Packets), Packets, "Packets of trains that could not be opened, because all buffers were with others.";
        packets_beyond_last: Discarded(Packets), Packets, "Packets with a number above that of the last packet of their train.";
        packets_other_last: Discarded(Packets), Packets, "Packets marked as the last although another packet is the last of their train.";
        packets_last_too_low: Discarded(Packets), Packets, "Packets marked as the last although their train had that number, or a higher one, already.";
        packets_reordered: Information, Packets, "Packets used that came after one of their train with a higher number.";
        packets_missing: Information, Packets, "Packets missing in incomplete trains: of trains whose size is unknown, those before the last one seen.";
        bytes_received: Information, Bytes, "Bytes of all datagrams handed to the assembly; over TCP, of all streams.";
        bytes_used: Information, Bytes, "Bytes of trains in all packets that were used, without trailers; over TCP, of what was read of trains.";
        trains_opened: Enters(Trains), Trains, "Trains of which a packet was used; over TCP, those that were announced and for which there was a buffer.";
        trains_good: Leaves(Trains), Trains, "Trains that are whole and good.";
        trains_too_short: Discarded(Trains), Trains, "Whole trains that end before their header does.";
        trains_wrong_begin: Discarded(Trains), Trains, "Whole trains that do not begin with the magic number.";
        trains_wrong_size: Discarded(Trains), Trains, "Whole trains whose header announces another size.";
        trains_wrong_end: Discarded(Trains), Trains, "Whole trains that do not end with the magic number.";
        trains_number_repeated: Discarded(Trains), Trains, "Whole trains with the number of the one before.";
        trains_number_back: Discarded(Trains), Trains, "Whole trains with a lower number than the one before.";
        trains_number_off_stride: Discarded(Trains), Trains, "Whole trains whose number is ahead by something else than strides.";
        trains_number_far_ahead: Discarded(Trains), Trains, "Whole trains whose number is ahead by more than the largest gap.";
        trains_number_not_announced: Discarded(Trains), Trains, "Whole trains, over TCP, with another number than was announced before them.";
        trains_timed_out: Discarded(Trains), Trains, "Incomplete trains: nothing new had come for the time-out.";
        trains_superseded: Discarded(Trains), Trains, "Incomplete trains: closed for a new one, because as many as may be were open.";
        trains_cut_off: Discarded(Trains), Trains, "Incomplete trains, over TCP: their connection ended inside them.";
        trains_ended: Discarded(Trains), Trains, "Incomplete trains: open when the run ended.";
        trains_open: Held(Trains), Trains, "Trains open at this moment.";
        trains_kept: Information, Trains, "Incomplete trains that were handed on all the same.";
        trains_without_first: Information, Trains, "Incomplete trains whose first packet is missing.";
        trains_without_last: Information, Trains, "Incomplete trains whose last packet is missing.";
        trains_of_unknown_size: Information, Trains, "Incomplete trains of which neither header nor last packet came: what is missing at their end is unknown.";
        trains_without_buffer: Information, Trains, "Trains that could not be opened, because all buffers were with others.";
        trains_out_of_order: Information, Trains, "Good trains that became whole after one of a higher number.";
        train_number_gaps: Information, Times, "Times at which the number of a good train was ahead of the one before by more than a stride.";
        train_number_restarts: Information, Times, "Times at which two numbers in succession showed that the numbers have started over elsewhere.";
        images_touched: Information, Images, "Images of incomplete trains that a hole touches: their pixels, or what is said of them.";
        sources_forgotten: Information, Times, "Times at which a silent source made room for a new one.";
        sources_known: Now, Times, "Sources known at this moment.";
        buffers_free: Now, Times, "Buffers free at this moment.";
    }
}

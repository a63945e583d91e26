//! What helium-3 tubes count. The table in `docs/counters.md`, the report and the metrics are made from these declarations.

evforge_core::counters! {
    /// Records of helium-3 tubes.
    pub struct Helium3Counters: "helium-3 readouts" {
        readouts: Enters(Readouts), Readouts, "Readouts in the packets used.";
        impossible_fibre: Discarded(Readouts), Readouts, "Readouts with a fibre above 23.";
        impossible_fen: Discarded(Readouts), Readouts, "Readouts with a FEN above 23.";
        wrong_length: Discarded(Readouts), Readouts, "Readouts whose length field is not 24.";
        behind_wrong_length: Discarded(Readouts), Readouts, "Readouts behind one with a wrong length: where they begin is not known.";
        unmapped_ring: Discarded(Readouts), Readouts, "Readouts of rings that the configuration does not mention.";
        unmapped_fen: Discarded(Readouts), Readouts, "Readouts of FENs that the configuration does not mention on their ring.";
        unmapped_group: Discarded(Readouts), Readouts, "Readouts of groups that the configuration does not mention on their FEN.";
        masked: Discarded(Readouts), Readouts, "Readouts of groups that the configuration masks.";
        far_from_pulse: Discarded(Readouts), Readouts, "Readouts more than 10 s before or after the pulse of their packet: their times are damaged.";
        discarded_flags: Discarded(Readouts), Readouts, "Readouts with a flag that the configuration discards.";
        saturated: Discarded(Readouts), Readouts, "Readouts with a charge at the limit of the amplifier.";
        charge_too_small: Discarded(Readouts), Readouts, "Readouts with too small a charge of an end.";
        no_charge: Discarded(Readouts), Readouts, "Readouts whose charges have a sum of 0 or below: no place follows from them.";
        sum_too_small: Discarded(Readouts), Readouts, "Readouts whose charges have too small a sum.";
        sum_too_large: Discarded(Readouts), Readouts, "Readouts whose charges have too large a sum.";
        position_outside: Discarded(Readouts), Readouts, "Readouts whose charges put them beyond an end of the tube: one of them is below 0.";
        outside_tubes: Discarded(Readouts), Readouts, "Readouts between the intervals of the tubes of their group.";
        outside_detector: Discarded(Readouts), Readouts, "Readouts of the part of a tube that has no pixels.";
        hits: Joins(Readouts, Hits), Hits, "Readouts with a pixel.";
        between_tubes: Information, Readouts, "Readouts between the intervals of the tubes of their group that count as the nearest end (outside = \"nearest\").";
        corrected_below: Information, Readouts, "Readouts whose corrected position lies before the beginning of the tube: they count as its first pixel.";
        corrected_above: Information, Readouts, "Readouts whose corrected position lies behind the end of the tube: they count as its last pixel.";
        packets_with_rest: Information, Packets, "Packets used with bytes behind the last whole record.";
    }
}

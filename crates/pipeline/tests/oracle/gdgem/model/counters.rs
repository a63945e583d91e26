//! What happens to every readout and every hit.

/// Counts over one run; all but the first four count readouts or hits by their single fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Packets without any usable readout or marker: wrong size, wrong data id, end of frame (sections 4.1,
    /// 4.2).
    pub(crate) rejected_packets: u64,
    /// Readouts (hit words, not markers) in accepted packets.
    pub(crate) readouts: u64,
    /// Time markers in accepted packets, including the ignored ones.
    pub(crate) markers: u64,
    /// Markers of VMM 16 and above in the physical convention, which belong to another mode (section 4.3).
    pub(crate) markers_ignored: u64,

    /// Readouts without a time marker (section 4.2).
    pub(crate) no_marker: u64,
    /// Readouts whose signed trigger offset reports a latency violation (section 4.3).
    pub(crate) latency_violation: u64,
    /// Readouts whose signed trigger offset has no meaning (section 4.3).
    pub(crate) undefined_offset: u64,
    /// Readouts of chips that are not in the mapping (section 4.5).
    pub(crate) unmapped: u64,
    /// Readouts below the charge threshold that are not flagged as over threshold (section 4.6).
    pub(crate) below_threshold: u64,
    /// Readouts with a negative absolute time (rule `source_clocks`).
    pub(crate) before_zero: u64,

    /// Hits: readouts that none of the reasons above discarded.
    pub(crate) hits: u64,

    /// Hits too far behind the front of their clock line (rule `source_clocks`).
    pub(crate) late: u64,
    /// Hits in a quarantine that the next packet of the source refuted (rule `source_clocks`).
    pub(crate) refuted: u64,
    /// Hits in clusters below the minimum size (section 4.6).
    pub(crate) cluster_too_small: u64,
    /// Hits of candidates without a cluster in y (section 4.6).
    pub(crate) x_only: u64,
    /// Hits of candidates without a cluster in x (section 4.6).
    pub(crate) y_only: u64,
    /// Hits of candidates that a filter dropped (section 4.6).
    pub(crate) filtered: u64,
    /// Hits of candidates whose centre is outside the geometry (section 6).
    pub(crate) outside_geometry: u64,
    /// Hits of emitted events.
    pub(crate) in_events: u64,
}

impl Counters {
    /// Readouts with a known fate; equals [`Counters::readouts`] under every set of rules.
    pub(crate) fn readouts_accounted_for(&self) -> u64 {
        self.no_marker
            + self.latency_violation
            + self.undefined_offset
            + self.unmapped
            + self.below_threshold
            + self.before_zero
            + self.hits
    }

    /// Hits with a known fate; equals [`Counters::hits`] if nothing is left behind at the end of the input.
    pub(crate) fn hits_accounted_for(&self) -> u64 {
        self.late
            + self.refuted
            + self.cluster_too_small
            + self.x_only
            + self.y_only
            + self.filtered
            + self.outside_geometry
            + self.in_events
    }
}

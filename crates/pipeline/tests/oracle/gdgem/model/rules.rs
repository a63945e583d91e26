//! The rules in which we differ from the reference; each can be switched on alone.
//!
//! EFU formats of 2018, sections 4.2 and 4.6, the items marked there as quirks.

/// True for our rule, false for what the reference does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// A time marker belongs to one chip (FEC and VMM); the reference shares it between the FECs (section
    /// 4.2).
    pub(crate) markers_per_fec: bool,
    /// A hit before the first marker of its chip is discarded, and a marker of value 0 counts as one. The
    /// reference asks whether the position of the hit in the packet has ever seen a marker above 0 (section
    /// 4.2).
    pub(crate) marker_required: bool,
    /// Markers keep their 42 bits, all stamps are extended to 64 bits and event times are not cut to 32 bits.
    /// The reference cuts every step to 32 bits and scales VMM3 trigger times twice (sections 4.2 and 4.6).
    pub(crate) full_time: bool,
    /// At the end of the input the trigger buffers and the matcher are emptied (section 4.6).
    pub(crate) flush_at_end: bool,
    /// The clusters of the whole input are matched together, and events are emitted whole. The reference
    /// matches after each packet and emits what it has when it stops early (section 4.6).
    pub(crate) complete_matching: bool,
    /// The hits of a plane are clustered in the order of their absolute times, without trigger buffers
    /// (section 4.6).
    pub(crate) absolute_sorting: bool,
    /// Each source (FEC) has a clock line: late hits are discarded, confirmed jumps of the clock accepted,
    /// and a confirmed jump backwards begins a new epoch. Only together with `absolute_sorting`.
    pub(crate) source_clocks: bool,
    /// If all latest hits of a plane have charge 0 the centre is their plain mean; the reference divides 0 by
    /// 0 and ends up with the coordinate 0 (section 4.6).
    pub(crate) zero_charge_plain_centre: bool,
    /// Events are emitted in the order of epoch, time and pixel.
    pub(crate) events_in_order: bool,
}

/// A named switch: the name of a rule and how to switch it on.
type Switch = (&'static str, fn(&mut Rules));

/// All rules in the order in which [`Rules::steps`] switches them on.
const SWITCHES: [Switch; 9] = [
    ("markers_per_fec", |rules| rules.markers_per_fec = true),
    ("marker_required", |rules| rules.marker_required = true),
    ("full_time", |rules| rules.full_time = true),
    ("flush_at_end", |rules| rules.flush_at_end = true),
    ("complete_matching", |rules| rules.complete_matching = true),
    ("absolute_sorting", |rules| rules.absolute_sorting = true),
    ("source_clocks", |rules| rules.source_clocks = true),
    ("zero_charge_plain_centre", |rules| rules.zero_charge_plain_centre = true),
    ("events_in_order", |rules| rules.events_in_order = true),
];

impl Rules {
    /// Every quirk as in the reference.
    pub(crate) fn reference() -> Self {
        Self::default()
    }

    /// Every rule is ours.
    pub(crate) fn ours() -> Self {
        let mut rules = Self::reference();
        for (_, switch_on) in SWITCHES {
            switch_on(&mut rules);
        }
        rules
    }

    /// The way from the reference to our rules: each step has one more rule of ours and carries its name. The
    /// last step equals [`Rules::ours`].
    pub(crate) fn steps() -> Vec<(&'static str, Self)> {
        let mut rules = Self::reference();
        let mut steps = Vec::new();
        for (name, switch_on) in SWITCHES {
            switch_on(&mut rules);
            steps.push((name, rules.clone()));
        }
        steps
    }
}

//! Which neutrons stand alone: one definition for those of a capture and for those of an overlay.

/// The time that the readouts of a neutron, or of several that cannot be told apart, take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The part of the detector that is reconstructed by itself.
    pub module: u16,
    /// Time of the first readout on any plane, in picoseconds.
    pub start_ps: i128,
    /// Time of the last one.
    pub end_ps: i128,
}

impl Span {
    /// The span so much later.
    #[must_use]
    pub fn later(self, ps: i128) -> Self {
        Self { start_ps: self.start_ps + ps, end_ps: self.end_ps + ps, ..self }
    }
}

/// Says of each span whether it is *isolated*: no readout of another span of its module, on whatever plane, lies
/// within `gap_ps` of any of its readouts or between them.
pub fn isolated(spans: &[Span], gap_ps: u64) -> Vec<bool> {
    let gap = i128::from(gap_ps);
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_unstable_by_key(|&index| spans[index]);
    let mut isolated = vec![true; spans.len()];
    // The latest end of those before, which need not be that of the last one.
    let mut reached: Option<(u16, i128)> = None;
    for (place, &index) in order.iter().enumerate() {
        let span = spans[index];
        let after = order.get(place + 1).map(|&next| spans[next]).filter(|next| next.module == span.module);
        let before = reached.filter(|(module, _)| *module == span.module).map(|(_, end)| end);
        isolated[index] = before.is_none_or(|end| span.start_ps - end > gap)
            && after.is_none_or(|next| next.start_ps - span.end_ps > gap);
        reached = Some((span.module, before.map_or(span.end_ps, |end| end.max(span.end_ps))));
    }
    isolated
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sweep_is_the_definition(
            spans in prop::collection::vec((0_u16..2, 0_i128..300, 0_i128..40), 0..20),
            gap in 0_u64..20,
        ) {
            let spans: Vec<Span> = spans
                .into_iter()
                .map(|(module, start_ps, length)| Span { module, start_ps, end_ps: start_ps + length })
                .collect();
            let far = |one: &Span, other: &Span| {
                one.module != other.module
                    || one.start_ps - other.end_ps > i128::from(gap)
                    || other.start_ps - one.end_ps > i128::from(gap)
            };
            let alone = |index: usize| {
                spans.iter().enumerate().all(|(other, span)| other == index || far(span, &spans[index]))
            };
            let expected: Vec<bool> = (0..spans.len()).map(alone).collect();
            prop_assert_eq!(isolated(&spans, gap), expected);
        }
    }
}

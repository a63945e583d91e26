//! Which neutrons a perfect reconstruction could tell apart.
//!
//! A neutron is resolvable if it leaves enough hits above threshold on each plane, before noise and dead channels, and
//! no such hit of another neutron lies within the largest gap of time and the largest gap of coordinates of any of
//! them.

use crate::detector_model::{Charge, Separation};
use crate::layout::Layout;

/// A hit of a neutron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TrueHit {
    plane: u32,
    time_ps: u64,
    coordinate: u16,
    neutron: u32,
}

/// Bits of a time in a pulse: 140 seconds. A pulse is shorter, and a plane fits above it.
const TIME_BITS: u32 = 47;

/// Says of each neutron whether it is resolvable. `ends[n]` is where the charges of neutron *n* end in `charges`, which
/// hold those of all neutrons one after the other; `is_above` tells charges above threshold.
pub fn resolvable(
    charges: &[Charge],
    ends: &[usize],
    layout: &Layout,
    separation: &Separation,
    is_above: impl Fn(&Charge) -> bool,
) -> Vec<bool> {
    let mut hits = Vec::with_capacity(charges.len());
    let mut resolvable = Vec::with_capacity(ends.len());
    let mut begin = 0;
    for (&end, neutron) in ends.iter().zip(0..) {
        let mut on_plane = [0_u16; 2];
        for charge in charges.get(begin..end).unwrap_or_default().iter().filter(|charge| is_above(charge)) {
            let Some(place) = layout.places().get(charge.channel as usize) else { continue };
            on_plane[usize::from(place.plane & 1)] += 1;
            hits.push(TrueHit {
                plane: u32::from(place.module) << 1 | u32::from(place.plane & 1),
                time_ps: charge.time_ps.min((1 << TIME_BITS) - 1),
                coordinate: place.coordinate,
                neutron,
            });
        }
        resolvable.push(on_plane.iter().zip(separation.min_hits).all(|(found, least)| *found >= least));
        begin = end;
    }
    // By a single number: which hit of a plane and a picosecond comes first makes no difference.
    hits.sort_unstable_by_key(|hit| u64::from(hit.plane) << TIME_BITS | hit.time_ps);
    for (index, hit) in hits.iter().enumerate() {
        for other in &hits[index + 1..] {
            if other.plane != hit.plane || other.time_ps - hit.time_ps > separation.time_ps {
                break;
            }
            let reach = separation.coordinates[(hit.plane & 1) as usize];
            if other.neutron != hit.neutron && hit.coordinate.abs_diff(other.coordinate) <= reach {
                resolvable[hit.neutron as usize] = false;
                resolvable[other.neutron as usize] = false;
            }
        }
    }
    resolvable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Place;
    use proptest::prelude::*;

    fn layout() -> Layout {
        let place = |module, plane, coordinate| Place { module, plane, coordinate };
        let planes = (0..2).flat_map(|module| (0..2).map(move |plane| (module, plane)));
        Layout::new(
            planes.flat_map(|(module, plane)| (0..20).map(move |at| place(module, plane, at))).collect(),
        )
    }

    const SEPARATION: Separation = Separation { time_ps: 100, coordinates: [2, 2], min_hits: [1, 1] };

    /// The definition, pair by pair.
    fn by_definition(neutrons: &[Vec<Charge>], layout: &Layout) -> Vec<bool> {
        let place = |charge: &Charge| layout.places()[charge.channel as usize];
        let close = |one: &Charge, other: &Charge| {
            let (at, there) = (place(one), place(other));
            (at.module, at.plane) == (there.module, there.plane)
                && one.time_ps.abs_diff(other.time_ps) <= 100
                && at.coordinate.abs_diff(there.coordinate) <= 2
        };
        neutrons
            .iter()
            .enumerate()
            .map(|(number, own)| {
                let enough = (0..2).all(|plane| own.iter().any(|charge| place(charge).plane == plane));
                let others = neutrons.iter().enumerate().filter(|(other, _)| *other != number);
                enough
                    && !others
                        .flat_map(|(_, other)| other)
                        .any(|other| own.iter().any(|one| close(one, other)))
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_sweep_is_the_definition(
            neutrons in prop::collection::vec(
                prop::collection::vec((0_u32..80, 0_u64..1000), 0..6), 0..12)
        ) {
            let layout = layout();
            let neutrons: Vec<Vec<Charge>> = neutrons
                .into_iter()
                .map(|charges| {
                    let charge = |(channel, time_ps)| Charge { channel, time_ps, amplitude: 1.0 };
                    charges.into_iter().map(charge).collect()
                })
                .collect();
            let charges = neutrons.concat();
            let ends: Vec<usize> = neutrons
                .iter()
                .scan(0, |end, own| {
                    *end += own.len();
                    Some(*end)
                })
                .collect();
            let found = resolvable(&charges, &ends, &layout, &SEPARATION, |_| true);
            prop_assert_eq!(found, by_definition(&neutrons, &layout));
        }
    }
}

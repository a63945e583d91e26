//! What the channels of a panel are: strips of two planes, of one, of three, or pads.

use crate::plane_matching::PLANES;

/// Most panels of a detector.
pub const MOST_PANELS: usize = 16;

/// What the channels of a panel are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanelKind {
    /// Strips of x and of y.
    #[default]
    TwoPlanes,
    /// Strips of x only.
    OnlyX,
    /// Strips of y only.
    OnlyY,
    /// Strips of x, of y and of a third plane, u.
    ThreePlanes,
    /// Pads, each with a column and a row.
    Pads,
}

impl PanelKind {
    /// Planes whose hits are clustered each for itself.
    pub fn planes(self) -> usize {
        match self {
            Self::TwoPlanes => PLANES,
            Self::OnlyX | Self::OnlyY | Self::Pads => 1,
            Self::ThreePlanes => 3,
        }
    }
}

/// The numbers of the planes of all panels, counted through.
///
/// Panels of two planes come first, in their order: plane *p* of the panel that is *n*th among them has the number
/// 2 *n* + *p*. The planes of all others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneNumbers {
    first: [u16; MOST_PANELS],
    others: u16,
}

impl PlaneNumbers {
    /// Of these panels, of which those beyond [`MOST_PANELS`] have none.
    pub fn of(panels: &[PanelKind]) -> Self {
        let mut first = [0; MOST_PANELS];
        let mut next = 0;
        let mut number = |wanted: &dyn Fn(PanelKind) -> bool, next: &mut u16| {
            for (first, kind) in first.iter_mut().zip(panels).filter(|(_, kind)| wanted(**kind)) {
                *first = *next;
                *next += kind.planes() as u16;
            }
        };
        number(&|kind| kind == PanelKind::TwoPlanes, &mut next);
        // The first two numbers are those of a panel of two planes, whether there is one or not.
        next = next.max(PLANES as u16);
        let others = next;
        number(&|kind| kind != PanelKind::TwoPlanes, &mut next);
        Self { first, others }
    }

    /// The number of the first plane of a panel.
    pub fn first(&self, panel: usize) -> usize {
        self.first.get(panel).copied().map_or(0, usize::from)
    }

    /// The lowest number that is none of a panel of two planes.
    pub fn others(&self) -> usize {
        usize::from(self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_of_panels_of_two_come_first() {
        use PanelKind::{OnlyX, Pads, ThreePlanes, TwoPlanes};
        let firsts = |panels: &[PanelKind]| {
            let numbers = PlaneNumbers::of(panels);
            ((0..panels.len()).map(|panel| numbers.first(panel)).collect::<Vec<_>>(), numbers.others())
        };
        assert_eq!(firsts(&[TwoPlanes; 3]), (vec![0, 2, 4], 6));
        assert_eq!(firsts(&[OnlyX, TwoPlanes, ThreePlanes, TwoPlanes, Pads]), (vec![4, 0, 5, 2, 8], 4));
        assert_eq!(firsts(&[Pads]), (vec![2], 2));
    }
}

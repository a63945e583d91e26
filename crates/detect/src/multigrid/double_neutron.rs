//! Two neutrons in one trigger.
//!
//! One neutron gives its charge to one wire, or to neighbours, and to one grid or to neighbours. Two neutrons
//! that come at once are read out in one trigger and look like one at a position in between. The rule: wires,
//! or grids, whose amplitude reaches a threshold lie apart by at least the configured separation in columns,
//! layers or rows.

use super::digital_geometry::DigitalGeometry;
use super::settings::DoubleNeutronRule;
use evforge_wire::mesytec::{Trigger, TriggerClock};

/// Smallest and largest coordinate seen.
#[derive(Clone, Copy, Debug)]
struct Extent {
    first: u16,
    last: u16,
}

impl Extent {
    const NOTHING: Self = Self { first: u16::MAX, last: 0 };

    fn take(&mut self, coordinate: u16) {
        self.first = self.first.min(coordinate);
        self.last = self.last.max(coordinate);
    }

    fn reaches(self, separation: u16) -> bool {
        self.last.saturating_sub(self.first) >= separation
    }
}

/// True if a trigger is recognised as two neutrons. Walks its words once more.
pub fn is_double(trigger: &Trigger<'_>, rule: &DoubleNeutronRule, digital: &DigitalGeometry) -> bool {
    // A trigger without a time makes no event and is not asked about.
    let clock = &mut TriggerClock::extended();
    let (extents, _time) = trigger.read(clock, [Extent::NOTHING; 3], |[columns, layers, rows], word, _| {
        let Some((place, amplitude)) = digital.peek(word) else { return };
        if amplitude < rule.threshold {
            return;
        }
        if place.is_wire {
            columns.take(place.across);
            layers.take(place.layer);
        } else {
            rows.take(place.across);
        }
    });
    extents.iter().any(|extent| extent.reaches(rule.separation))
}

//! Two neutrons in one trigger.
//!
//! One neutron gives its charge to one wire, or to neighbours, and to one grid or to neighbours. Two neutrons
//! that come at once are read out in one trigger and look like one at a position in between. The rule: wires,
//! or grids, whose amplitude reaches a threshold lie apart by at least the configured separation in columns,
//! layers or rows.

use super::digital_geometry::{DigitalGeometry, WIRE};
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
    let [mut columns, mut layers, mut rows] = [Extent::NOTHING; 3];
    // A trigger without a time makes no event and is not asked about.
    let _time = trigger.read(&mut TriggerClock::extended(), |word, _| {
        let Some((channel, amplitude)) = digital.peek(word) else { return };
        if amplitude < rule.threshold {
            return;
        }
        if channel.kind == WIRE {
            columns.take(channel.across);
            layers.take(channel.layer);
        } else {
            rows.take(channel.across);
        }
    });
    [columns, layers, rows].iter().any(|extent| extent.reaches(rule.separation))
}

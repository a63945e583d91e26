//! What pu00 says of a pulse, and vc00 of vetoes: one rule for all who read them.

use evforge_core::frame::{Frame, MOST_FRAME_VETOES, ProtonCharge};
use evforge_messages::{Pu00, Vc00};

/// The Kafka header of a pu00 that says whether the frame is complete: pu00 has no place for it.
pub(crate) const FRAME_STATE: &str = "frame-state";

/// Charge of a pulse at most, in µAh: a pulse of ISIS has 2e-3.
const MOST_CHARGE: f32 = 1000.0;

/// A charge that is no number from 0 to 1000 µAh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChargeRefused;

/// The charge of a pulse in µAh, if it is told.
pub(crate) fn charge_of(pulse: &Pu00<'_>) -> Result<Option<f32>, ChargeRefused> {
    match pulse.proton_charge {
        Some(charge) if !(0.0..=MOST_CHARGE).contains(&charge) => Err(ChargeRefused),
        charge => Ok(charge),
    }
}

/// Letters of the name of a veto that are kept.
const LONGEST_NAME: usize = 64;

/// Which vetoes count, and what they are called. Until a vc00 has come all count, and have no names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vetoes {
    counting: u32,
    names: Vec<String>,
    /// Of the newest vc00.
    time_ns: i64,
}

impl Default for Vetoes {
    fn default() -> Self {
        Self { counting: u32::MAX, names: Vec::new(), time_ns: i64::MIN }
    }
}

impl Vetoes {
    /// Takes note of a vc00, unless a newer one has come.
    pub(crate) fn take(&mut self, told: &Vc00<'_>) {
        if told.timestamp >= self.time_ns {
            let name = |name: &&str| name.chars().take(LONGEST_NAME).collect();
            let names = told.veto_names.iter().take(MOST_FRAME_VETOES).map(name).collect();
            *self = Self { counting: told.vetoes, names, time_ns: told.timestamp };
        }
    }

    /// Those with a name: bit, name, whether it counts.
    pub(crate) fn named(&self) -> impl Iterator<Item = (u8, String, bool)> + '_ {
        let veto = |(bit, name): (u8, &String)| (bit, name.clone(), self.counting & (1 << bit) != 0);
        (0_u8..).zip(&self.names).filter(|(_, name)| !name.is_empty()).map(veto)
    }

    /// Whether a pulse is good: no veto is present that counts. None where no vetoes are told.
    pub(crate) fn is_good(&self, pulse: &Pu00<'_>) -> Option<bool> {
        pulse.vetos.map(|vetoes| vetoes & self.counting == 0)
    }
}

/// The pulse as a frame.
pub(crate) fn frame_of(pulse: &Pu00<'_>, vetoes: &Vetoes) -> Frame {
    let charge = charge_of(pulse).ok().flatten();
    Frame {
        period: pulse.period_number,
        vetoes: pulse.vetos.unwrap_or(0),
        is_vetoed: vetoes.is_good(pulse) == Some(false),
        charge: charge.map(|charge| ProtonCharge { uah: f64::from(charge) }),
        ..Frame::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_is_a_frame_and_what_cannot_be_a_charge_is_none() {
        let pulse =
            Pu00 { vetos: Some(4), period_number: Some(2), proton_charge: Some(0.5), ..Pu00::default() };
        let mut vetoes = Vetoes::default();
        let frame = frame_of(&pulse, &vetoes);
        assert_eq!((frame.vetoes, frame.is_vetoed, frame.period), (4, true, Some(2)));
        assert_eq!(frame.charge, Some(ProtonCharge { uah: 0.5 }));
        for charge in [f32::NAN, -1e-9, 1001.0, f32::INFINITY] {
            let pulse = Pu00 { proton_charge: Some(charge), ..Pu00::default() };
            assert_eq!(
                (charge_of(&pulse), frame_of(&pulse, &vetoes)),
                (Err(ChargeRefused), Frame::default())
            );
        }
        assert_eq!((vetoes.is_good(&Pu00::default()), charge_of(&Pu00::default())), (None, Ok(None)));
        // One that does not count is present, and the pulse is good. What was told before is not taken afterwards.
        vetoes.take(&Vc00 { timestamp: 9, vetoes: 1, veto_names: vec!["overflow", "", "SMP"] });
        vetoes.take(&Vc00 { timestamp: 8, vetoes: 4, veto_names: Vec::new() });
        assert!(!frame_of(&pulse, &vetoes).is_vetoed);
        let named: Vec<_> = vetoes.named().collect();
        assert_eq!(named, [(0, "overflow".to_owned(), true), (2, "SMP".to_owned(), false)]);
    }
}

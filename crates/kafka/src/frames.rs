//! What a pu00 says of its pulse: one rule for all who read it.

use evforge_core::frame::{Frame, ProtonCharge};
use evforge_messages::Pu00;

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

/// Whether a pulse is good: no veto is present; none where no vetoes are told. Which of them count is not in pu00.
pub(crate) fn is_good(pulse: &Pu00<'_>) -> Option<bool> {
    pulse.vetos.map(|vetoes| vetoes == 0)
}

/// The pulse as a frame.
pub(crate) fn frame_of(pulse: &Pu00<'_>) -> Frame {
    let charge = charge_of(pulse).ok().flatten();
    Frame {
        period: pulse.period_number,
        vetoes: pulse.vetos.unwrap_or(0),
        is_vetoed: is_good(pulse) == Some(false),
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
        let frame = frame_of(&pulse);
        assert_eq!((frame.vetoes, frame.is_vetoed, frame.period), (4, true, Some(2)));
        assert_eq!(frame.charge, Some(ProtonCharge { uah: 0.5 }));
        for charge in [f32::NAN, -1e-9, 1001.0, f32::INFINITY] {
            let pulse = Pu00 { proton_charge: Some(charge), ..Pu00::default() };
            assert_eq!((charge_of(&pulse), frame_of(&pulse)), (Err(ChargeRefused), Frame::default()));
        }
        assert_eq!((is_good(&Pu00::default()), charge_of(&Pu00::default())), (None, Ok(None)));
    }
}

//! Which frames are looked at.

use super::wanted::LookWanted;
use crate::event_memory::FrameKind;
use serde::Serialize;

/// Which frames: all of them, unless something is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FrameRule {
    /// Of this period, counted from 0.
    period: Option<u32>,
    /// With a veto that counts, or without.
    is_vetoed: Option<bool>,
    /// Known to be complete.
    complete: bool,
}

impl FrameRule {
    /// Checks what is wanted.
    ///
    /// # Errors
    /// With what is wrong, where, and what would be right.
    pub(crate) fn of(wanted: &LookWanted) -> Result<Self, String> {
        let period = match wanted.period {
            Some(0) => return Err("period: found 0, expected 1 or more: periods count from 1".into()),
            period => period.map(|period| period - 1),
        };
        let is_vetoed = match wanted.frames.as_deref() {
            None | Some("all") => None,
            Some("good") => Some(false),
            Some("vetoed") => Some(true),
            Some(other) => {
                return Err(format!("frames: found {other:?}, expected \"all\", \"good\" or \"vetoed\""));
            }
        };
        Ok(Self { period, is_vetoed, complete: wanted.complete.unwrap_or(false) })
    }

    /// True if all pulses are wanted, whether the readout tells frames or not.
    pub(crate) fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether frames of this kind are wanted.
    pub(crate) fn has(&self, kind: FrameKind) -> bool {
        self.period.is_none_or(|period| kind.period == Some(period))
            && self.is_vetoed.is_none_or(|is_vetoed| kind.is_vetoed == is_vetoed)
            && (!self.complete || kind.is_complete)
    }
}

//! What texts have of frames, whoever writes them.

use crate::context::OutputContext;
use evforge_core::frame::Frame;
use std::io::Write;

/// Refuses what makes no sense for a detector that tells no frames.
///
/// # Errors
/// In words, with `what` would be.
pub(crate) fn check_tells_frames(context: &OutputContext, what: &str) -> Result<(), String> {
    match context.ledger.frames {
        Some(_) => Ok(()),
        None => Err(format!(
            "the readout of [{}] tells no frames (periods, vetoes, charge): {what}",
            context.detector
        )),
    }
}

/// The period as people count it, from 1; empty if nobody has said it.
pub(crate) fn write_period(line: &mut Vec<u8>, frame: &Frame) {
    if let Some(period) = frame.period {
        // Writing into memory cannot fail.
        let _ = write!(line, "{}", u64::from(period) + 1);
    }
}

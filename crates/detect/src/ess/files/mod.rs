//! JSON files that describe detectors of the ESS readout: what their wirings and calibrations have in common.
//!
//! | file | question |
//! |---|---|
//! | `efu` | the hybrids of an instrument of the event formation unit (EFU), by ring, FEN and hybrid |
//! | `calibration` | lines of channels, by the identity of a hybrid (EFU) or by ring, FEN and VMM (vmm-essdat) |
//! | `hybrid_id` | the identity of a hybrid |
//!
//! Sources: ESS readout formats, sections 3 and 7, and files of instruments.

pub mod calibration;
pub mod efu;
mod hybrid_id;

pub use hybrid_id::HybridId;

//! A Multi-Blade with the ESS readout: FREIA, ESTIA, AMOR, TBLMB.
//!
//! | file | question |
//! |---|---|
//! | `settings` | what can be configured |
//! | `files` | the wiring and the calibration in JSON files |
//! | `layout` | which wire or strip a channel is, and where a cassette is on the detector |
//!
//! A cassette is read by one hybrid with two VMMs, one for its 32 wires and one for its 64 strips. The readout
//! itself is that of all detectors with VMM3a ([`crate::ess`]), the analysis that of all Multi-Blades
//! ([`crate::multiblade`]): a window for each cassette that ends when no hit comes for a while, so that the hits
//! of both planes meet.
//!
//! Source: ESS readout formats, sections 2.1 and 3 ("FREIA / ESTIA / AMOR / TBLMB"). What differs from the
//! reference:
//! * It looks for clusters plane by plane and then joins those that are close in time. With equal limits, which is
//!   what it is run with, that is the same as one window over both planes.
//! * A hole in a cluster is counted over channels, and not over hits: two hits of one channel do not fill a hole
//!   beside them. (Wires 5, 5 and 7 are an event in the reference, and none here unless one wire may be missing.)
//! * Readouts of channels without a wire cost themselves only and are counted as `unmapped_channel`.
//! * A threshold is compared with the calibrated amplitude, and not with that of the readout.
//! * Two neutrons in one window are told apart by their amplitudes if `window.separate` asks for it: by the rule of
//!   the prototype, which needs no limit for the width of a cluster.

pub mod files;
mod layout;
mod settings;

pub use layout::{CassetteLayout, CassetteWiring, WireVmm};
pub use settings::{CassetteDefaults, CassetteHybrid, EssMultiBladeSettings};

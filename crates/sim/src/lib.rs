//! Simulated detectors with known truth: neutrons to readouts to packets.
//!
//! ```text
//! beam ─► neutrons ─► charge on channels ─► hits ─► packets        truth ─► score of events
//! ```
//!
//! | step | module |
//! |---|---|
//! | when and where neutrons reach the detector | [`beam`] |
//! | what a detector makes of them: charge on its channels | [`detector_model`] |
//! | which channels there are | [`layout`] |
//! | the charge on a channel | [`electronics::Charge`] |
//! | charge to hits: thresholds, gains, noise, dead time, jitter, order | [`electronics`] |
//! | hits to packets | [`readout`] |
//! | what a VMM says about a hit | [`vmm_channel`] |
//! | hits of VMM3a front ends to packets of the ESS readout | [`ess_readout`] |
//! | all of it, pulse by pulse | [`simulation`] |
//! | what is known of each neutron, and the file it travels in | [`truth`] |
//! | a load that is built once and sent again and again | [`repeated`] |
//! | which neutrons could be told apart at all | [`resolvable`] |
//! | what goes wrong on the way to the receiver, on demand | [`faults`] |
//! | helium-3 tubes, read at their ends | [`helium3`] |
//! | boards of the streaming readout of ISIS, whose packets tell frames | [`isis`] |
//! | how right events are, against the truth | [`score`] |
//! | files with named columns | [`columns`] |
//! | truth from real data: a capture, laid several times over itself | [`overlay`] |
//! | the instruments of the EFU paper, as loads | [`instruments`] |
//! | a load for detectors that are not simulated | [`pixel_stream`] |
//! | random numbers that do not depend on threads | [`random`] |
//!
//! A simulation is a function of its options and its seed: the same ones give the same packets, bit for bit.
//! The truth (time and pixel of every neutron) is kept alongside the packets, so that what a pipeline makes of
//! them can be judged.

#![forbid(unsafe_code)]

pub mod adc_readout;
pub mod beam;
pub mod beam_monitors;
pub mod boron_layer;
pub mod columns;
pub mod detector_model;
pub mod electronics;
mod error;
pub mod ess_readout;
pub mod faults;
pub mod gdgem;
pub mod helium3;
pub mod instruments;
pub mod isis;
pub mod layout;
pub mod multiblade;
pub mod multigrid;
pub mod overlay;
pub mod packet;
pub mod pixel_stream;
pub mod random;
pub mod readout;
pub mod repeated;
pub mod resolvable;
pub mod score;
pub mod simulation;
pub mod sonde;
pub mod start;
pub mod truth;
pub mod vmm_channel;

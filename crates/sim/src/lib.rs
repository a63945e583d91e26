//! Simulated detectors with known truth: neutrons to readouts to packets.
//!
//! | step | module |
//! |---|---|
//! | where neutrons hit: a picture that a person recognises | [`mask`] |
//! | when they arrive: pulses and time of flight | [`neutron_source`] |
//! | what a neutron leaves on two planes of strips | [`track`] |
//! | readouts to packets as the front-end cards send them | [`srs_packets`] |
//! | all of it for a Gd-GEM | [`gdgem`] |
//! | a load for any detector with VMM3a records in today's ESS readout | [`vmm_load`] |
//!
//! A simulation is a function of its options and its seed: the same ones give the same packets, bit for bit.
//! The truth (time and pixel of every neutron) is kept beside the packets, so that what a pipeline makes of
//! them can be judged.

#![forbid(unsafe_code)]

pub mod gdgem;
pub mod mask;
pub mod neutron_source;
pub mod srs_packets;
pub mod track;
pub mod vmm_load;

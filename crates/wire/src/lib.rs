//! Bytes to readouts and back: one module per readout protocol.
//!
//! | protocol | module | detectors |
//! |---|---|---|
//! | SRS front-end cards with VMM2, VMM3 (2018) and VMM3a chips | [`srs_vmm`] | Gd-GEM |
//! | Mesytec VMMR modules behind a Struck SIS3153 | [`mesytec`] | Multi-Grid |
//! | groups of ten words of the demonstrator at CNCS, 2016 | [`cncs`] | Multi-Grid |
//! | IDEAS ROSMAP | [`sonde`] | SoNDe |
//! | sampled channels of 2018 | [`adc_readout`] | beam monitors |
//! | readout of the ESS, in use since 2021: VMM3a, beam monitors, CAEN R5560 | [`ess`] | Gd-GEM, Multi-Grid, Multi-Blade, beam monitors, helium-3 tubes |
//! | streaming readout of ISIS: frames of control boards, WLSF, MADC and LVDS modules | [`isis`] | those modules |
//! | CAEN V1740D digitisers: records of 2018, jadaq | [`caen`] | Multi-Blade |
//! | DROP of Wuppertal: numbered packets of any payload | [`drop`](mod@drop) | none: it measures a link |
//! | trains of the European XFEL: images cut into packets | [`train`] | LPD, AGIPD, DSSC |
//! | numbered packets of `evforge send` | [`numbered`] | none: they measure links and receivers |
//!
//! [`later`] moves packets that exist: numbers go on, times are later.
//!
//! [`recognise`] tells which of them a packet has, and names those of the ESS readout that are not decoded.
//!
//! A decoder borrows the bytes of one packet, checks the packet once, and then hands out readouts without
//! further checks, allocation or I/O. Whatever it cannot use it rejects with a reason, as a whole, and the
//! caller counts the packet and its bytes under that reason. Each decoder has an encoder next to it: the
//! simulator, the tests and the fuzz corpora are made with the encoders.

#![forbid(unsafe_code)]

pub mod adc_readout;
pub mod caen;
pub mod cncs;
pub mod drop;
pub mod ess;
pub mod isis;
pub mod later;
pub mod mesytec;
pub mod numbered;
pub mod recognise;
pub mod sonde;
pub mod srs_vmm;
pub mod train;

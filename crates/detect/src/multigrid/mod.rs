//! Multi-Grid: gas chambers in which wires run along the beam through stacks of grids.
//!
//! A neutron is caught in a coated cell and leaves charge on the wire and on the grid that cross there. The wire
//! gives column and depth, the grid the height (EFU formats of 2018, section 2).
//!
//! ```text
//! VMMR  packet ─ wire::mesytec ─► triggers of readouts ─ digital geometry, amplitudes ─► hits
//!              ─ reconstruction ─► at most one event for each trigger ─ outlet ─► events (time, pixel)
//! CNCS  packet ─ wire::cncs ─► groups: one wire and one grid each ─ thresholds, calibration ─► events
//! ESS   packet ─ ess ─► hits in order of time ─► windows of columns ─ reconstruction ─► events with their pulses
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`] | everything that can be configured, and its checks |
//! | [`amplitude`] | rescaling and limits of single channels |
//! | [`channel`] | a channel as the hot path sees it: one word |
//! | [`digital_geometry`] | (bus, channel) to wire or grid, worked out beforehand |
//! | [`reconstruction`] | hits of a trigger to its pixel: the three strategies |
//! | [`double_neutron`] | two neutrons in one trigger |
//! | [`counters`] | what is counted, with the laws |
//! | [`mesytec`] | [`MultiGrid`]: VMMR modules behind an SIS3153, as a [`Detector`](evforge_core::detector::Detector) |
//! | [`cncs`] | [`MultiGridCncs`]: the demonstrator at CNCS, 2016 |
//! | [`vessels`] | which wire or grid a channel of the ESS readout is: vessels of TREX and LET |
//! | [`columns`] | windows of hits that make an event where there are no triggers |
//! | [`paired_columns`] | their neutrons, where several in a window are told apart |
//! | [`ess_readout`] | a Multi-Grid with the ESS readout, from these |

pub mod amplitude;
pub mod channel;
pub mod cncs;
pub mod columns;
pub mod counters;
pub mod digital_geometry;
pub mod double_neutron;
pub mod ess_readout;
pub mod mesytec;
pub mod paired_columns;
pub mod reconstruction;
mod section;
pub mod settings;
pub mod vessels;

pub use crate::outlet::OutletCounters;
pub use cncs::MultiGridCncs;
pub use counters::{CncsCounters, ColumnCounters, MesytecCounters};
pub use ess_readout::EssMultiGridSettings;
pub use mesytec::MultiGrid;
pub use settings::MultiGridSettings;

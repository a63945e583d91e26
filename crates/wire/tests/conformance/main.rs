//! Packets and records byte by byte, as the descriptions of the formats have them.

mod adc_readout;
mod caen;
mod cncs;
mod drop;
mod ess;
mod format_pages;
mod isis;
mod mesytec;
mod numbered;
mod r5560;
mod sonde;
mod srs_vmm;
mod train;

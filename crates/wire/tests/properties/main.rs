//! What holds for any packet: what is encoded is decoded again, and no bytes do harm.

mod adc_readout;
mod caen;
mod drop;
mod ess;
mod isis;
mod mesytec;
mod r5560;
mod recognise;
mod sonde;
mod srs_vmm;
mod train;

//! Detectors that are fed by hand: what is formed, what is counted, and what is shown of the inside.

mod adc_pulses;
mod adc_readout;
#[path = "../common/mod.rs"]
mod common;
mod deliverable_figure_2;
mod gdgem_ess;
mod gdgem_ledger;
mod gdgem_monitor;
mod gdgem_triggered;
mod isis;
#[path = "../multiblade_common/mod.rs"]
mod multiblade_common;
mod multiblade_ledger;
mod multigrid;
mod partition;
mod vmm_files;

//! Each pipeline against a model of its own, written from the description of the readout without any code of production.

#[path = "../common/mod.rs"]
mod common;
mod ess_gdgem;
mod ess_multiblade;
mod ess_multigrid;
mod gdgem;
mod multiblade;
mod multigrid;
mod sonde;

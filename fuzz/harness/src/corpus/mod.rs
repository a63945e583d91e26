//! Inputs to begin with, made by our own encoders, writers and simulators.
//!
//! Texts are their own source and kept by hand. All inputs are committed in `fuzz/corpus/<target>/<name>`. After a change of the encoders they are written again
//! with `cargo run -p evforge-fuzz-harness --example write_corpus`; a test fails as long as that is due.

pub mod adc_readout;
pub mod caen;
pub mod capture;
pub mod cncs;
pub mod command_port;
pub mod configuration;
pub mod drop;
pub mod ess;
pub mod ess_stream;
pub mod gdgem;
pub mod http;
pub mod isis;
pub mod later;
pub mod messages;
pub mod mesytec;
pub mod multiblade;
pub mod multigrid;
pub mod numbered;
mod packets;
mod pieces;
pub mod recognise;
pub mod shipped;
pub mod small_texts;
pub mod sonde;
pub mod srs_vmm;
pub mod templates;
pub mod topics;
pub mod train;
pub mod vmm_files;

use std::path::{Path, PathBuf};

/// An input with the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// What it is, in a few words joined by `-`.
    pub name: String,
    /// The input.
    pub bytes: Vec<u8>,
}

impl Seed {
    /// An input with a name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// No inputs: those of a target that reads text are kept by hand.
pub fn by_hand() -> Vec<Seed> {
    Vec::new()
}

/// The folder of the committed corpora, one folder in it for each target.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

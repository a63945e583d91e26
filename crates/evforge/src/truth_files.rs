//! The files that a simulation writes beside its packets: the truth, and the faults that were injected.

use crate::CommandError;
use crate::output::write_file;
use evforge_core::packet_source::SourceError;
use evforge_pipeline::simulated_source::SimulationObserver;
use evforge_sim::simulation::{SimulatedPulse, Simulation};
use evforge_sim::truth;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The files, as far as they are wanted.
pub(crate) struct TruthFiles {
    truth: Option<(PathBuf, BufWriter<File>)>,
    faults: Option<PathBuf>,
}

impl TruthFiles {
    /// Creates the files.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn create(truth: Option<&Path>, faults: Option<&Path>) -> Result<Self, CommandError> {
        let mut files = Self { truth: None, faults: faults.map(Path::to_owned) };
        if let Some(path) = truth {
            let refused = |error| cannot_write(path, &error);
            let mut writer = BufWriter::new(File::create(path).map_err(refused)?);
            truth::write_header(&mut writer).map_err(refused)?;
            files.truth = Some((path.to_owned(), writer));
        }
        if let Some(path) = faults {
            crate::output::check_writable("the log of faults", path)?;
        }
        Ok(files)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("the truth cannot be written to {}: {error}", path.display())
}

impl SimulationObserver for TruthFiles {
    fn pulse(&mut self, pulse: &SimulatedPulse) -> Result<(), SourceError> {
        if let Some((path, writer)) = &mut self.truth {
            truth::write(&pulse.truth, writer).map_err(|error| cannot_write(path, &error))?;
        }
        Ok(())
    }

    fn end(&mut self, simulation: &Simulation) -> Result<(), SourceError> {
        if let Some((path, writer)) = &mut self.truth {
            writer.flush().map_err(|error| cannot_write(path, &error))?;
        }
        if let Some(path) = &self.faults {
            let mut bytes = Vec::new();
            simulation.faults().log().write(&mut bytes)?;
            write_file("the log of faults", path, &bytes)?;
        }
        Ok(())
    }
}

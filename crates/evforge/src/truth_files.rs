//! The files that a simulation writes beside its packets: the truth, and the faults that were injected.

use crate::CommandError;
use crate::output::write_file;
use evforge_core::packet_source::SourceError;
use evforge_lab::simulated_source::SimulationObserver;
use evforge_net::staged_file::StagedFile;
use evforge_sim::simulation::{SimulatedPulse, Simulation};
use evforge_sim::truth;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The files, as far as they are wanted.
pub(crate) struct TruthFiles {
    truth: Option<TruthFile>,
    faults: Option<PathBuf>,
}

impl TruthFiles {
    /// Begins the files. They get their names at the end.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn create(truth: Option<&Path>, faults: Option<&Path>) -> Result<Self, CommandError> {
        let mut files = Self { truth: None, faults: faults.map(Path::to_owned) };
        if let Some(path) = truth {
            files.truth = Some(TruthFile::create(path).map_err(|error| cannot_write(path, &error))?);
        }
        if let Some(path) = faults {
            crate::output::check_writable("the log of faults", path)?;
        }
        Ok(files)
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("the truth cannot be written to {}: {error}", path.display())
}

/// The truth on its way.
struct TruthFile {
    path: PathBuf,
    writer: TruthWriter,
    /// Neither ended nor failed, and with at least one pulse.
    is_under_way: bool,
}

enum TruthWriter {
    File(StagedFile),
    /// A pipe or a device, which has no other name before its end.
    Stream(BufWriter<File>),
}

impl TruthFile {
    fn create(path: &Path) -> io::Result<Self> {
        let is_stream = path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        let mut writer = if is_stream {
            TruthWriter::Stream(BufWriter::new(File::options().write(true).open(path)?))
        } else {
            TruthWriter::File(StagedFile::create(path)?)
        };
        truth::write_header(&mut writer.output())?;
        Ok(Self { path: path.to_owned(), writer, is_under_way: false })
    }

    fn write(&mut self, pulse: &SimulatedPulse) -> Result<(), String> {
        let result = truth::write(&pulse.truth, &mut self.writer.output());
        self.is_under_way = result.is_ok();
        result.map_err(|error| cannot_write(&self.path, &error))
    }

    fn end(&mut self) -> Result<(), String> {
        self.is_under_way = false;
        let result = match &mut self.writer {
            TruthWriter::File(file) => file.finish(),
            TruthWriter::Stream(stream) => stream.flush(),
        };
        result.map_err(|error| cannot_write(&self.path, &error))
    }
}

impl TruthWriter {
    fn output(&mut self) -> &mut dyn Write {
        match self {
            Self::File(file) => file,
            Self::Stream(stream) => stream,
        }
    }
}

impl Drop for TruthFile {
    /// A simulation that was stopped has its truth up to there.
    fn drop(&mut self) {
        if self.is_under_way
            && let Err(error) = self.end()
        {
            eprintln!("evforge: {error}");
        }
    }
}

impl SimulationObserver for TruthFiles {
    fn pulse(&mut self, pulse: &SimulatedPulse) -> Result<(), SourceError> {
        if let Some(truth) = &mut self.truth {
            truth.write(pulse)?;
        }
        Ok(())
    }

    fn end(&mut self, simulation: &Simulation) -> Result<(), SourceError> {
        if let Some(truth) = &mut self.truth {
            truth.end()?;
        }
        if let Some(path) = &self.faults {
            let mut bytes = Vec::new();
            simulation.faults().log().write(&mut bytes)?;
            write_file("the log of faults", path, &bytes)?;
        }
        Ok(())
    }
}

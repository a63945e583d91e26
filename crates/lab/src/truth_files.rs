//! The files that a simulation writes with its packets: the truth of neutrons and of frames, and the faults that were injected.

use crate::LabError;
use crate::simulated_source::SimulationObserver;
use evforge_core::packet_source::SourceError;
use evforge_core::whole_file::not_writable;
use evforge_net::staged_file::StagedFile;
use evforge_sim::faults::log::FaultLog;
use evforge_sim::isis::{TrueFrame, frames};
use evforge_sim::simulation::{SimulatedPulse, Simulation};
use evforge_sim::truth::{self, Neutron};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The files, as far as they are wanted.
pub struct TruthFiles {
    truth: Option<TruthFile>,
    frames: Option<TruthFile>,
    faults: Option<FaultFile>,
}

impl TruthFiles {
    /// Begins the files. They get their names at the end.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn create(truth: Option<&Path>, faults: Option<&Path>) -> Result<Self, LabError> {
        Ok(Self {
            truth: truth.map(|path| TruthFile::create(path, truth::HEADER)).transpose()?,
            frames: None,
            faults: faults.map(FaultFile::create).transpose()?,
        })
    }

    /// The same with the true frames, of a simulation that has any.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn with_frames(self, path: Option<&Path>) -> Result<Self, LabError> {
        Ok(Self { frames: path.map(|path| TruthFile::create(path, frames::HEADER)).transpose()?, ..self })
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("the truth cannot be written to {}: {error}", path.display())
}

/// The log of faults, which is written at the end.
struct FaultFile {
    path: PathBuf,
    file: StagedFile,
}

impl FaultFile {
    fn create(path: &Path) -> Result<Self, String> {
        let file =
            StagedFile::create(path).map_err(|error| not_writable("the log of faults", path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    fn write(&mut self, log: &FaultLog) -> Result<(), String> {
        log.write(&mut self.file).and_then(|()| self.file.finish()).map_err(|error| {
            format!("the log of faults cannot be written to {}: {error}", self.path.display())
        })
    }
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
    /// A file with this first line.
    fn create(path: &Path, header: &str) -> Result<Self, String> {
        Self::begin(path, header).map_err(|error| cannot_write(path, &error))
    }

    fn begin(path: &Path, header: &str) -> io::Result<Self> {
        let is_stream = path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        let mut writer = if is_stream {
            TruthWriter::Stream(BufWriter::new(File::options().write(true).open(path)?))
        } else {
            TruthWriter::File(StagedFile::create(path)?)
        };
        writeln!(writer.output(), "{header}")?;
        Ok(Self { path: path.to_owned(), writer, is_under_way: false })
    }

    fn write_neutrons(&mut self, neutrons: &[Neutron]) -> Result<(), String> {
        let result = truth::write(neutrons, &mut self.writer.output());
        self.go_on(result)
    }

    fn write_frames(&mut self, frames: &[TrueFrame]) -> Result<(), String> {
        let result = frames::write(frames, &mut self.writer.output());
        self.go_on(result)
    }

    fn go_on(&mut self, result: io::Result<()>) -> Result<(), String> {
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
            // Nobody may be reading standard error any more.
            let _ = writeln!(io::stderr(), "evforge: {error}");
        }
    }
}

impl SimulationObserver for TruthFiles {
    fn pulse(&mut self, pulse: &SimulatedPulse) -> Result<(), SourceError> {
        if let Some(truth) = &mut self.truth {
            truth.write_neutrons(&pulse.truth)?;
        }
        if let Some(frames) = &mut self.frames {
            frames.write_frames(&pulse.frames)?;
        }
        Ok(())
    }

    fn end(&mut self, simulation: &Simulation) -> Result<(), SourceError> {
        if let Some(truth) = &mut self.truth {
            truth.end()?;
        }
        if let Some(frames) = &mut self.frames {
            frames.write_frames(simulation.last_frames())?;
            frames.end()?;
        }
        if let Some(faults) = &mut self.faults {
            faults.write(simulation.faults().log())?;
        }
        Ok(())
    }
}

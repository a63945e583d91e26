//! What is sent to a run that is measured.

use crate::LabError;
use crate::measured_link::MeasureError;
use crate::measured_link::program::{PATIENCE, Program};
use crate::simulated_source::SimulatedSource;
use crate::simulation::{settings, simulation_with};
use crate::truth_files::TruthFiles;
use crate::two_hosts::program_ending_with_this;
use evforge_config::Config;
use evforge_config::shipped;
use evforge_core::quantity::Frequency;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A pulse takes the simulation no longer, whatever detector it is.
const LONGEST_PULSE: Duration = Duration::from_secs(20);

/// How long a capture of a simulation is sent unless somebody says so.
const LOOPED: Duration = Duration::from_secs(2);
/// What an input is called that is no capture.
const SIMULATED: &str = "simulated";

/// Where packets come from.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadSource {
    /// They are simulated before they are sent, then sent again and again, later each time.
    Repeated {
        /// Pulses that are simulated.
        pulses: u64,
        /// How often they are sent.
        times: u64,
        /// Neutrons per second of the simulation.
        neutrons: u64,
    },
    /// A capture that is sent again and again for so long, later each time.
    Looped {
        /// Its file.
        path: PathBuf,
        /// For how long.
        time: Duration,
    },
}

/// What is sent, and the configuration that forms events of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FormationLoad {
    /// Name of the detector or of the configuration.
    pub name: String,
    /// What is sent: `simulated`, or the name of a capture.
    pub input: String,
    /// The configuration, as a file.
    pub config: PathBuf,
    /// The packets.
    pub source: LoadSource,
    /// Packets of one pass at the speed at which they were simulated, per second; none if rates are asked for in packets per second.
    pub natural_rate: Option<f64>,
    /// Packets of one pass; none of a capture, which is sent once and as it is.
    pub pass_packets: Option<u64>,
}

impl FormationLoad {
    /// Of a shipped configuration, simulated at `neutrons` per second for `pulses` pulses and sent once, or as often as [`FormationLoad::lasting`]
    /// says, later each time; where a simulation cannot be repeated, as a capture in `folder` that is sent in a loop.
    ///
    /// # Errors
    /// If there is no such configuration, or it cannot be simulated.
    pub fn simulated(
        name: &str,
        neutrons: u64,
        pulses: u64,
        program: &Path,
        folder: &Path,
        stop: &AtomicBool,
    ) -> Result<Self, LabError> {
        let (name, text) = shipped::text(name)?;
        let config = folder.join(format!("{name}.toml"));
        std::fs::write(&config, text)?;
        let as_shipped = shipped::configuration(name, &[])?;
        for file in as_shipped.detector.side_files() {
            let path = folder.join(&file.path);
            let content = shipped::file(&file.path)
                .ok_or_else(|| format!("{name} comes without its file {}", file.path.display()))?;
            path.parent().map(std::fs::create_dir_all).transpose()?;
            std::fs::write(path, content)?;
        }
        let first = pass(&as_shipped, neutrons, pulses)?;
        if first.can_be_moved {
            let natural_rate = Some(first.packets as f64 / first.seconds);
            let source = LoadSource::Repeated { pulses, times: 1, neutrons };
            let pass_packets = Some(first.packets);
            let (name, input) = (name.to_owned(), SIMULATED.to_owned());
            return Ok(Self { name, input, config, source, natural_rate, pass_packets });
        }
        let path = folder.join(format!("{name}.pcapng"));
        write_capture(program, &config, neutrons, pulses, &path, stop)?;
        let source = LoadSource::Looped { path, time: LOOPED };
        let (name, input) = (name.to_owned(), SIMULATED.to_owned());
        Ok(Self { name, input, config, source, natural_rate: None, pass_packets: None })
    }

    /// A capture, sent again and again for `time`, and the configuration that reads it.
    pub fn capture(config: &Path, capture: &Path, time: Duration) -> Self {
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (name, input) = (text(config.file_stem()), text(capture.file_name()));
        // The sender is in a mount namespace of its own, in which its folder is another one.
        let path = std::path::absolute(capture).unwrap_or_else(|_| capture.to_owned());
        let source = LoadSource::Looped { path, time };
        Self { name, input, config: config.to_owned(), source, natural_rate: None, pass_packets: None }
    }

    /// The same for about `time` at a rate of packets per second; of a simulation that is repeated whole passes, and at least one.
    #[must_use]
    pub fn lasting(&self, time: Duration, rate: f64) -> Self {
        let mut load = self.clone();
        if let (LoadSource::Repeated { times, .. }, Some(pass)) = (&mut load.source, self.pass_packets) {
            *times = (rate * time.as_secs_f64() / pass.max(1) as f64).ceil().max(1.0) as u64;
        }
        if let LoadSource::Looped { time: lasts, .. } = &mut load.source {
            *lasts = time;
        }
        load
    }

    /// How many times faster than simulated packets are sent at this many per second: by this factor everything that a detector does in
    /// its own time is shorter. None of a capture.
    pub fn speed(&self, rate: f64) -> Option<f64> {
        self.natural_rate.map(|natural| rate / natural)
    }
}

/// What a pass has in it.
struct Pass {
    packets: u64,
    /// How long it takes at the speed at which it is simulated.
    seconds: f64,
    /// Its packets can be sent again, later.
    can_be_moved: bool,
}

/// A pass, in memory.
fn pass(config: &Config, neutrons: u64, pulses: u64) -> Result<Pass, LabError> {
    let mut settings = settings(config)?;
    settings.beam.neutrons = Frequency { millihertz: neutrons.saturating_mul(1000) };
    let nobody = TruthFiles::create(None, None)?;
    let mut source = SimulatedSource::new(simulation_with(config, &settings)?, pulses, Box::new(nobody));
    let mut packets = Vec::new();
    while let Some(packet) = source.next_packet()? {
        packets.push(packet);
    }
    let (count, length_ns) = (packets.len() as u64, source.length_ns());
    Ok(Pass {
        packets: count,
        seconds: length_ns as f64 / 1e9,
        can_be_moved: source.simulation().repeated(packets, length_ns).is_some(),
    })
}

fn write_capture(
    program: &Path,
    config: &Path,
    neutrons: u64,
    pulses: u64,
    capture: &Path,
    stop: &AtomicBool,
) -> Result<(), MeasureError> {
    let mut command = program_ending_with_this(program);
    command.args(["simulate", "--overwrite", "--start", "fixed", "--neutrons", &format!("{neutrons}Hz")]);
    command.args(["--pulses", &pulses.to_string(), "--config"]).arg(config).arg("--output").arg(capture);
    let most = PATIENCE + LONGEST_PULSE * u32::try_from(pulses).unwrap_or(u32::MAX);
    Program::start(command, "evforge simulate")?.wait_good(most, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_can_be_repeated_lasts_as_long_as_asked_for_and_a_capture_as_long_as_it_does() {
        let source = LoadSource::Repeated { pulses: 14, times: 1, neutrons: 1000 };
        let looped =
            FormationLoad::capture(Path::new("a.toml"), Path::new("a.pcapng"), Duration::from_secs(1));
        assert_eq!((looped.name.as_str(), looped.input.as_str()), ("a", "a.pcapng"));
        let three = Duration::from_secs(3);
        let lasts =
            |load: &FormationLoad| matches!(load.source, LoadSource::Looped { time, .. } if time == three);
        assert!(!lasts(&looped) && lasts(&looped.lasting(three, 1.0)));
        let capture = looped;
        let load =
            FormationLoad { source, natural_rate: Some(2000.0), pass_packets: Some(2000), ..capture.clone() };
        let times = |load: &FormationLoad| match load.source {
            LoadSource::Repeated { times, .. } => times,
            LoadSource::Looped { .. } => 0,
        };
        assert_eq!(times(&load.lasting(Duration::from_secs(3), 10_000.0)), 15);
        assert_eq!(times(&load.lasting(Duration::from_secs(3), 1.0)), 1);
        assert_eq!((load.speed(10_000.0), capture.speed(10_000.0)), (Some(5.0), None));
    }
}

//! What trains are of, on the command line.

use clap::ValueEnum;
use evforge_wire::train::TrainDetector;

/// A detector by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Detector {
    Lpd,
    Agipd,
    Dssc,
}

impl Detector {
    /// As the wire has it.
    pub(super) const fn of_wire(self) -> TrainDetector {
        match self {
            Self::Lpd => TrainDetector::Lpd,
            Self::Agipd => TrainDetector::Agipd,
            Self::Dssc => TrainDetector::Dssc,
        }
    }
}

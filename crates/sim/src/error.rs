//! Why a detector cannot be simulated.

/// Why a detector cannot be simulated, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SimulationError(pub String);

/// Refuses the value of a key of the beam.
pub(crate) fn refuse<T>(
    key: &str,
    found: impl std::fmt::Display,
    expected: &str,
) -> Result<T, SimulationError> {
    Err(SimulationError(format!("simulation.beam.{key}: found {found}, expected {expected}")))
}

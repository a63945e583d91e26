//! A simulated SoNDe: light in a scintillator, shared by the pixels of photomultipliers, whose triggers boards send.
//!
//! | file | what is in it |
//! |---|---|
//! | [`physics`] | the parameters, with where they come from |
//! | [`model`] | a neutron to light on pixels |
//! | [`readout`] | triggers to packets of the boards |

pub mod model;
pub mod physics;
pub mod readout;

pub use model::SondeModel;
pub use physics::SondePhysics;
pub use readout::SondeReadout;

#[cfg(test)]
mod tests;

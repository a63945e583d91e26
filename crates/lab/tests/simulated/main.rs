//! What a simulated detector sends, and what is formed of it, against the truth that is known.

mod gdgem;
mod isis;
mod looped;
mod multiblade;
mod multigrid;
mod pictures;
mod pulsed;
mod readouts;
mod repeated_load;
mod sonde;
mod windows;

//! Steps over trains, against straightforward arithmetic and against NumPy.

mod chain;
mod common;
mod constants;
mod numpy;
mod steps;

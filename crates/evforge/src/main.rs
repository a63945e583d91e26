//! The program; what it does is in the library of this package.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    evforge::main_with(evforge::shipped_outputs())
}

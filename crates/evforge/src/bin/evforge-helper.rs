//! The helper of evforge: does what needs privileges, so that evforge has none. See [`evforge_net::helper`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    evforge_net::helper::program::run()
}

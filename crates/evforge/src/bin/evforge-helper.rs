//! The helper of evforge: does what needs privileges, so that evforge has none. See [`evforge_net::helper`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    evforge_net::helper::program::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("evforge-helper: there is nothing to help with on this operating system");
    ExitCode::FAILURE
}

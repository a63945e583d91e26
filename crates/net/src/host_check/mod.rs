//! What this host and this process can do for receiving, and the command that changes what they cannot.
//!
//! Nothing is changed, and nothing is measured that would disturb a run (the clock is read some thousand times). Each
//! [`Finding`] is about one thing; [`check_host`] asks for all that a plan needs.

mod card;
mod finding;
mod kernel;
mod process;

pub use finding::{Finding, HostNeeds, Verdict, XdpNeed};

/// Checks all that matters for these needs, the host first, then this process, then the interfaces.
pub fn check_host(needs: &HostNeeds) -> Vec<Finding> {
    let root = std::path::Path::new("/");
    let mut findings = kernel::check(root, needs);
    findings.extend(process::check(needs));
    findings.extend(needs.interfaces.iter().flat_map(|interface| card::check(interface, needs)));
    findings
}

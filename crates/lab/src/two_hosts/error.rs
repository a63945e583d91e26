//! What can go wrong.

use std::io;
use std::path::PathBuf;

/// Why two hosts cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TwoHostsError {
    /// A program is missing.
    #[error(
        "{program} cannot be started: {source}. It is in the package {package}: sudo apt-get install {package}"
    )]
    Missing {
        /// The program.
        program: &'static str,
        /// Where Debian has it.
        package: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A program has failed.
    #[error("`{command}` has failed: {said}")]
    Failed {
        /// With its arguments.
        command: String,
        /// What it wrote on standard error.
        said: String,
    },
    /// Packets cannot be steered to a core.
    #[error(
        "packets cannot be steered to core {core} (RPS): {}: {source}. Root may do it: run this with sudo, or leave them with the sender: \
         --interrupt sender", path.display()
    )]
    Steering {
        /// The setting.
        path: PathBuf,
        /// The core.
        core: usize,
        /// What the system says.
        source: io::Error,
    },
    /// There is no interface of our own whose packets could be steered.
    #[error(
        "packets are steered to a core (RPS) between two network namespaces only: no setting of this host is changed"
    )]
    NoLink,
    /// A process of ours.
    #[error("{what}: {source}")]
    Process {
        /// What was to be done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// The programs that are needed, and the packages that they are in.
const PACKAGES: [(&str, &str); 4] =
    [("ip", "iproute2"), ("ethtool", "ethtool"), ("unshare", "util-linux"), ("nsenter", "util-linux")];

impl TwoHostsError {
    /// A program that could not be started.
    pub(crate) fn missing(program: &str, source: io::Error) -> Self {
        let known = PACKAGES.iter().find(|(name, _)| *name == program);
        let &(program, package) = known.unwrap_or(&("a program", "util-linux"));
        Self::Missing { program, package, source }
    }
}

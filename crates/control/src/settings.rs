//! The table `[control]`: how a run can be asked.

use crate::commands::Generation;
use evforge_core::endpoint::HostAndPort;
use evforge_core::settings::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `[control]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControlSettings {
    /// Where the command port of the EFU listens ([control.md](control.md)); port 0 lets the system choose.
    #[schemars(with = "Option<HostAndPort>", extend("x-range" = "`host:port`, numbers", "x-default" = "off"))]
    pub command_port: Option<SocketAddr>,
    /// Which EFU its commands are those of.
    pub commands: Generation,
    /// The token that changes over HTTP need ([control.md](control.md#the-token)), in a file that only its owner can read; without it, and without
    /// the variable `EVFORGE_TOKEN`, one is made for each run.
    pub token_file: Option<PathBuf>,
    /// Whether the command port may listen at an address that other hosts reach. There is no password; a warning says so at the start.
    pub allow_remote: bool,
}

impl ControlSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// If the port can be reached from other hosts, and nobody has said that it may.
    pub fn check(&self) -> Result<(), SettingsError> {
        let Some(address) = self.command_port else { return Ok(()) };
        if address.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        let problem = format!(
            "{address} can be reached from other hosts, and whoever reaches it can end the run: there is no password. Take \
             127.0.0.1 or [::1], or say control.allow_remote = true if the network keeps others out"
        );
        SettingsError::refuse("control.command_port", problem)
    }
}

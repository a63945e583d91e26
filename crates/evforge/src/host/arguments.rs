//! What to check a host for, and which host.

use crate::CommandError;
use crate::arguments::Method;
use crate::configuration::read_common;
use clap::Args;
use evforge_config::CommonConfig;
use evforge_host::{Host, HostNeeds, LocalHost, Profile, SavedHost};
use evforge_pipeline::host_needs::host_needs;
use std::path::{Path, PathBuf};

/// What is received does not depend on a detector.
const DEFAULTS: &str = "name = \"host\"\n";

/// Arguments of the commands that look at a host.
#[derive(Args)]
pub(super) struct HostArguments {
    /// For this configuration; without it, for the defaults
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a key of the configuration, as in receive.buffer=64MB; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Packets arrive at this network interface [configuration: receive.interface]
    #[arg(long, env = "EVFORGE_INTERFACE", value_name = "NAME")]
    interface: Option<String>,
    /// The receive backend [configuration: receive.method]
    #[arg(long, env = "EVFORGE_RECEIVE", value_name = "METHOD")]
    receive: Option<Method>,
    /// Whose values: what the configuration needs (evforge), or those of a paper (udp, xfel, xdp)
    #[arg(long, default_value = "evforge", value_name = "NAME", value_parser = profile)]
    pub(super) profile: Profile,
    /// Look at a host that was saved (doctor --save) and not at this one
    #[arg(long, value_name = "FOLDER")]
    pub(super) saved: Option<PathBuf>,
}

fn profile(name: &str) -> Result<Profile, String> {
    Profile::named(name).ok_or_else(|| {
        let names = Profile::ALL.map(|profile| format!("{} ({})", profile.name(), profile.title()));
        format!("expected one of {}", names.join(", "))
    })
}

impl HostArguments {
    /// What is to be received.
    pub(super) fn needs(&self) -> Result<HostNeeds, CommandError> {
        let mut config = match &self.config {
            Some(path) => read_common(path, &self.overrides)?,
            None => CommonConfig::parse(Path::new("defaults"), DEFAULTS, &self.overrides)?,
        };
        if self.interface.is_some() {
            config.receive.interface.clone_from(&self.interface);
        }
        if let Some(method) = self.receive {
            config.receive.method = method.setting();
        }
        let mut needs = host_needs(&config);
        if self.saved.is_some() {
            // What this process may do says nothing about another host.
            needs.buffer_granted_by = None;
        }
        Ok(needs)
    }

    /// The host.
    pub(super) fn host(&self) -> Result<Box<dyn Host>, CommandError> {
        Ok(match &self.saved {
            Some(folder) => Box::new(SavedHost::read_from(folder)?),
            None => Box::new(LocalHost::new()),
        })
    }
}

//! When a command that receives ends by itself.

use clap::Args;
use evforge_config::TimeSpan;
use evforge_net::session::SessionLimits;
use std::path::PathBuf;

/// Options of commands that receive.
#[derive(Args)]
pub(crate) struct EndArguments {
    /// End when no packet has come for this time, once there were some
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    idle: Option<TimeSpan>,
    /// End after this time (60, 90s, 168h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    pub(crate) ends_after: Option<TimeSpan>,
}

impl EndArguments {
    /// The same for a session, whose senders write these reports.
    pub(crate) fn limits<'a>(&self, sent: impl IntoIterator<Item = &'a PathBuf>) -> SessionLimits {
        SessionLimits {
            ends_after: self.ends_after.map(TimeSpan::to_std),
            idle_limit: self.idle.map(TimeSpan::to_std),
            sent: sent.into_iter().cloned().collect(),
        }
    }
}

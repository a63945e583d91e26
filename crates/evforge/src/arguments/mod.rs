//! Options that several commands have: the same name, the same meaning, read in one place.
//!
//! | what | spelling |
//! |---|---|
//! | inputs | as they are, or `--input`; `-` is standard input |
//! | the output of a command | `--output`; `-` is standard output |
//! | addresses | `HOST:PORT`, by number or name |
//! | where reading a topic begins and ends | `--begin oldest`, `newest`, `last:10`, an offset, a time, how long ago; `--end present`, `never`, an offset, a time |
//! | times of runs | `60`, `60s`, `2h`: a bare number is seconds |
//! | windows and gaps | with a unit: `500ns` |

mod config;
mod inputs;
mod log;
mod receive_backend;
mod receiving;
mod run_identity;
pub(crate) mod span;
mod topic;

use clap::Args;
pub(crate) use config::ConfigArguments;
use evforge_config::TimeSpan;
use evforge_net::session::SessionLimits;
pub(crate) use inputs::{CaptureArguments, Inputs};
pub(crate) use log::LogArguments;
pub(crate) use receive_backend::{Method, WayArguments};
pub(crate) use receiving::ReceivingArguments;
pub(crate) use run_identity::IdentityArguments;
pub(crate) use span::SpanArguments;
use std::path::PathBuf;
pub(crate) use topic::TopicArguments;

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

/// The option of all commands that write files.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OverwriteArguments {
    /// Replace files that exist (else they are refused at once)
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// Names of the page.
#[derive(Args, Clone, Default)]
pub(crate) struct PageNameArguments {
    /// A name by which browsers may call the page, besides this host's name and its addresses; may be given several times
    #[arg(
        long = "view-name",
        env = "EVFORGE_VIEW_NAME",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Page"
    )]
    pub(crate) view_names: Vec<String>,
    /// Where a web server in front of the page passes it on (https://view.example.org); may be given several times
    #[arg(
        long = "view-origin",
        env = "EVFORGE_VIEW_ORIGIN",
        value_name = "ORIGIN",
        value_delimiter = ',',
        help_heading = "Page"
    )]
    pub(crate) view_origins: Vec<String>,
}

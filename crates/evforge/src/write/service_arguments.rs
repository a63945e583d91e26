//! Options of the conversation with control programs.

use clap::Args;
use std::path::{Path, PathBuf};

/// The conversation with control programs.
#[derive(Args)]
pub(super) struct ServiceArguments {
    /// Write files that are asked for in this topic (pl72, 6s4t) instead of one from the command line
    #[arg(long, value_name = "TOPIC", conflicts_with_all = ["template", "config", "output", "recover"], help_heading = "Service")]
    pub(super) commands: Option<String>,
    /// Take starts from this topic as well, which several writers share: whoever has room takes one
    #[arg(long, value_name = "TOPIC", requires = "commands", help_heading = "Service")]
    pub(super) pool: Option<String>,
    /// The group that all writers of a pool have in common
    #[arg(
        long,
        value_name = "NAME",
        default_value = "evforge-filewriter",
        requires = "pool",
        help_heading = "Service"
    )]
    pub(super) pool_group: String,
    /// The folder for files: names in messages are below it
    #[arg(long, value_name = "FOLDER", requires = "commands", help_heading = "Service")]
    pub(super) folder: Option<PathBuf>,
    /// The folder of templates: for the instrument NAME, NAME/NAME.hdf in it is copied first
    #[arg(long, value_name = "FOLDER", requires = "commands", help_heading = "Service")]
    pub(super) templates: Option<PathBuf>,
    /// The name of this writer, which no other has: with it, what a writer that was killed has begun is taken up again
    #[arg(long, value_name = "NAME", requires = "commands", help_heading = "Service")]
    pub(super) service_id: Option<String>,
    /// Files that are written at the same time, at most
    #[arg(long, value_name = "NUMBER", default_value = "4", requires = "commands", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Service")]
    pub(super) jobs: u16,
    /// Say nothing on the topic of commands, as in ISIS's conversation (runInfo), where nobody answers
    #[arg(long, requires = "commands", help_heading = "Service")]
    pub(super) no_answers: bool,
    /// Take up the file of this job and end at once: what the service has a process of its own do before it takes up a file
    #[arg(long, value_name = "JOB", requires = "commands", hide = true)]
    rehearse: Option<PathBuf>,
}

impl ServiceArguments {
    /// True if files are asked for by messages.
    pub(super) fn is_asked_for(&self) -> bool {
        self.commands.is_some()
    }

    /// The job whose file is only to be tried.
    pub(super) fn job_to_rehearse(&self) -> Option<&Path> {
        self.rehearse.as_deref()
    }
}

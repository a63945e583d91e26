//! `--view-name`: by which names browsers may call the page of a command that serves one by itself.

use clap::Args;

/// Names of the page.
#[derive(Args)]
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
}

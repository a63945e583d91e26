//! `--view-name`, `--view-origin`: by which names browsers may call a page, and as which address a web server passes it on.

use clap::Args;

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

//! The page of `train receive`: options, and what it shows.

use super::trains_view::{PageContent, TrainsView};
use crate::CommandError;
use crate::arguments::PageNameArguments;
use crate::page_address::page_text;
use clap::Args;
use evforge_core::endpoint::endpoint;
use evforge_log::group;
use evforge_train::sinks::NewestSink;
use std::net::SocketAddr;

/// The page, on the command line.
#[derive(Args)]
pub(super) struct PageArguments {
    /// Show the newest trains and the ledger in the browser, at this address
    #[arg(long, env = "EVFORGE_VIEW", value_name = "HOST:PORT", value_parser = endpoint, conflicts_with_all = ["image_size", "packets_per_train"])]
    view: Option<SocketAddr>,
    #[command(flatten)]
    names: PageNameArguments,
    /// Pulses that the page has a place for
    #[arg(long, value_name = "NUMBER", default_value_t = 2700, value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "view", help_heading = "Page")]
    view_pulses: u32,
}

impl PageArguments {
    /// Serves the page, if there is to be one, and says where: with what it needs of the trains.
    pub(super) fn start(
        &self,
        content: &PageContent<'_>,
    ) -> Result<Option<(TrainsView, NewestSink)>, CommandError> {
        let Some(address) = self.view else { return Ok(None) };
        let sink = NewestSink::new(content.detector, content.first_module, content.modules);
        let pulses = usize::try_from(self.view_pulses)?;
        let view = TrainsView::start(address, &self.names, content, (sink.newest(), pulses))?;
        tracing::info!(target: group::VIEW, always = true, "live view at {}", page_text(view.address(), None));
        Ok(Some((view, sink)))
    }
}

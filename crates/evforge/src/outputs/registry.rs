//! The kinds of outputs that evforge comes with.

use super::image::ImageSettings;
use evforge_kafka::producer::KafkaSettings;
use evforge_metrics::graphite::GraphiteSettings;
use evforge_outputs::Registry;
use evforge_outputs::csv::CsvSettings;
use evforge_outputs::frames::FramesSettings;
use evforge_stream::nexus::NexusSettings;
use evforge_view::ViewSettings;

/// The kinds of outputs that evforge comes with. Others are added with [`Registry::with`] and given to
/// [`main_with`](crate::main_with).
pub fn shipped_outputs() -> Registry {
    Registry::default()
        .with::<NexusSettings>("nexus", "events in a NeXus file")
        .with::<CsvSettings>("csv", "events as text, a line for each")
        .with::<FramesSettings>("frames", "frames as text, a line for each")
        .with::<ViewSettings>("view", "pictures, rates and the ledger in the browser")
        .with::<KafkaSettings>("kafka", "events as messages in a topic of Apache Kafka")
        .with::<GraphiteSettings>("graphite", "counters of the run and the host as lines for Graphite")
        .with::<ImageSettings>("image", "the detector image as PNG, at the end")
}

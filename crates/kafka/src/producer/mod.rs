//! The output `[outputs.kafka]`: events as messages, each of which is accounted for until a broker has acknowledged it.
//!
//! ```text
//! PulsedBatch ─► packer ─► maker ─► sender ─► spill (disk) ─► transport (librdkafka) ─► brokers
//!                (which events   (bytes, numbers,       └──────────► reports: acknowledged, failed
//!                 in a message)   keys)
//! RunState ────► about_run: ledger, monitors, status, values; raw packets
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the keys of the table | `settings` |
//! | what is asked of the brokers before the first packet | `open`, `topic_end` |
//! | which events go into a message | `packer`, `sources` |
//! | what a message looks like | `maker` |
//! | order, memory, disk, outages, what is pending | `sender`, `spill`, `spill_file` |
//! | librdkafka | `transport` |
//! | what a topic has already | `last_ids` |
//! | messages that whoever makes them never waits for | `outlet` |
//! | messages about the run | `about_run`, `ledger`, `monitors`, `values`, `veto_names` |
//!
//! What consumers may rely on is in `docs/kafka.md`.

mod about_run;
mod about_settings;
mod counters;
pub(crate) mod last_ids;
mod ledger;
mod maker;
mod monitors;
mod open;
mod output;
mod packer;
mod sender;
mod settings;
mod sources;
mod spill;
mod spill_file;
#[cfg(test)]
mod test_support;
mod topic_end;
mod values;
mod veto_names;

pub use about_settings::{MonitorSchemas, RawPackets};
pub use counters::KafkaCounters;
pub use maker::{EventSchema, MessageKey, MessageTime};
pub use settings::{Destinations, FrameMetadata, KafkaSettings, MessageIds, Split, VetoedEvents};

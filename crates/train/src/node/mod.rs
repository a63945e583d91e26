//! A node of the PC layer: trains received, put together, worked on, and passed on.
//!
//! ```text
//!  receiving thread, one per receiver            worker thread
//!  ┌──────────────────────────────────┐         ┌───────────────────────────────┐
//!  │ packets ─► Assembly ─► train ─────┼───────► │ TrainSink, TrainSink, … in turn │
//!  │               ▲                  │  queue  │  files, content check, sums    │
//!  │               └──── buffer ◄─────┼──────── │                               │
//!  └──────────────────────────────────┘ returned└───────────────────────────────┘
//! ```
//!
//! The queue has room for as many trains as there are buffers, so it is never full. Where the worker is behind, no buffer is free, and
//! the packets of trains that cannot be opened are counted as that ([`AssemblyCounters`](crate::assembly::AssemblyCounters)). Over TCP
//! there is a thread for each connection in the place of a receiving thread, and one that finds no free buffer waits.
//!
//! | you look for | it is in |
//! |---|---|
//! | what a node is to do | [`NodeSettings`], [`ModulePort`] |
//! | running it | [`run`], over TCP [`run_streams`], [`NodeProgress`], [`NodeError`] |
//! | what it did | [`ReceivedTrains`], [`ReceivedStreams`], [`NodeCounters`] |
//! | what came from each source, and which packets of its first trains did not | [`SourceReport`] |
//! | where trains go | [`TrainSink`], [`SinkError`] |
//! | where the time of a receiving thread goes | [`ReaderProfile`] |

mod by_source;
mod counters;
mod delivery;
mod outcome;
mod profile;
mod reader;
mod running;
mod settings;
mod sink;
mod streams;
mod worker;

pub use by_source::{FirstTrain, SourceCounts, SourceReport};
pub use counters::NodeCounters;
pub(crate) use outcome::sum;
pub use outcome::{NodeError, NodeProgress, ReceivedStreams, ReceivedTrains, ThreadReport};
pub use profile::{ReaderProfile, ReaderStep};
pub use running::run;
pub use settings::{ModulePort, NodeSettings, SourcesBy};
pub use sink::{NodeTrain, SinkError, TrainSink};
pub use streams::run_streams;

//! What happens to events: a queue, a policy and a thread for every output, and how outputs are made from settings.
//!
//! ```text
//!                     ┌► queue ► service (thread) ► Output: NeXus file
//! PulseStage ► OutputSet ► queue ► service (thread) ► Output: CSV file
//!                     └► queue ► service (thread) ► Output: live view …
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what an output must and may do | [`evforge_core::output`]; in words for everybody `docs/outputs.md` |
//! | all outputs of a run | [`OutputSet`] |
//! | what waits for an output, and what happens when too much does | [`QueueSettings`], [`WhenFull`] |
//! | outputs from the tables `[outputs.…]` of a configuration | [`Registry`], [`OutputPlan`] |
//! | the schema of the tables `[outputs.…]` | `schema` |
//! | what an output may know of the run when it is made | [`OutputContext`] |
//! | raw packets for an output | [`packet_tap`] |
//! | events as CSV | [`csv`] |
//! | frames as CSV | [`frames`] |
//! | a text file that loses no whole line | [`line_file`] |
//!
//! # Adding an output
//! One file with its settings (`serde::Deserialize` and [`OutputPlan`]) and its [`Output`](evforge_core::output::Output); one
//! line where the registry is filled; its description in `docs/outputs.md`. `examples/json-lines` does it outside the workspace's crates.

#![forbid(unsafe_code)]

mod context;
pub mod csv;
mod frame_text;
pub mod frames;
mod kept;
pub mod line_file;
pub mod packet_tap;
mod plan;
mod queue;
mod registry;
mod schema;
mod service;
mod set;
mod settings;

pub use context::{HostAdvice, HostFinding, MonitorControl, Notes, OutputContext};
pub use kept::Kept;
pub use plan::{OutputPlan, PlannedOutput};
pub use registry::{Registry, read_keys};
pub use service::OnWaiting;
pub use set::{OutputOutcome, OutputSet};
pub use settings::{IfExists, QueueSettings, WhenFull};

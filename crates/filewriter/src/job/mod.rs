//! One file from beginning to end: which messages belong to it, what is missing, when it is complete.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (plan, settings): (evforge_filewriter::job::JobPlan, evforge_filewriter::job::JobSettings) = todo_elsewhere();
//! # fn todo_elsewhere<T>() -> T { unimplemented!() }
//! use evforge_filewriter::job::Job;
//!
//! let job = Job::start(plan, settings)?;
//! let end = job.wait();
//! println!("{}", end.progress.file.display());
//! # Ok(())
//! # }
//! ```

mod attempts;
mod bases;
mod block;
mod budget;
mod counters;
mod end;
mod error;
mod job_thread;
mod opening;
mod partitions;
mod plan;
mod progress;
mod pulse_line;
mod pulse_order;
mod reader;
mod rehearsal;
mod routes;
mod running;
mod session;
mod settings;
mod sources;
mod streams;
mod topics;
mod window;

pub(crate) use attempts::{forget_attempts, set_aside};
pub use bases::{PlainBases, SaidBase};
pub use budget::Budget;
pub use counters::WriterCounters;
pub use end::{JobEnd, PartitionEnd};
pub use error::JobError;
pub use evforge_kafka::message_ids::{Arrival, Gap, MessageIds};
pub use evforge_kafka::topic::Begin;
pub use job_thread::Job;
pub use opening::rehearse;
pub use plan::{JobPlan, Until};
pub use progress::{Phase, Progress};
pub use pulse_line::PulseLine;
pub use rehearsal::{Rehearsal, Rehearsed};
pub use settings::{Bases, JobSettings};
pub use sources::{NumberedSource, Silence};
pub use window::{SourceWindow, Verdict, Window};

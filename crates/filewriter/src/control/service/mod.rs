//! The conversation with Kafka around it: what runs for weeks.
//!
//! One thread has the conversation and calls the jobs. Each topic that is followed has a thread that reads it, so that brokers
//! that do not answer hold up nothing; the pool is read by a consumer with a group, of which this writer is a member while it
//! has room for a job.

mod clock;
mod followers;
mod pool;
mod run;
mod settings;
mod speaker;

pub use run::run;
pub use settings::ServiceSettings;

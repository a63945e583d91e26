//! The messages of all schemas.

mod generated;
mod golden;
mod python;

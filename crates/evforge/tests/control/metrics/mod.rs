//! Metrics of real runs: a real carbon and a real Prometheus receive every counter with its value, and the boards and alert
//! rules that are made from the declarations name nothing that is not in real answers.
#![allow(clippy::unwrap_used)]

mod carbon;
mod graphite;
mod made;
mod page;
mod prometheus;

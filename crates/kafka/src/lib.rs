//! Apache Kafka: events leave as messages, and what is in topics can be looked at.

#![forbid(unsafe_code)]

pub mod client;
pub mod packets;
pub mod producer;
pub mod tools;

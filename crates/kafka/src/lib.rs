//! Apache Kafka: events leave as messages, raw packets come back as an input, and what is in topics can be looked at.
//!
//! | you look for | it is in |
//! |---|---|
//! | how brokers are reached, and what is in the way if they are not | [`client`] |
//! | messages into topics, each accounted for | [`sending`] |
//! | the output `[outputs.kafka]` | [`producer`] |
//! | raw packets to and from topics | [`packets`] |
//! | the events of topics into batches, with what is missing | [`events`] |
//! | what the numbers of a source's messages say | [`message_ids`] |
//! | the messages of several boards into frames | [`aggregate`] |
//! | topics, read by one rule, whatever becomes of them | [`topic`] |
//! | what people do with topics: list, read, replay, fill | [`tools`] |
//!
//! The messages themselves are those of `evforge_messages`. What consumers may rely on is in `docs/kafka.md`.

#![deny(unsafe_code)]

pub mod aggregate;
pub mod client;
pub mod events;
mod frames;
pub mod message_ids;
pub mod packets;
pub mod producer;
pub mod sending;
pub mod tools;
pub mod topic;

//! What the tests of Kafka share.

pub(crate) mod certificates;

//! How Kafka is reached: settings for people, a check that names what is wrong, and every error of the client library in words.
//!
//! | you look for | it is in |
//! |---|---|
//! | the keys `brokers`, `options`, `kafka_config`, `password_file`, … | [`ClientSettings`] |
//! | what a client is made with | [`ClientSettings::config`] |
//! | whether brokers can be reached and topics are there, within seconds | [`check`](check()) |
//! | the largest message that a topic takes | [`Admin`] |
//! | the first and the next message of a partition | [`partition_ends`], [`first_since`] |
//! | where consumers are made, and what they are set to | [`consumer`](consumer()) |
//! | until when an answer is waited for | [`Deadline`] |
//! | a code of librdkafka as a sentence, and whether another try may help | [`explain`](explain()) |
//! | what librdkafka says of itself while it runs | [`Witness`] |

mod admin;
mod advice;
mod brokers;
mod cause;
mod check;
mod consumer;
mod deadline;
mod error;
mod explain;
mod headers;
mod kafka_config;
mod offsets;
mod option_value;
mod secret;
mod settings;
mod tls;
mod witness;

pub use admin::Admin;
pub use brokers::Brokers;
pub use cause::{Cause, cause_of};
pub use check::{Checked, CheckedTopic, check};
pub(crate) use consumer::NO_GROUP;
pub use consumer::{Consumer, consumer, consumer_of};
pub use deadline::Deadline;
pub use error::ClientError;
pub use explain::{Explanation, explain, explain_error};
pub use headers::Header;
pub(crate) use headers::{headers_of, with_headers};
pub(crate) use offsets::{cause_of_failure, failed, of_each, until_known};
pub use offsets::{first_since, partition_ends};
pub use option_value::OptionValue;
pub use secret::is_secret;
pub use settings::ClientSettings;
pub use witness::{Complaint, Witness};

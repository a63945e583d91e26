//! Graylog: GELF 1.1 over UDP or TCP. A thread of its own sends; whoever says something never waits for it.

pub mod chunks;
pub mod message;
mod sender;
mod tcp;
mod udp;
mod waiting;

pub use message::Identity;
pub use sender::GelfSender;

//! How a run is steered and watched from outside: the command port, HTTP, messages, logs and metrics.

mod command_port;
#[path = "../common/mod.rs"]
mod common;
mod control_api;
mod logs;
mod metrics;
mod serve;

//! The brokers for tests.

mod broker;
mod script;

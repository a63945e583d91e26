//! The client with real brokers.

#[path = "../common/mod.rs"]
mod common;
mod connection;
mod moments;
mod one_place;
mod tools;
mod topics;

//! Trains over TCP, on loopback.

mod arbitrary;
mod common;
mod faults;
mod sender;
mod streams;

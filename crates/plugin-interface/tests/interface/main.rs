//! The interface of plugins, in C and in Rust.

mod layout;
mod table;

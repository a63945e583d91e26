//! Trains, from datagrams to files.

mod assembly;
mod bridge;
mod files;
mod node;
mod processing;

//! A Multi-Grid's events and counters, read-out by read-out.

mod cncs;
mod common;
mod digital_geometry;
mod ledger;
mod order;
mod reconstruction;

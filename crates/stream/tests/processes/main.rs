//! Files that several processes have to do with: writers that are killed, disks that are full, readers in Python.
//!
//! Every test here takes [`common::alone`]. Tests that start no process are in the program `nexus`, where they run side by
//! side.

#[path = "../common/mod.rs"]
mod common;
mod follow;
mod full_disk;
mod gone;
mod kill;
mod monitors;
mod python;

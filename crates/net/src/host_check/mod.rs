//! What this process can do for receiving, and the command that changes what it cannot.
//!
//! The settings of the host are in `evforge_host`; here is what only the running process can tell: its cores, its privileges and
//! those of its helper, its clock, the path to another host, the speed of a disk. Nothing is changed.

mod disk;
mod path;
mod process;

pub use disk::disk_speed;
pub use path::path_to;
pub use process::{buffer_granted_by, check_process};

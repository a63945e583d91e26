//! What a command writes: nothing is replaced that must not be, nothing is lost that was written, and what fails is said.

mod ends;
mod full_disk;
mod nexus;
mod partial_recordings;
mod program;
mod recording_on_a_full_disk;
mod same_file;

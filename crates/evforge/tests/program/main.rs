//! What the program does with files: its commands, their help and errors, and the documents that speak of them.

#[path = "../common/mod.rs"]
mod common;

mod beam_monitors;
mod command_line;
mod completion;
mod configured_outputs;
mod documents;
mod dumps;
mod ess_files;
mod help;
mod instruments;
mod manual;
mod mistakes;
mod monitors_alongside;
mod nexus_size;
mod one_account;
mod overlay;
mod packet_numbers;
mod readme;
mod samples;
mod score;
mod simulate;
mod skipped_frames;
mod standard_streams;
mod words;

//! What the program does with files: its commands, their help and errors, and the documents that speak of them.

#[path = "../common/mod.rs"]
mod common;

mod architecture;
mod bad_days;
mod beam_monitors;
mod command_line;
mod completion;
mod configured_outputs;
mod counter_table;
mod doctor;
mod document_pictures;
mod documents;
mod dumps;
mod ess_files;
mod exit_status;
mod format_pages;
mod frames;
mod help;
mod inspect;
mod instruments;
mod isis;
mod manual;
mod mistakes;
mod monitors_alongside;
mod nexus_size;
mod notebook;
mod one_account;
mod outputs;
mod overlay;
mod own_data;
mod packet_numbers;
mod pictures;
mod placement_list;
mod plugins;
mod readme;
mod reduction;
mod samples;
mod schema;
mod schema_tables;
mod score;
mod simulate;
mod skipped_frames;
mod standard_streams;
mod words;
mod write_a_plugin;

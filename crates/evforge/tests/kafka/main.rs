//! Topics of real brokers: what runs write into them and read from them, and what `evforge kafka` does with them.

mod about_run;
mod aggregate;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod consumers;
mod events;
mod frames;
mod in_browser;
mod measured;
mod notebook;
mod packets;
mod train_summaries;
mod view;
mod view_values;

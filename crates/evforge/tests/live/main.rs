//! Live runs of the real program, as a user starts and ends them: what it receives, records, sends, serves and says.

mod agent;
mod any_file;
mod chopper;
#[path = "../common/mod.rs"]
mod common;
mod demo_of_everything;
mod drop;
mod faults;
mod isis;
mod loopback;
mod measured_formation;
mod measured_link;
mod memory;
mod numbered;
mod page;
mod page_json;
mod record;
mod signals;
mod train;
mod train_layers;
mod train_page;
mod train_receive;
mod view_asked;
mod view_file;
mod viewed_file;
mod watched;

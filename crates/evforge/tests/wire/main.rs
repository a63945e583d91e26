//! The real program between two network namespaces: by AF_XDP, and with the privileges that it is lent. Needs root.

mod agents;
#[path = "../common/mod.rs"]
mod common;
mod measure;
mod measure_pulses;
mod measure_trains;
mod placement;
mod privileges;
mod train;
mod tune;
mod xdp;
mod xdp_sender;

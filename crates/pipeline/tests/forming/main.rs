//! Runs from packets to events: whatever the order, the threads and the pieces, the same events and the same counts.

mod changes;
#[path = "../common/mod.rs"]
mod common;
mod determinism;
mod ess_front;
mod ess_on_the_wire;
mod ess_vectors;
mod every_detector;
mod forming_threads;
mod helium3;
mod kinds_of_panels;
mod live_fraction;
mod multiblade_cassettes;
mod own_data;
mod panels;
mod partition;
mod raw_packets;
mod same_neutrons;
mod silent_sources;

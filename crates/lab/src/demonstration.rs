//! Simulated electronics that send pulse after pulse in time, for `evforge demo`.

use crate::LabError;
use crate::electronics_sender::ElectronicsSender;
use evforge_config::Config;
use evforge_net::pace::Pace;
use evforge_net::socket::SendReport;
use evforge_sim::beam::mask::Mask;
use evforge_sim::simulation::Simulation;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the simulated electronics have sent.
pub struct Sent {
    /// The packets.
    pub report: SendReport,
    /// Neutrons in them that left a trace in the detector.
    pub neutrons: u64,
}

/// Simulates pulse after pulse and sends the packets when they are due, until `stop` is set or for so long. With
/// `own_addresses` they leave from the addresses that they come from.
///
/// # Errors
/// If an address is not this host's, or the system refuses a packet.
pub fn send_pulses(
    mut simulation: Simulation,
    address: SocketAddr,
    own_addresses: bool,
    stop: &AtomicBool,
    ends_after: Option<Duration>,
) -> Result<Sent, LabError> {
    let mut sender = ElectronicsSender::new(address, Pace::OwnTiming { speed: 1.0 }, own_addresses);
    let mut neutrons = 0;
    // From the first pulse on, which there is however busy the host.
    let mut started: Option<Instant> = None;
    let is_over = |started: Instant| ends_after.is_some_and(|limit| started.elapsed() >= limit);
    while !stop.load(Ordering::Relaxed) && !started.is_some_and(is_over) {
        started.get_or_insert_with(Instant::now);
        let pulse = simulation.next_pulse();
        neutrons += pulse.truth.len() as u64;
        sender.send(&pulse.packets, stop)?;
    }
    Ok(Sent { report: sender.report(), neutrons })
}

/// The picture in the beam on a detector, row 0 at y = 0, for whoever wants to compare.
pub fn mask_json(simulation: &Simulation) -> Value {
    let geometry = simulation.detector().picture();
    let (mask, nx) = (Mask::new(geometry), geometry.nx());
    let values = mask.intensities();
    json!({ "nx": nx, "ny": values.len() as u32 / nx, "values": values })
}

/// Whether the detector knows which part of it a packet is of by the address that it comes from.
pub fn tells_sources_by_address(config: &Config) -> bool {
    config.detector.parts_by_origin().is_some_and(|parts| parts.by_source)
}

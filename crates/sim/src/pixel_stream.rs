//! A generic detector: every neutron is one readout with its pixel. A load for detectors that are not simulated.
//!
//! Packets have the format of the examples of plugins (`examples/plugin-c`): a header of 16 bytes
//! ("PXST", sequence u32, readouts u32, 0 u32) and readouts of 8 bytes (time u32 in 10 ns, column u16, row u16), all
//! little-endian.

use crate::detector_model::{Charge, DetectorModel, Resolution, Strike, TrueEvent};
use crate::electronics::{Electronics, Hit};
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_core::geometry::{GeometryError, LogicalGeometry};
use rand::rngs::SmallRng;
use std::net::Ipv4Addr;

const PORT: u16 = 9000;
const HEADER: usize = 16;
const READOUT: usize = 8;
/// Readouts of a packet that fits a frame of 9000 bytes.
const READOUTS: usize = (8972 - HEADER) / READOUT;
const TICK_PS: u128 = 10_000;

/// A detector of pixels with a channel each; the rows are its modules.
#[derive(Clone, Debug)]
pub struct PixelModel {
    geometry: LogicalGeometry,
    layout: Layout,
}

impl PixelModel {
    /// A detector of `nx` × `ny` pixels.
    ///
    /// # Errors
    /// If there can be no such detector.
    pub fn new(nx: u16, ny: u16) -> Result<Self, GeometryError> {
        let geometry = LogicalGeometry::flat(u32::from(nx), u32::from(ny))?;
        let row = |module| (0..nx).map(move |coordinate| Place { module, plane: 0, coordinate });
        Ok(Self { geometry, layout: Layout::new((0..ny).flat_map(row).collect()) })
    }
}

impl DetectorModel for PixelModel {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.geometry
    }

    fn is_sensitive(&self, x: u32, y: u32, panel: u32) -> bool {
        x < self.geometry.nx() && y < self.geometry.ny() && panel == 0
    }

    fn add_neutron(&self, strike: &Strike, _: &mut SmallRng, charges: &mut Vec<Charge>) -> Option<TrueEvent> {
        let module = strike.y as u16;
        let place = Place { module, plane: 0, coordinate: strike.x as u16 };
        charges.push(Charge {
            channel: self.layout.channel(place)?,
            time_ps: strike.time_ps,
            amplitude: 1.0,
        });
        Some(TrueEvent { module, position: [strike.x, strike.y, 0.5], panel: 0, time_ps: strike.time_ps })
    }

    fn add_gamma(&self, _: &Strike, _: &mut SmallRng, _: &mut Vec<Charge>) {}

    fn resolution(&self) -> Resolution {
        Resolution { clock_step_ps: 0, neighbours: [0, 0], min_hits: [1, 0], trigger: None }
    }

    fn electronics(&self) -> Electronics {
        Electronics {
            gain_spread: 0.0,
            dead_channels: 0.0,
            threshold: 1,
            largest_amplitude: 1,
            dead_time_ps: 0,
            jitter_ps: 0,
            latency_ps: 0,
            noise_per_second: 0.0,
        }
    }

    fn noise_amplitude(&self) -> f64 {
        1.0
    }
}

/// Hits to packets of the generic format.
#[derive(Clone, Debug)]
pub struct PixelStream {
    places: Vec<Place>,
    source: Source,
}

impl PixelStream {
    /// The readout of a detector with these channels.
    pub fn new(layout: &Layout) -> Self {
        Self { places: layout.places().to_vec(), source: Source::new(0, 32) }
    }
}

impl Readout for PixelStream {
    fn sources(&self) -> Vec<String> {
        vec!["pixel stream".into()]
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        for hits in hits.chunks(READOUTS) {
            let number = self.source.count();
            let mut bytes = Vec::with_capacity(HEADER + hits.len() * READOUT);
            bytes.extend_from_slice(b"PXST");
            bytes.extend_from_slice(&(number as u32).to_le_bytes());
            bytes.extend_from_slice(&(hits.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&[0; 4]);
            for hit in hits {
                let Some(place) = self.places.get(hit.channel as usize) else { continue };
                let shown = u128::from(pulse.start_ns) * 1000 + u128::from(self.source.shown_ps(hit.time_ps));
                bytes.extend_from_slice(&((shown / TICK_PS) as u32).to_le_bytes());
                bytes.extend_from_slice(&place.coordinate.to_le_bytes());
                bytes.extend_from_slice(&place.module.to_le_bytes());
            }
            let sent_ns = pulse.start_ns + hits.last().map_or(0, |hit| hit.sent_ps / 1000);
            let sender = Sender { source: 0, number: Some(number), header: HEADER };
            packets
                .push(SimulatedPacket::new(bytes, Ipv4Addr::new(192, 168, 10, 1), PORT, sent_ns).of(sender));
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        self.source.disturb(disturbance);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Simulation, SimulationSettings};
    use evforge_core::pulse::PulseTrain;

    #[test]
    fn every_neutron_is_a_readout_of_8_bytes_at_its_pixel() {
        let model = PixelModel::new(300, 200).unwrap();
        let readout = PixelStream::new(model.layout());
        let settings = SimulationSettings::default();
        let mut simulation =
            Simulation::new(&settings, PulseTrain::ess(), Box::new(model), Box::new(readout)).unwrap();
        let pulse = simulation.next_pulse();
        assert!(pulse.truth.len() > 1000);
        let mut found: Vec<(u64, u32)> = Vec::new();
        for (packet, number) in pulse.packets.iter().zip(0_u32..) {
            let (header, readouts) = packet.bytes.split_at(HEADER);
            assert_eq!((&header[..4], &header[4..8]), (&b"PXST"[..], &number.to_le_bytes()[..]));
            assert_eq!(readouts.len(), 8 * u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize);
            found.extend(readouts.chunks(READOUT).map(|readout| {
                let time = u32::from_le_bytes(readout[..4].try_into().unwrap());
                let [x, y] = [4, 6].map(|at| u16::from_le_bytes([readout[at], readout[at + 1]]));
                (u64::from(time), u32::from(y) * 300 + u32::from(x) + 1)
            }));
        }
        let truth = pulse.truth.iter().map(|neutron| (neutron.time_ns / 10, neutron.pixel_id));
        let mut truth: Vec<_> = truth.collect();
        found.sort_unstable();
        truth.sort_unstable();
        assert_eq!(found, truth);
    }
}

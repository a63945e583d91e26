//! Hits to VMM3a readouts to packets, as SRS front-end cards send them.

use crate::packet::{Sender, SimulatedPacket};
use crate::track::ChargeOnStrip;
use evforge_core::packet::{ArrivalClock, PacketOrigin};
use evforge_detect::gdgem::settings::{ChipMapping, Plane};
use evforge_detect::settings::Picoseconds;
use evforge_wire::srs_vmm::{TimeMarker, Vmm3Encoder, Vmm3Variant, VmmReadout};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// UDP port that front-end cards send from and to.
pub const SRS_PORT: u16 = 6006;

/// Bunch crossings that one marker covers: 16 trigger offsets of 4096 crossings.
const CROSSINGS_PER_MARKER: u64 = 16 * 4096;
/// Steps of the TDC per `tac_range`.
const TDC_STEPS: f64 = 255.0;

/// One front-end card: collects readouts and sends a packet when it is full.
#[derive(Clone, Debug)]
pub struct FrontEndCard {
    fec: u16,
    bunch_crossing_ns: f64,
    tdc_step_ns: f64,
    encoder: Vmm3Encoder,
    frame_counter: u32,
    /// Marker of each chip: number of the run of crossings that it covers.
    markers: [Option<u64>; 16],
    latest_ns: u64,
}

impl FrontEndCard {
    /// A card with the given clocks whose first packet has number `frame_counter`.
    pub fn new(fec: u16, bunch_crossing: Picoseconds, tac_range: Picoseconds, frame_counter: u32) -> Self {
        let mut card = Self {
            fec,
            bunch_crossing_ns: bunch_crossing as f64 / 1000.0,
            tdc_step_ns: tac_range as f64 / 1000.0 / TDC_STEPS,
            encoder: Vmm3Encoder::new(Vmm3Variant::Vmm3a),
            frame_counter,
            markers: [None; 16],
            latest_ns: 0,
        };
        card.encoder.begin(frame_counter, fec, 0);
        card
    }

    /// The card's number.
    pub fn fec(&self) -> u16 {
        self.fec
    }

    /// Digitises a hit of one of the card's chips (0..=15) and channels; hits come in order of time. Full
    /// packets go to `packets`.
    pub fn digitise(
        &mut self,
        chip: u8,
        channel: u8,
        hit: &ChargeOnStrip,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        // time = crossings + 1.5 crossings - TDC (EFU formats of 2018, section 4.3)
        let since = (hit.time_ns - 1.5 * self.bunch_crossing_ns).max(0.0);
        let crossing = (since / self.bunch_crossing_ns).ceil();
        let tdc = ((crossing * self.bunch_crossing_ns - since) / self.tdc_step_ns).round();
        let crossing = crossing as u64;
        let run = crossing / CROSSINGS_PER_MARKER;
        if self.markers[usize::from(chip & 15)] != Some(run) {
            let marker = TimeMarker { chip: chip & 15, stamp: run * CROSSINGS_PER_MARKER };
            if !self.encoder.push_marker(&marker) {
                self.send(packets);
                self.encoder.push_marker(&marker);
            }
            self.markers[usize::from(chip & 15)] = Some(run);
        }
        let readout = VmmReadout {
            chip: chip & 15,
            channel,
            bunch_crossing: (crossing % 4096) as u16,
            tdc: tdc.clamp(0.0, 255.0) as u8,
            adc: hit.adc,
            over_threshold: true,
            trigger_offset: (crossing / 4096 % 16) as u8,
        };
        self.latest_ns = self.latest_ns.max(hit.time_ns.max(0.0) as u64);
        if !self.encoder.push_readout(&readout) {
            self.send(packets);
            self.encoder.push_readout(&readout);
        }
    }

    /// Sends what has been collected, if anything.
    pub fn send(&mut self, packets: &mut Vec<SimulatedPacket>) {
        if self.encoder.is_empty() {
            return;
        }
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, self.fec as u8));
        packets.push(SimulatedPacket {
            bytes: self.encoder.packet().to_vec(),
            origin: PacketOrigin {
                source: SocketAddr::new(address, SRS_PORT),
                destination_port: SRS_PORT,
                arrival_ns: self.latest_ns,
                arrival_clock: ArrivalClock::Capture,
            },
            sender: Sender::default(),
        });
        self.frame_counter = self.frame_counter.wrapping_add(1);
        let stamp = (self.latest_ns as f64 / self.bunch_crossing_ns) as u64 as u32;
        self.encoder.begin(self.frame_counter, self.fec, stamp);
    }
}

/// The chip and channel that read a strip: FEC, chip, channel. None if no chip does.
pub fn channel_of(mapping: &[ChipMapping], panel: u16, plane: Plane, strip: u32) -> Option<(u16, u8, u8)> {
    mapping
        .iter()
        .filter(|chip| (chip.panel, chip.plane) == (panel, plane))
        .find_map(|chip| chip.channel(strip).map(|channel| (chip.fec, chip.chip, channel)))
}

//! Hits to packets of VMM2 (EFU formats of 2018, section 4.1): a packet has the readouts of a chip after one trigger.

use super::vmm3_readout::SRS_PORT;
use super::wiring::Wiring;
use crate::electronics::Hit;
use crate::layout::Layout;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_detect::gdgem::settings::GdGemSettings;
use evforge_wire::srs_vmm::{BUNCH_CROSSINGS, FRAME_COUNTER_BITS, Vmm2Encoder, VmmReadout};
use std::net::Ipv4Addr;

/// Bytes of the header (section 4.1).
const HEADER: usize = 12;
/// Chips of the only card.
const CHIPS: usize = 16;
/// A trigger comes after this many crossings: a little less than chips can count, because triggers are rounded to ticks
/// and the fine time reaches over them. The default acquisition window of section 4.4.
const WINDOW: i64 = 4000;

/// The packet of a chip.
#[derive(Clone, Debug, Default)]
struct Filling {
    encoder: Vmm2Encoder,
    number: Option<u64>,
    newest_ps: u64,
}

/// The front-end card of a detector with VMM2 chips.
#[derive(Clone, Debug)]
pub struct Vmm2Readout {
    wiring: Wiring,
    trigger_tick: i64,
    window_ps: i64,
    source: Source,
    /// The trigger that the packets are of.
    stamp: i64,
    chips: [Filling; CHIPS],
}

impl Vmm2Readout {
    /// The card of a detector with these channels, whose settings have been checked.
    pub fn new(settings: &GdGemSettings, layout: &Layout) -> Self {
        Self {
            wiring: Wiring::new(settings, layout),
            trigger_tick: settings.time.trigger_tick as i64,
            window_ps: WINDOW * settings.time.bunch_crossing as i64,
            source: Source::new(1, FRAME_COUNTER_BITS),
            stamp: 0,
            chips: Default::default(),
        }
    }

    /// Sends what the chips have.
    fn send(&mut self, start_ps: i64, packets: &mut Vec<SimulatedPacket>) {
        for chip in &mut self.chips {
            send(chip, start_ps, packets);
        }
    }

    fn take(&mut self, start_ps: i64, hit: &Hit, packets: &mut Vec<SimulatedPacket>) {
        let Some(Some(wired)) = self.wiring.channels.get(hit.channel as usize) else { return };
        let wired = *wired;
        let time = (start_ps + self.source.offset_ps() + hit.time_ps as i64).max(0);
        let trigger_tick = self.trigger_tick;
        let split = |stamp: i64| {
            let (crossing, tdc) = wired.fine_time.split(time - stamp * trigger_tick);
            let crossing = u16::try_from(crossing).ok().filter(|crossing| *crossing < BUNCH_CROSSINGS);
            crossing.map(|crossing| (crossing, tdc))
        };
        let known = split(self.stamp);
        if known.is_none() {
            // A little early: the fine time may reach back behind the trigger.
            let window = (time - self.window_ps / 64).max(0) / self.window_ps;
            self.send(start_ps, packets);
            self.stamp = window * self.window_ps / trigger_tick;
        }
        // Before the clock's zero there is no time.
        let Some((bunch_crossing, tdc)) = known.or_else(|| split(self.stamp)) else { return };
        let stamp = self.stamp;
        let readout = VmmReadout {
            chip: wired.chip,
            channel: wired.channel,
            bunch_crossing,
            tdc,
            adc: wired.amplitude.of(hit.amplitude),
            over_threshold: true,
            trigger_offset: 0,
        };
        let Some(chip) = self.chips.get_mut(usize::from(wired.chip)) else { return };
        if chip.number.is_none() || !chip.encoder.push(&readout) {
            send(chip, start_ps, packets);
            let number = self.source.count();
            chip.number = Some(number);
            chip.encoder.begin(number as u32, wired.chip, stamp as u32);
            let is_added = chip.encoder.push(&readout);
            debug_assert!(is_added, "an empty packet has room");
        }
        chip.newest_ps = hit.sent_ps;
    }
}

fn send(chip: &mut Filling, start_ps: i64, packets: &mut Vec<SimulatedPacket>) {
    let Some(number) = chip.number.take() else { return };
    let sent_ns = (start_ps as u64 + chip.newest_ps) / 1000;
    let packet =
        SimulatedPacket::new(chip.encoder.packet().to_vec(), Ipv4Addr::new(10, 0, 0, 1), SRS_PORT, sent_ns);
    packets.push(packet.of(Sender { source: 0, number: Some(number), header: HEADER }));
}

impl Readout for Vmm2Readout {
    fn sources(&self) -> Vec<String> {
        self.wiring.sources()
    }

    fn first_pulse(&self, _start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        1
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let start_ps = i64::try_from(u128::from(pulse.start_ns) * 1000).unwrap_or(i64::MAX / 2);
        for hit in hits {
            self.take(start_ps, hit, packets);
        }
        self.send(start_ps, packets);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        if disturbance.source() > 0 {
            return false;
        }
        self.source.disturb(disturbance);
        true
    }
}

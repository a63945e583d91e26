//! Neutrons by hand for the instruments with the ESS readout: their records, and the pixels where they are.

mod gdgem;
mod multiblade;
mod multigrid;

pub(crate) use gdgem::nmx;
pub(crate) use multiblade::{amor, estia, freia, tblmb};
pub(crate) use multigrid::{let_demonstrator, trex};

use evforge_wire::ess::{EssEncoder, EssTime, RECORD, TICKS_PER_SECOND, Vmm3aFields};

/// Ticks between pulses: 14 of them in a second.
const PERIOD: u32 = TICKS_PER_SECOND / 14;
/// The first pulse is at the beginning of this second.
const SECOND: u32 = 1_700_000_000;

/// A channel with a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) fibre: u8,
    pub(crate) fen: u8,
    pub(crate) vmm: u8,
    pub(crate) channel: u8,
    pub(crate) adc: u16,
}

/// A neutron: its signals, a tick after one another, and the pixel where it is.
#[derive(Clone, Debug)]
pub(crate) struct Neutron {
    pub(crate) signals: Vec<Signal>,
    pub(crate) pixel: u32,
}

/// What an instrument is to see.
///
/// Each neutron is seen once in each of three pulses. The fourth comes as a heartbeat; the records of its only
/// neutron come in a packet of the fifth, which has no neutrons of its own, and neither has the sixth.
#[derive(Clone, Debug)]
pub(crate) struct Neutrons {
    pub(crate) detector_type: u8,
    pub(crate) neutrons: Vec<Neutron>,
}

/// The time so many ticks after pulse number `pulse`.
fn time(pulse: u32, ticks: u32) -> EssTime {
    EssTime { seconds: SECOND, ticks: pulse * PERIOD + ticks }
}

impl Neutrons {
    /// The records of a neutron that many ticks after a pulse.
    fn records(neutron: &Neutron, pulse: u32, after: u32) -> Vec<[u8; RECORD]> {
        let record = |(number, signal): (u32, &Signal)| {
            let Signal { fibre, fen, vmm, channel, adc } = *signal;
            let time = time(pulse, after + number);
            Vmm3aFields { fibre, fen, vmm, channel, adc, time, ..Vmm3aFields::default() }.encode()
        };
        (0..).zip(&neutron.signals).map(record).collect()
    }

    /// The packets.
    pub(crate) fn packets(&self) -> Vec<Vec<u8>> {
        let mut encoder = EssEncoder::new(self.detector_type, 0, 5);
        let mut packets = Vec::new();
        for pulse in 0..3 {
            let of_pulse = (1..).zip(&self.neutrons);
            let records = of_pulse.flat_map(|(number, neutron)| Self::records(neutron, pulse, number * 1000));
            encoder.pulse(time(pulse, 0), &records.collect::<Vec<_>>(), &mut packets);
        }
        // The late records are still within the window of the order.
        encoder.pulse(time(3, 0), &[], &mut packets);
        let late =
            self.neutrons.first().map_or_else(Vec::new, |neutron| Self::records(neutron, 3, PERIOD - 1000));
        encoder.pulse(time(4, 0), &late, &mut packets);
        encoder.pulse(time(5, 0), &[], &mut packets);
        packets
    }

    /// All pulses with the pixels of their events.
    pub(crate) fn expected(&self) -> serde_json::Value {
        let pixels: Vec<u32> = self.neutrons.iter().map(|neutron| neutron.pixel).collect();
        let late: Vec<u32> = pixels.iter().take(1).copied().collect();
        let of_pulse = |pulse: u32| match pulse {
            0..=2 => pixels.clone(),
            3 => late.clone(),
            _ => Vec::new(),
        };
        (0..6).map(|pulse| serde_json::json!([time(pulse, 0).nanoseconds(), of_pulse(pulse)])).collect()
    }
}

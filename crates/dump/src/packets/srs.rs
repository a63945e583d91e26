//! `srs_hits` to packets of SRS front-end cards.

use super::{PacketQueue, RowEncoder};
use crate::august_2018;
use crate::counters::DumpCounters;
use crate::layout::Layout;
use crate::rows::SrsHit;
use evforge_core::clock::WrappingClock;
use evforge_detect::gdgem::settings::{GdGemSettings, ReadoutFormat};
use evforge_detect::settings::Picoseconds;
use evforge_wire::srs_vmm::{
    BUNCH_CROSSINGS, CHANNELS, LARGEST_ADC, MARKER_BITS, TimeMarker, Vmm2Encoder, Vmm3Encoder, Vmm3Variant,
    VmmReadout,
};

/// Chips of a card.
const CHIPS: usize = 16;

/// The packets that `srs_hits` are put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrsFormat {
    /// VMM2: time stamps of 32 bits, one for each packet. There is one card, number 1.
    Vmm2 {
        /// Tick of the time stamps.
        trigger_tick: Picoseconds,
    },
    /// VMM3 of 2018 or VMM3a: a marker of 42 bits whenever the time stamp of a chip changes.
    Vmm3 {
        /// Which of the two.
        variant: Vmm3Variant,
        /// Tick of the markers.
        marker_tick: Picoseconds,
    },
}

impl SrsFormat {
    /// What the electronics sent in 2018.
    pub const VMM3_2018: Self = Self::Vmm3 { variant: Vmm3Variant::Of2018, marker_tick: 25_000 };

    /// What a detector with these settings reads; none for the triggered mode, whose two times for each hit are
    /// one in a dump.
    pub fn of(settings: &GdGemSettings) -> Option<Self> {
        let marker_tick = settings.time.marker_tick;
        match settings.format {
            ReadoutFormat::Vmm2 => Some(Self::Vmm2 { trigger_tick: settings.time.trigger_tick }),
            ReadoutFormat::Vmm3Of2018 => Some(Self::Vmm3 { variant: Vmm3Variant::Of2018, marker_tick }),
            ReadoutFormat::Vmm3a => Some(Self::Vmm3 { variant: Vmm3Variant::Vmm3a, marker_tick }),
            ReadoutFormat::Vmm3aTriggered => None,
        }
    }

    fn tick(self) -> Picoseconds {
        match self {
            Self::Vmm2 { trigger_tick } => trigger_tick,
            Self::Vmm3 { marker_tick, .. } => marker_tick,
        }
        .max(1)
    }

    fn largest_fec(self) -> u8 {
        match self {
            Self::Vmm2 { .. } => 1,
            Self::Vmm3 { variant: Vmm3Variant::Of2018, .. } => u8::MAX,
            Self::Vmm3 { variant: Vmm3Variant::Vmm3a, .. } => 15,
        }
    }
}

/// The encoder of the format, with what the packet begun says already.
#[derive(Debug)]
enum Encoder {
    /// The chip and time stamp of the packet, none before the first.
    Vmm2(Vmm2Encoder, Option<(u8, u32)>),
    /// The card of the packet, none before the first, and the marker of each of its chips.
    Vmm3(Vmm3Encoder, Option<u8>, Box<[Option<u64>; CHIPS]>),
}

/// Makes packets of `srs_hits`.
///
/// The time stamp of a row is what marker and trigger offset amounted to, so packets have markers with that
/// time and readouts without offset. A marker counts whole ticks (25 ns in 2018, and all time stamps of
/// 2018 are multiples of it); where a stamp is none, the nearest tick is taken and the row is counted as
/// rounded. Every packet has the markers that its readouts need, whatever came before it.
#[derive(Debug)]
pub struct SrsPackets {
    format: SrsFormat,
    encoder: Encoder,
    /// Number of the next packet of each card.
    frames: Box<[u32; 256]>,
    /// The clocks of the cards, for time stamps of which the file has 32 bits only.
    clocks: Option<Box<[WrappingClock; 256]>>,
}

impl SrsPackets {
    /// Packets of a format, of rows that are found in `layout`.
    pub fn new(format: SrsFormat, layout: &Layout<SrsHit>) -> Self {
        let encoder = match format {
            SrsFormat::Vmm2 { .. } => Encoder::Vmm2(Vmm2Encoder::default(), None),
            SrsFormat::Vmm3 { variant, .. } => {
                Encoder::Vmm3(Vmm3Encoder::new(variant), None, Box::new([None; CHIPS]))
            }
        };
        let wraps = layout.name == august_2018::LAYOUT;
        let clocks = wraps.then(|| Box::new([WrappingClock::new(32); 256]));
        Self { format, encoder, frames: Box::new([0; 256]), clocks }
    }

    /// The readout of a row, or none if one of its values is larger than the electronics can send.
    fn readout(&self, row: &SrsHit) -> Option<VmmReadout> {
        let SrsHit { fec, chip_id, channel, bcid, tdc, adc, over_threshold, .. } = *row;
        let fits = (1..=self.format.largest_fec()).contains(&fec)
            && usize::from(chip_id) < CHIPS
            && usize::from(channel) < CHANNELS
            && bcid < BUNCH_CROSSINGS
            && adc <= LARGEST_ADC;
        let tdc = u8::try_from(tdc).ok().filter(|_| fits)?;
        Some(VmmReadout {
            chip: chip_id,
            channel: channel as u8,
            bunch_crossing: bcid,
            tdc,
            adc,
            over_threshold: over_threshold != 0,
            trigger_offset: 0,
        })
    }

    /// Ticks of a time stamp, and whether it is a whole number of them.
    fn ticks(&mut self, row: &SrsHit) -> (u128, bool) {
        let stamp = match &mut self.clocks {
            Some(clocks) => clocks[usize::from(row.fec)].extend(row.srs_timestamp),
            None => row.srs_timestamp,
        };
        let (picoseconds, tick) = (u128::from(stamp) * 1000, u128::from(self.format.tick()));
        ((picoseconds + tick / 2) / tick, picoseconds.is_multiple_of(tick))
    }

    fn next_frame(&mut self, fec: u8) -> u32 {
        let frame = &mut self.frames[usize::from(fec)];
        *frame = frame.wrapping_add(1);
        // The end of a frame is told by this number, which is therefore no number of a packet.
        if *frame == evforge_wire::srs_vmm::END_OF_FRAME {
            *frame = frame.wrapping_add(1);
        }
        *frame
    }
}

impl RowEncoder for SrsPackets {
    type Row = SrsHit;

    fn push(&mut self, row: &SrsHit, queue: &mut PacketQueue, counters: &mut DumpCounters) {
        let Some(readout) = self.readout(row) else {
            counters.out_of_range += 1;
            return;
        };
        let (ticks, whole) = self.ticks(row);
        counters.readouts += 1;
        counters.stamps_rounded += u64::from(!whole);
        match &mut self.encoder {
            Encoder::Vmm2(encoder, begun) => {
                // The electronics' counters wrap in the same way.
                let key = (readout.chip, ticks as u32);
                if *begun == Some(key) && encoder.push(&readout) {
                    return;
                }
            }
            Encoder::Vmm3(encoder, begun, markers) => {
                let stamp = (ticks & ((1 << MARKER_BITS) - 1)) as u64;
                let marker = &mut markers[usize::from(readout.chip)];
                if *begun == Some(row.fec)
                    && (*marker == Some(stamp) || {
                        *marker = Some(stamp);
                        encoder.push_marker(&TimeMarker { chip: readout.chip, stamp })
                    })
                    && encoder.push_readout(&readout)
                {
                    return;
                }
            }
        }
        self.finish(queue, counters);
        let frame = self.next_frame(row.fec);
        match &mut self.encoder {
            Encoder::Vmm2(encoder, begun) => {
                let (chip, stamp) = (readout.chip, ticks as u32);
                encoder.begin(frame, chip, stamp);
                encoder.push(&readout);
                *begun = Some((chip, stamp));
            }
            Encoder::Vmm3(encoder, begun, markers) => {
                let stamp = (ticks & ((1 << MARKER_BITS) - 1)) as u64;
                // When the card sent the packet is not known: its low bits are those of the first time stamp.
                encoder.begin(frame, row.fec.into(), stamp as u32);
                encoder.push_marker(&TimeMarker { chip: readout.chip, stamp });
                encoder.push_readout(&readout);
                markers[usize::from(readout.chip)] = Some(stamp);
                *begun = Some(row.fec);
            }
        }
    }

    fn finish(&mut self, queue: &mut PacketQueue, _: &mut DumpCounters) {
        match &mut self.encoder {
            Encoder::Vmm2(encoder, begun) => {
                if begun.take().is_some() {
                    queue.push(encoder.packet());
                }
            }
            Encoder::Vmm3(encoder, begun, markers) => {
                if begun.take().is_some() {
                    queue.push(encoder.packet());
                    markers.fill(None);
                }
            }
        }
    }
}

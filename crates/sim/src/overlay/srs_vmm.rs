//! Captures of VMM3a chips on SRS front-end cards (EFU formats of 2018, section 4.3).
//!
//! The time of a readout is marker + signed offset × 4096 + bunch crossing, all in crossings of one clock, and a fine
//! time: a step is a crossing, and a readout that is moved gets another marker, offset and crossing, but keeps its TDC.
//! What the card's own triggers and overflows were is not kept.

use super::OverlayError;
use super::format::{CaptureFormat, RecordedReadout, Separation, Shift};
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::resolvable::Limits;
use evforge_core::clock::WrappingClock;
use evforge_core::event::PixelId;
use evforge_core::geometry::{Coordinates, LogicalGeometry};
use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use evforge_core::sequence::{Arrival, SequenceTracker};
use evforge_detect::gdgem::GdGemSettings;
use evforge_detect::gdgem::digital_geometry::FecWiring;
use evforge_detect::gdgem::hit_time::HitTime;
use evforge_detect::gdgem::settings::{ReadoutFormat, TimeConvention};
use evforge_detect::panel_kind::PanelKind;
use evforge_wire::srs_vmm::{
    BUNCH_CROSSINGS, CHANNELS, FRAME_COUNTER_BITS, LARGEST_PACKET, MARKER_BITS, TimeMarker, Vmm3Encoder,
    Vmm3Packet, Vmm3Variant, VmmReadout, Word,
};

/// Chips of a card.
const CHIPS: usize = 16;
/// Turns of a chip's counter that the offsets 0 to 15 tell apart; one marker is sent for this many.
const TURNS_PER_MARKER: u64 = 16;
/// The raw offset of -1.
const OFFSET_BEFORE_MARKER: u8 = 31;
/// Bytes of a packet's header.
const HEADER: usize = 16;

/// Hits no further apart are at the same time, in picoseconds: a bunch crossing of 22.5 ns, and four times the 2 ns by
/// which strips of one charge differ in the recording. Small amplitudes come up to 60 ns early, by what their
/// amplitude says.
const SAME_TIME_PS: u64 = 30_000;

/// What is kept of a readout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrsContent {
    /// The card, counted in the order of the numbers of the cards in the mapping.
    card: u8,
    /// The readout, without its crossing and offset.
    readout: VmmReadout,
}

impl SrsContent {
    /// A readout of a card; its crossing and offset are cleared, because they are the step's.
    pub fn new(card: u8, readout: VmmReadout) -> Self {
        Self { card, readout: VmmReadout { bunch_crossing: 0, trigger_offset: 0, ..readout } }
    }
}

/// A front-end card.
#[derive(Clone, Debug)]
struct Card {
    fec: u16,
    wiring: FecWiring,
    // Reading.
    sequence: SequenceTracker,
    clock: WrappingClock,
    markers: [Option<u64>; CHIPS],
    origin: Option<PacketOrigin>,
    // Writing.
    encoder: Vmm3Encoder,
    frame_counter: u32,
    /// Number of the marker that each chip has sent last.
    sent_markers: [Option<u64>; CHIPS],
    latest_step: u64,
}

/// Packets of VMM3a chips of a configured Gd-GEM.
#[derive(Clone, Debug)]
pub struct SrsVmmCapture {
    settings: GdGemSettings,
    time: HitTime,
    cards: Vec<Card>,
    layout: Layout,
    /// Card, chip and channel of the channels of `layout`.
    addresses: Vec<(u8, u8, u8)>,
}

impl SrsVmmCapture {
    /// For a detector with these settings.
    ///
    /// # Errors
    /// If its readout is not VMM3a, or has not one clock for markers and bunch crossings.
    pub fn new(settings: &GdGemSettings) -> Result<Self, OverlayError> {
        let refuse = |problem: &str| Err(OverlayError(format!("[gdgem]: {problem}")));
        if settings.format != ReadoutFormat::Vmm3a {
            return refuse(
                "only readout = \"vmm3a\" can be overlaid: others do not tell times that can be moved",
            );
        }
        if settings.time.convention != TimeConvention::SignedOffset {
            return refuse(
                "only time.convention = \"signed-offset\" can be overlaid: it has whole turns of 4096",
            );
        }
        if settings.time.marker_tick != settings.time.bunch_crossing {
            return refuse("time.marker_tick and time.bunch_crossing must be equal, to move times exactly");
        }
        if settings.panel_kinds().iter().any(|kind| *kind != PanelKind::TwoPlanes) {
            return refuse("a detector of two planes of strips on every panel");
        }
        if settings.sorting.decimation > 0 {
            return refuse("sorting.decimation must be 0: times with fewer bits do not move exactly");
        }
        let time =
            HitTime::new(&settings.time, settings.format).map_err(|error| OverlayError(error.to_string()))?;
        let mut numbers: Vec<u16> = settings.mapping.iter().map(|chip| chip.fec).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let cards: Vec<Card> = numbers.iter().map(|&fec| Card::new(fec, settings)).collect();
        let mut placed = Vec::new();
        for (card, number) in cards.iter().zip(0..) {
            for (chip, channel) in
                (0..CHIPS as u8).flat_map(|chip| (0..CHANNELS as u8).map(move |channel| (chip, channel)))
            {
                placed.extend(card.place(chip, channel).map(|place| (place, (number, chip, channel))));
            }
        }
        let layout = Layout::new(placed.iter().map(|(place, _)| *place).collect());
        let mut addresses = vec![(0, 0, 0); layout.channel_count()];
        // Of several channels of one strip the first one is taken.
        for (place, address) in placed.iter().rev() {
            if let Some(channel) = layout.channel(*place) {
                addresses[channel as usize] = *address;
            }
        }
        Ok(Self { settings: settings.clone(), time, cards, layout, addresses })
    }

    fn geometry(&self) -> &LogicalGeometry {
        &self.settings.geometry
    }

    /// Picoseconds from the crossing of a readout to its time.
    fn fine_ps(&self, readout: &VmmReadout) -> i64 {
        let ticks = self.time.of_chip(&VmmReadout { bunch_crossing: 0, ..*readout });
        (ticks * 1000).div_euclid(self.time.ticks_per_ns() as i64)
    }
}

impl CaptureFormat for SrsVmmCapture {
    type Content = SrsContent;

    fn step_ps(&self) -> u64 {
        self.settings.time.bunch_crossing
    }

    /// Neutrons are told apart by time alone, because nothing else says which cluster of one plane belongs to which
    /// of the other.
    fn separation(&self) -> Separation {
        let clustering = &self.settings.clustering;
        let gap = clustering.iter().map(|plane| plane.max_time_gap).max().unwrap_or(0);
        Separation {
            time_ps: gap.max(self.settings.matching.max_difference),
            coordinates: clustering.map(|plane| plane.max_strip_gap.saturating_add(1)),
            min_hits: clustering.map(|plane| u16::try_from(plane.min_hits).unwrap_or(u16::MAX)),
        }
    }

    fn limits(&self, dead_time_ps: u64) -> Limits {
        Limits { dead_time_ps, time_ps: SAME_TIME_PS, neighbours: [1, 1], min_hits: [1, 1], trigger: None }
    }

    fn extents(&self) -> [u16; 2] {
        [self.geometry().nx(), self.geometry().ny()].map(|strips| u16::try_from(strips).unwrap_or(u16::MAX))
    }

    fn read(&mut self, packet: &Packet<'_>, readouts: &mut Vec<RecordedReadout<SrsContent>>) -> u64 {
        let numbering = Vmm3Packet::numbering(packet.bytes, Vmm3Variant::Vmm3a);
        let place = numbering.and_then(|found| self.cards.iter().position(|card| card.fec == found.fec));
        let Some((number, numbering)) = place.zip(numbering) else { return 0 };
        let card = &mut self.cards[number];
        let arrival = card.sequence.observe(u64::from(numbering.frame_counter));
        if arrival == Arrival::Duplicated || packet.is_cut() || packet.bytes.len() > LARGEST_PACKET {
            return 0;
        }
        let Ok(content) = Vmm3Packet::parse(packet.bytes, Vmm3Variant::Vmm3a) else { return 0 };
        card.origin.get_or_insert(packet.origin);
        let (mut found, mut timed) = (0, Vec::with_capacity(content.len()));
        for word in content.words() {
            match word {
                Word::Marker(marker) => card.take_marker(marker),
                Word::Readout(readout) => {
                    found += 1;
                    let place = card.place(readout.chip, readout.channel);
                    timed.extend(card.step(&readout).zip(place).map(|(step, place)| (step, place, readout)));
                }
            }
        }
        readouts.extend(timed.into_iter().map(|(step, place, readout)| RecordedReadout {
            place,
            step,
            fine_ps: self.fine_ps(&readout),
            content: SrsContent::new(number as u8, readout),
        }));
        found
    }

    fn amplitude(&self, readout: &RecordedReadout<SrsContent>) -> Option<u16> {
        let VmmReadout { adc, over_threshold, .. } = readout.content.readout;
        let clustering = self.settings.clustering.get(usize::from(readout.place.plane))?;
        (over_threshold || adc >= clustering.adc_threshold).then_some(adc)
    }

    fn module(&self, pixel: PixelId) -> Option<u16> {
        u16::try_from(self.geometry().coordinates(pixel)?.panel).ok()
    }

    fn centre(&self, pixel: PixelId) -> Option<[f64; 3]> {
        let Coordinates { x, y, z, .. } = self.geometry().coordinates(pixel)?;
        Some([x, y, z].map(|value| f64::from(value) + 0.5))
    }

    fn fixed_channels(&self) -> Option<String> {
        let of_channels = [
            ("a calibration", self.settings.calibration.is_empty()),
            ("thresholds of single channels", self.settings.channel_thresholds.is_empty()),
        ];
        let (name, _) = of_channels.into_iter().find(|(_, is_absent)| !is_absent)?;
        Some(format!("the configuration has {name}, which would be applied to the wrong one"))
    }

    fn moved(&self, readout: &RecordedReadout<SrsContent>, by: Shift) -> Option<RecordedReadout<SrsContent>> {
        let place = readout.place.moved(by)?;
        let (card, chip, channel) = *self.addresses.get(self.layout.channel(place)? as usize)?;
        let content = SrsContent { card, readout: VmmReadout { chip, channel, ..readout.content.readout } };
        Some(RecordedReadout { place, content, ..*readout })
    }

    fn moved_pixel(&self, pixel: PixelId, [x, y]: Shift) -> Option<PixelId> {
        let at = self.geometry().coordinates(pixel)?;
        let moved = Coordinates { x: at.x.checked_add_signed(x)?, y: at.y.checked_add_signed(y)?, ..at };
        Some(self.geometry().pixel(moved)).filter(|&pixel| pixel != 0)
    }

    fn write(&mut self, readout: &RecordedReadout<SrsContent>, packets: &mut impl FnMut(SimulatedPacket)) {
        let source = usize::from(readout.content.card);
        let step_ps = self.step_ps();
        if let Some(card) = self.cards.get_mut(source) {
            card.write(source, readout, step_ps, packets);
        }
    }

    fn finish(&mut self, packets: &mut impl FnMut(SimulatedPacket)) {
        let step_ps = self.step_ps();
        let mut order: Vec<usize> = (0..self.cards.len()).collect();
        order.sort_by_key(|&card| self.cards[card].latest_step);
        for source in order {
            self.cards[source].send(source, step_ps, packets);
        }
    }
}

impl Card {
    fn new(fec: u16, settings: &GdGemSettings) -> Self {
        let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
        encoder.begin(1, fec, 0);
        Self {
            fec,
            wiring: FecWiring::new(fec, settings),
            sequence: SequenceTracker::new(FRAME_COUNTER_BITS),
            clock: WrappingClock::new(MARKER_BITS),
            markers: [None; CHIPS],
            origin: None,
            encoder,
            frame_counter: 1,
            sent_markers: [None; CHIPS],
            latest_step: 0,
        }
    }

    fn place(&self, chip: u8, channel: u8) -> Option<Place> {
        let place = self.wiring.place(chip, channel).ok()?;
        let module = u16::try_from(place.plane / 2).ok()?;
        Some(Place { module, plane: (place.plane % 2) as u8, coordinate: place.strip })
    }

    fn take_marker(&mut self, marker: TimeMarker) {
        if let Some(place) = self.markers.get_mut(usize::from(marker.chip)) {
            *place = Some(self.clock.extend(marker.stamp));
        }
    }

    /// Crossings since the clock's zero; none before the first marker, without a valid offset and before zero.
    fn step(&self, readout: &VmmReadout) -> Option<u64> {
        let marker = self.markers.get(usize::from(readout.chip)).copied().flatten()?;
        let turn = u64::from(BUNCH_CROSSINGS);
        let base = match readout.trigger_offset {
            offset @ 0..=15 => marker.checked_add(u64::from(offset) * turn)?,
            OFFSET_BEFORE_MARKER => marker.checked_sub(turn)?,
            _ => return None,
        };
        base.checked_add(u64::from(readout.bunch_crossing))
    }

    fn write(
        &mut self,
        source: usize,
        readout: &RecordedReadout<SrsContent>,
        step_ps: u64,
        packets: &mut impl FnMut(SimulatedPacket),
    ) {
        let turn = u64::from(BUNCH_CROSSINGS);
        let VmmReadout { chip, .. } = readout.content.readout;
        let run = readout.step / (TURNS_PER_MARKER * turn);
        if let Some(sent) = self.sent_markers.get_mut(usize::from(chip))
            && sent.replace(run) != Some(run)
        {
            let marker = TimeMarker { chip, stamp: run * TURNS_PER_MARKER * turn };
            if !self.encoder.push_marker(&marker) {
                self.send(source, step_ps, packets);
                self.encoder.push_marker(&marker);
            }
        }
        let moved = VmmReadout {
            bunch_crossing: (readout.step % turn) as u16,
            trigger_offset: (readout.step / turn % TURNS_PER_MARKER) as u8,
            ..readout.content.readout
        };
        self.latest_step = self.latest_step.max(readout.step);
        if !self.encoder.push_readout(&moved) {
            self.send(source, step_ps, packets);
            self.encoder.push_readout(&moved);
        }
    }

    /// Sends what has been collected, if anything.
    fn send(&mut self, source: usize, step_ps: u64, packets: &mut impl FnMut(SimulatedPacket)) {
        if self.encoder.is_empty() {
            return;
        }
        let sent_ns = u128::from(self.latest_step) * u128::from(step_ps) / 1000;
        let origin = PacketOrigin {
            arrival_ns: u64::try_from(sent_ns).unwrap_or(u64::MAX),
            arrival_clock: ArrivalClock::Capture,
            ..self.origin.unwrap_or_default()
        };
        packets(SimulatedPacket {
            bytes: self.encoder.packet().to_vec(),
            origin,
            sender: Sender { source, number: Some(u64::from(self.frame_counter)), header: HEADER },
        });
        self.frame_counter = self.frame_counter.wrapping_add(1);
        self.encoder.begin(self.frame_counter, self.fec, self.latest_step as u32);
    }
}

//! The SoNDe pipeline: packets in, events out.

use super::board_time::{BoardTime, HeaderTime};
use super::counters::SondeCounters;
use super::digital_geometry::{MODULE_CHANNELS, PixelTable, channel_index};
use super::module::{Module, WithoutPixel, corner_pixels, moved_pixel, write_events};
use super::module_finder::ModuleFinder;
use super::settings::{EventSequence, SondeSettings};
use crate::channel_mask::{ChannelMask, MaskEntry};
use crate::event_order::{EventOrder, OrderRules, TimedEvent};
use crate::packet_gate::{Discard, PacketGate};
use crate::settings::SettingsError;
use crate::source_clocks::ClockRules;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{Event, EventBatch};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::{Packet, PacketBatch};
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::sonde::{CHANNELS, Content, LARGEST_PACKET, Rejection, SondePacket, TriggerTimes};

/// Readouts that a packet can have: samples of type 0xD4.
const LARGEST_READOUT_COUNT: usize = LARGEST_PACKET / 5;

/// Times stay below this where they are put into order.
const TIME_LIMIT: u64 = 1 << 62;

/// A packet of which some readouts have left, or none yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    module: usize,
    header: HeaderTime,
    /// The first readout that has not been looked at.
    next: usize,
}

/// A readout of whatever type.
#[derive(Clone, Copy)]
struct Readout {
    time: u32,
    asic: u8,
    channel: u8,
}

/// A SoNDe detector with ROSMAP readout.
#[derive(Debug)]
pub struct Sonde {
    geometry: LogicalGeometry,
    finder: ModuleFinder,
    modules: Vec<Module>,
    /// The pixels of a module in the corner.
    corner: PixelTable,
    time: BoardTime,
    /// Puts events into the order of their times; none where they leave as they come.
    order: Option<EventOrder>,
    /// The events of a packet, on their way into that order.
    placed: Vec<TimedEvent>,
    mask: ChannelMask,
    /// The packet at which the event batch filled up.
    under_way: Option<UnderWay>,
    gate: PacketGate,
    counters: SondeCounters,
    monitor: Option<Box<MonitorData>>,
    memory_bound: usize,
}

impl Sonde {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &SondeSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let time = BoardTime { extended: settings.time.extended, tick: settings.tick_length()? };
        let mask = channel_mask(settings);
        let mut modules = Vec::with_capacity(settings.module_count());
        for (number, group) in settings.groups.iter().enumerate() {
            for module in &group.modules {
                let module = Module::new(modules.len(), number, group, module, &settings.geometry, &mask);
                modules.push(module);
            }
        }
        let rules = order_rules(settings, &time);
        let ordered = settings.sequence == EventSequence::Time;
        let order_bound = if ordered { EventOrder::memory_bound(&rules, modules.len()) } else { 0 };
        let memory_bound = size_of::<Self>()
            + modules.len()
                * (size_of::<Module>() + size_of::<PixelTable>() + SequenceTracker::memory_bound())
            + ModuleFinder::memory_bound(&settings.groups)
            + mask.memory_bound()
            + order_bound
            + LARGEST_READOUT_COUNT * size_of::<TimedEvent>();
        Ok(Self {
            geometry: settings.geometry,
            finder: ModuleFinder::new(&settings.groups),
            order: ordered.then(|| EventOrder::new(&rules, modules.len())),
            placed: Vec::with_capacity(if ordered { LARGEST_READOUT_COUNT } else { 0 }),
            corner: corner_pixels(&settings.geometry),
            modules,
            time,
            mask,
            under_way: None,
            gate: PacketGate::new(LARGEST_PACKET),
            counters: SondeCounters::default(),
            monitor: None,
            memory_bound,
        })
    }

    /// The channels, for monitor data and masks.
    pub fn monitor_plan(&self) -> MonitorPlan {
        let group = |module: &Module| {
            let asics = (0..(MODULE_CHANNELS / CHANNELS) as u32).map(|asic| module.mask_keys(asic));
            let all = ChannelGroup::new(module.name(), MODULE_CHANNELS);
            asics.fold(all, |group, keys| group.masked_by(CHANNELS, &keys))
        };
        MonitorPlan {
            groups: self.modules.iter().map(group).collect(),
            planes: Vec::new(),
            amplitude_bits: 16,
            cluster_amplitude_bits: 16,
        }
    }

    /// Takes a packet, or goes on with the one under way. False if the event batch filled up before its end.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        let (started, content) = match self.under_way.take() {
            None => match self.begin_packet(packet) {
                Some(begun) => begun,
                None => return true,
            },
            Some(under_way) => match SondePacket::parse(packet.bytes) {
                Ok(again) => (under_way, again.content),
                Err(_) => return true,
            },
        };
        let next = if self.order.is_some() {
            self.put_into_order(started, &content);
            None
        } else {
            self.emit(started, &content, events)
        };
        self.under_way = next.map(|next| UnderWay { next, ..started });
        next.is_none()
    }

    /// Counts and checks a packet; none if it is of no use.
    fn begin_packet<'a>(&mut self, packet: &Packet<'a>) -> Option<(UnderWay, Content<'a>)> {
        let numbering = SondePacket::numbering(packet.bytes);
        let place = numbering.and_then(|numbering| self.finder.find(&packet.origin, numbering.system));
        let arrival = place.zip(numbering).and_then(|(place, numbering)| {
            let module = self.modules.get_mut(place)?;
            let stamp = Stamp::of(packet.bytes, packet.origin.arrival_ns, Some(numbering.time.into()));
            Some(module.sequence.observe_packet(u64::from(numbering.packet_count), stamp))
        });
        if !self.gate.admit(packet, arrival) {
            return None;
        }
        let begun = SondePacket::parse(packet.bytes).map_err(reason).and_then(|parsed| {
            let module = place.ok_or(UNKNOWN_MODULE)?;
            let header = self.modules.get_mut(module).ok_or(UNKNOWN_MODULE)?.follow(parsed.header.time);
            Ok((UnderWay { module, header, next: 0 }, parsed.content))
        });
        let outcome = begun.as_ref().map(|_| ()).map_err(|counter| *counter);
        self.gate.settle(packet, outcome, &mut self.counters);
        let (started, content) = begun.ok()?;
        self.counters.amplitude_samples += match &content {
            Content::TriggerTimes(_) => 0,
            Content::SingleEvent(event) => event.samples().len() as u64,
            Content::MultiEvent(multi) => (multi.len() * multi.samples_per_event()) as u64,
        };
        if let Some(monitor) = &mut self.monitor {
            watch(monitor, &self.modules[started.module], &content);
        }
        Some((started, content))
    }

    /// Appends the events of a packet as they come. Returns the readout to go on with if the batch filled up.
    fn emit(&mut self, started: UnderWay, content: &Content<'_>, events: &mut EventBatch) -> Option<usize> {
        match content {
            Content::TriggerTimes(times) => self.emit_trigger_times(started, *times, events),
            Content::SingleEvent(_) | Content::MultiEvent(_) => {
                for (number, readout) in
                    amplitude_readouts(content, started.header).enumerate().skip(started.next)
                {
                    if events.is_full() {
                        return Some(number);
                    }
                    if let Some(hit) = self.place(started, readout) {
                        let time_ns = self.time.tick.nanoseconds(hit.time);
                        // There is room: just looked.
                        let _has_room = events.push(Event { time_ns, pixel_id: hit.pixel_id });
                        self.counters.hits_in_events += 1;
                        self.counters.events += 1;
                    }
                }
                None
            }
        }
    }

    #[inline]
    fn emit_trigger_times(
        &mut self,
        started: UnderWay,
        times: TriggerTimes<'_>,
        events: &mut EventBatch,
    ) -> Option<usize> {
        let rest = times.since(started.next);
        let module = &self.modules[started.module];
        let (pixels, header) = (module.pixels(), started.header);
        let tick = self.time.tick;
        let (mut taken, mut written) = (0, 0);
        events.append(rest.len(), |times_ns, pixel_ids| {
            taken = times_ns.len();
            let part = rest.first(taken);
            // One loop for each way to convert times: in the common ones it has no division.
            let extended = self.time.extended && !header.is_in_first_turn();
            written = match (extended, tick.whole_nanoseconds()) {
                (false, Some(1)) => write_events(part, pixels, u64::from, times_ns, pixel_ids),
                (true, Some(1)) => {
                    write_events(part, pixels, |time| header.extend(time), times_ns, pixel_ids)
                }
                (true, Some(length)) if header.leaves_room_for(length) => {
                    let time_ns = |time| header.extend(time).wrapping_mul(length);
                    write_events(part, pixels, time_ns, times_ns, pixel_ids)
                }
                (true, _) => {
                    let time_ns = |time| tick.nanoseconds(header.extend(time));
                    write_events(part, pixels, time_ns, times_ns, pixel_ids)
                }
                // A tick has at most a million nanoseconds, and the time 32 bits.
                (false, Some(length)) => {
                    let time_ns = |time| u64::from(time).wrapping_mul(length);
                    write_events(part, pixels, time_ns, times_ns, pixel_ids)
                }
                (false, None) => {
                    let time_ns = |time| tick.nanoseconds(u64::from(time));
                    write_events(part, pixels, time_ns, times_ns, pixel_ids)
                }
            };
            written
        });
        let mut without = WithoutPixel::default();
        if written < taken {
            without = module.count_all_without_pixel(rest.first(taken), &mut self.mask);
        }
        let counters = &mut self.counters;
        counters.readouts += taken as u64;
        counters.no_such_channel += without.no_such_channel;
        counters.masked += without.masked;
        counters.hits += written as u64;
        counters.hits_in_events += written as u64;
        counters.events += written as u64;
        (taken < rest.len()).then_some(started.next + taken)
    }

    /// Counts a readout, and finds its pixel and its time in ticks.
    fn place(&mut self, started: UnderWay, readout: Readout) -> Option<TimedEvent> {
        let module = &self.modules[started.module];
        self.counters.readouts += 1;
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return None;
        }
        let pixel_id = module.pixel(readout.asic, readout.channel);
        if pixel_id == 0 {
            let mut without = WithoutPixel::default();
            module.count_without_pixel(readout.asic, readout.channel, &mut self.mask, &mut without);
            self.counters.no_such_channel += without.no_such_channel;
            self.counters.masked += without.masked;
            return None;
        }
        self.counters.hits += 1;
        let time =
            if self.time.extended { started.header.extend(readout.time) } else { u64::from(readout.time) };
        Some(TimedEvent { time, pixel_id })
    }

    /// Counts the trigger times of a packet and gives them to `order`.
    #[inline]
    fn order_trigger_times(&mut self, started: UnderWay, times: TriggerTimes<'_>) {
        self.counters.readouts += times.len() as u64;
        #[cfg(test)]
        let times =
            if times.entries().any(|_| crate::ledger_tests::vanishes()) { times.since(1) } else { times };
        if self.place_whole(started, times) {
            self.counters.hits += times.len() as u64;
        } else {
            self.place_trigger_times(started, times);
            self.push_placed(started);
        }
    }

    /// Gives the trigger times of a packet to `order` if they can be accepted as a whole.
    #[inline]
    fn place_whole(&mut self, started: UnderWay, times: TriggerTimes<'_>) -> bool {
        let Self { modules, order: Some(order), time, corner, .. } = self else { return false };
        let UnderWay { module: number, header, .. } = started;
        let module = &modules[number];
        let entries = times.entries();
        let event = |time, pixel_id| TimedEvent { time, pixel_id };
        let moved = |from, at: u8| moved_pixel(corner[usize::from(at)], from);
        let pixels = module.pixels();
        let own = |at: u8| pixels[usize::from(at)];
        // A loop for each way to take a time and a pixel: none of them has a branch.
        if !time.extended || header.is_in_first_turn() {
            let time = u64::from;
            return match module.pixels_from() {
                Some(from) => order
                    .push_whole(number, entries.map(|at| event(time(at.time), moved(from, at.asic_channel)))),
                None => {
                    order.push_whole(number, entries.map(|at| event(time(at.time), own(at.asic_channel))))
                }
            };
        }
        let Some(time) = header.extension_below(TIME_LIMIT) else { return false };
        match module.pixels_from() {
            Some(from) => {
                order.push_whole(number, entries.map(|at| event(time(at.time), moved(from, at.asic_channel))))
            }
            None => order.push_whole(number, entries.map(|at| event(time(at.time), own(at.asic_channel)))),
        }
    }

    /// Those trigger times of a packet that have a pixel are in `placed` then; the others are counted.
    fn place_trigger_times(&mut self, started: UnderWay, times: TriggerTimes<'_>) {
        let Self { modules, placed, counters, mask, time, .. } = self;
        let (module, header) = (&modules[started.module], started.header);
        let extended = time.extended;
        let time = |time| if extended { header.extend(time).min(TIME_LIMIT - 1) } else { u64::from(time) };
        let pixels = module.pixels();
        placed.clear();
        placed.extend(times.entries().map(|entry| TimedEvent {
            time: time(entry.time),
            pixel_id: pixels[usize::from(entry.asic_channel)],
        }));
        if placed.iter().any(|event| event.pixel_id == 0) {
            let without = module.count_all_without_pixel(times, mask);
            counters.no_such_channel += without.no_such_channel;
            counters.masked += without.masked;
            placed.retain(|event| event.pixel_id != 0);
        }
        counters.hits += placed.len() as u64;
    }

    /// Counts the readouts of a packet of amplitudes; those that have a pixel are in `placed` then.
    fn place_amplitudes(&mut self, started: UnderWay, content: &Content<'_>) {
        self.placed.clear();
        for readout in amplitude_readouts(content, started.header) {
            if let Some(event) = self.place(started, readout) {
                let time = event.time.min(TIME_LIMIT - 1);
                self.placed.push(TimedEvent { time, ..event });
            }
        }
    }

    /// Gives the events of a packet to the sorter, which has room for them.
    #[inline]
    fn put_into_order(&mut self, started: UnderWay, content: &Content<'_>) {
        let Some(order) = &mut self.order else { return };
        order.begin_packet(started.module);
        match content {
            Content::TriggerTimes(times) => self.order_trigger_times(started, *times),
            Content::SingleEvent(_) | Content::MultiEvent(_) => {
                self.place_amplitudes(started, content);
                self.push_placed(started);
            }
        }
        let Some(order) = &mut self.order else { return };
        order.end_packet();
    }

    fn push_placed(&mut self, started: UnderWay) {
        if let Some(order) = &mut self.order {
            order.push_all(started.module, &self.placed);
        }
    }

    /// Appends the events whose time is closed. False if the batch filled up before the end.
    #[inline]
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Some(order) = &mut self.order else { return true };
        let before = events.len();
        let tick = self.time.tick;
        let done = match tick.whole_nanoseconds() {
            Some(1) => order.drain(events, |ticks| ticks),
            _ => order.drain(events, |ticks| tick.nanoseconds(ticks)),
        };
        let left = (events.len() - before) as u64;
        self.counters.hits_in_events += left;
        self.counters.events += left;
        done
    }
}

impl Detector for Sonde {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.drain(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if self.order.as_mut().is_some_and(|order| !order.make_room()) {
                continue;
            }
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        if let Some(order) = &mut self.order {
            order.publish_closed();
        }
        !self.drain(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        let quarantined = self.order.as_mut().is_some_and(EventOrder::close);
        !self.drain(events) || quarantined
    }

    fn ledger(&self) -> DetectorLedger {
        let sources = self.modules.iter().filter(|module| module.sequence.counts().received > 0);
        let mut counters = self.counters;
        if let Some(order) = &self.order {
            let counts = order.clock_counts();
            counters.late = counts.late;
            counters.unconfirmed_jump = counts.refuted;
            counters.forward_jumps = counts.forward_jumps;
            counters.clock_restarts = counts.restarts;
            counters.held = order.held();
            counters.forced_closings = order.forced_closings();
        }
        DetectorLedger {
            sources: sources
                .map(|module| SourceLedger::of_sequence(module.name(), &module.sequence))
                .collect(),
            counters: CounterSnapshot::of(self.gate.counters()).and(&counters),
            masked: self.mask.ledger(&self.monitor_plan()),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let (_, ticks) = self.order.as_ref()?.newest()?;
        Some(self.time.tick.nanoseconds(ticks))
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    fn confirm_numbers_above(&mut self, packets: u64) {
        self.modules.iter_mut().for_each(|module| module.sequence.confirm_above(packets));
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(MonitorData::new(self.monitor_plan())));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
    }
}

type OwnDiscard = Discard<SondeCounters>;

const UNKNOWN_MODULE: OwnDiscard = |counters| &mut counters.packets_unknown_module;

/// The counter of a rejection by the decoder.
fn reason(rejection: Rejection) -> OwnDiscard {
    match rejection {
        Rejection::TooShort => |counters| &mut counters.packets_too_short,
        Rejection::WrongVersion(_) => |counters| &mut counters.packets_wrong_version,
        Rejection::WrongLength => |counters| &mut counters.packets_wrong_length,
        Rejection::UnknownType(_) => |counters| &mut counters.packets_unknown_type,
        Rejection::NoRoomForAnEvent => |counters| &mut counters.packets_no_room_for_an_event,
        Rejection::WrongCount => |counters| &mut counters.packets_wrong_count,
    }
}

/// The readouts of a packet of amplitudes. A packet of one channel is one readout at the header's time.
fn amplitude_readouts<'a>(
    content: &Content<'a>,
    header: HeaderTime,
) -> impl Iterator<Item = Readout> + use<'a> {
    let (single, multi) = match *content {
        Content::TriggerTimes(_) => (None, None),
        Content::SingleEvent(event) => (Some(event), None),
        Content::MultiEvent(multi) => (None, Some(multi)),
    };
    let single = single.map(|event| Readout {
        time: header.raw(),
        asic: event.asic,
        channel: single_event_channel(event.channel),
    });
    let multi = multi.into_iter().flat_map(|multi| multi.events()).flat_map(|event| {
        event.samples().map(move |sample| Readout {
            time: event.time,
            asic: sample.asic,
            channel: sample.channel,
        })
    });
    single.into_iter().chain(multi)
}

/// The two upper bits of the channel field of type 0xD5 mean nothing (section 1.4).
fn single_event_channel(field: u8) -> u8 {
    field & 0x3F
}

/// Monitor data of a packet: all its readouts, masked ones as well.
#[cold]
fn watch(monitor: &mut MonitorData, module: &Module, content: &Content<'_>) {
    match content {
        Content::TriggerTimes(times) => {
            for entry in times.entries() {
                if let Some(index) = module.channel_index(entry.asic(), entry.channel()) {
                    monitor.count(index);
                }
            }
        }
        Content::SingleEvent(event) => {
            if let Some(index) = module.channel_index(event.asic, single_event_channel(event.channel)) {
                event.samples().for_each(|amplitude| monitor.readout(index, amplitude));
            }
        }
        Content::MultiEvent(multi) => {
            for sample in multi.events().flat_map(|event| event.samples()) {
                if let Some(index) = module.channel_index(sample.asic, sample.channel) {
                    monitor.readout(index, sample.amplitude);
                }
            }
        }
    }
}

/// The masked channels by their index over all modules.
fn channel_mask(settings: &SondeSettings) -> ChannelMask {
    let entries: Vec<_> = settings
        .mask
        .iter()
        .filter_map(|entry| {
            let before: usize = settings.groups[..entry.group].iter().map(|group| group.modules.len()).sum();
            let channel =
                (before + entry.module) * MODULE_CHANNELS + channel_index(entry.asic, entry.channel)?;
            Some(MaskEntry { channel, reason: entry.reason.clone() })
        })
        .collect();
    ChannelMask::new(settings.module_count() * MODULE_CHANNELS, &entries)
}

/// The settings in ticks.
fn order_rules(settings: &SondeSettings, time: &BoardTime) -> OrderRules {
    let ticks = |duration| time.tick.ticks_in(duration);
    OrderRules {
        clocks: ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT),
        max_held: settings.sorting.max_held_hits,
    }
}

//! The SoNDe pipeline: packets of its modules to events.

use super::board_time::{BoardTime, HeaderTime};
use super::counters::SondeCounters;
use super::digital_geometry::{MODULE_CHANNELS, PixelTable, channel_index};
use super::module::{Module, WithoutPixel, corner_pixels, moved_pixel, write_events};
use super::module_finder::ModuleFinder;
use super::settings::{EventSequence, SondeSettings};
use crate::channel_mask::{ChannelMask, MaskEntry};
use crate::event_order::{EventOrder, OrderRules, TimedEvent};
use crate::outlet::{Outlet, Placed};
use crate::packet_gate::{Discard, PacketGate};
use crate::pipeline::{Checked, Number, Out, Pipeline, Sources, Stage};
use crate::settings::SettingsError;
use crate::source_clocks::ClockRules;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::Packet;
use evforge_wire::sonde::{
    CHANNELS, Content, HEADER_TIME_BITS, LARGEST_PACKET, PACKET_COUNT_BITS, Rejection, SondePacket,
    TriggerTimes,
};

/// Readouts that a packet can have: samples of type 0xD4.
const LARGEST_READOUT_COUNT: usize = LARGEST_PACKET / 5;

/// Times stay below this where they are put into order.
const TIME_LIMIT: u64 = 1 << 62;

/// A packet of which some readouts have left, or none yet.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
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
pub type Sonde = Pipeline<SondeStage>;

/// Packets of modules to events: one for each readout that has a pixel.
#[derive(Debug, get_size2::GetSize)]
pub struct SondeStage {
    finder: ModuleFinder,
    modules: Vec<Module>,
    /// The pixels of a module in the corner.
    corner: PixelTable,
    time: BoardTime,
    mask: ChannelMask,
    counters: SondeCounters,
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
        let outlet = Outlet::new(time.tick, rules.as_ref(), modules.len(), LARGEST_READOUT_COUNT);
        let names = modules.iter().map(Module::name);
        let sources = Sources::numbered(names, PACKET_COUNT_BITS, HEADER_TIME_BITS);
        let stage = SondeStage {
            finder: ModuleFinder::new(&settings.groups),
            corner: corner_pixels(&settings.geometry),
            modules,
            time,
            mask,
            counters: SondeCounters::default(),
        };
        let gate = PacketGate::new(LARGEST_PACKET);
        Ok(Self::of((stage, outlet), settings.geometry, gate, sources))
    }
}

impl Stage for SondeStage {
    type Former = Outlet;
    type Counters = SondeCounters;
    type Content<'a> = SondePacket<'a>;
    type UnderWay = UnderWay;

    #[inline]
    fn number(&self, packet: &Packet<'_>) -> Option<Number> {
        let numbering = SondePacket::numbering(packet.bytes)?;
        let source = self.finder.find(&packet.origin, numbering.system)?;
        Some(Number { source, number: numbering.packet_count.into(), time: Some(numbering.time.into()) })
    }

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<SondePacket<'a>, Self> {
        SondePacket::parse(packet.bytes).map_err(reason)
    }

    #[inline]
    fn begin(&mut self, packet: &SondePacket<'_>, module: Option<usize>) -> Checked<UnderWay, Self> {
        let module = module.ok_or(UNKNOWN_MODULE)?;
        let header = self.modules.get_mut(module).ok_or(UNKNOWN_MODULE)?.follow(packet.header.time);
        self.counters.amplitude_samples += match &packet.content {
            Content::TriggerTimes(_) => 0,
            Content::SingleEvent(event) => event.samples().len() as u64,
            Content::MultiEvent(multi) => (multi.len() * multi.samples_per_event()) as u64,
        };
        Ok(UnderWay { module, header, next: 0 })
    }

    #[cold]
    fn watch(&self, packet: &SondePacket<'_>, begun: UnderWay, monitor: &mut MonitorData) {
        if let Some(module) = self.modules.get(begun.module) {
            watch(monitor, module, &packet.content);
        }
    }

    #[inline]
    fn take(
        &mut self,
        packet: &SondePacket<'_>,
        started: UnderWay,
        out: Out<'_, Outlet>,
    ) -> Option<UnderWay> {
        let Out { former, events, .. } = out;
        let next = match (&packet.content, former.order()) {
            (Content::TriggerTimes(times), None) => self.emit_trigger_times(started, *times, events),
            (Content::TriggerTimes(times), Some((order, placed))) => {
                order.begin_packet(started.module);
                self.order_trigger_times(started, *times, order, placed);
                order.end_packet();
                None
            }
            (amplitudes, _) => {
                let mut placed = former.begin_packet(started.module, events);
                let next = self.place_amplitudes(started, amplitudes, &mut placed);
                former.end_packet(started.module, events);
                next
            }
        };
        next.map(|next| UnderWay { next, ..started })
    }

    fn counters_mut(&mut self) -> &mut SondeCounters {
        &mut self.counters
    }

    fn counters(&self, outlet: &Outlet) -> CounterSnapshot {
        let ordered = outlet.counters();
        CounterSnapshot::of(&SondeCounters {
            hits_in_events: self.counters.hits_in_events + ordered.events,
            events: self.counters.events + ordered.events,
            late: ordered.late,
            unconfirmed_jump: ordered.unconfirmed_jump,
            forward_jumps: ordered.forward_jumps,
            clock_restarts: ordered.clock_restarts,
            held: ordered.held,
            forced_closings: ordered.forced_closings,
            ..self.counters
        })
    }

    fn begin_monitor(&self, _: &Outlet) -> MonitorData {
        MonitorData::new(self.monitor_plan())
    }

    fn complete(&self, _: &Outlet, ledger: &mut DetectorLedger) {
        ledger.masked = self.mask.ledger(&self.monitor_plan());
    }
}

impl SondeStage {
    /// The channels, for monitor data and masks.
    fn monitor_plan(&self) -> MonitorPlan {
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

    /// Appends the events of trigger times as they come. Returns the one to go on with if the batch filled up.
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
        Some(TimedEvent { time: time.min(TIME_LIMIT - 1), pixel_id })
    }

    /// Gives the trigger times of a packet to the order, which has room for them.
    #[inline]
    fn order_trigger_times(
        &mut self,
        started: UnderWay,
        times: TriggerTimes<'_>,
        order: &mut EventOrder,
        placed: &mut Vec<TimedEvent>,
    ) {
        self.counters.readouts += times.len() as u64;
        #[cfg(test)]
        let times =
            if times.entries().any(|_| crate::ledger_tests::vanishes()) { times.since(1) } else { times };
        if self.place_whole(started, times, order) {
            self.counters.hits += times.len() as u64;
        } else {
            self.place_trigger_times(started, times, placed);
            order.push_all(started.module, placed);
        }
    }

    /// Gives the trigger times of a packet to `order` if they can be accepted as a whole.
    #[inline]
    fn place_whole(&self, started: UnderWay, times: TriggerTimes<'_>, order: &mut EventOrder) -> bool {
        let Self { modules, time, corner, .. } = self;
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
    fn place_trigger_times(
        &mut self,
        started: UnderWay,
        times: TriggerTimes<'_>,
        placed: &mut Vec<TimedEvent>,
    ) {
        let Self { modules, counters, mask, time, .. } = self;
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

    /// Counts the readouts of a packet of amplitudes, and places those that have a pixel. Returns the one to go on with if there was no
    /// room.
    fn place_amplitudes(
        &mut self,
        started: UnderWay,
        content: &Content<'_>,
        placed: &mut Placed<'_>,
    ) -> Option<usize> {
        for (number, readout) in amplitude_readouts(content, started.header).enumerate().skip(started.next) {
            if placed.is_full() {
                return Some(number);
            }
            if let Some(TimedEvent { time, pixel_id }) = self.place(started, readout) {
                placed.take(time, pixel_id);
            }
        }
        None
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

/// The settings in ticks; none where events leave as they come.
fn order_rules(settings: &SondeSettings, time: &BoardTime) -> Option<OrderRules> {
    let ticks = |duration| time.tick.ticks_in(duration);
    (settings.sequence == EventSequence::Time).then(|| OrderRules {
        clocks: ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT),
        max_held: settings.sorting.max_held_hits,
    })
}

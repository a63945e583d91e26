//! The records of a packet: which group they are of, and which pixel.

use super::counters::Helium3Counters;
use super::division::Division;
use super::settings::Helium3Settings;
use super::wiring::{Group, Groups};
use crate::channel_mask::{ChannelMask, MaskEntry};
use crate::ess::settings::{FENS, RINGS};
use crate::ess::{FrontPacket, NearPulse, ReadoutStage, TimeSourceCounters, ticks};
use crate::event_order::TimedEvent;
use crate::first_cases::FirstCases;
use crate::packet_gate::Discard;
use crate::source_clock::{AcceptedHits, SourceClock};
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_wire::ess::{R5560Fault, R5560Payload, R5560Readout, RecordRules};

/// The groups of a FEN.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Fen {
    /// Place of its first group among all.
    first: u32,
    /// Numbers from 0 to the largest of its groups.
    numbers: u16,
}

/// What turns records into neutrons.
#[derive(Debug, get_size2::GetSize)]
pub struct Helium3Stage {
    #[get_size(ignore)]
    rules: RecordRules,
    /// By ring and FEN.
    fens: Vec<Fen>,
    /// Channels: the groups of all FENs, with those between that do not exist; none of these has a place.
    places: Vec<Option<u32>>,
    mask: ChannelMask,
    division: Division,
    discarded_flags: u8,
    plan: MonitorPlan,
    /// What a person should know of the configuration.
    notes: Vec<String>,
    /// The first rings, FENs and groups that nothing is wired to.
    elsewhere: FirstCases<(u8, u8, u8)>,
    counters: Helium3Counters,
}

impl Helium3Stage {
    /// For settings that have been checked, with their groups.
    pub(super) fn new(settings: &Helium3Settings, groups: &Groups) -> Self {
        let mut fens = vec![Fen::default(); usize::from(RINGS) * usize::from(FENS)];
        let mut places = Vec::new();
        let mut plan = MonitorPlan {
            groups: Vec::new(),
            planes: Vec::new(),
            amplitude_bits: u16::BITS,
            cluster_amplitude_bits: u16::BITS,
        };
        let same_fen = |one: &Group, other: &Group| (one.ring, one.fen) == (other.ring, other.fen);
        let mut place = 0;
        for of_fen in groups.all().chunk_by(same_fen) {
            let [Group { ring, fen, .. }, ..] = *of_fen else { continue };
            let first = places.len();
            let numbers = of_fen.last().map_or(0, |group| usize::from(group.group) + 1);
            places.resize(first + numbers, None);
            for group in of_fen {
                places[first + usize::from(group.group)] = Some(place);
                place += 1;
            }
            fens[fen_index(ring, fen)] = Fen { first: first as u32, numbers: numbers as u16 };
            let unwired = (0..numbers).filter(|&number| places[first + number].is_none());
            let keys = [("ring", u32::from(ring)), ("fen", u32::from(fen))];
            let group = ChannelGroup::new(format!("ring {ring}, FEN {fen}"), numbers);
            plan.groups.push(group.masked_by(numbers, &keys).without(unwired));
        }
        let masked = settings.mask.iter().flat_map(|entry| {
            let fen = fens[fen_index(entry.ring, entry.fen)];
            let channel = move |&group: &u8| fen.first as usize + usize::from(group);
            entry
                .channels
                .iter()
                .map(move |group| MaskEntry { channel: channel(group), reason: entry.reason.clone() })
        });
        let mask = ChannelMask::new(places.len(), &masked.collect::<Vec<_>>());
        Self {
            rules: settings.ess.records,
            fens,
            places,
            mask,
            division: Division::new(settings, groups),
            discarded_flags: settings.discarded_flags,
            plan,
            notes: settings.shared_pixels(groups).into_iter().collect(),
            elsewhere: FirstCases::default(),
            counters: Helium3Counters::default(),
        }
    }

    /// The channel of a sound readout.
    #[inline]
    fn channel(&self, readout: R5560Readout) -> Option<usize> {
        let fen = self.fens.get(fen_index(readout.ring(), readout.fen()))?;
        (u16::from(readout.group()) < fen.numbers)
            .then_some(fen.first as usize + usize::from(readout.group()))
    }

    /// The pixel of a sound readout; none, and counted, if it has none.
    #[inline]
    fn pixel(&mut self, readout: R5560Readout) -> Option<u32> {
        let channel = self.channel(readout);
        let place = channel.and_then(|channel| *self.places.get(channel)?);
        let (Some(channel), Some(place)) = (channel, place) else {
            self.count_unmapped(readout);
            return None;
        };
        if self.mask.hides(channel) {
            self.counters.masked += 1;
            return None;
        }
        if readout.flags() & self.discarded_flags != 0 {
            self.counters.discarded_flags += 1;
            return None;
        }
        match self.division.pixel(place as usize, readout.charges(), &mut self.counters) {
            Ok(pixel) => Some(pixel),
            Err(reason) => {
                *reason(&mut self.counters) += 1;
                None
            }
        }
    }

    #[cold]
    fn count_unmapped(&mut self, readout: R5560Readout) {
        let (ring, fen, group) = (readout.ring(), readout.fen(), readout.group());
        let has_ring = self
            .fens
            .chunks(usize::from(FENS))
            .nth(usize::from(ring))
            .is_some_and(|fens| fens.iter().any(|fen| fen.numbers > 0));
        let has_fen = self.fens.get(fen_index(ring, fen)).is_some_and(|fen| fen.numbers > 0);
        *match (has_ring, has_fen) {
            (false, _) => &mut self.counters.unmapped_ring,
            (true, false) => &mut self.counters.unmapped_fen,
            (true, true) => &mut self.counters.unmapped_group,
        } += 1;
        self.elsewhere.see((ring, fen, group));
    }

    #[cold]
    fn count_fault(&mut self, fault: R5560Fault) {
        *match fault {
            R5560Fault::Fibre => &mut self.counters.impossible_fibre,
            R5560Fault::Fen => &mut self.counters.impossible_fen,
            R5560Fault::Length => &mut self.counters.wrong_length,
        } += 1;
    }
}

fn fen_index(ring: u8, fen: u8) -> usize {
    usize::from(ring) * usize::from(FENS) + usize::from(fen)
}

impl ReadoutStage<TimedEvent> for Helium3Stage {
    type Payload<'a> = R5560Payload<'a>;
    type Decoded = ();
    type Counters = Helium3Counters;

    fn parse<'a>(&self, payload: &'a [u8]) -> Result<R5560Payload<'a>, Discard<Helium3Counters>> {
        Ok(R5560Payload::parse(payload))
    }

    fn take<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &R5560Payload<'a>,
        _decoded: Option<&mut ()>,
        clock: &mut SourceClock<TimedEvent>,
        accepted: &mut impl AcceptedHits<TimedEvent>,
        time_source: &mut TimeSourceCounters,
    ) {
        let (packet, rates) = (&front.packet, self.rules.clock);
        let (pulse, previous) = (ticks::of(packet.pulse, rates), ticks::of(packet.previous_pulse, rates));
        let near_pulse = NearPulse::of(packet, rates);
        self.counters.packets_with_rest += u64::from(payload.bytes_left() > 0);
        self.counters.readouts += payload.len() as u64;
        for (number, readout) in payload.readouts().enumerate() {
            #[cfg(test)]
            if crate::ledger_tests::vanishes() {
                continue;
            }
            if !readout.is_sound(&self.rules)
                && let Some(fault) = readout.fault(&self.rules)
            {
                self.count_fault(fault);
                if fault == R5560Fault::Length {
                    // No place of a next record follows from a wrong length.
                    self.counters.behind_wrong_length += (payload.len() - number - 1) as u64;
                    break;
                }
                continue;
            }
            let time = ticks::of(readout.time(), rates);
            if !near_pulse.has(time) {
                self.counters.far_from_pulse += 1;
                continue;
            }
            if let Some(pixel_id) = self.pixel(readout) {
                time_source.readouts_before_pulse += u64::from(time < pulse);
                time_source.readouts_before_previous_pulse += u64::from(time < previous);
                self.counters.hits += 1;
                clock.judge(0, TimedEvent { time, pixel_id }, accepted);
            }
        }
    }

    #[cold]
    fn watch(&self, payload: &R5560Payload<'_>, monitor: &mut MonitorData) {
        for readout in payload.readouts().filter(|readout| readout.is_sound(&self.rules)) {
            if let Some(channel) = self.channel(readout) {
                monitor.readout(channel, self.division.sum(readout.charges()));
            }
        }
    }

    fn counters(&self) -> &Helium3Counters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut Helium3Counters {
        &mut self.counters
    }

    fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    fn masked(&self) -> Vec<MaskedChannel> {
        self.mask.ledger(&self.plan)
    }

    fn notes(&self) -> Vec<String> {
        let place = |&((ring, fen, group), readouts): &((u8, u8, u8), u64)| {
            format!("ring {ring}, FEN {fen}, group {group} ({readouts} readouts)")
        };
        let mut named: Vec<String> = self.elsewhere.named().iter().map(place).collect();
        if self.elsewhere.others() > 0 {
            named.push(format!("others ({} readouts)", self.elsewhere.others()));
        }
        let elsewhere = (!named.is_empty()).then(|| format!("no tube is wired to {}", named.join("; ")));
        self.notes.iter().cloned().chain(elsewhere).collect()
    }
}

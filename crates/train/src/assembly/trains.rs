//! Datagrams in, trains out.

use super::assembled::{AssembledTrain, IncompleteCause, TrainOutcome};
use super::buffer::TrainBuffer;
use super::closing::{closed, judge, report};
use super::counters::AssemblyCounters;
use super::fate::{PacketFate, PacketFault};
use super::open_train::{Fit, OpenTrain, contradiction};
use super::settings::AssemblySettings;
use super::sources::{Remembered, Sources, TrainSource, nanoseconds};
use super::tally;
use evforge_core::settings::SettingsError;
use evforge_wire::train::{PacketRejection, TrainPacket};

/// Puts trains together: see the [module documentation](super).
#[derive(Debug)]
pub struct Assembly {
    settings: AssemblySettings,
    time_out_ns: u64,
    sources: Sources,
    slots: Vec<Option<OpenTrain>>,
    free_slots: Vec<u32>,
    free_buffers: Vec<TrainBuffer>,
    /// Openings so far.
    order: u64,
    /// When time-outs are looked for next.
    next_check_ns: u64,
    counters: AssemblyCounters,
}

impl Assembly {
    /// An assembly with all its memory: [`AssemblySettings::memory`].
    ///
    /// # Errors
    /// The key whose value is impossible.
    pub fn new(settings: AssemblySettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let open_trains = settings.open_trains;
        let free_buffers = TrainBuffer::all(&settings)?;
        // More trains than slots can be numbered take more memory than there is.
        let slots = u32::try_from(open_trains).unwrap_or(u32::MAX);
        Ok(Self {
            settings,
            time_out_ns: nanoseconds(settings.time_out),
            sources: Sources::new(settings),
            slots: (0..slots).map(|_| None).collect(),
            free_slots: (0..slots).rev().collect(),
            free_buffers,
            order: 0,
            next_check_ns: 0,
            counters: AssemblyCounters::default(),
        })
    }

    /// Takes a datagram, which came at `arrival_ns` by the caller's clock.
    ///
    /// Trains that close by that are handed to `deliver`. The buffer that it returns is free at once; one that it keeps is to be
    /// [given back](Assembly::give_back).
    pub fn take(
        &mut self,
        source: TrainSource,
        arrival_ns: u64,
        datagram: &[u8],
        deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
    ) -> PacketFate {
        self.counters.packets_received += 1;
        self.counters.bytes_received += datagram.len() as u64;
        // A clock that was set back must not put off time-outs for as long.
        let was_set_back = self.next_check_ns.saturating_sub(arrival_ns) > self.time_out_ns;
        if arrival_ns >= self.next_check_ns || was_set_back {
            self.expire(arrival_ns, deliver);
        }
        let fate = self.place(source, arrival_ns, datagram, deliver);
        tally::packet(&mut self.counters, fate);
        fate
    }

    /// Closes the trains of which nothing new has come for the time-out. To be called when no packets come, with the time up to which all
    /// that came have been taken; while they come, [`Assembly::take`] sees to it.
    pub fn expire(&mut self, now_ns: u64, deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>) {
        self.next_check_ns = now_ns.saturating_add(self.time_out_ns / 4);
        for train in self.slots.iter_mut().flatten() {
            train.last_ns = train.last_ns.min(now_ns);
        }
        let time_out_ns = self.time_out_ns;
        while let Some(slot) = self.oldest(|train| now_ns - train.last_ns >= time_out_ns) {
            self.close(slot, now_ns, Some(IncompleteCause::TimeOut), deliver);
        }
    }

    /// Closes all trains: the run has ended.
    pub fn finish(&mut self, now_ns: u64, deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>) {
        while let Some(slot) = self.oldest(|_| true) {
            self.close(slot, now_ns, Some(IncompleteCause::EndOfRun), deliver);
        }
    }

    /// Takes back the memory of a train. False, and the memory is freed, if it is not one of this assembly.
    pub fn give_back(&mut self, buffer: TrainBuffer) -> bool {
        let is_ours = buffer.fits(&self.settings) && self.free_buffers.len() < self.settings.buffers;
        if is_ours {
            self.reclaim(buffer);
        }
        is_ours
    }

    /// The counts so far, and what is open at this moment.
    pub fn counters(&self) -> AssemblyCounters {
        let [known, forgotten] = self.sources.counts();
        let open = self.slots.iter().flatten();
        AssemblyCounters {
            packets_in_open_trains: open.clone().map(|train| u64::from(train.packets)).sum(),
            trains_open: open.count() as u64,
            sources_known: known,
            sources_forgotten: forgotten,
            buffers_free: self.free_buffers.len() as u64,
            ..self.counters
        }
    }

    /// What it was made with.
    pub const fn settings(&self) -> &AssemblySettings {
        &self.settings
    }

    #[inline]
    fn place(
        &mut self,
        source: TrainSource,
        now_ns: u64,
        datagram: &[u8],
        deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
    ) -> PacketFate {
        let packet = match TrainPacket::parse(datagram) {
            Ok(packet) => packet,
            Err(PacketRejection::TooShort) => return PacketFate::Rejected(PacketFault::TooShort),
            Err(PacketRejection::Empty) => return PacketFate::Rejected(PacketFault::Empty),
        };
        if let Err(fault) = self.check_alone(&packet) {
            return PacketFate::Rejected(fault);
        }
        let Some(source) = self.sources.place(source, now_ns) else {
            return PacketFate::Rejected(PacketFault::FurtherSource);
        };
        let trailer = packet.trailer;
        let slot = match self.sources.get(source).slot(trailer.frame) {
            Some(slot) => slot,
            None => match self.open(source, &packet, now_ns, deliver) {
                Ok(slot) => slot,
                Err(fate) => return fate,
            },
        };
        let Some(train) = &mut self.slots[slot as usize] else {
            unreachable!("a source lists its open trains, and no others");
        };
        if let Err(fault) = train.check(trailer) {
            return PacketFate::Rejected(fault);
        }
        match train.place(&packet, self.settings.data_bytes, now_ns) {
            Fit::Repeated => return PacketFate::Repeated,
            Fit::Placed { reordered } => {
                self.counters.bytes_used += packet.data.len() as u64;
                self.counters.packets_reordered += u64::from(reordered);
            }
        }
        if train.is_whole() {
            self.close(slot, now_ns, None, deliver);
        }
        PacketFate::Used
    }

    /// Checks a packet by itself, whatever its train.
    #[inline]
    fn check_alone(&self, packet: &TrainPacket<'_>) -> Result<(), PacketFault> {
        let AssemblySettings { data_bytes, largest_train, .. } = self.settings;
        let (trailer, bytes) = (packet.trailer, packet.data.len());
        if bytes > data_bytes {
            return Err(PacketFault::TooLong);
        }
        if bytes < data_bytes && !trailer.is_last {
            return Err(PacketFault::Cut);
        }
        // A train of a single packet may be marked as the last only: public producers do so.
        let is_only = trailer.packet == 0 && trailer.is_last;
        if trailer.is_first != (trailer.packet == 0) && !is_only {
            return Err(PacketFault::WrongFirst);
        }
        // 30 bits of packets and 16 of bytes: it fits into 64.
        if u64::from(trailer.packet) * data_bytes as u64 + bytes as u64 > largest_train as u64 {
            return Err(PacketFault::BeyondLargest);
        }
        Ok(())
    }

    /// Opens the train of a packet, unless it has been there.
    #[cold]
    fn open(
        &mut self,
        source: usize,
        packet: &TrainPacket<'_>,
        now_ns: u64,
        deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
    ) -> Result<u32, PacketFate> {
        let frame = packet.trailer.frame;
        let of_source = self.sources.get(source);
        match of_source.recall(frame, now_ns) {
            Some(Remembered::Closed) => return Err(PacketFate::Late),
            Some(Remembered::WithoutBuffer) => return Err(PacketFate::Rejected(PacketFault::NoBuffer)),
            None => {}
        }
        let content = self.settings.content;
        // A packet that no such train has opens none.
        contradiction(content.end(), 0, packet.trailer).map_err(PacketFate::Rejected)?;
        let superseded = if of_source.open.len() >= self.settings.open_trains_of_source {
            of_source.open.first().map(|(_, slot)| *slot)
        } else if self.free_slots.is_empty() {
            self.oldest(|_| true)
        } else {
            None
        };
        if let Some(slot) = superseded {
            self.close(slot, now_ns, Some(IncompleteCause::Superseded), deliver);
        }
        let Some(buffer) = self.free_buffers.pop() else {
            self.sources.get_mut(source).remember(frame, now_ns, Remembered::WithoutBuffer);
            self.counters.trains_without_buffer += 1;
            return Err(PacketFate::Rejected(PacketFault::NoBuffer));
        };
        let Some(slot) = self.free_slots.pop() else {
            unreachable!("the oldest train has been closed if all slots were taken");
        };
        self.order += 1;
        self.slots[slot as usize] = Some(OpenTrain::new(source, frame, self.order, now_ns, buffer, content));
        self.sources.get_mut(source).open.push((frame, slot));
        self.counters.trains_opened += 1;
        Ok(slot)
    }

    /// The slot of the oldest open train of those wanted.
    fn oldest(&self, wanted: impl Fn(&OpenTrain) -> bool) -> Option<u32> {
        let open = self.slots.iter().zip(0..).filter_map(|(train, slot)| Some((train.as_ref()?, slot)));
        open.filter(|(train, _)| wanted(train)).min_by_key(|(train, _)| train.order).map(|(_, slot)| slot)
    }

    /// Closes a train; without a cause it is whole.
    #[cold]
    fn close(
        &mut self,
        slot: u32,
        now_ns: u64,
        cause: Option<IncompleteCause>,
        deliver: &mut impl FnMut(AssembledTrain) -> Option<TrainBuffer>,
    ) {
        let Some(train) = self.slots[slot as usize].take() else { return };
        self.free_slots.push(slot);
        let source = self.sources.get_mut(train.source);
        source.open.retain(|(_, open)| *open != slot);
        source.remember(train.frame, now_ns, Remembered::Closed);
        let AssemblySettings { data_bytes, content, .. } = self.settings;
        let extent = train.extent(data_bytes, content);
        let name = source.name;
        let outcome = match cause {
            Some(cause) => TrainOutcome::Incomplete(cause),
            None => judge(&mut self.counters, content, source.numbers.as_mut(), &train, extent.bytes),
        };
        let report = report(&self.settings, name, &train, &extent, outcome);
        let is_handed_on = tally::train(&mut self.counters, &report, self.settings.incomplete);
        let (closed, buffer) = closed(&self.settings, report, &extent, train.buffer, is_handed_on);
        if let Some(buffer) = buffer {
            self.reclaim(buffer);
        }
        if let Some(buffer) = deliver(closed) {
            self.give_back(buffer);
        }
    }

    fn reclaim(&mut self, mut buffer: TrainBuffer) {
        buffer.presence.clear();
        self.free_buffers.push(buffer);
    }
}

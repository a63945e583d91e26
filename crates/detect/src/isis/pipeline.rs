//! The streaming readout of ISIS: packets to messages.

use super::amplitudes::Amplitudes;
use super::counters::IsisCounters;
use super::frames::Frames;
use super::message_counts::count_fault;
use super::settings::IsisSettings;
use crate::packet_gate::PacketGate;
use crate::pipeline::{Checked, Out, Pipeline, Pixels, Sources, Stage};
use crate::settings::SettingsError;
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{LARGEST_PAYLOAD, Packet};
use evforge_wire::isis::{Messages, Rules};

/// The streaming readout of ISIS.
pub type Isis = Pipeline<IsisStage>;

/// Packets to messages.
#[derive(Debug, get_size2::GetSize)]
pub struct IsisStage {
    #[get_size(ignore)]
    rules: Rules,
    /// Whether the packet under way has a message.
    has_message: bool,
    /// Packets, and what of them is no message; everything else is counted by [`Frames`].
    counters: IsisCounters,
}

/// A packet of which some messages have been taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnderWay {
    /// Bytes of it that have been walked over.
    offset: usize,
    /// True if the message at `offset` has begun, and events of it have left: this many.
    begun: Option<usize>,
}

impl Isis {
    /// A readout with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &IsisSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        let layout = settings.layout()?;
        let rules = settings.rules();
        let stage = IsisStage { rules, has_message: false, counters: IsisCounters::default() };
        let ids = Some(layout.ids);
        let pixels = Pixels { geometry: layout.geometry, ids, have_pulses: true, have_date: true };
        let gate = PacketGate::new(LARGEST_PAYLOAD);
        // The boards have numbers of their own.
        let sources = Sources::unnumbered("");
        Ok(Self::of((stage, Frames::new(settings)), pixels, gate, sources))
    }
}

impl Stage for IsisStage {
    type Former = Frames;
    type Counters = IsisCounters;
    type Content<'a> = Packet<'a>;
    type UnderWay = UnderWay;

    #[inline]
    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<Packet<'a>, Self> {
        Ok(*packet)
    }

    #[inline]
    fn begin(&mut self, _: &Packet<'_>, _: Option<usize>) -> Checked<UnderWay, Self> {
        self.has_message = false;
        Ok(UnderWay::default())
    }

    #[inline]
    fn take(&mut self, packet: &Packet<'_>, mut here: UnderWay, out: Out<'_, Frames>) -> Option<UnderWay> {
        let Out { former: frames, mut monitor, events } = out;
        let mut messages = Messages::new(packet.bytes.get(here.offset..).unwrap_or_default(), self.rules);
        let mut is_cut_short = false;
        loop {
            here.offset = packet.bytes.len() - messages.rest().len();
            if !frames.make_room_for_a_message() {
                return Some(here);
            }
            match messages.next() {
                None => break,
                Some(Err(fault)) => {
                    count_fault(&mut self.counters, fault);
                    is_cut_short = fault.ends_datagram();
                }
                Some(Ok(message)) => {
                    self.has_message = true;
                    let monitor = monitor.as_deref_mut();
                    here.begun = frames.take_message(&message, packet, here.begun, monitor, events);
                    if here.begun.is_some() {
                        return Some(here);
                    }
                }
            }
        }
        self.counters.packets_with_rest +=
            u64::from(!is_cut_short && self.has_message && !messages.rest_is_zero());
        None
    }

    #[inline]
    fn end(&mut self) -> Checked<(), Self> {
        if self.has_message { Ok(()) } else { Err(|counters| &mut counters.packets_without_message) }
    }

    fn counters_mut(&mut self) -> &mut IsisCounters {
        &mut self.counters
    }

    fn counters(&self, frames: &Frames) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).merge(&CounterSnapshot::of(&frames.counters()))
    }

    fn begin_monitor(&self, frames: &Frames) -> Amplitudes {
        Amplitudes::of(frames.boards())
    }

    fn complete(&self, frames: &Frames, ledger: &mut DetectorLedger) {
        frames.complete(ledger);
    }
}

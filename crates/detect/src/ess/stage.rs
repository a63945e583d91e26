//! What the records of a detector are, and those of beam monitors that send alongside it.

use super::counters::TimeSourceCounters;
use super::front::FrontPacket;
use crate::dealt_hits::Shares;
use crate::packet_gate::Discard;
use crate::source_clock::{AcceptedHits, SourceClock};
use crate::threshold_steps::ThresholdSteps;
use crate::watermark::DataTime;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{MonitorData, MonitorPlan};
use evforge_wire::ess::EssPacket;
use std::sync::Arc;

/// Makes hits of the records of packets.
pub trait ReadoutStage<T>: get_size2::GetSize {
    /// The records of a packet.
    type Payload<'a>;
    /// What a packet's records are, before the clock of its queue is asked.
    type Decoded: Default + get_size2::GetSize + Send + std::fmt::Debug;
    /// What it counts: packets discarded for their records, readouts by what happened to them.
    type Counters: CounterSet;

    /// Looks at the size of a payload.
    ///
    /// # Errors
    /// The counter of packets that are of no use.
    fn parse<'a>(&self, payload: &'a [u8]) -> Result<Self::Payload<'a>, Discard<Self::Counters>>;

    /// Whether what [`ReadoutStage::decode`] says of packets now will still hold when they are taken.
    fn can_decode_ahead(&self) -> bool {
        false
    }

    /// Reads the records of a packet ahead of time: nothing of it depends on other packets. Does nothing unless it says
    /// otherwise.
    fn decode(&self, _packet: &EssPacket<'_>, _payload: &Self::Payload<'_>, _into: &mut Self::Decoded) {}

    /// From now on, what is decoded ahead is dealt out like this. Does nothing unless it says otherwise.
    fn deal_out(&mut self, _shares: Arc<Shares>) {}

    /// Room for what a packet is decoded to.
    fn room_for_a_packet(&self) -> Self::Decoded {
        Self::Decoded::default()
    }

    /// Takes the readouts of a packet: hits are judged by the clock of its queue. `decoded` is what [`ReadoutStage::decode`] has
    /// made of it, if it was asked; nothing it depends on has changed since.
    fn take<'a>(
        &mut self,
        front: &FrontPacket<'a>,
        payload: &Self::Payload<'a>,
        decoded: Option<&mut Self::Decoded>,
        clock: &mut SourceClock<T>,
        accepted: &mut impl AcceptedHits<T>,
        time_source: &mut TimeSourceCounters,
    );

    /// A second look at the readouts of a packet, for who watches.
    fn watch(&self, payload: &Self::Payload<'_>, monitor: &mut MonitorData);

    /// The thresholds that can be changed; none if there are none.
    fn thresholds(&self) -> Option<&ThresholdSteps> {
        None
    }

    /// For changes.
    fn thresholds_mut(&mut self) -> Option<&mut ThresholdSteps> {
        None
    }

    /// Settles the changes before which no readout can come any more.
    fn settle(&mut self, _watermark: DataTime) {}

    /// The counters so far.
    fn counters(&self) -> &Self::Counters;

    /// For packets that are discarded.
    fn counters_mut(&mut self) -> &mut Self::Counters;

    /// The channels and planes, for monitor data.
    fn plan(&self) -> &MonitorPlan;

    /// The same for whoever begins to watch: with the planes of the channels, and the thresholds that hold now.
    fn monitor_plan(&self) -> MonitorPlan {
        self.plan().clone()
    }

    /// The masked channels.
    fn masked(&self) -> Vec<MaskedChannel>;

    /// Beam monitors that are filled here, not by the former.
    fn beam_monitors(&self) -> &[BeamMonitorData] {
        &[]
    }

    /// What the readouts say that the configuration does not, in whole sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A single neutron of a beam monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct MonitorNeutron {
    /// In units of [`ticks`](super::ticks).
    pub time: u64,
    /// The pixel among those of the monitors, from 1.
    pub pixel: u32,
}

/// Packets of beam monitors that come alongside those of a detector.
pub trait MonitorReadouts: Send + std::fmt::Debug {
    /// Takes the readouts of a packet: single neutrons are put into `neutrons`, which has room for those of a packet. False,
    /// and counted, if the packet is of no use.
    fn take_alongside(
        &mut self,
        front: &FrontPacket<'_>,
        neutrons: &mut Vec<MonitorNeutron>,
        time_source: &mut TimeSourceCounters,
    ) -> bool;

    /// The counters so far.
    fn counted(&self) -> CounterSnapshot;

    /// The integrating monitors.
    fn integrating(&self) -> &[BeamMonitorData];

    /// What the readouts say that the configuration does not, in whole sentences.
    fn notes_alongside(&self) -> Vec<String>;

    /// Upper bound of its memory in bytes.
    fn memory(&self) -> usize;
}

//! The Multi-Grid demonstrator at CNCS, 2016: packets in, events out (EFU formats of 2018, section 2.5).

use super::counters::CncsCounters;
use super::outlet::{Outlet, TakeEvents, Way};
use super::settings::{CncsSettings, EventTime};
use crate::packet_gate::PacketGate;
use crate::settings::SettingsError;
use evforge_core::clock::WrappingClock;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::{EventBatch, PixelId};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::{Packet, PacketBatch};
use evforge_wire::cncs::{
    CHANNELS, GROUP_BYTES, Group, Groups, LARGEST_PACKET, LARGEST_VALUE, TIME_BITS, groups,
};

/// Groups, and so events, that the largest packet can hold.
const LARGEST_GROUP_COUNT: usize = LARGEST_PACKET / GROUP_BYTES;

/// Wires, grids and pixels of the demonstrator.
#[derive(Clone, Debug)]
pub struct CncsGeometry {
    panel: u32,
    modules: u32,
    grids: u32,
    wires_x: u32,
    wires_z: u32,
    wires: Box<[u16]>,
    grid_numbers: Box<[u16]>,
    logical: LogicalGeometry,
}

impl CncsGeometry {
    /// The geometry of these settings.
    ///
    /// # Errors
    /// If the sides make no pixels.
    pub fn new(settings: &CncsSettings) -> Result<Self, SettingsError> {
        let logical = settings
            .geometry()
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })?;
        Ok(Self {
            panel: settings.panel.into(),
            modules: settings.modules.into(),
            grids: settings.grids.into(),
            wires_x: settings.wires_x.into(),
            wires_z: settings.wires_z.into(),
            wires: calibration(&settings.wire_calibration),
            grid_numbers: calibration(&settings.grid_calibration),
            logical,
        })
    }

    /// The number of the wire, and that of the grid, at each position.
    pub fn numbers(&self) -> [&[u16]; 2] {
        [&self.wires, &self.grid_numbers]
    }

    /// The pixel of a pair of positions, or 0 if the wire and the grid have none in common.
    #[inline]
    pub fn pixel(&self, wire_position: u16, grid_position: u16) -> PixelId {
        let look_up = |table: &[u16], position: u16| {
            table.get(usize::from(position & LARGEST_VALUE)).copied().unwrap_or(0)
        };
        let wire = look_up(&self.wires, wire_position);
        // Wires are wired in swapped pairs and counted from 1: odd ones belong to the position after.
        let wire = if wire & 1 == 1 { u32::from(wire) + 1 } else { u32::from(wire).wrapping_sub(1) };
        let grid = u32::from(look_up(&self.grid_numbers, grid_position));
        let Self { panel, modules, grids, wires_x, wires_z, .. } = *self;
        if wire == 0 || wire > modules * wires_x * wires_z || grid == 0 {
            return 0;
        }
        let column = modules - (wire - 1) / (wires_z * wires_x);
        if (grid - 1) / grids != column - 1 {
            return 0;
        }
        // From 0 on, unlike in the document.
        let x = modules * wires_x * panel - (wire - 1) / wires_z - 1;
        self.logical.pixel_3d((wire - 1) % wires_z, (grid - 1) % grids, x)
    }
}

/// The whole table: what is not given is what it is called.
fn calibration(given: &[u16]) -> Box<[u16]> {
    (0..=LARGEST_VALUE).map(|value| given.get(usize::from(value)).copied().unwrap_or(value)).collect()
}

/// The demonstrator at CNCS.
#[derive(Debug)]
pub struct MultiGridCncs {
    gate: PacketGate,
    former: Former,
    outlet: Outlet,
    /// Bytes of the packet under way that are still to be looked at, after the batch has filled up.
    resume_at: Option<usize>,
    monitor: Option<Box<MonitorData>>,
}

/// What forms the events of a packet.
#[derive(Debug)]
struct Former {
    geometry: CncsGeometry,
    clock: WrappingClock,
    event_time: EventTime,
    wire_threshold: u16,
    grid_threshold: u16,
    drop_double_neutrons: bool,
    counters: CncsCounters,
}

impl MultiGridCncs {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn new(settings: &CncsSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            gate: PacketGate::new(LARGEST_PACKET),
            former: Former {
                geometry: CncsGeometry::new(settings)?,
                clock: WrappingClock::new(TIME_BITS),
                event_time: settings.time.event_time,
                wire_threshold: settings.wire_threshold,
                grid_threshold: settings.grid_threshold,
                drop_double_neutrons: settings.drop_double_neutrons,
                counters: CncsCounters::default(),
            },
            outlet: Outlet::new(&settings.time, LARGEST_GROUP_COUNT)?,
            resume_at: None,
            monitor: None,
        })
    }

    /// Takes a packet, or the rest of it. False if the batch filled up before its end.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut EventBatch) -> bool {
        if self.resume_at.is_none() && !self.begin_packet(packet) {
            return true;
        }
        let from = self.resume_at.take().unwrap_or(0);
        let mut found = groups(packet.bytes.get(from..).unwrap_or_default());
        let before = events.len();
        let complete = match self.outlet.begin_packet(events) {
            Way::Straight(mut way) => self.former.form(&mut found, &mut way),
            Way::Ordered(mut way) => self.former.form(&mut found, &mut way),
        };
        self.outlet.end_packet((events.len() - before) as u64);
        if !complete {
            let whole_words = packet.bytes.len() / 4 * 4;
            self.resume_at = Some(whole_words - found.bytes_left());
        }
        complete
    }

    /// Counts a packet and checks it. False if there is nothing to be formed from it.
    fn begin_packet(&mut self, packet: &Packet<'_>) -> bool {
        if !self.gate.admit_unnumbered(packet) {
            return false;
        }
        let mut found = groups(packet.bytes);
        let mut count = 0_u64;
        for group in found.by_ref() {
            count += 1;
            if let Some(monitor) = &mut self.monitor {
                watch(&group, &self.former, monitor);
            }
        }
        self.former.counters.error_bytes += found.error_bytes() as u64;
        let usable = count > 0;
        let outcome = if usable {
            Ok(())
        } else {
            Err((|counters| &mut counters.packets_without_groups) as fn(&mut CncsCounters) -> &mut u64)
        };
        self.gate.settle(packet, outcome, &mut self.former.counters);
        usable
    }
}

impl Former {
    /// Forms the events of groups. False if the way out filled up before the last.
    fn form(&mut self, found: &mut Groups<'_>, way: &mut impl TakeEvents) -> bool {
        loop {
            if way.is_full() {
                return false;
            }
            let Some(group) = found.next() else { return true };
            self.form_group(&group, way);
        }
    }

    fn form_group(&mut self, group: &Group, way: &mut impl TakeEvents) {
        let Self { geometry, counters, .. } = self;
        counters.readouts += 1;
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return;
        }
        // The clock follows whatever the group is good for.
        let ticks = match self.event_time {
            EventTime::Clock => self.clock.extend(u64::from(group.time)),
            EventTime::Raw2018 => u64::from(group.time),
        };
        if group.wire_amplitude() < self.wire_threshold || group.grid_amplitude() < self.grid_threshold {
            counters.below_threshold += 1;
            return;
        }
        counters.hits += 1;
        if group.second_wire_amplitude() >= self.wire_threshold {
            counters.double_neutrons += 1;
            if self.drop_double_neutrons {
                counters.double_neutron += 1;
                return;
            }
        }
        match geometry.pixel(group.wire_position(), group.grid_position()) {
            0 => counters.outside_geometry += 1,
            pixel => {
                counters.hits_in_events += 1;
                way.take(ticks, pixel);
            }
        }
    }
}

/// Collects monitor data of a group.
fn watch(group: &Group, former: &Former, monitor: &mut MonitorData) {
    for (channel, value) in group.values.into_iter().enumerate() {
        monitor.readout(channel, value);
    }
    let amplitudes = [group.wire_amplitude(), group.grid_amplitude()];
    let seen = [former.wire_threshold, former.grid_threshold];
    let seen = [amplitudes[0] >= seen[0], amplitudes[1] >= seen[1]];
    for plane in (0..2).filter(|&plane| seen[plane]) {
        monitor.cluster(plane, 1);
        if !seen[1 - plane] {
            monitor.lone_cluster(plane, 1, amplitudes[plane].into());
        }
    }
    if seen == [true; 2] {
        monitor.pair(amplitudes[0].into(), amplitudes[1].into());
    }
}

/// The data words whose amplitudes have a threshold: that of the wire and that of the grid.
const WIRE_WORD: usize = 0;
const GRID_WORD: usize = 4;

fn monitor_plan(former: &Former) -> MonitorPlan {
    let threshold = |word| match word {
        WIRE_WORD => former.wire_threshold,
        GRID_WORD => former.grid_threshold,
        _ => 0,
    };
    let words = ChannelGroup::new("data words", CHANNELS).with_thresholds((0..CHANNELS).map(threshold));
    MonitorPlan {
        groups: vec![words],
        planes: vec!["wires", "grids"],
        amplitude_bits: 14,
        cluster_amplitude_bits: 14,
    }
}

impl Detector for MultiGridCncs {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from;
        loop {
            if !self.outlet.make_room(events) {
                return Progress { taken, full: true };
            }
            let Some(packet) = packets.get(taken) else { return Progress { taken, full: false } };
            if !self.take_packet(&packet, events) {
                return Progress { taken, full: true };
            }
            taken += 1;
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.outlet.publish_closed(events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        self.outlet.close(events)
    }

    fn ledger(&self) -> DetectorLedger {
        let received = self.gate.counters().packets_received;
        let sources = (received > 0).then(|| SourceLedger::unnumbered("CNCS".into(), received));
        let counters = CounterSnapshot::of(self.gate.counters()).and(&self.former.counters);
        DetectorLedger {
            sources: sources.into_iter().collect(),
            counters: counters.and(&self.outlet.counters()),
            masked: Vec::new(),
            ..DetectorLedger::default()
        }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.former.geometry.logical
    }

    fn newest_time_ns(&self) -> Option<u64> {
        self.outlet.newest_time_ns()
    }

    fn memory_bound(&self) -> usize {
        let tables = 2 * (usize::from(LARGEST_VALUE) + 1) * size_of::<u16>();
        size_of::<Self>() + tables + self.outlet.memory_bound()
    }

    fn set_monitoring(&mut self, on: bool) {
        self.monitor = on.then(|| Box::new(MonitorData::new(monitor_plan(&self.former))));
    }

    fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref()
    }
}

//! The Multi-Grid demonstrator at CNCS, 2016: packets in, events out (EFU formats of 2018, section 2.5).

use super::counters::CncsCounters;
use super::settings::{CncsSettings, EventTime};
use crate::outlet::{Outlet, Placed};
use crate::packet_gate::PacketGate;
use crate::pipeline::{Checked, Out, Pipeline, Sources, Stage};
use crate::settings::SettingsError;
use evforge_core::clock::WrappingClock;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_core::packet::Packet;
use evforge_wire::cncs::{
    CHANNELS, GROUP_BYTES, Group, Groups, LARGEST_PACKET, LARGEST_VALUE, TIME_BITS, groups,
};

/// Groups, and so events, that the largest packet can hold.
const LARGEST_GROUP_COUNT: usize = LARGEST_PACKET / GROUP_BYTES;

/// Wires, grids and pixels of the demonstrator.
#[derive(Clone, Debug, get_size2::GetSize)]
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
pub type MultiGridCncs = Pipeline<CncsStage>;

/// Packets of the demonstrator to events: one for each group at most.
#[derive(Debug, get_size2::GetSize)]
pub struct CncsStage {
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
        let stage = CncsStage {
            geometry: CncsGeometry::new(settings)?,
            clock: WrappingClock::new(TIME_BITS),
            event_time: settings.time.event_time,
            wire_threshold: settings.wire_threshold,
            grid_threshold: settings.grid_threshold,
            drop_double_neutrons: settings.drop_double_neutrons,
            counters: CncsCounters::default(),
        };
        let rules = settings.time.order_rules(LARGEST_GROUP_COUNT)?;
        let outlet = Outlet::new(settings.time.tick_length()?, rules.as_ref(), 1, LARGEST_GROUP_COUNT);
        let logical = stage.geometry.logical;
        let gate = PacketGate::new(LARGEST_PACKET);
        Ok(Self::of((stage, outlet), logical, gate, Sources::unnumbered("CNCS")))
    }
}

impl Stage for CncsStage {
    type Former = Outlet;
    type Counters = CncsCounters;
    type Content<'a> = &'a [u8];
    /// Bytes that have been looked at.
    type UnderWay = usize;

    fn parse<'a>(&self, packet: &Packet<'a>) -> Checked<&'a [u8], Self> {
        Ok(packet.bytes)
    }

    fn begin(&mut self, bytes: &&[u8], _: Option<usize>) -> Checked<usize, Self> {
        let mut found = groups(bytes);
        if found.next().is_some() {
            return Ok(0);
        }
        self.counters.error_bytes += found.error_bytes() as u64;
        Err(|counters| &mut counters.packets_without_groups)
    }

    fn watch(&self, bytes: &&[u8], _: usize, monitor: &mut MonitorData) {
        groups(bytes).for_each(|group| watch_group(&group, self, monitor));
    }

    fn take(&mut self, bytes: &&[u8], from: usize, out: Out<'_, Outlet>) -> Option<usize> {
        let Out { former: outlet, events, .. } = out;
        let mut found = groups(bytes.get(from..).unwrap_or_default());
        let is_complete = self.form(&mut found, &mut outlet.begin_packet(0, events));
        outlet.end_packet(0, events);
        let left_over = bytes.len() % 4;
        self.counters.error_bytes += (found.error_bytes() - if is_complete { 0 } else { left_over }) as u64;
        (!is_complete).then(|| bytes.len() - left_over - found.bytes_left())
    }

    fn counters_mut(&mut self) -> &mut CncsCounters {
        &mut self.counters
    }

    fn counters(&self, outlet: &Outlet) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).and(&outlet.counters())
    }

    fn begin_monitor(&self, _: &Outlet) -> MonitorData {
        MonitorData::new(monitor_plan(self))
    }
}

impl CncsStage {
    /// Forms the events of groups. False if there was no room before the last.
    fn form(&mut self, found: &mut Groups<'_>, placed: &mut Placed<'_>) -> bool {
        loop {
            if placed.is_full() {
                return false;
            }
            let Some(group) = found.next() else { return true };
            self.form_group(&group, placed);
        }
    }

    fn form_group(&mut self, group: &Group, placed: &mut Placed<'_>) {
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
                placed.take(ticks, pixel);
            }
        }
    }
}

/// Collects monitor data of a group.
fn watch_group(group: &Group, stage: &CncsStage, monitor: &mut MonitorData) {
    for (channel, value) in group.values.into_iter().enumerate() {
        monitor.readout(channel, value);
    }
    let amplitudes = [group.wire_amplitude(), group.grid_amplitude()];
    let seen = [stage.wire_threshold, stage.grid_threshold];
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

fn monitor_plan(stage: &CncsStage) -> MonitorPlan {
    let threshold = |word| match word {
        WIRE_WORD => stage.wire_threshold,
        GRID_WORD => stage.grid_threshold,
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

//! Triggers of Mesytec modules, and groups of the demonstrator at CNCS.

use crate::channels::{Channels, Span};
use crate::report::{Line, line, listed};
use evforge_core::quantity::grouped;
use evforge_wire::cncs::groups;
use evforge_wire::mesytec::{Datagram, TriggerClock, VmmrReadout};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What one bus of one module has sent.
#[derive(Debug, Default)]
struct Bus {
    readouts: u64,
    channels: Channels,
    adc: Span,
}

/// Modules and buses of Mesytec.
#[derive(Debug, Default)]
pub struct MesytecContent {
    buses: BTreeMap<(u8, u8), Bus>,
    triggers: u64,
    external: u64,
    /// Triggers that cannot be used, and stretches of words between sound ones.
    useless: u64,
    damaged: u64,
}

impl MesytecContent {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let Ok(datagram) = Datagram::parse(bytes) else { return };
        let mut clock = TriggerClock::extended();
        for trigger in datagram.triggers() {
            let Ok(trigger) = trigger else {
                self.damaged += 1;
                continue;
            };
            self.triggers += 1;
            let (readouts, end) = trigger.read(&mut clock, Vec::new(), |readouts, word, context| {
                readouts.extend(VmmrReadout::of(word, context));
            });
            match end {
                Ok(end) => self.external += u64::from(end.external_trigger),
                Err(_) => {
                    self.useless += 1;
                    continue;
                }
            }
            for readout in readouts {
                let bus = self.buses.entry((readout.module, readout.bus)).or_default();
                bus.readouts += 1;
                bus.channels.insert(readout.channel);
                bus.adc.take(readout.adc);
            }
        }
    }

    /// Each bus with its channels, over all modules.
    pub fn buses(&self) -> BTreeMap<u8, Channels> {
        let mut all: BTreeMap<u8, Channels> = BTreeMap::new();
        for ((_, bus), seen) in &self.buses {
            let channels = all.entry(*bus).or_default();
            seen.channels.iter().for_each(|channel| channels.insert(channel));
        }
        all
    }

    pub(super) fn readouts(&self) -> u64 {
        self.buses.values().map(|bus| bus.readouts).sum()
    }

    pub(super) fn places(&self) -> String {
        let buses = self.buses.keys().map(|(module, bus)| format!("module {module} bus {bus}"));
        buses.collect::<Vec<_>>().join("; ")
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![
            line("triggers", format!("{} ({} external)", grouped(self.triggers), grouped(self.external))),
            line("readouts", grouped(self.readouts())),
        ];
        for (count, what) in
            [(self.useless, "triggers that cannot be used"), (self.damaged, "damaged stretches")]
        {
            if count > 0 {
                lines.push(line("  faults", format!("{} {what}", grouped(count))));
            }
        }
        for ((module, bus), seen) in &self.buses {
            let text = format!("{} readouts, {}, ADC {}", grouped(seen.readouts), seen.channels, seen.adc);
            lines.push(line(format!("module {module} bus {bus}"), text));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let bus = |((module, bus), seen): (&(u8, u8), &Bus)| {
            json!({
                "module": module, "bus": bus, "readouts": seen.readouts, "channels": seen.channels.ends(),
                "channels_seen": seen.channels.len(), "adc": seen.adc.ends(),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "triggers": self.triggers,
            "external_triggers": self.external,
            "useless_triggers": self.useless,
            "damaged_stretches": self.damaged,
            "buses": self.buses.iter().map(bus).collect::<Vec<_>>(),
        })
    }
}

/// What one module at CNCS has sent.
#[derive(Debug, Default)]
struct Module {
    groups: u64,
    wires: Span,
    grids: Span,
}

/// Modules of the demonstrator at CNCS.
#[derive(Debug, Default)]
pub struct CncsContent {
    modules: BTreeMap<u8, Module>,
    error_bytes: u64,
}

impl CncsContent {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let mut groups = groups(bytes);
        for group in groups.by_ref() {
            let module = self.modules.entry(group.module).or_default();
            module.groups += 1;
            module.wires.take(group.wire_position());
            module.grids.take(group.grid_position());
        }
        self.error_bytes += groups.error_bytes() as u64;
    }

    /// Largest number of a module.
    pub fn last_module(&self) -> Option<u8> {
        self.modules.keys().next_back().copied()
    }

    pub(super) fn readouts(&self) -> u64 {
        self.modules.values().map(|module| module.groups).sum()
    }

    pub(super) fn places(&self) -> String {
        format!("modules {}", listed(self.modules.keys()))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("groups", grouped(self.readouts()))];
        if self.error_bytes > 0 {
            lines.push(line(
                "  faults",
                format!("{} bytes that belong to no group", grouped(self.error_bytes)),
            ));
        }
        for (number, seen) in &self.modules {
            let text = format!(
                "{} groups, wire positions {}, grid positions {}",
                grouped(seen.groups),
                seen.wires,
                seen.grids
            );
            lines.push(line(format!("module {number}"), text));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let module = |(number, seen): (&u8, &Module)| {
            json!({
                "module": number, "groups": seen.groups, "wire_positions": seen.wires.ends(),
                "grid_positions": seen.grids.ends(),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "bytes_of_no_group": self.error_bytes,
            "modules": self.modules.iter().map(module).collect::<Vec<_>>(),
        })
    }
}

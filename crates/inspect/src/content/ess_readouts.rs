//! Readouts of the ESS readout by place: VMMs with their channels, beam monitors, tubes, and front ends of records that are
//! not decoded.

use super::r5560::{Tubes, tube_fault};
use crate::channels::{Channels, Span};
use crate::report::{Line, line, listed};
use evforge_core::quantity::grouped;
use evforge_wire::ess::beam_monitor::{MonitorFault, MonitorKind, MonitorPayload, MonitorReadout};
use evforge_wire::ess::{
    EssClock, R5560_RECORD, R5560Fault, R5560Payload, RecordFault, RecordRules, Vmm3aPayload, Vmm3aReadout,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Beam monitors that are told apart.
const MOST_MONITORS: usize = 1024;
/// Front ends of records that are not decoded, and may have any number.
const MOST_FENS: usize = 1024;
/// Lengths in bits are looked into.
const RULES: RecordRules = RecordRules { length_in_bits: true, any_adc: false, clock: EssClock::ESS };
/// Fractions of a second up to here are of another clock (88 886 504 was seen), larger ones are damage.
const OF_ANOTHER_CLOCK: u32 = 90_000_000;

/// Ring, FEN and VMM on it.
pub type VmmPlace = (u8, u8, u8);
/// Ring, FEN, channel and kind.
pub type MonitorPlace = (u8, u8, u8, u8);

/// What one VMM has sent.
#[derive(Clone, Debug, Default)]
pub struct VmmSeen {
    /// Sound readouts.
    pub readouts: u64,
    /// Their channels.
    pub channels: Channels,
    /// Their amplitudes.
    pub adc: Span,
}

/// What one beam monitor has sent.
#[derive(Clone, Debug, Default)]
pub struct MonitorSeen {
    /// Sound readouts.
    pub readouts: u64,
    /// Amplitudes of single neutrons.
    pub adc: Span,
    /// Samples in each sum.
    pub samples: Span,
    /// Coordinates.
    pub x: Span,
    /// Coordinates.
    pub y: Span,
}

/// Readouts of one type.
#[derive(Clone, Debug, Default)]
pub struct EssReadouts {
    /// All of them, sound or not.
    pub count: u64,
    /// Sound ones of VMMs.
    pub vmms: BTreeMap<VmmPlace, VmmSeen>,
    /// Sound ones of beam monitors.
    pub monitors: BTreeMap<MonitorPlace, MonitorSeen>,
    /// Sound ones of helium-3 tubes.
    pub tubes: Tubes,
    /// Those of monitors and front ends that are not told apart any more.
    pub not_kept: u64,
    /// Those that are not decoded, by ring and FEN.
    pub not_decoded: BTreeMap<(u8, u8), u64>,
    /// Those with a fault, by its name.
    pub faults: BTreeMap<&'static str, u64>,
    /// Readouts with lengths in bits.
    pub in_bits: u64,
    /// Calibration readouts (GEO bit 7) and records of the clustered mode (GEO bit 6).
    pub calibration: u64,
    /// See above.
    pub clustered: u64,
    /// Fractions beyond the limit, and those among them that another clock may have made: how many, and which.
    pub impossible_fractions: Span,
    /// See above.
    pub of_another_clock: (u64, Span),
}

impl EssReadouts {
    /// Takes the VMM3a records of a packet.
    pub fn take_vmm3a(&mut self, payload: &Vmm3aPayload<'_>) {
        for readout in payload.readouts() {
            self.count += 1;
            self.in_bits += u64::from(readout.length_is_in_bits());
            match readout.fault(&RULES) {
                Some(fault) => {
                    *self.faults.entry(vmm_fault(fault)).or_default() += 1;
                    if fault == RecordFault::TimeFraction {
                        self.take_fraction(readout.time().ticks);
                    }
                }
                None => self.take_sound(readout),
            }
        }
    }

    fn take_fraction(&mut self, ticks: u32) {
        self.impossible_fractions.take(ticks);
        if ticks <= OF_ANOTHER_CLOCK {
            self.of_another_clock.0 += 1;
            self.of_another_clock.1.take(ticks);
        }
    }

    fn take_sound(&mut self, readout: Vmm3aReadout) {
        if readout.is_calibration() {
            self.calibration += 1;
            return;
        }
        if readout.is_clustered() {
            self.clustered += 1;
            return;
        }
        let seen = self.vmms.entry((readout.ring(), readout.fen(), readout.vmm())).or_default();
        seen.readouts += 1;
        seen.channels.insert(u16::from(readout.channel()));
        seen.adc.take(readout.adc());
    }

    /// Takes the R5560 records of a packet, up to one that states another length.
    pub fn take_r5560(&mut self, payload: &R5560Payload<'_>) {
        let mut not_read = payload.bytes_left();
        for (place, readout) in payload.readouts().enumerate() {
            self.count += 1;
            self.in_bits += u64::from(readout.length_is_in_bits());
            match readout.fault(&RULES) {
                None => self.tubes.take(readout),
                Some(fault) => *self.faults.entry(tube_fault(fault)).or_default() += 1,
            }
            if readout.fault(&RULES) == Some(R5560Fault::Length) {
                not_read += R5560_RECORD * (payload.len() - place - 1);
                break;
            }
        }
        self.tubes.note_not_read(not_read);
    }

    /// Takes the records of beam monitors of a packet.
    pub fn take_monitors(&mut self, payload: &MonitorPayload<'_>) {
        for readout in payload.readouts() {
            self.count += 1;
            self.in_bits += u64::from(readout.length_is_in_bits());
            match readout.fault(&RULES) {
                Some(fault) => {
                    *self.faults.entry(monitor_fault(fault)).or_default() += 1;
                    if fault == MonitorFault::TimeFraction {
                        self.take_fraction(readout.time().ticks);
                    }
                }
                None => self.take_sound_monitor(readout),
            }
        }
    }

    fn take_sound_monitor(&mut self, readout: MonitorReadout) {
        let Some(kind) = readout.kind() else { return };
        let place = (readout.ring(), readout.fen(), readout.channel(), kind.to_byte());
        if self.monitors.len() >= MOST_MONITORS && !self.monitors.contains_key(&place) {
            self.not_kept += 1;
            return;
        }
        let seen = self.monitors.entry(place).or_default();
        seen.readouts += 1;
        match kind {
            MonitorKind::Event0D => seen.adc.take(readout.adc()),
            MonitorKind::Event2D => {
                seen.adc.take(readout.adc());
                seen.x.take(readout.x());
                seen.y.take(readout.y());
            }
            MonitorKind::Integrating => seen.samples.take(readout.samples()),
        }
    }

    /// Takes records of `size` bytes that evforge does not decode.
    pub fn take_others(&mut self, payload: &[u8], size: usize) {
        for record in payload.chunks_exact(size) {
            self.count += 1;
            // Every record begins with fibre and FEN.
            let place = (record[0] / 2, record[1]);
            if self.not_decoded.len() < MOST_FENS || self.not_decoded.contains_key(&place) {
                *self.not_decoded.entry(place).or_default() += 1;
            } else {
                self.not_kept += 1;
            }
        }
    }

    /// The front ends in a few words.
    pub fn places(&self) -> String {
        let mut fens: BTreeMap<(u8, u8), BTreeSet<u8>> = BTreeMap::new();
        for (ring, fen, vmm) in self.vmms.keys() {
            fens.entry((*ring, *fen)).or_default().insert(vmm / 2);
        }
        let vmms = fens.iter().map(|((ring, fen), hybrids)| {
            let plural = if hybrids.len() == 1 { "" } else { "s" };
            format!("ring {ring} FEN {fen} hybrid{plural} {}", listed(hybrids))
        });
        let monitors = self.monitors.keys();
        let monitors =
            monitors.map(|(ring, fen, channel, _)| format!("ring {ring} FEN {fen} channel {channel}"));
        let others = self.not_decoded.keys().map(|(ring, fen)| format!("ring {ring} FEN {fen}"));
        vmms.chain(monitors).chain(self.tubes.places()).chain(others).collect::<Vec<_>>().join("; ")
    }

    /// For people.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for ((ring, fen, vmm), seen) in &self.vmms {
            let place = format!("ring {ring} FEN {fen} hybrid {} VMM {vmm}", vmm / 2);
            let readouts = grouped(seen.readouts);
            lines.push(line(place, format!("{readouts} readouts, {}, ADC {}", seen.channels, seen.adc)));
        }
        for ((ring, fen, channel, kind), seen) in &self.monitors {
            let place = format!("ring {ring} FEN {fen} channel {channel}");
            lines.push(line(
                place,
                format!("{}, {} readouts{}", kind_in_words(*kind), grouped(seen.readouts), seen.details()),
            ));
        }
        lines.extend(self.tubes.lines());
        for ((ring, fen), count) in &self.not_decoded {
            lines.push(line(format!("ring {ring} FEN {fen}"), format!("{} readouts", grouped(*count))));
        }
        if self.not_kept > 0 {
            let text = format!("{} readouts of further front ends", grouped(self.not_kept));
            lines.push(line("not told apart", text));
        }
        lines
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let vmm = |((ring, fen, vmm), seen): (&VmmPlace, &VmmSeen)| {
            json!({
                "ring": ring, "fen": fen, "hybrid": vmm / 2, "vmm": vmm, "readouts": seen.readouts,
                "channels": seen.channels.ends(), "channels_seen": seen.channels.len(), "adc": seen.adc.ends(),
            })
        };
        let monitor = |((ring, fen, channel, kind), seen): (&MonitorPlace, &MonitorSeen)| {
            json!({
                "ring": ring, "fen": fen, "channel": channel, "kind": kind_in_words(*kind),
                "readouts": seen.readouts, "samples": seen.samples.ends(), "adc": seen.adc.ends(),
                "x": seen.x.ends(), "y": seen.y.ends(),
            })
        };
        let other =
            |((ring, fen), count): (&(u8, u8), &u64)| json!({"ring": ring, "fen": fen, "readouts": count});
        json!({
            "count": self.count,
            "faults": self.faults,
            "calibration": self.calibration,
            "clustered_mode": self.clustered,
            "lengths_in_bits": self.in_bits,
            "impossible_fractions": self.impossible_fractions.ends(),
            "fractions_of_another_clock": { "readouts": self.of_another_clock.0, "span": self.of_another_clock.1.ends() },
            "vmms": self.vmms.iter().map(vmm).collect::<Vec<_>>(),
            "beam_monitors": self.monitors.iter().map(monitor).collect::<Vec<_>>(),
            "tubes": self.tubes.json(),
            "not_told_apart": self.not_kept,
            "not_decoded": self.not_decoded.iter().map(other).collect::<Vec<_>>(),
        })
    }
}

impl MonitorSeen {
    /// What is particular to its kind.
    fn details(&self) -> String {
        if self.samples.ends().is_some() {
            format!(", {} samples in each", self.samples)
        } else if self.x.ends().is_some() {
            format!(", x {}, y {}, ADC {}", self.x, self.y, self.adc)
        } else {
            format!(", ADC {}", self.adc)
        }
    }
}

/// The kind of a beam monitor.
fn kind_in_words(kind: u8) -> &'static str {
    match MonitorKind::from_byte(kind) {
        Some(MonitorKind::Event0D) => "single neutrons",
        Some(MonitorKind::Event2D) => "single neutrons with x and y",
        Some(MonitorKind::Integrating) => "integrating",
        None => "unknown kind",
    }
}

/// "3 …".
fn vmm_fault(fault: RecordFault) -> &'static str {
    match fault {
        RecordFault::Fibre => "with an impossible fibre",
        RecordFault::Fen => "with an impossible FEN",
        RecordFault::Length => "with a wrong length",
        RecordFault::TimeFraction => "with an impossible fraction of a second",
        RecordFault::Bc => "with a bunch crossing above 4095: no VMM3a, or damaged",
        RecordFault::Adc => "with an amplitude above 1023: ess.accept = [\"any_adc\"] reads them",
        RecordFault::Vmm => "with an impossible VMM",
        RecordFault::Channel => "with an impossible channel",
    }
}

fn monitor_fault(fault: MonitorFault) -> &'static str {
    match fault {
        MonitorFault::Fibre => "with an impossible fibre",
        MonitorFault::Fen => "with an impossible FEN",
        MonitorFault::Length => "with a wrong length",
        MonitorFault::TimeFraction => "with an impossible fraction of a second",
        MonitorFault::Kind => "of an unknown kind",
    }
}
